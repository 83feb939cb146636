import type { Comparison } from './pairs.ts';

/** A row of the table: what is compared, and why the target is what it is. Without a target the comparison is only shown. */
export type Goal = {
  what: string;
  against: string;
  why: string;
  target?: { min: number } | { max: number };
};

export type Measured = Comparison & {
  /** The unit of both values, for example `µs`. */
  unit: string;
  /** Another measurement, for information. */
  note?: string;
};

/** What was measured for the goals of a group, or why a goal was not measured. */
export type Measurements<Id extends string> = Partial<Record<Id, Measured | string>>;

export type Bench = {
  /** A temporary folder, removed at the end. */
  folder: string;
  /** Prints progress. */
  log: (text: string) => void;
};

/** Goals that are measured together. `prepare` fills databases; the groups are prepared at the same time. */
export type Group<Id extends string = string> = {
  goals: Record<Id, Goal>;
  prepare?: (bench: Bench) => Promise<unknown>;
  measure: (bench: Bench) => Promise<Measurements<Id>>;
};

/** Keeps the ids of the goals in the type. */
export const group = <Id extends string>(one: Group<Id>): Group<Id> => one;
