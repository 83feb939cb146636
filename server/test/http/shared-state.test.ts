import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { SeriesTable } from '../../src/http/observe/series-table.ts';
import { UnstoredDoubts } from '../../src/http/upstream/unstored-doubts.ts';
import { SharedSum } from '../../src/http/workers/shared-sum.ts';
import { SlowReaders } from '../../src/http/workers/slow-readers.ts';
import { WindowCounter } from '../../src/http/workers/window-counter.ts';
import { shortOrLong } from '../support/long.ts';
import { until } from '../support/until.ts';
import { newWorkers } from '../support/workers/state.ts';

/** Runs the code in several threads at the same time, with `memory` and `worker`, and returns what it posts. */
async function inThreads<T>(threads: number, memory: SharedArrayBuffer, module: string, code: string): Promise<T[]> {
  const file = JSON.stringify(new URL(`../../src/http/${module}`, import.meta.url).href);
  const text = `
    const { parentPort, workerData: { memory, worker, start } } = require('node:worker_threads');
    import(${file}).then((module) => {
      Atomics.add(start, 0, 1);
      // All threads begin when the last one has loaded.
      while (Atomics.load(start, 0) < ${threads});
      parentPort.postMessage((() => { ${code} })());
    });`;
  const start = new Int32Array(new SharedArrayBuffer(4));
  return Promise.all(
    Array.from({ length: threads }, async (_, worker) => {
      const thread = new Worker(text, { eval: true, workerData: { memory, worker, start } });
      const [result] = await once(thread, 'message');
      return result as T;
    }),
  );
}

it('a window counter gives each hit of several threads its own number', async () => {
  const hits = shortOrLong(2_000, 20_000);
  const counts = await inThreads<number[]>(
    2,
    WindowCounter.create(),
    'workers/window-counter.ts',
    `const counter = new module.WindowCounter(memory, 1000);
     return Array.from({ length: ${hits} }, (_, index) => counter.hit('key' + (index % 2), 5).count);`,
  );
  const numbers = counts.flat().sort((one, other) => one - other);
  assert.deepEqual(
    numbers,
    Array.from({ length: 2 * hits }, (_, index) => Math.floor(index / 2) + 1),
  );
});

it('a window counter forgets the window that ends first when a bucket is full, and no other', () => {
  const counter = new WindowCounter(WindowCounter.create(), 1_000_000);
  const keys = Array.from({ length: 100_000 }, (_, index) => `address ${index}`);
  for (const [index, key] of keys.entries()) counter.hit(key, index);
  const forgotten = keys.filter((key) => counter.get(key, keys.length).count === 0);
  assert.ok(forgotten.length < 200, `${forgotten.length} of ${keys.length}`);
  assert.ok(keys.slice(-1_000).every((key) => counter.get(key, keys.length).count === 1));
});

it('a shared sum never exceeds its limit, and loses the part of a worker that is replaced', async () => {
  const memory = new SharedArrayBuffer(SharedSum.bytes(2));
  const entered = await inThreads<number>(
    2,
    memory,
    'workers/shared-sum.ts',
    `const sum = new module.SharedSum(memory, worker);
     let entered = 0;
     for (let tries = 0; tries < ${shortOrLong(30_000, 1_000_000)}; tries += 1) if (sum.tryIncrement(1000)) entered += 1;
     return entered;`,
  );
  assert.equal((entered[0] ?? 0) + (entered[1] ?? 0), 1000);
  const replaced = new SharedSum(memory, 0);
  assert.equal(replaced.total, entered[1]);
});

it('a series outlives its worker, and more labels than rows are counted with the last', () => {
  const { contexts, replace } = newWorkers(2);
  const [first, second] = contexts.map((context) => new SeriesTable(context)) as [SeriesTable, SeriesTable];
  first.counter('a').add(0.002);
  second.counter('a').add(20);
  const replaced = new SeriesTable(replace(0));
  replaced.counter('a').add(0.002);
  const { count, sum, buckets } = second.total().get('a') ?? assert.fail();
  assert.deepEqual([count, sum], [3, 20.004]);
  assert.deepEqual(buckets.slice(0, 4), [0, 0, 2, 0]);
  assert.deepEqual(second.countByWorker(''), [2, 1]);
  for (let index = 0; index < 2_100; index += 1) first.counter(`label ${index}`).add();
  assert.equal(
    [...second.total().values()].reduce((total, series) => total + series.count, 0),
    2_103,
  );
});

it('unread responses are bounded over all workers: the one that ended first is aborted, whichever worker has it', async () => {
  const { contexts } = newWorkers(3);
  const [first, second, third] = contexts.map((context) => new SlowReaders(100, context)) as [
    SlowReaders,
    SlowReaders,
    SlowReaders,
  ];
  const add = (readers: SlowReaders, unread: number) => {
    const response = { socket: { writableLength: unread }, isDestroyed: false, destroy: () => undefined };
    response.destroy = () => {
      response.isDestroyed = true;
      return undefined;
    };
    readers.add(response as unknown as ServerResponse);
    return response;
  };
  const oldest = add(first, 50);
  const next = add(second, 40);
  const last = add(third, 10);
  assert.deepEqual(
    [oldest, next, last].map(({ isDestroyed }) => isDestroyed),
    [false, false, false],
  );
  const added = add(third, 55);
  await until(() => oldest.isDestroyed && next.isDestroyed);
  assert.deepEqual([last.isDestroyed, added.isDestroyed], [false, false]);
  for (const { peers } of contexts) peers.close();
});

it('a doubt that one worker has not stored yet is known to all, and gone with its worker', () => {
  const memory = new SharedArrayBuffer(UnstoredDoubts.bytes(2));
  const workers = [0, 1].map((worker) => new UnstoredDoubts(memory, worker));
  const [app, other] = ['2b1c7a0e-54b5-4e0c-9d6c-0d5a3f6f0A0b', '2b1c7a0e-54b5-4e0c-9d6c-0d5a3f6f0a0c'];
  for (const worker of workers) worker.add(app, 1);
  workers[0]?.add('', 1);
  assert.ok(workers.every((worker) => worker.has(app.toLowerCase()) && worker.has('') && !worker.has(other)));
  workers[1]?.add(app, -1);
  assert.ok(workers[1]?.has(app));
  new UnstoredDoubts(memory, 0);
  assert.ok(!workers[1]?.has(app) && !workers[1]?.has(''));
});
