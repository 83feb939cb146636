import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { adminSecret, appendRequest, chat, importLines, type Shape } from '../support/data.ts';
import { latencyOf } from '../support/latency.ts';
import { Client, load } from '../support/load.ts';
import { type Comparison, compare, comparisonOf, interleave } from '../support/pairs.ts';
import { get, pageRequest, randomCursor, roundSeconds } from '../support/reads.ts';
import type { Bench, Result } from '../support/result.ts';
import { command, type Server, startOurs } from '../support/servers.ts';
import { removeDatabase, run } from './imports.ts';

const messages = 50;
const connections = 64;
const conversations = 200;
const requests = 40;
const importShape: Shape = { conversations: 400, messages, bytes: 1_000 };
const indexMillisMax = 4 * 3_600_000;

/** A frequent word, two of them, a phrase, a rare word, a filter without a word, and one that finds nothing. */
const queries = ['q=grinder', 'q=filter+degrees', 'q=%22ninety+three%22', 'q=user-17', 'status=normal', 'q=zebra'];

/** Goals 25 to 27: the search over many messages, the size of its index, and what it costs writers. */
export async function measureSearch(bench: Bench): Promise<Result[]> {
  const results: Result[] = [];
  if (bench.isSelected(25) || bench.isSelected(26)) results.push(...(await measureReads(bench)));
  if (bench.isSelected(27)) {
    const off = { goal: 27, against: 'with SEARCH=off', target: { min: 0.95 } };
    const append = 'append of one message by 64 clients, with the search';
    results.push({ ...(await measureAppends(bench)), ...off, what: append, unit: 'requests/s' });
    const ofImport = 'backscroll import of 20,000 messages of 1 kB beside a running service, with the search';
    results.push({ ...(await measureImports(bench)), ...off, what: ofImport, unit: 'records/s' });
  }
  return results.filter(({ goal }) => bench.isSelected(goal));
}

async function measureReads({ folder, pairs, large, messages: size, log }: Bench): Promise<Result[]> {
  const count = size ?? (large ? 5_000_000 : 200_000);
  const shape: Shape = { conversations: count / messages, messages, bytes: 1_000, secondsApart: 40 };
  const file = join(folder, 'search.db');
  log(`importing ${count} messages`);
  await importLines(`sqlite:${file}`, chat(shape));
  const server = await startOurs(folder, `sqlite:${file}`);
  log('indexing them');
  const start = performance.now();
  await untilIndexed(server);
  const rate = Math.round(count / ((performance.now() - start) / 1000));
  const client = await Client.open(server.port);
  const authorization = `Authorization: Bearer ${adminSecret}\r\n`;
  const searches = Array.from({ length: requests }, (_, at) =>
    get(`/admin/search?${queries[at % queries.length]}&limit=20`, authorization),
  );
  const pages = Array.from({ length: requests }, () => pageRequest(...randomCursor(shape)));
  const measures = [searches, pages].map((list) => () => latencyOf(client, list));
  await interleave(measures, 2);
  log('searches and pages');
  const [ours = [], theirs = []] = await interleave(measures, pairs);
  const { index, texts } = sizesOf(file);
  await server.stop();
  const ofAll = `of ${count.toLocaleString('en')} messages`;
  const substitute = count < 5_000_000 && { substitute: 'the goal is for 5,000,000 messages: use --large' };
  return [
    {
      ...comparisonOf(ours, theirs),
      goal: 25,
      what: `first page of a search ${ofAll}, embedded engine, one request at a time`,
      against: 'a page of messages',
      unit: 'µs',
      target: { max: 20 },
      notes: { 'messages indexed per second': rate },
      ...substitute,
    },
    {
      ...comparisonOf([index], [texts]),
      goal: 26,
      what: `the index ${ofAll}, embedded engine`,
      against: 'their queries and answers',
      unit: 'MB',
      target: { max: 0.6 },
      ...substitute,
    },
  ];
}

async function untilIndexed({ port }: Server): Promise<void> {
  const deadline = performance.now() + indexMillisMax;
  const headers = { authorization: `Bearer ${adminSecret}` };
  for (;;) {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`, { headers })).text();
    if (/^backscroll_search_building 0$/m.test(text) && /^backscroll_search_lag_changes 0$/m.test(text)) return;
    if (performance.now() > deadline) throw new Error('the messages are not indexed');
    await sleep(500);
  }
}

/** In megabytes. */
function sizesOf(file: string): { index: number; texts: number } {
  const db = new DatabaseSync(file, { readOnly: true });
  const sum = (statement: string) => Number(Object.values(db.prepare(statement).get() ?? {})[0]) / 1e6;
  const index = sum(`SELECT SUM(pgsize) FROM dbstat WHERE name LIKE 'search_%'`);
  const texts = sum(`SELECT SUM(octet_length(doc ->> 'query') + octet_length(doc ->> 'answer')) FROM messages`);
  db.close();
  return { index, texts };
}

async function measureAppends({ folder, pairs, log }: Bench): Promise<Comparison> {
  log('importing for appends with and without the search');
  const servers: Server[] = [];
  for (const SEARCH of ['on', 'off']) {
    const database = `sqlite:${join(folder, `search-${SEARCH}.db`)}`;
    await importLines(database, chat({ conversations, messages: 20, bytes: 1_000 }));
    const server = await startOurs(folder, database, { SEARCH });
    if (SEARCH === 'on') await untilIndexed(server);
    servers.push(server);
  }
  let count = Date.now();
  const next = () => appendRequest(Math.floor(Math.random() * conversations), (count += 1));
  const [on, off] = servers as [Server, Server];
  const rate = (server: Server) => async () => {
    const loaded = await load({ port: server.port, next, connections, seconds: roundSeconds, status: 200 });
    // The rest of the indexing must not compete with the next round.
    await untilIndexed(on);
    return loaded.requests / loaded.seconds;
  };
  for (const server of servers) await rate(server)();
  log('appends, with and without the search');
  const comparison = await compare(rate(on), rate(off), pairs);
  for (const server of servers) await server.stop();
  return comparison;
}

/** Each import fills a new database, whose service indexes what was committed. */
async function measureImports({ folder, pairs, log }: Bench): Promise<Comparison> {
  const [input, database] = [join(folder, 'search.ndjson'), join(folder, 'search-import.db')];
  await pipeline(Readable.from(chat(importShape)), createWriteStream(input));
  const importFile = (SEARCH: string) => async () => {
    await removeDatabase(database);
    const server = await startOurs(folder, `sqlite:${database}`, { SEARCH });
    const { stdout } = await run([command, 'import', input], { DATABASE_URL: `sqlite:${database}`, SEARCH });
    await server.stop();
    return (importShape.conversations * messages) / Number(/ in ([\d.]+) s/.exec(stdout)?.[1]);
  };
  log('importing, with and without the search');
  await importFile('on')();
  const comparison = await compare(importFile('on'), importFile('off'), pairs);
  await removeDatabase(database);
  await rm(input);
  return comparison;
}
