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
};

/** What every measurement gets. */
export type Bench = {
  /** A folder of its own, removed at the end. */
  folder: string;
  /** Interleaved pairs of rounds. */
  pairs: number;
  /** Also what takes many minutes. */
  large: boolean;
  /** Tells a person what is going on. */
  say: (text: string) => void;
};

export const reaches = ({ ratio, aim }: Result): boolean =>
  aim === undefined || ('min' in aim ? ratio >= aim.min : ratio <= aim.max);
