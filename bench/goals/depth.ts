import { join } from 'node:path';
import { appendRequest, chat, importLines, type Shape } from '../support/data.ts';
import { latencyOf } from '../support/latency.ts';
import { type Client, withClients } from '../support/load.ts';
import { comparisonOf, interleave, median, pointsOf } from '../support/pairs.ts';
import { pageRequest } from '../support/reads.ts';
import type { Bench, Result } from '../support/result.ts';
import { startOurs } from '../support/servers.ts';

const depths = [10, 100, 1_000, 10_000, 100_000, 1_000_000];
const [shallow, deep] = [depths.indexOf(100), depths.indexOf(1_000_000)];
const shape: Shape = { conversations: 1, messages: 1_000_200, bytes: 100 };
/** Adjacent pages read at one depth before the conversation changes. */
const adjacentPages = 20;
const visits = 10;

/** Goal 6: the depth of a page in its conversation must not matter. */
export async function measureDepth({ folder, pairs, log }: Bench): Promise<Result[]> {
  log(`importing one conversation of ${shape.messages} messages`);
  const database = `sqlite:${join(folder, 'depth.db')}`;
  await importLines(database, chat(shape));
  const ours = await startOurs(folder, database);
  const measurements = await withClients(ours.port, 1, async ([client]) => {
    const at = (depth: number) => () => timeAt(client as Client, depth);
    log('warming up');
    await interleave(depths.map(at), 2);
    log(`pages at depths from ${depths[0]} to ${depths.at(-1)}`);
    return interleave(depths.map(at), pairs);
  });
  await ours.stop();
  return [
    {
      ...comparisonOf(measurements[deep] ?? [], measurements[shallow] ?? []),
      goal: 6,
      what: 'page at depth 1,000,000 of one conversation, one request at a time',
      against: 'page at depth 100',
      unit: 'µs',
      target: { max: 1.2 },
      series: { name: 'depth', lines: [{ points: pointsOf(depths, measurements) }] },
    },
  ];
}

let appended = 0;

/**
 * Reads adjacent pages, each once. A message is added first, which gives the conversation a new version and so
 * invalidates its cached pages.
 */
async function timeAt(client: Client, depth: number): Promise<number> {
  const micros: number[] = [];
  for (let visit = 0; visit < visits; visit += 1) {
    const { status } = await client.request(appendRequest(0, shape.messages + (appended += 1)));
    if (status !== 200) throw new Error(`an append returned ${status}`);
    const newest = shape.messages - depth;
    const requests = Array.from({ length: adjacentPages }, (_, at) => pageRequest(0, newest - at));
    micros.push(await latencyOf(client, requests));
  }
  return median(micros);
}
