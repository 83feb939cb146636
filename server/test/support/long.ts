/** Whether everything is tested, however long it takes: `npm run test:all`. */
export const isLong = Boolean(process.env.TEST_LONG);

/** A size of an experiment, or a number of runs: `npm test` takes the short one, `npm run test:all` the long one. */
export const shortOrLong = (short: number, long: number): number => (isLong ? long : short);
