import { deepEqual } from 'node:assert/strict';
import { appSecret, conversationId, messageId } from '../support/data.ts';
import { pagesDatabase, shape } from '../support/databases.ts';
import { type Bench, group, type Measurements } from '../support/goal.ts';
import { comparisonOf } from '../support/pairs.ts';
import { buildPeers, type Peers } from '../support/peers.ts';
import { randomPocketbasePages, startPocketbase } from '../support/pocketbase.ts';
import {
  type Contestant,
  pageMessages,
  pageSet,
  pick,
  processorMicrosOf,
  randomPages,
  requestEach,
} from '../support/reads.ts';
import { type Server, script, startOurs, startProgram, startServer } from '../support/servers.ts';

/** Processor time of a page. With one thread each it decides on the rate, which would also depend on the clients. */

const uncached = 'an uncached page';
const withoutCache = 'one thread, without a cache, log or metrics';
const rust = `Rust (axum, rusqlite), ${withoutCache}`;
const goals = {
  uncached: {
    what: uncached,
    against: 'bare `node:http` that reads the same page by the same statements, and does nothing else',
    why: 'this is the limit of Node.js and SQLite; keys, validation, tags, log and metrics get a third',
    target: { max: 1.35 },
  },
  cached: {
    what: 'a page of a working set of 500',
    against: rust,
    why: 'the cache makes up for the language',
    target: { max: 1.15 },
  },
  rust: { what: uncached, against: rust, why: 'the same page in the fastest language that a user could choose' },
  go: { what: uncached, against: `Go (net/http, go-sqlite3), ${withoutCache}`, why: 'the usual choice for a service' },
  pocketbase: {
    what: uncached,
    against: 'PocketBase 0.36.8, the same messages in a collection that everyone may read, without the total',
    why: 'a ready-made server on SQLite',
  },
};

type Id = keyof typeof goals;
let peers: Promise<Peers>;

export const pages = group<Id>({
  goals,
  prepare: (bench) => {
    peers = buildPeers();
    return Promise.all([pagesDatabase(bench), peers]);
  },
  measure,
});

async function measure(bench: Bench): Promise<Measurements<Id>> {
  const { folder, log } = bench;
  const database = await pagesDatabase(bench);
  const programs = await peers;
  const next = randomPages(shape);
  const contestants = new Map<Id | 'ours', Contestant>();
  const results: Measurements<Id> = {};
  const add = (id: Id | 'ours', server: Server) => contestants.set(id, { server, next });
  add('ours', await startOurs(folder, `sqlite:${database}`));
  add('uncached', await startServer(folder, [script('bare/bare-pages.ts'), database]));
  if (programs.rust.missing !== undefined) results.rust = results.cached = programs.rust.missing;
  else add('rust', await startProgram(folder, programs.rust.path, [database]));
  if (programs.go.missing !== undefined) results.go = programs.go.missing;
  else add('go', await startProgram(folder, programs.go.path, [database], { GOMAXPROCS: '1' }));
  for (const { server } of contestants.values()) deepEqual(await pageOf(server), await pageOf(serverOf('ours')));
  if (programs.pocketbase.missing !== undefined) results.pocketbase = programs.pocketbase.missing;
  else {
    const server = await startPocketbase(programs.pocketbase.path, folder, shape);
    contestants.set('pocketbase', { server, next: randomPocketbasePages(shape) });
  }

  log('uncached pages');
  const uncachedMicros = await processorMicrosOf([...contestants.values()]);
  for (const [at, id] of [...contestants.keys()].entries()) {
    const comparison = comparisonOf(uncachedMicros[0] ?? [], uncachedMicros[at] ?? []);
    if (id !== 'ours') results[id] = { ...comparison, unit: 'µs' };
  }
  if (contestants.has('rust')) {
    log('cached pages');
    const set = pageSet(shape);
    // A page is cached when it is requested again.
    for (let times = 0; times < 2; times += 1) await requestEach(serverOf('ours'), set);
    const both = [serverOf('ours'), serverOf('rust')].map((server) => ({ server, next: () => pick(set) }));
    const [ours = [], theirs = []] = await processorMicrosOf(both);
    results.cached = { ...comparisonOf(ours, theirs), unit: 'µs' };
  }
  for (const { server } of contestants.values()) await server.stop();
  return results;

  function serverOf(id: Id | 'ours'): Server {
    return (contestants.get(id) as Contestant).server;
  }
}

/** One page, to check that all servers return the same. */
async function pageOf({ port }: Server): Promise<unknown> {
  const [conversation, first] = [7, 42];
  const scope = `user=user-${conversation}&conversation_id=${conversationId(conversation)}`;
  const cursor = `first_id=${messageId(conversation, first)}&limit=${pageMessages}`;
  const url = `http://127.0.0.1:${port}/v1/messages?${scope}&${cursor}`;
  return (await fetch(url, { headers: { authorization: `Bearer ${appSecret}` } })).json();
}
