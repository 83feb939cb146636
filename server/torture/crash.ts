import { readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { newScope, run, type Scope, type ServerProcess } from '../test/support/cli-helpers.ts';
import { until } from '../test/support/until.ts';
import { Client } from './support/client.ts';
import { auditServed, Commands } from './support/commands.ts';
import { count, type Experiment, type Finding, type Say, some } from './support/experiment.ts';
import { fileOf, type Installation, install, numberOf } from './support/installation.ts';
import { Ledger } from './support/ledger.ts';
import { startLoad } from './support/load.ts';

export type CrashOptions = {
  kills: number;
  /** Databases side by side, which share the kills. */
  databases: number;
  /** Kills between two looks at everything. */
  auditEvery: number;
  say?: Say;
};

type Seen = {
  ledgers: Ledger[];
  lost: string[];
  torn: string[];
  readyMillis: number[];
  killed: { withWork: number; starting: number; commands: number };
  integrity: string[];
  leftovers: string[];
};

/** `kill -9` of the service at random moments under mixed load, with commands beside it, on the embedded engine. */
export async function killServing({
  kills,
  databases,
  auditEvery,
  say = () => undefined,
}: CrashOptions): Promise<Finding[]> {
  const seen: Seen = {
    ledgers: [],
    lost: [],
    torn: [],
    readyMillis: [],
    killed: { withWork: 0, starting: 0, commands: 0 },
    integrity: [],
    leftovers: [],
  };
  const scope = newScope();
  try {
    const share = Math.ceil(kills / databases);
    await Promise.all(Array.from({ length: databases }, () => crashOne(scope, share, auditEvery, seen, say)));
  } finally {
    await scope.end();
  }
  return findingsOf(seen);
}

async function crashOne(scope: Scope, kills: number, auditEvery: number, seen: Seen, say: Say): Promise<void> {
  const installation = await install(scope, { chunks: 4 });
  const ledger = new Ledger(installation);
  const commands = new Commands(installation, ledger);
  seen.ledgers.push(ledger);
  let serving = await installation.start();
  let base: string | undefined = serving.base;
  let load = startLoad(installation, ledger, () => base);
  let beside: Promise<void> | undefined;
  try {
    for (let kill = 1; kill <= kills; kill += 1) {
      // Some commands are killed too, anywhere between their start and their end.
      beside ??= commands.next(Math.random() < 0.3 ? { killAfter: 50 + Math.random() * 400 } : {}).finally(() => {
        beside = undefined;
      });
      await sleep(20 + Math.random() * 380);
      if (load.inFlight() > 0) seen.killed.withWork += 1;
      serving.signal('SIGKILL');
      base = undefined;
      await serving.ended;
      seen.leftovers.push(...leftoversIn(installation));
      // Some are killed again while they start.
      if (kill % 5 === 0) await killWhileStarting(installation, seen);
      serving = await installation.start();
      base = serving.base;
      seen.readyMillis.push(serving.readyMillis);
      await glance(installation, ledger, serving, seen);
      if (kill % auditEvery !== 0 && kill !== kills) continue;
      await load.stop();
      await beside;
      await auditAll(installation, ledger, serving, seen);
      say(`${kill} kills: ${JSON.stringify(ledger.acknowledged())}`);
      if (kill !== kills) load = startLoad(installation, ledger, () => base);
    }
  } finally {
    await serving.end();
    await load.stop();
    await beside;
    seen.killed.commands += commands.kills;
  }
}

async function killWhileStarting({ cwd, env }: Installation, { killed }: Seen): Promise<void> {
  const { signal } = await run(['serve'], { cwd, env: { ...env, PORT: '0' }, millisMax: 50 + Math.random() * 250 });
  if (signal === 'SIGKILL') killed.starting += 1;
}

/** What an import left lying in the database's folder, records in it. */
function leftoversIn(installation: Installation): string[] {
  const file = basename(fileOf(installation));
  const known = ['', '-wal', '-shm'].map((suffix) => `${file}${suffix}`);
  return readdirSync(installation.cwd)
    .filter((name) => !known.includes(name) && name !== 'records.ndjson')
    .filter((name) => (statSync(join(installation.cwd, name), { throwIfNoEntry: false })?.size ?? 0) > 0);
}

/** Right after a restart: what was acknowledged last is there. */
async function glance({ one }: Installation, ledger: Ledger, { base }: ServerProcess, seen: Seen): Promise<void> {
  const client = new Client();
  for (const { chunk, alone, acknowledged } of ledger.edits) {
    const last = acknowledged.at(-1) ?? 0;
    const { text } = await until(async () => {
      const told = await client.ask(base, chunk.path, { key: one.keys.knowledge });
      return told.status === 200 && told;
    });
    const stands = numberOf(JSON.parse(text).data.content);
    if (alone && !(stands >= last)) seen.lost.push(`text ${last} of chunk ${chunk.id}: ${stands} stands`);
  }
  client.close();
}

async function auditAll(
  installation: Installation,
  ledger: Ledger,
  { base }: ServerProcess,
  seen: Seen,
): Promise<void> {
  await auditServed(installation, ledger, base, seen);
  const db = new DatabaseSync(fileOf(installation), { readOnly: true });
  seen.integrity.push(String(db.prepare('PRAGMA integrity_check').get()?.integrity_check));
  db.close();
}

function findingsOf({ ledgers, lost, torn, readyMillis, killed, integrity, leftovers }: Seen): Finding[] {
  const sum = (of: (ledger: Ledger) => number) => count(ledgers.reduce((total, ledger) => total + of(ledger), 0));
  const told = (kind: keyof ReturnType<Ledger['acknowledged']>) => sum((ledger) => ledger.acknowledged()[kind]);
  const wrong = ledgers.flatMap((ledger) => ledger.wrong);
  const millis = readyMillis.toSorted((a, b) => a - b).map(Math.round);
  const kills = `${readyMillis.length} kills of serve, ${killed.starting} more while it started`;
  return [
    {
      promise: 'no acknowledged write is lost to kill -9',
      measured:
        `${lost.length} lost of ${told('edits')} edits, ${told('appends')} appends, ${told('imports')} imports, ` +
        `${told('keys')} keys, ${told('revocations')} revocations; ${kills}, and ${killed.commands} of commands` +
        some(lost),
      holds: lost.length === 0 && killed.withWork >= readyMillis.length * 0.8,
    },
    {
      promise: 'no write is half done, done twice or out of order',
      measured: `${torn.length} of ${sum(({ appends, overHttp, byCommand }) => appends.length + overHttp.sent + byCommand.sent)} imports and ${sum(({ edits }) => edits.reduce((total, { sent }) => total + sent, 0))} edits tried${some(torn)}`,
      holds: torn.length === 0,
    },
    {
      promise: 'until it is killed, every answer is 200 or 503',
      measured: `${sum(({ answers: responses }) => responses[200])} times 200, ${sum(({ answers: responses }) => responses[503])} times 503, ${wrong.length} others${some(wrong)}`,
      holds: wrong.length === 0,
    },
    {
      promise: 'it is ready again without repair',
      measured: `${millis.length} times, after ${millis[millis.length >> 1]} ms (median), at most ${millis.at(-1)} ms`,
      holds: millis.length > 0,
    },
    {
      promise: 'the file is sound',
      measured: `integrity_check: ${[...new Set(integrity)].join(', ')} (${integrity.length} times)`,
      holds: integrity.length > 0 && integrity.every((one) => one === 'ok'),
    },
    {
      promise: 'a killed import leaves nothing on disk',
      measured: `${leftovers.length} files with records after ${readyMillis.length} kills${some(leftovers)}`,
      holds: leftovers.length === 0,
    },
  ];
}

export const crash: Experiment = {
  name: 'crash',
  long: (say) => killServing({ kills: 220, databases: 2, auditEvery: 20, say }),
};
