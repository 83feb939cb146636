/** One promise of the service, and what an experiment measured. */
export type Finding = { promise: string; measured: string; holds: boolean };

/** Prints progress of an experiment. */
export type Log = (line: string) => void;

/**
 * A repeatable experiment on a running service, on loopback only. `npm run torture` runs the long form; the tests
 * call the same functions with small numbers.
 */
export type Experiment = { name: string; long: (log: Log) => Promise<Finding[]> };

export const count = (n: number): string => n.toLocaleString('en');

/** The first few faults, to append to their number. */
export const some = (faults: readonly string[]): string =>
  faults.length > 0 ? `: ${faults.slice(0, 3).join('; ')}` : '';
