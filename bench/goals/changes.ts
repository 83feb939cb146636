import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { appendRequest, chat, editRequest, importLines, knowledge } from '../support/data.ts';
import { chunks } from '../support/embedded.ts';
import { load } from '../support/load.ts';
import { type Comparison, compare } from '../support/pairs.ts';
import { roundSeconds } from '../support/reads.ts';
import type { Bench, Result } from '../support/result.ts';
import { command, type Server, startOurs } from '../support/servers.ts';
import { importRecords, importShape, removeDatabase, run } from './imports.ts';

const conversations = 200;
const connections = 64;

/** Goals 22 to 24: what the change feed costs writers, with CHANGES on against off. No one reads it. */
export async function measureChanges(bench: Bench): Promise<Result[]> {
  const results: Result[] = [];
  const against = 'with CHANGES=off';
  if (bench.isSelected(22) || bench.isSelected(23)) {
    const { edits, appends } = await measureWrites(bench);
    const writes = { against, unit: 'requests/s', target: { min: 0.95 } };
    results.push({ ...edits, goal: 22, what: 'PATCH by 64 clients, embedded engine, with the change feed', ...writes });
    results.push({
      ...appends,
      goal: 23,
      what: 'append of one message by 64 clients, with the change feed',
      ...writes,
    });
  }
  if (bench.isSelected(24)) {
    const what = 'backscroll import of 120,000 messages of 3.5 kB, with the change feed';
    results.push({
      ...(await measureImports(bench)),
      ...{ goal: 24, what, against, unit: 'records/s', target: { min: 0.75 } },
    });
  }
  return results.filter(({ goal }) => bench.isSelected(goal));
}

async function measureWrites({ folder, pairs, log }: Bench): Promise<{ edits: Comparison; appends: Comparison }> {
  log('importing for writes with and without the change feed');
  const servers: Server[] = [];
  for (const CHANGES of ['on', 'off']) {
    const database = `sqlite:${join(folder, `changes-${CHANGES}.db`)}`;
    const lines = [...chat({ conversations, messages: 20, bytes: 1_000 }), ...knowledge(chunks)];
    await importLines(database, lines);
    servers.push(await startOurs(folder, database, { CHANGES }));
  }
  let count = Date.now();
  const edit = () => editRequest(Math.floor(Math.random() * chunks), (count += 1));
  const append = () => appendRequest(Math.floor(Math.random() * conversations), (count += 1));
  const rate = (server: Server | undefined, next: () => string) => async () => {
    const options = { port: server?.port ?? 0, next, connections, seconds: roundSeconds, status: 200 };
    const { requests, seconds } = await load(options);
    return requests / seconds;
  };
  const [on, off] = servers;
  for (const next of [edit, append]) for (const server of servers) await rate(server, next)();
  log('edits, with and without the change feed');
  const edits = await compare(rate(on, edit), rate(off, edit), pairs);
  log('appends, with and without the change feed');
  const appends = await compare(rate(on, append), rate(off, append), pairs);
  for (const server of servers) await server.stop();
  return { edits, appends };
}

async function measureImports({ folder, pairs, log }: Bench): Promise<Comparison> {
  const [input, database] = [join(folder, 'changes.ndjson'), join(folder, 'changes.db')];
  await pipeline(Readable.from(chat(importShape)), createWriteStream(input));
  const importFile = (CHANGES: string) => async () => {
    await removeDatabase(database);
    const { stdout } = await run([command, 'import', input], { DATABASE_URL: `sqlite:${database}`, CHANGES });
    return importRecords / Number(/ in ([\d.]+) s/.exec(stdout)?.[1]);
  };
  log('importing, with and without the change feed');
  await importFile('on')();
  const comparison = await compare(importFile('on'), importFile('off'), pairs);
  await removeDatabase(database);
  await rm(input);
  return comparison;
}
