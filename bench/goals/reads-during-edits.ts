import { setTimeout as sleep } from 'node:timers/promises';
import { embeddedDatabase, shape } from '../support/embedded.ts';
import { compare, median, quantile } from '../support/pairs.ts';
import { connections, randomPages, rateOf } from '../support/reads.ts';
import type { Bench, Result } from '../support/result.ts';
import { startHelper, startOurs } from '../support/servers.ts';
import { sendAtRate } from '../support/steady-load.ts';

const seconds = 2.5;
/** The clients that edit start before the measurement and end after it. */
const marginSeconds = 0.25;

/** Goals 9 and 19: edits must not slow down reads. */
export async function measureReadsDuringEdits(bench: Bench): Promise<Result[]> {
  const results: Result[] = [];
  if (bench.isSelected(9)) results.push(await measureWith(1, 9, bench));
  if (bench.isSelected(19)) results.push(await measureWith(2, 19, bench));
  return results;
}

async function measureWith(workers: number, goal: number, bench: Bench): Promise<Result> {
  const { folder, pairs, log } = bench;
  const ours = await startOurs(folder, await embeddedDatabase(bench), { WORKERS: `${workers}` });
  const clients = startHelper('support/edit-load.ts', `${ours.port}`);
  const next = randomPages(shape);

  log('measuring the read capacity');
  await rateOf(ours, next, { seconds: 4 });
  const capacity = (await rateOf(ours, next, { seconds: 3 })).perSecond;
  const perSecond = capacity / 5;
  const edits: number[] = [];

  const read = async () => {
    const millis = await sendAtRate({ port: ours.port, next, connections, seconds, perSecond });
    return quantile(millis, 0.99);
  };
  const readDuringEdits = async () => {
    const editing = clients.request<{ perSecond: number }>({ seconds: seconds + 2 * marginSeconds });
    await sleep(marginSeconds * 1000);
    const slowest = await read();
    edits.push((await editing).perSecond);
    return slowest;
  };

  log(`reading ${Math.round(perSecond)} pages/s, with and without 64 clients that edit`);
  await readDuringEdits();
  const measurements = await compare(readDuringEdits, read, pairs);
  await clients.stop();
  await ours.stop();
  const suffix = workers > 1 ? `, ${workers} workers` : '';
  return {
    ...measurements,
    goal,
    what: `99th percentile of GET /messages at a fifth of its capacity, while 64 clients PATCH${suffix}`,
    against: 'GET /messages without PATCH',
    unit: 'ms',
    target: { max: 2 },
    notes: { 'pages/s read': perSecond, 'concurrent edits/s': median(edits) },
  };
}
