import { setTimeout as sleep } from 'node:timers/promises';
import { newScope, type Scope, type ServerProcess } from '../test/support/cli-helpers.ts';
import { FaultyPostgres, onDatabase } from '../test/support/faulty-postgres.ts';
import { message, ndjson } from '../test/support/harness.ts';
import { until } from '../test/support/until.ts';
import { Client, type Told } from './support/client.ts';
import { auditServed, Commands, misjudgedKeys } from './support/commands.ts';
import { count, type Experiment, type Finding, type Say, some } from './support/experiment.ts';
import { type Installation, install } from './support/installation.ts';
import { Ledger } from './support/ledger.ts';
import { startLoad } from './support/load.ts';

export type PostgresCrashOptions = {
  /** Of the database; the service itself is killed as well after every fourth. */
  kills: number;
  auditEvery: number;
  say?: Say;
};

/** How the database dies: at once but by order, without its postmaster, without one of its processes. */
const ways = ['immediate stop', 'postmaster killed', 'backend killed'] as const;
type Way = (typeof ways)[number];

const healMillisMax = 60_000;

type Seen = {
  kills: Record<Way, number>;
  serveKills: number;
  healMillis: number[];
  lost: string[];
  torn: string[];
  wrong: string[];
};

/** PostgreSQL with fsync, killed in every way under mixed load while the service goes on. */
export async function killPostgres(options: PostgresCrashOptions): Promise<Finding[]> {
  const seen: Seen = {
    kills: { 'immediate stop': 0, 'postmaster killed': 0, 'backend killed': 0 },
    serveKills: 0,
    healMillis: [],
    lost: [],
    torn: [],
    wrong: [],
  };
  const scope = newScope();
  try {
    const server = await FaultyPostgres.make({ fsync: 'on' });
    scope.after(() => server.remove());
    await server.start();
    return findingsOf(await crashAll(scope, server, options, seen), seen);
  } finally {
    await scope.end();
  }
}

async function crashAll(
  scope: Scope,
  server: FaultyPostgres,
  { kills, auditEvery, say = () => undefined }: PostgresCrashOptions,
  seen: Seen,
): Promise<Ledger> {
  const url = await server.newDatabase();
  const installation = await install(scope, { chunks: 4, url, settings: { DATABASE_TIMEOUT: '1500' } });
  const ledger = new Ledger(installation);
  const commands = new Commands(installation, ledger);
  let serving = await installation.start();
  let base: string | undefined = serving.base;
  let load = startLoad(installation, ledger, () => base);
  let beside: Promise<void> | undefined;
  let cuts = 0;
  try {
    for (let kill = 1; kill <= kills; kill += 1) {
      beside ??= commands.next({ mayFail: true }).finally(() => {
        beside = undefined;
      });
      await sleep(50 + Math.random() * 450);
      const way = ways[kill % ways.length] ?? 'immediate stop';
      await killDatabase(server, url, way);
      seen.kills[way] += 1;
      seen.healMillis.push(await millisToHeal(installation, serving));
      if (kill % 4 === 0) {
        const before = ledger.answers.cut;
        serving.signal('SIGKILL');
        base = undefined;
        await serving.ended;
        serving = await installation.start();
        base = serving.base;
        // Only these may have been cut off.
        cuts += ledger.answers.cut - before;
        seen.serveKills += 1;
      }
      if (kill % auditEvery !== 0 && kill !== kills) continue;
      await load.stop();
      await beside;
      await auditAll(installation, ledger, serving, seen);
      say(`${kill} kills: ${JSON.stringify(ledger.acknowledged())}`);
      if (kill !== kills) load = startLoad(installation, ledger, () => base);
    }
    if (ledger.answers.cut > cuts)
      seen.wrong.push(`${ledger.answers.cut - cuts} connections cut by a service that runs`);
  } finally {
    await load.stop();
    await beside;
    await serving.end();
  }
  seen.wrong.push(...ledger.wrong);
  return ledger;
}

/** Ends the database and, where it does not come back by itself, starts it again. */
async function killDatabase(server: FaultyPostgres, url: string, way: Way): Promise<void> {
  if (way === 'backend killed') {
    // One that belongs to the service, or to a command. The postmaster then ends all others, and recovers.
    const { rows } = await onDatabase(url, (client) =>
      client.query(`SELECT pid FROM pg_stat_activity WHERE application_name = 'backscroll' ORDER BY random()`),
    );
    for (const { pid } of rows) if (killed(pid)) return;
    throw new Error('no backend to kill');
  }
  await server.end(way === 'immediate stop' ? 'SIGQUIT' : 'SIGKILL');
  await sleep(Math.random() * 500);
  await server.start();
}

/** False where it has ended by itself, as a command's does. */
function killed(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

/** Until it is ready, reads, edits and appends again. */
async function millisToHeal({ one }: Installation, { base, output }: ServerProcess): Promise<number> {
  const client = new Client();
  const began = performance.now();
  const page = `/v1/messages?conversation_id=${one.ids.conversation}&limit=1`;
  const edit = { method: 'PATCH', key: one.keys.knowledge, json: { content: `healed ${began}` } };
  const append = { method: 'POST', key: one.keys.writer, lines: ndjson([message(one.ids.conversation, 1)]) };
  const probes: (() => Promise<Told>)[] = [
    () => client.ask(base, '/health/ready'),
    () => client.ask(base, page, { key: one.keys.app }),
    () => client.ask(base, one.chunkPath, edit),
    () => client.ask(base, '/admin/records', append),
  ];
  await Promise.all(
    probes.map(async (probe) => {
      while ((await probe()).status !== 200) {
        if (performance.now() - began > healMillisMax) throw new Error(`it does not heal: ${output().slice(-1_500)}`);
        await sleep(20);
      }
    }),
  );
  client.close();
  return performance.now() - began;
}

async function auditAll(
  installation: Installation,
  ledger: Ledger,
  { base }: ServerProcess,
  seen: Seen,
): Promise<void> {
  // What the service caches of keys may be out of date for a few seconds.
  await until(async () => (await misjudgedKeys(installation, ledger, base)).length === 0).catch(() => undefined);
  await auditServed(installation, ledger, base, seen);
}

function findingsOf(ledger: Ledger, { kills, serveKills, healMillis, lost, torn, wrong }: Seen): Finding[] {
  const told = ledger.acknowledged();
  const tried = ledger.appends.length + ledger.overHttp.sent + ledger.byCommand.sent;
  const millis = healMillis.toSorted((a, b) => a - b).map(Math.round);
  const died = ways.map((way) => `${way} ${kills[way]} times`).join(', ');
  return [
    {
      promise: 'no acknowledged write is lost when PostgreSQL dies',
      measured:
        `${lost.length} lost of ${count(told.edits)} edits, ${count(told.appends)} appends, ${told.imports} imports, ` +
        `${told.keys} keys, ${told.revocations} revocations; ${died}, serve killed ${serveKills} times${some(lost)}`,
      holds: lost.length === 0 && told.edits > 0 && told.appends > 0,
    },
    {
      promise: 'no write is half done, done twice or out of order',
      measured: `${torn.length}, of ${count(tried)} imports tried${some(torn)}`,
      holds: torn.length === 0,
    },
    {
      promise: 'every answer meanwhile is 200 or 503',
      measured: `${count(ledger.answers[200])} times 200, ${count(ledger.answers[503])} times 503, ${wrong.length} others${some(wrong)}`,
      holds: wrong.length === 0,
    },
    {
      promise: 'it heals by itself',
      measured: `${millis.length} times, after ${millis[millis.length >> 1]} ms (median), at most ${millis.at(-1)} ms`,
      holds: millis.length > 0 && (millis.at(-1) ?? 0) < healMillisMax,
    },
  ];
}

export const crashPostgres: Experiment = {
  name: 'crash-postgres',
  long: (say) => killPostgres({ kills: 36, auditEvery: 9, say }),
};
