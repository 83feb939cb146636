import type { WorkerContext } from '../workers/context.ts';

/** Upper bounds of the buckets of a series, in seconds. */
export const bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** A histogram: count, total seconds, and the number of durations in each bucket; and when it was last added to, if that is noted. */
export type Series = { count: number; sum: number; buckets: number[]; last: number };

const rowsMax = 2_000;
const labelBytesMax = 191;
/** The label with its length in the first byte, then the values. */
const valuesAt = labelBytesMax + 1;
const lastAt = 2 + bounds.length;
const valuesMax = lastAt + 1;
const rowBytes = valuesAt + valuesMax * Float64Array.BYTES_PER_ELEMENT;
/** The number of rows of a worker, in the space of one row. */
const workerBytes = rowBytes * (rowsMax + 1);

type Values = Float64Array<SharedArrayBuffer>;

/** A series of one worker. */
export class Counter {
  readonly #values: Values;

  constructor(values: Values) {
    this.#values = values;
  }

  /** Counts several at once, without their times. */
  addMany(count: number): void {
    this.#values[0] = (this.#values[0] ?? 0) + count;
  }

  /** In milliseconds since the epoch. */
  noteLast(time: number): void {
    this.#values[lastAt] = time;
  }

  add(seconds = 0): void {
    const values = this.#values;
    values[0] = (values[0] ?? 0) + 1;
    values[1] = (values[1] ?? 0) + seconds;
    let index = 0;
    while (index < bounds.length && seconds > (bounds[index] ?? 0)) index += 1;
    if (index < bounds.length) values[index + 2] = (values[index + 2] ?? 0) + 1;
  }
}

/**
 * Series by label, in memory that all workers share. Each worker counts in its own rows, so no locks are needed. The rows
 * outlive a worker, so a series never decreases.
 */
export class SeriesTable {
  readonly #memory: SharedArrayBuffer;
  readonly #workers: number;
  readonly #worker: number;
  /** Counters of this worker by label: finding a row reads all of them. */
  readonly #counters = new Map<string, Counter>();

  static bytes = (workers: number): number => workers * workerBytes;

  constructor({ shared, worker }: WorkerContext) {
    this.#memory = shared.series;
    this.#workers = shared.workers;
    this.#worker = worker;
  }

  /** The series of a label in this worker. */
  counter(label: string): Counter {
    let counter = this.#counters.get(label);
    if (counter === undefined) {
      const existing = this.#rowsOf(this.#worker).find((row) => row.label === label);
      counter = new Counter(existing?.values ?? this.#addRow(label));
      this.#counters.set(label, counter);
    }
    return counter;
  }

  /** The series of all workers together, by label. */
  total(): Map<string, Series> {
    const total = new Map<string, Series>();
    for (let worker = 0; worker < this.#workers; worker += 1) {
      for (const { label, values } of this.#rowsOf(worker)) {
        const series = total.get(label) ?? { count: 0, sum: 0, buckets: bounds.map(() => 0), last: 0 };
        const [count = 0, sum = 0, ...buckets] = values;
        total.set(label, {
          count: series.count + count,
          sum: series.sum + sum,
          buckets: series.buckets.map((one, index) => one + (buckets[index] ?? 0)),
          last: Math.max(series.last, values[lastAt] ?? 0),
        });
      }
    }
    return total;
  }

  /** For each worker, the sum of its counts of all labels with this prefix. */
  countByWorker(prefix: string): number[] {
    return Array.from({ length: this.#workers }, (_, worker) =>
      this.#rowsOf(worker)
        .filter(({ label }) => label.startsWith(prefix))
        .reduce((sum, { values: [count = 0] }) => sum + count, 0),
    );
  }

  #rowsOf(worker: number): { label: string; values: Values }[] {
    const start = worker * workerBytes;
    const length = Atomics.load(new Int32Array(this.#memory, start, 1), 0);
    return Array.from({ length }, (_, row) => this.#rowAt(start + (row + 1) * rowBytes));
  }

  #rowAt(start: number): { label: string; values: Values } {
    const [length = 0] = new Uint8Array(this.#memory, start, 1);
    const label = Buffer.from(this.#memory, start + 1, length).toString();
    return { label, values: new Float64Array(this.#memory, start + valuesAt, valuesMax) };
  }

  /** If there are too many labels, the last row counts the rest. */
  #addRow(label: string): Values {
    const start = this.#worker * workerBytes;
    const rows = new Int32Array(this.#memory, start, 1);
    const row = Math.min((rows[0] ?? 0) + 1, rowsMax);
    const rowStart = start + row * rowBytes;
    if (row > (rows[0] ?? 0)) {
      const bytes = Buffer.from(label).subarray(0, labelBytesMax);
      new Uint8Array(this.#memory, rowStart).set([bytes.length, ...bytes]);
      // From now on other workers read the row.
      Atomics.store(rows, 0, row);
    }
    return this.#rowAt(rowStart).values;
  }
}

export type Labels = Record<string, string | number>;
/** A line of the metrics. */
export type Sample = { labels: Labels; value: number; metricName?: string };

export function histogram(name: string, labels: Labels, { sum, count, buckets }: Series): Sample[] {
  let below = 0;
  return [
    ...bounds.map((le, index) => ({
      metricName: `${name}_bucket`,
      labels: { le, ...labels },
      value: (below += buckets[index] ?? 0),
    })),
    { metricName: `${name}_bucket`, labels: { le: '+Inf', ...labels }, value: count },
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
