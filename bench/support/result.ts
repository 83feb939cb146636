import type { Comparison, Points } from './pairs.ts';

/** One row of the table. */
export type Result = Comparison & {
  /** Number of the goal. */
  goal: number;
  what: string;
  against: string;
  /** The unit of both measurements, for example `requests/s`. */
  unit: string;
  /** The bound of the ratio that the goal sets; undefined if the ratio is only shown. */
  target: { min: number } | { max: number } | undefined;
  /** More measurements, for information. */
  notes?: Record<string, number | string>;
  /** Measurements by a growing quantity, for a plot. */
  series?: Series;
  /** Why the goal itself was not measured, if these measurements are only a substitute. */
  substitute?: string;
};

/** A plot with one line, or with one for each label. */
export type Series = { name: 'depth' | 'size' | 'workers'; lines: { label?: string; points: Points }[] };

/** The parameters of every measurement. */
export type Bench = {
  /** A temporary folder, removed at the end. */
  folder: string;
  /** Interleaved pairs of rounds. */
  pairs: number;
  /** Also run the measurements that take many minutes. */
  large: boolean;
  /** The number of messages that are searched, if it is given. */
  messages: number | undefined;
  /** Whether this goal is selected. A measurement of several goals skips the others. */
  isSelected: (goal: number) => boolean;
  /** Prints progress. */
  log: (text: string) => void;
};

export type Measurement = { goals: readonly number[]; measure: (bench: Bench) => Promise<Result[]> };

export const reachesGoal = ({ ratio, target }: Result): boolean =>
  target === undefined || ('min' in target ? ratio >= target.min : ratio <= target.max);
