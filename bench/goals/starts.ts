import { once } from 'node:events';
import { request } from 'node:http';
import { pagesDatabase } from '../support/databases.ts';
import { type Bench, group } from '../support/goal.ts';
import { compare } from '../support/pairs.ts';
import { type Server, script, startOurs, startServer } from '../support/servers.ts';

export const starts = group({
  goals: {
    ready: {
      what: 'start to ready, with a database of half a gigabyte',
      against: 'bare Fastify, start to listening',
      why: 'a restart should look like a short pause; the rest is opening the database and the writer thread',
      target: { max: 2 },
    },
  },
  prepare: pagesDatabase,
  measure,
});

async function measure(bench: Bench) {
  const url = `sqlite:${await pagesDatabase(bench)}`;
  const ours = () => timeOf(() => startOurs(bench.folder, url), requireReady);
  const theirs = () => timeOf(() => startServer(bench.folder, [script('bare/bare-fastify.ts')]));
  // Once each, so that their files are in the system's page cache.
  await ours();
  await theirs();
  return { ready: { ...(await compare(ours, theirs)), unit: 'ms' } };
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
