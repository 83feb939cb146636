import type { Traffic as TrafficReport } from '../../contract/admin.ts';

const slotMillis = 10_000;
/** The intervals of an hour, and the current one. */
const slotsMax = 361;
/** Duration buckets: four per doubling, from 50 µs to a minute. Durations outside that range are in the first or last bucket. */
const perOctave = 4;
const secondsMin = 50e-6;
const secondsMax = 60;
const bucketsMax = Math.ceil(perOctave * Math.log2(secondsMax / secondsMin)) + 1;

/** `index` counts intervals since the epoch. */
type Slot = { index: number; requests: number; client_errors: number; server_errors: number; buckets: Uint32Array };

/** The requests of the last hour in short intervals: a ring buffer, which needs no timer and never grows. */
export class Traffic {
  readonly #clock: () => number;
  readonly #slots: Slot[] = Array.from({ length: slotsMax }, () => emptySlot(-1));

  /** `clock` returns milliseconds since the epoch. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** `seconds` is undefined for a request that the gate rejected. */
  add(status: number, seconds: number | undefined): void {
    const index = Math.floor(this.#clock() / slotMillis);
    const position = index % slotsMax;
    let slot = this.#slots[position] as Slot;
    if (slot.index !== index) {
      slot = emptySlot(index);
      this.#slots[position] = slot;
    }
    slot.requests += 1;
    if (status >= 500) slot.server_errors += 1;
    else if (status >= 400) slot.client_errors += 1;
    if (seconds === undefined) return;
    const bucket = bucketOf(seconds);
    slot.buckets[bucket] = (slot.buckets[bucket] as number) + 1;
  }

  /** The complete intervals of the last hour, oldest first. */
  lastHour(): TrafficReport {
    const now = Math.floor(this.#clock() / slotMillis);
    const data: TrafficReport['data'] = [];
    for (let index = now - slotsMax + 1; index < now; index += 1) {
      const slot = this.#slots[index % slotsMax] as Slot;
      const { requests, client_errors, server_errors, buckets } = slot.index === index ? slot : emptySlot(index);
      const at = (index * slotMillis) / 1000;
      const [p50, p90, p99] = [0.5, 0.9, 0.99].map((share) => percentile(buckets, share)) as (number | null)[];
      data.push({ at, requests, client_errors, server_errors, p50: p50 ?? null, p90: p90 ?? null, p99: p99 ?? null });
    }
    return { interval_seconds: slotMillis / 1000, data };
  }
}

function emptySlot(index: number): Slot {
  return { index, requests: 0, client_errors: 0, server_errors: 0, buckets: new Uint32Array(bucketsMax) };
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
