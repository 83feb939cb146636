import type { Traffic as TrafficReport } from '../../contract/console/traffic.ts';
import type { WorkerContext } from '../workers/context.ts';

const slotMillis = 10_000;
/** The intervals of an hour, and the current one. */
const slotsMax = 361;
/** Duration buckets: four per doubling, from 50 µs to a minute. Durations outside that range are in the first or last bucket. */
const perOctave = 4;
const secondsMin = 50e-6;
const secondsMax = 60;
const bucketsMax = Math.ceil(perOctave * Math.log2(secondsMax / secondsMin)) + 1;

/** The numbers of a slot: its interval, counted since the epoch, requests, client errors, server errors, then the buckets. */
const bucketsAt = 4;
const slotNumbers = bucketsAt + bucketsMax;
const workerNumbers = slotsMax * slotNumbers;

type Interval = { requests: number; client_errors: number; server_errors: number; buckets: Uint32Array };

/**
 * The requests of the last hour in short intervals: ring buffers, which need no timer and never grow. They are in memory that
 * all workers share. Each worker writes its own.
 */
export class Traffic {
  readonly #clock: () => number;
  readonly #workers: number;
  readonly #numbers: Uint32Array<SharedArrayBuffer>;
  readonly #start: number;

  static bytes = (workers: number): number => workers * workerNumbers * Uint32Array.BYTES_PER_ELEMENT;

  /** `clock` returns milliseconds since the epoch. */
  constructor(clock: () => number, { shared, worker }: WorkerContext) {
    this.#clock = clock;
    this.#workers = shared.workers;
    this.#numbers = new Uint32Array(shared.traffic);
    this.#start = worker * workerNumbers;
  }

  /** `seconds` is undefined for a request that the gate rejected. */
  add(status: number, seconds: number | undefined): void {
    const index = Math.floor(this.#clock() / slotMillis);
    const slot = this.#start + (index % slotsMax) * slotNumbers;
    if (this.#numbers[slot] !== index) {
      this.#numbers.fill(0, slot, slot + slotNumbers);
      this.#numbers[slot] = index;
    }
    this.#increment(slot + 1);
    if (status >= 500) this.#increment(slot + 3);
    else if (status >= 400) this.#increment(slot + 2);
    if (seconds !== undefined) this.#increment(slot + bucketsAt + bucketOf(seconds));
  }

  #increment(at: number): void {
    this.#numbers[at] = (this.#numbers[at] ?? 0) + 1;
  }

  /** The complete intervals of the last hour, oldest first. */
  lastHour(): Pick<TrafficReport, 'interval_seconds' | 'data'> {
    const now = Math.floor(this.#clock() / slotMillis);
    const data: TrafficReport['data'] = [];
    for (let index = now - slotsMax + 1; index < now; index += 1) {
      const { requests, client_errors, server_errors, buckets } = this.#interval(index);
      const at = (index * slotMillis) / 1000;
      const [p50, p90, p99] = [0.5, 0.9, 0.99].map((share) => percentile(buckets, share)) as (number | null)[];
      data.push({ at, requests, client_errors, server_errors, p50: p50 ?? null, p90: p90 ?? null, p99: p99 ?? null });
    }
    return { interval_seconds: slotMillis / 1000, data };
  }

  /** One interval of all workers together. */
  #interval(index: number): Interval {
    const total = new Uint32Array(slotNumbers);
    for (let worker = 0; worker < this.#workers; worker += 1) {
      const slot = worker * workerNumbers + (index % slotsMax) * slotNumbers;
      if (this.#numbers[slot] !== index) continue;
      for (let at = 1; at < slotNumbers; at += 1) {
        total[at] = (total[at] ?? 0) + (this.#numbers[slot + at] ?? 0);
      }
    }
    const [, requests = 0, client_errors = 0, server_errors = 0] = total;
    return { requests, client_errors, server_errors, buckets: total.subarray(bucketsAt) };
  }
}

function bucketOf(seconds: number): number {
  if (!(seconds > secondsMin)) return 0;
  return Math.min(Math.ceil(perOctave * Math.log2(seconds / secondsMin)), bucketsMax - 1);
}

/** In milliseconds: the middle of the bucket, with an error of at most a tenth. */
function percentile(buckets: Uint32Array, share: number): number | null {
  const count = buckets.reduce((sum, one) => sum + one, 0);
  if (count === 0) return null;
  const rank = Math.ceil(count * share);
  let below = 0;
  const bucket = buckets.findIndex((one) => (below += one) >= rank);
  return Number((1000 * secondsMin * 2 ** ((bucket - 0.5) / perOctave)).toPrecision(3));
}
