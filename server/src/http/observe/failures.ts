import type { WorkerContext } from '../workers/context.ts';

/** A failure is listed for an hour. If there is none of its kind for an hour, its count starts again. */
const recentMillis = 3_600_000;
const rowsMax = 200;
/** A row: its version, the times of the first and the last failure and their number, and a JSON text with its length before it. */
const numbersAt = 8;
const textAt = numbersAt + 3 * Float64Array.BYTES_PER_ELEMENT;
const rowBytes = 1_024;
const textBytesMax = rowBytes - textAt - 2;
const workerBytes = rowsMax * rowBytes;

/** A failed request: the status of the response, the request, and its key, if it was known. */
export type Failure = { status: number; method: string; route: string; key_id: string | null };
/** Of the last failure: its `X-Request-Id`, error code and message. */
export type LastFailure = { request_id: string; code: string | null; message: string };
/** Times are in milliseconds. */
export type FailureCount = Failure & LastFailure & { count: number; first: number; last: number };

const groupKeyOf = ({ status, method, route, key_id }: Failure): string =>
  `${status} ${method} ${route} ${key_id ?? ''}`;

/**
 * Counts recent responses with a status of 400 or above, in memory that all workers share. Each worker writes its own rows:
 * a new kind of failure replaces the one that is oldest. A version that is odd while a row is written, and different after it,
 * lets other workers notice that they read a row during a write.
 */
export class Failures {
  readonly #clock: () => number;
  readonly #memory: SharedArrayBuffer;
  readonly #workers: number;
  readonly #start: number;
  /** The rows of this worker by what failed, the latest last. */
  readonly #rows = new Map<string, number>();

  static bytes = (workers: number): number => workers * workerBytes;

  /** `clock` returns milliseconds since the epoch. */
  constructor(clock: () => number, { shared, worker }: WorkerContext) {
    this.#clock = clock;
    this.#memory = shared.failures;
    this.#workers = shared.workers;
    this.#start = worker * workerBytes;
  }

  add(failure: Failure, lastFailure: LastFailure, times = 1): void {
    const key = groupKeyOf(failure);
    const row = this.#rows.get(key) ?? this.#freeRow();
    const isKnown = this.#rows.delete(key);
    this.#rows.set(key, row);
    const start = this.#start + row * rowBytes;
    const numbers = new Float64Array(this.#memory, start + numbersAt, 3);
    const [first = 0, last = 0, count = 0] = isKnown ? numbers : [];
    const now = this.#clock();
    const isRecent = Math.abs(now - last) < recentMillis;
    const version = new Int32Array(this.#memory, start, 1);
    // Odd, also if a worker that died has left it odd.
    const odd = (Atomics.load(version, 0) + 1) | 1;
    Atomics.store(version, 0, odd);
    numbers.set(isRecent ? [first, now, count + times] : [now, now, times]);
    this.#writeText(start + textAt, { ...failure, ...lastFailure });
    Atomics.store(version, 0, odd + 1);
  }

  /** A row that was not used yet, or else the one whose last failure is the oldest. */
  #freeRow(): number {
    if (this.#rows.size < rowsMax) return this.#rows.size;
    const [[key, row]] = this.#rows as unknown as [[string, number]];
    this.#rows.delete(key);
    return row;
  }

  /** The id of a key may be long: it is left out then. */
  #writeText(at: number, failure: Failure & LastFailure): void {
    const json = Buffer.from(JSON.stringify(failure));
    const bytes = json.length <= textBytesMax ? json : Buffer.from(JSON.stringify({ ...failure, key_id: null }));
    new DataView(this.#memory).setUint16(at, bytes.length);
    new Uint8Array(this.#memory, at + 2).set(bytes);
  }

  /** The failures of the last hour of all workers together, the latest first. */
  recent(): FailureCount[] {
    const now = this.#clock();
    const total = new Map<string, FailureCount>();
    for (let row = 0; row < this.#workers * rowsMax; row += 1) {
      const one = this.#read(row * rowBytes);
      if (one === undefined || Math.abs(now - one.last) >= recentMillis) continue;
      const other = total.get(groupKeyOf(one)) ?? { ...one, count: 0 };
      const latest = other.last > one.last ? other : one;
      const count = one.count + other.count;
      total.set(groupKeyOf(one), { ...latest, count, first: Math.min(one.first, other.first) });
    }
    return [...total.values()].sort((one, other) => other.last - one.last);
  }

  /** Undefined if the row is empty or is being written. */
  #read(start: number): FailureCount | undefined {
    const version = new Int32Array(this.#memory, start, 1);
    const before = Atomics.load(version, 0);
    if (before === 0 || before % 2 !== 0) return undefined;
    const [first = 0, last = 0, count = 0] = new Float64Array(this.#memory, start + numbersAt, 3);
    const length = new DataView(this.#memory).getUint16(start + textAt);
    const text = Buffer.from(new Uint8Array(this.#memory, start + textAt + 2, length)).toString();
    return Atomics.load(version, 0) === before ? { ...JSON.parse(text), first, last, count } : undefined;
  }
}
