import { type AsyncHook, createHook } from 'node:async_hooks';
import { appendFileSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { after, before, suite } from 'node:test';
import { processorSeconds } from './processor-time.ts';

/** Of the tests of one file: seconds that passed, and of processor time with ended child processes. */
export type FileTime = { name: string; wall: number; processor: number };

/** The hooks of the test runner, which enables them when the first suite is declared. */
const hooks = new Set<AsyncHook>();
const prototype: AsyncHook = Object.getPrototypeOf(createHook({}));
const { enable } = prototype;
prototype.enable = function () {
  hooks.add(this);
  return enable.call(this);
};
let filesToLoad = 0;

/**
 * The test runner follows every asynchronous operation, to know the suite of a test that is declared and the test of an error
 * that nothing awaits. This takes an eighth of the processor time, so it ends when all tests are declared: then such an error
 * fails the process of the group instead of its test.
 */
function stopFollowing(): void {
  filesToLoad -= 1;
  if (filesToLoad === 0) for (const hook of hooks) hook.disable();
}

/** Runs test files in this process, one after another, each as a suite, and adds the times of each to TEST_TIMES. */
export function runGroup(files: { name: string; url: string }[]): void {
  filesToLoad = files.length;
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
      await import(url).finally(stopFollowing);
    });
}
