import { appendFileSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { after, before, suite } from 'node:test';
import { killChildren, processorSeconds } from './processes.ts';

/** Of the tests of one file: seconds that passed, and of processor time with ended child processes. */
export type FileTime = { name: string; wall: number; processor: number };

/** Far more than what is left after the last test takes to end by itself. */
const endMillisMax = 30_000;

/**
 * A process or a connection that a failed test has left would keep this process running until its time limit. Child processes
 * are killed, and if that is not enough, this one says what is left and ends.
 */
function endInTime(): void {
  killChildren();
  setTimeout(() => {
    console.error(`left after the tests: ${process.getActiveResourcesInfo().join(', ')}`);
    process.exit(1);
  }, endMillisMax).unref();
}

/** Runs test files in this process, one after another, each as a suite, and adds the times of each to TEST_TIMES. */
export function runGroup(files: { name: string; url: string }[]): void {
  after(endInTime);
  for (const { name, url } of files)
    suite(name, async () => {
      let processor = 0;
      let start = 0;
      before(() => {
        processor = processorSeconds();
        start = performance.now();
      });
      after(() => {
        // For processes and threads that start before this process ends.
        flushCompileCache();
        const wall = (performance.now() - start) / 1000;
        const time: FileTime = { name, wall, processor: processorSeconds() - processor };
        appendFileSync(process.env.TEST_TIMES ?? '', `${JSON.stringify(time)}\n`);
      });
      await import(url);
    });
}
