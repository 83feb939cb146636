/** One promise of the service, and what an experiment saw of it. */
export type Finding = { promise: string; measured: string; holds: boolean };

/** Says what it is doing, for whoever watches. */
export type Say = (line: string) => void;

/**
 * A repeatable experiment on a running service, on loopback only. The long form is run by `npm run torture`; the tests
 * call the same functions with small numbers.
 */
export type Experiment = { name: string; long: (say: Say) => Promise<Finding[]> };

export const count = (n: number): string => n.toLocaleString('en');

/** A few of the faults, to be put behind their number. */
export const some = (faults: readonly string[]): string =>
  faults.length > 0 ? `: ${faults.slice(0, 3).join('; ')}` : '';
