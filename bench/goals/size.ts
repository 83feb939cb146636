import { join } from 'node:path';
import { chat, importLines, type Shape } from '../support/data.ts';
import { latencyOf } from '../support/latency.ts';
import { Client } from '../support/load.ts';
import { comparisonOf, interleave, pointsOf } from '../support/pairs.ts';
import { pageRequest, randomCursor } from '../support/reads.ts';
import type { Bench, Result } from '../support/result.ts';
import { startOurs } from '../support/servers.ts';

const messages = 50;
const requests = 300;

/** Goal 7: the size of the database must not matter. */
export async function measureSize({ folder, pairs, large, log }: Bench): Promise<Result[]> {
  const sizes = large ? [50_000, 500_000, 5_000_000] : [50_000, 500_000];
  const shapeOf = (size: number): Shape => ({ conversations: size / messages, messages, bytes: 100 });
  const databaseOf = (size: number) => `sqlite:${join(folder, `size-${size}.db`)}`;
  for (const size of sizes) {
    log(`importing ${size} messages`);
    await importLines(databaseOf(size), chat(shapeOf(size)));
  }
  const measures: (() => Promise<number>)[] = [];
  for (const size of sizes) {
    const client = await Client.open((await startOurs(folder, databaseOf(size))).port);
    const randomRequest = () => pageRequest(...randomCursor(shapeOf(size)));
    measures.push(() => latencyOf(client, Array.from({ length: requests }, randomRequest)));
  }
  log('warming up');
  await interleave(measures, 4);
  log(`pages of databases of ${sizes.join(', ')} messages`);
  const measurements = await interleave(measures, pairs);
  return [
    {
      ...comparisonOf(measurements.at(-1) ?? [], measurements[0] ?? []),
      goal: 7,
      what: `any page of a database of ${sizes.at(-1)?.toLocaleString('en')} messages, one request at a time`,
      against: 'any page of a database of 50,000',
      unit: 'µs',
      target: { max: 1.3 },
      series: { name: 'size', lines: [{ points: pointsOf(sizes, measurements) }] },
      ...(!large && { substitute: 'the goal is for 5,000,000 messages: use --large' }),
    },
  ];
}
