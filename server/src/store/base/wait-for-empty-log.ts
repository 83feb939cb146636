import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../../contract/limits.ts';
import { unavailable } from '../../domain/errors.ts';
import type { Engine } from './engine.ts';

/** Other writes pass in this time. */
const pauseMillis = 500;

/** Empties the log of the embedded file, which has copies of what was deleted, as soon as no one else reads it. */
export async function waitForEmptyLog(engine: Engine): Promise<void> {
  const deadline = performance.now() + limits.fileReadersMillisMax;
  while (!(await engine.write('emptyLog', undefined, { waitForever: true }))) {
    if (performance.now() > deadline) {
      throw unavailable('erased, but the file may have copies, since something is reading it: try again');
    }
    await sleep(pauseMillis);
  }
}
