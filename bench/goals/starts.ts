import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { chat, importLines } from '../support/data.ts';
import { compare } from '../support/pairs.ts';
import type { Bench, Result } from '../support/result.ts';
import { type Server, script, startOurs, startServer } from '../support/servers.ts';

const shape = { conversations: 2_000, messages: 150, bytes: 2_900 };

/** Goal 11: from the start of the process until it is ready. `database` may be any database of about a gigabyte. */
export async function measureStart(bench: Bench, database?: string): Promise<Result[]> {
  const { folder, pairs, log } = bench;
  const url = database ?? (await createDatabase(bench));
  const ours = () => timeOf(() => startOurs(folder, url), requireReady);
  const theirs = () => timeOf(() => startServer(folder, [script('bare/bare-fastify.ts')]));
  log('starting each once, so that their files are in the page cache');
  const first = await ours();
  await theirs();
  const comparison = await compare(ours, theirs, pairs);
  const { size } = await stat(url.replace('sqlite:', ''));
  return [
    {
      goal: 11,
      what: 'start to ready',
      against: 'bare Fastify, start to listening',
      unit: 'ms',
      target: { max: 2 },
      ...comparison,
      notes: { 'database megabytes': Math.round(size / 1e6), 'first start, ms': Math.round(first) },
    },
  ];
}

async function createDatabase({ folder, log }: Bench): Promise<string> {
  const url = `sqlite:${join(folder, 'starts.db')}`;
  log('importing a gigabyte of messages');
  await importLines(url, chat(shape));
  return url;
}

/** Milliseconds from the start of a process until it listens and, if `awaitUp` is given, until that resolves. */
async function timeOf(start: () => Promise<Server>, awaitUp?: (server: Server) => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  const server = await start();
  try {
    await awaitUp?.(server);
    return performance.now() - startedAt;
  } finally {
    await server.stop();
  }
}

async function requireReady({ port }: Server): Promise<void> {
  const [response] = await once(request({ host: '127.0.0.1', port, path: '/health/ready' }).end(), 'response');
  response.resume();
  if (response.statusCode !== 200) throw new Error(`/health/ready returned ${response.statusCode}`);
}
