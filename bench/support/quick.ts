/** `--quick` tries everything with little data and short rounds. Its figures mean nothing. Child processes inherit it. */
if (process.argv.includes('--quick')) process.env.BENCH_QUICK = '1';

const isQuick = process.env.BENCH_QUICK === '1';

/** The first value for a measurement, the second one for a trial. */
export const fullOr = <T>(full: T, quick: T): T => (isQuick ? quick : full);
