import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { chat, importLines, type Shape } from '../support/data.ts';
import { type Bench, group } from '../support/goal.ts';
import { withClients } from '../support/load.ts';
import { compare, median } from '../support/pairs.ts';
import { fullOr } from '../support/quick.ts';
import { latencyOf, pageRequest, randomCursor } from '../support/reads.ts';
import { startOurs } from '../support/servers.ts';

const requests = fullOr(300, 20);
const warmRounds = 4;
const [small, large] = [50_000, fullOr(5_000_000, 100_000)];
/** The search is another goal. */
const env = { SEARCH: 'off' };

const shapeOf = (messages: number): Shape => ({ conversations: messages / 50, messages: 50, bytes: 100 });
const databaseOf = ({ folder }: Bench, messages: number) => `sqlite:${join(folder, `size-${messages}.db`)}`;

export const size = group({
  goals: {
    pages: {
      what: 'any page among five million messages, one request at a time',
      against: 'any page among fifty thousand',
      why: 'a page reads as many rows at any size; a hundredfold file no longer fits the processor’s caches',
      target: { max: 1.3 },
    },
  },
  prepare: (bench) =>
    Promise.all([small, large].map((messages) => importLines(databaseOf(bench, messages), chat(shapeOf(messages))))),
  measure,
});

/** Other goals may have pushed the file out of the memory of the machine: a disk is not what this one measures. */
async function readThrough(database: string): Promise<void> {
  for await (const _ of createReadStream(database.replace('sqlite:', '')));
}

async function measure(bench: Bench) {
  for (const messages of [small, large]) await readThrough(databaseOf(bench, messages));
  const many = await startOurs(bench.folder, databaseOf(bench, large), env);
  const few = await startOurs(bench.folder, databaseOf(bench, small), env);
  const comparison = await withClients(many.port, 1, ([ofMany]) =>
    withClients(few.port, 1, async ([ofFew]) => {
      const latency = (client: typeof ofMany, messages: number) => async () => {
        const list = Array.from({ length: requests }, () => pageRequest(...randomCursor(shapeOf(messages))));
        return client === undefined ? Number.NaN : median(await latencyOf(client, list));
      };
      const both = [latency(ofMany, large), latency(ofFew, small)] as const;
      await compare(...both, warmRounds);
      return compare(...both);
    }),
  );
  await many.stop();
  await few.stop();
  return { pages: { ...comparison, unit: 'µs' } };
}
