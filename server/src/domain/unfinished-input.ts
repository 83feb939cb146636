import { limits } from '../contract/limits.ts';
import { unavailable } from './errors.ts';

/** Of all inputs of a thread together, beyond which only small ones are accepted. */
export const unfinishedBytesMax = 134_217_728;

/** Bytes of all unfinished inputs of this thread. */
let total = 0;

/** What has arrived of a body or a line. Clients can begin any number of them, and stop. */
export class UnfinishedInput {
  bytes = 0;

  /** Throws if that is too much for all of them together, unless this one is small. */
  add(count: number): void {
    this.bytes += count;
    total += count;
    if (this.bytes > limits.joinedDocBytesMax && total > unfinishedBytesMax)
      throw unavailable('too many large requests are arriving at the same time');
  }

  clear(): void {
    total -= this.bytes;
    this.bytes = 0;
  }
}
