import { setTimeout as sleep } from 'node:timers/promises';
import { embeddedDatabase, shape } from './embedded.ts';
import { paced } from './paced.ts';
import { compare, median, quantile } from './pairs.ts';
import { anyPage, connections, rateOf } from './reads.ts';
import type { Bench, Result } from './result.ts';
import { startHelper, startOurs } from './servers.ts';

const seconds = 2.5;
/** Clients that edit start before the clock does and end after it. */
const marginSeconds = 0.25;

/** Goal 9: whoever reads must not notice those who edit. */
export async function measureBesideEdits(bench: Bench): Promise<Result[]> {
  const { folder, pairs, say } = bench;
  const ours = await startOurs(folder, await embeddedDatabase(bench));
  const clients = startHelper('edit-load.ts', `${ours.port}`);
  const next = anyPage(shape);

  say('how many pages it can read');
  await rateOf(ours, next, 200, 4);
  const capacity = (await rateOf(ours, next, 200, 3)).perSecond;
  const perSecond = capacity / 5;
  const edits: number[] = [];

  const read = async () => {
    const millis = await paced({ port: ours.port, next, connections, seconds, perSecond });
    return quantile(millis, 0.99);
  };
  const readBeside = async () => {
    const editing = clients.ask<{ perSecond: number }>({ seconds: seconds + 2 * marginSeconds });
    await sleep(marginSeconds * 1000);
    const slowest = await read();
    edits.push((await editing).perSecond);
    return slowest;
  };

  say(`reading ${Math.round(perSecond)} pages/s, with and without 64 clients that edit`);
  await readBeside();
  const figures = await compare(readBeside, read, pairs);
  await clients.stop();
  await ours.stop();
  return [
    {
      ...figures,
      goal: 9,
      what: '99th percentile of GET /messages at a fifth of its capacity, while 64 clients PATCH',
      against: 'the same without PATCH',
      unit: 'ms',
      aim: { max: 2 },
      notes: { 'pages/s read': perSecond, 'edits/s beside them': median(edits) },
    },
  ];
}
