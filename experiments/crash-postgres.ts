import { setTimeout as sleep } from 'node:timers/promises';
import { inScope, type Scope, type ServerProcess } from '../server/test/support/cli-helpers.ts';
import { FaultyPostgres, onDatabase } from '../server/test/support/faulty-postgres.ts';
import { message, ndjson } from '../server/test/support/harness.ts';
import { until } from '../server/test/support/until.ts';
import { Client, type ClientResponse } from './support/client.ts';
import { Commands, checkServed, keysWithWrongAccess } from './support/commands.ts';
import { count, type Experiment, type Finding, type Log, some } from './support/experiment.ts';
import { type Installation, install } from './support/installation.ts';
import { Ledger } from './support/ledger.ts';
import { startLoad } from './support/load.ts';

export type PostgresCrashOptions = {
  /** Kills of the database. After every fourth one the service is killed too. */
  kills: number;
  checkEvery: number;
  log?: Log;
};

/** Ways to stop the database: an immediate shutdown, SIGKILL of the postmaster, or SIGKILL of one backend. */
const ways = ['immediate stop', 'postmaster killed', 'backend killed'] as const;
type Way = (typeof ways)[number];

const recoveryMillisMax = 60_000;

type Results = {
  kills: Record<Way, number>;
  serveKills: number;
  recoveryMillis: number[];
  lost: string[];
  torn: string[];
  unexpected: string[];
};

/** Kills PostgreSQL, with fsync on, in each of these ways under mixed load while the service keeps running. */
export async function killPostgres(options: PostgresCrashOptions): Promise<Finding[]> {
  const results: Results = {
    kills: { 'immediate stop': 0, 'postmaster killed': 0, 'backend killed': 0 },
    serveKills: 0,
    recoveryMillis: [],
    lost: [],
    torn: [],
    unexpected: [],
  };
  return inScope(async (scope) => {
    const server = await FaultyPostgres.make({ fsync: 'on' });
    scope.after(() => server.remove());
    await server.start();
    return findingsOf(await killRepeatedly(scope, server, options, results), results);
  });
}

async function killRepeatedly(
  scope: Scope,
  server: FaultyPostgres,
  { kills, checkEvery, log = () => undefined }: PostgresCrashOptions,
  results: Results,
): Promise<Ledger> {
  const url = await server.newDatabase();
  const installation = await install(scope, { chunks: 4, url, settings: { DATABASE_TIMEOUT: '1500' } });
  const ledger = new Ledger(installation);
  const commands = new Commands(installation, ledger);
  let serving = await installation.start();
  let base: string | undefined = serving.base;
  let load = startLoad(installation, ledger, () => base);
  let command: Promise<void> | undefined;
  let expectedCuts = 0;
  try {
    for (let kill = 1; kill <= kills; kill += 1) {
      command ??= commands.next({ mayFail: true }).finally(() => {
        command = undefined;
      });
      await sleep(50 + Math.random() * 450);
      const way = ways[kill % ways.length] ?? 'immediate stop';
      await killDatabase(server, url, way);
      results.kills[way] += 1;
      results.recoveryMillis.push(await millisToRecover(installation, serving));
      if (kill % 4 === 0) {
        const before = ledger.responses.cut;
        serving.signal('SIGKILL');
        base = undefined;
        await serving.ended;
        serving = await installation.start();
        base = serving.base;
        // Only the requests in flight during this kill may be cut off.
        expectedCuts += ledger.responses.cut - before;
        results.serveKills += 1;
      }
      if (kill % checkEvery !== 0 && kill !== kills) continue;
      await load.stop();
      await command;
      await checkAll(installation, ledger, serving, results);
      log(`${kill} kills: ${JSON.stringify(ledger.acknowledged())}`);
      if (kill !== kills) load = startLoad(installation, ledger, () => base);
    }
    if (ledger.responses.cut > expectedCuts)
      results.unexpected.push(`${ledger.responses.cut - expectedCuts} requests cut off by a running service`);
  } finally {
    await load.stop();
    await command;
    await serving.end();
  }
  results.unexpected.push(...ledger.unexpected);
  return ledger;
}

/** Kills the database and starts it again if it does not restart by itself. */
async function killDatabase(server: FaultyPostgres, url: string, way: Way): Promise<void> {
  if (way === 'backend killed') {
    // A backend of the service or of a command. The postmaster then ends all other backends and recovers.
    const { rows } = await onDatabase(url, (client) =>
      client.query(`SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'backscroll %' ORDER BY random()`),
    );
    for (const { pid } of rows) if (tryKill(pid)) return;
    throw new Error('no backend to kill');
  }
  await server.end(way === 'immediate stop' ? 'SIGQUIT' : 'SIGKILL');
  await sleep(Math.random() * 500);
  await server.start();
}

/** False if the backend has already ended, as one of a finished command has. */
function tryKill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

/** Milliseconds until the service is ready, reads, edits and appends again. */
async function millisToRecover({ one }: Installation, { base, output }: ServerProcess): Promise<number> {
  const client = new Client();
  const startedAt = performance.now();
  const page = `/v1/messages?conversation_id=${one.ids.conversation}&limit=1`;
  const edit = { method: 'PATCH', key: one.keys.knowledge, json: { content: `recovered ${startedAt}` } };
  const append = { method: 'POST', key: one.keys.writer, lines: ndjson([message(one.ids.conversation, 1)]) };
  const probes: (() => Promise<ClientResponse>)[] = [
    () => client.request(base, '/health/ready'),
    () => client.request(base, page, { key: one.keys.app }),
    () => client.request(base, one.chunkPath, edit),
    () => client.request(base, '/admin/records', append),
  ];
  await Promise.all(
    probes.map(async (probe) => {
      while ((await probe()).status !== 200) {
        if (performance.now() - startedAt > recoveryMillisMax)
          throw new Error(`the service does not recover: ${output().slice(-1_500)}`);
        await sleep(20);
      }
    }),
  );
  client.close();
  return performance.now() - startedAt;
}

async function checkAll(
  installation: Installation,
  ledger: Ledger,
  { base }: ServerProcess,
  results: Results,
): Promise<void> {
  // Cached keys of the service may be out of date for a few seconds.
  await until(async () => (await keysWithWrongAccess(installation, ledger, base)).length === 0).catch(() => undefined);
  await checkServed(installation, ledger, base, results);
}

function findingsOf(ledger: Ledger, { kills, serveKills, recoveryMillis, lost, torn, unexpected }: Results): Finding[] {
  const acknowledged = ledger.acknowledged();
  const attempts = ledger.appends.length + ledger.overHttp.sent + ledger.byCommand.sent;
  const millis = recoveryMillis.toSorted((a, b) => a - b).map(Math.round);
  const killCounts = ways.map((way) => `${way} ${kills[way]} times`).join(', ');
  return [
    {
      promise: 'no acknowledged write is lost when PostgreSQL dies',
      measured:
        `${lost.length} lost of ${count(acknowledged.edits)} edits, ${count(acknowledged.appends)} appends, ${acknowledged.imports} imports, ` +
        `${acknowledged.keys} keys, ${acknowledged.revocations} revocations; ${killCounts}, serve killed ${serveKills} times${some(lost)}`,
      holds: lost.length === 0 && acknowledged.edits > 0 && acknowledged.appends > 0,
    },
    {
      promise: 'no write is partial, applied twice or out of order',
      measured: `${torn.length} of ${count(attempts)} attempted imports${some(torn)}`,
      holds: torn.length === 0,
    },
    {
      promise: 'every response in the meantime is 200 or 503',
      measured: `${count(ledger.responses[200])} times 200, ${count(ledger.responses[503])} times 503, ${unexpected.length} others${some(unexpected)}`,
      holds: unexpected.length === 0,
    },
    {
      promise: 'the service recovers by itself',
      measured: `${millis.length} times, after ${millis[millis.length >> 1]} ms (median), at most ${millis.at(-1)} ms`,
      holds: millis.length > 0 && (millis.at(-1) ?? 0) < recoveryMillisMax,
    },
  ];
}

export const crashPostgres: Experiment = {
  name: 'crash-postgres',
  long: (log) => killPostgres({ kills: 36, checkEvery: 9, log }),
};
