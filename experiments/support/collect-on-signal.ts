import { isMainThread } from 'node:worker_threads';

/** Loaded into a served process with `--expose-gc`: on SIGUSR2 it collects garbage and prints how much is in use. */
if (isMainThread) {
  process.on('SIGUSR2', () => {
    globalThis.gc?.();
    const { heapUsed, external } = process.memoryUsage();
    process.stderr.write(`in use: ${heapUsed + external}\n`);
  });
}
