import type { ServerResponse } from 'node:http';
import type { WorkerContext } from './context.ts';
import type { Peers } from './peers.ts';
import { SharedSum } from './shared-sum.ts';

/** `endedAt` is when the response ended; `bytes` were unsent when it was last measured. */
type UnreadResponse = { endedAt: number; bytes: number };

/**
 * Complete responses that clients have not read yet. Their memory is bounded over all workers: beyond the limit those that
 * ended first are aborted. The worker that has them does that, so each worker publishes when its oldest response ended.
 */
export class SlowReaders {
  readonly #bytesMax: number;
  readonly #peers: Peers;
  readonly #worker: number;
  /** In the order in which they ended. */
  readonly #responses = new Map<ServerResponse, UnreadResponse>();
  readonly #bytes: SharedSum;
  /** Of each worker: when its oldest unread response ended, or 0. */
  readonly #oldest: Float64Array<SharedArrayBuffer>;

  static bytes = (workers: number): number => SharedSum.bytes(workers) + workers * Float64Array.BYTES_PER_ELEMENT;

  constructor(bytesMax: number, { shared, worker, peers }: WorkerContext) {
    this.#bytesMax = bytesMax;
    this.#peers = peers;
    this.#worker = worker;
    this.#bytes = new SharedSum(shared.slowReaders, worker);
    this.#oldest = new Float64Array(shared.slowReaders, SharedSum.bytes(shared.workers), shared.workers);
    this.#oldest[worker] = 0;
    peers.on('shed', () => this.#shed());
  }

  /** Adds a response that has just ended. Usually the operating system has already taken all of it. */
  add(response: ServerResponse): void {
    if (!response.socket?.writableLength) return;
    this.#responses.set(response, { endedAt: performance.timeOrigin + performance.now(), bytes: 0 });
    this.#measure(response);
    this.#publishOldest();
    if (this.#isOver()) this.#shed(response);
  }

  delete(response: ServerResponse): void {
    const unread = this.#responses.get(response);
    if (unread === undefined) return;
    this.#bytes.add(-unread.bytes);
    this.#responses.delete(response);
    this.#publishOldest();
  }

  /**
   * Aborts responses of this worker while they are the oldest of all workers and the limit is exceeded, but not the one that
   * was just added. If the next one to abort belongs to another worker, that worker is notified.
   */
  #shed(added?: ServerResponse): void {
    for (const one of this.#responses.keys()) this.#measure(one);
    let aborted = 0;
    for (const slowest of this.#responses.keys()) {
      if (!this.#isOver() || slowest === added || !this.#isOldest()) break;
      this.delete(slowest);
      slowest.destroy();
      aborted += 1;
    }
    if (this.#isOver() && !this.#isOldest() && (added !== undefined || aborted > 0)) this.#peers.call('shed');
  }

  #isOver(): boolean {
    return this.#bytes.total > this.#bytesMax;
  }

  #isOldest(): boolean {
    const own = this.#oldest[this.#worker] ?? 0;
    return own > 0 && this.#oldest.every((other) => other === 0 || own <= other);
  }

  #publishOldest(): void {
    const [oldest] = this.#responses.values();
    this.#oldest[this.#worker] = oldest?.endedAt ?? 0;
  }

  #measure(response: ServerResponse): void {
    const unread = this.#responses.get(response);
    if (unread === undefined) return;
    const bytes = response.socket?.writableLength ?? 0;
    this.#bytes.add(bytes - unread.bytes);
    unread.bytes = bytes;
  }
}
