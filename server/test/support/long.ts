import { describe, it, type TestContext } from 'node:test';

/** Whether everything is tested, however long it takes: `npm run test:all`. */
export const isLong = Boolean(process.env.TEST_LONG);

/** A size of an experiment, or a number of runs: `npm test` takes the short one, `npm run test:all` the long one. */
export const shortOrLong = (short: number, long: number): number => (isLong ? long : short);

/** The first variants of a promise in `npm test`, all of them in `npm run test:all`. */
export const firstOrAll = <T>(all: readonly T[], short = 1): readonly T[] => (isLong ? all : all.slice(0, short));

/** A test of `npm run test:all`. In `npm test` it does not exist, so it does not count as skipped. */
export function itLong(name: string, test: (t: TestContext) => void | Promise<void>): void {
  if (isLong) it(name, test);
}

/** A suite of such tests. */
export function describeLong(name: string, tests: () => void): void {
  if (isLong) describe(name, tests);
}
