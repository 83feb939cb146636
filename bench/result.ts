import type { Compared } from './pairs.ts';

/** One line of the table. */
export type Result = Compared & {
  /** Number of the goal. */
  goal: number;
  what: string;
  against: string;
  /** What both figures count, for example `requests/s`. */
  unit: string;
  /** What the ratio is meant to be; undefined where it is only shown. */
  aim: { min: number } | { max: number } | undefined;
  /** More figures, for people. */
  notes?: Record<string, number | string>;
  /** Cost against something that grows, for a plot. */
  series?: Series;
  /** Why the goal itself was not measured, where these figures only stand in for it. */
  standIn?: string;
};

/** What grows, and the microseconds that one page takes: the median of the rounds and their middle half. */
export type Series = { name: 'depth' | 'size'; points: [at: number, micros: number, low: number, high: number][] };

/** What every measurement gets. */
export type Bench = {
  /** A folder of its own, removed at the end. */
  folder: string;
  /** Interleaved pairs of rounds. */
  pairs: number;
  /** Also what takes many minutes. */
  large: boolean;
  /** Whether this goal is asked for: of several that share their preparations, the others are left out. */
  wants: (goal: number) => boolean;
  /** Tells a person what is going on. */
  say: (text: string) => void;
};

export type Measurement = { goals: readonly number[]; measure: (bench: Bench) => Promise<Result[]> };

export const reaches = ({ ratio, aim }: Result): boolean =>
  aim === undefined || ('min' in aim ? ratio >= aim.min : ratio <= aim.max);
