import { readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { inScope, run, type Scope, type ServerProcess } from '../server/test/support/cli-helpers.ts';
import { until } from '../server/test/support/until.ts';
import { Client } from './support/client.ts';
import { Commands, checkServed, indexFaults, indexFinding } from './support/commands.ts';
import { count, type Experiment, type Finding, type Log, some } from './support/experiment.ts';
import { fileOf, type Installation, install, numberOf } from './support/installation.ts';
import { Ledger } from './support/ledger.ts';
import { startLoad } from './support/load.ts';

export type CrashOptions = {
  kills: number;
  /** Number of databases tested in parallel; the kills are divided between them. */
  databases: number;
  /** Kills between two checks of all data. */
  checkEvery: number;
  log?: Log;
};

type Results = {
  ledgers: Ledger[];
  lost: string[];
  torn: string[];
  readyMillis: number[];
  killed: { underLoad: number; starting: number; commands: number };
  integrity: string[];
  indexFaults: string[];
  leftovers: string[];
};

/** Sends `kill -9` to the service at random moments under mixed load on the embedded engine, while commands run too. */
export async function killService({
  kills,
  databases,
  checkEvery,
  log = () => undefined,
}: CrashOptions): Promise<Finding[]> {
  const results: Results = {
    ledgers: [],
    lost: [],
    torn: [],
    readyMillis: [],
    killed: { underLoad: 0, starting: 0, commands: 0 },
    integrity: [],
    indexFaults: [],
    leftovers: [],
  };
  await inScope(async (scope) => {
    const share = Math.ceil(kills / databases);
    await Promise.all(
      Array.from({ length: databases }, () => crashInstallation(scope, share, checkEvery, results, log)),
    );
  });
  return findingsOf(results);
}

async function crashInstallation(
  scope: Scope,
  kills: number,
  checkEvery: number,
  results: Results,
  log: Log,
): Promise<void> {
  const installation = await install(scope, { chunks: 4 });
  const ledger = new Ledger(installation);
  const commands = new Commands(installation, ledger);
  results.ledgers.push(ledger);
  let serving = await installation.start();
  let base: string | undefined = serving.base;
  let load = startLoad(installation, ledger, () => base);
  let command: Promise<void> | undefined;
  try {
    for (let kill = 1; kill <= kills; kill += 1) {
      // Some commands are killed too, at any point between start and end.
      command ??= commands.next(Math.random() < 0.3 ? { killAfter: 50 + Math.random() * 400 } : {}).finally(() => {
        command = undefined;
      });
      await sleep(20 + Math.random() * 380);
      if (load.inFlight() > 0) results.killed.underLoad += 1;
      serving.signal('SIGKILL');
      base = undefined;
      await serving.ended;
      results.leftovers.push(...leftoversIn(installation));
      // Some services are killed again while they start.
      if (kill % 5 === 0) await killWhileStarting(installation, results);
      serving = await installation.start();
      base = serving.base;
      results.readyMillis.push(serving.readyMillis);
      await checkLastEdits(installation, ledger, serving, results);
      if (kill % checkEvery !== 0 && kill !== kills) continue;
      await load.stop();
      await command;
      await checkAll(installation, ledger, serving, results);
      log(`${kill} kills: ${JSON.stringify(ledger.acknowledged())}`);
      if (kill !== kills) load = startLoad(installation, ledger, () => base);
    }
  } finally {
    await serving.end();
    await load.stop();
    await command;
    results.killed.commands += commands.kills;
  }
}

async function killWhileStarting({ cwd, env }: Installation, { killed }: Results): Promise<void> {
  const { signal } = await run(['serve'], { cwd, env: { ...env, PORT: '0' }, millisMax: 50 + Math.random() * 250 });
  if (signal === 'SIGKILL') killed.starting += 1;
}

/** Files with records that an import left behind in the database's folder. */
function leftoversIn(installation: Installation): string[] {
  const file = basename(fileOf(installation));
  const databaseFiles = ['', '-wal', '-shm'].map((suffix) => `${file}${suffix}`);
  return readdirSync(installation.cwd)
    .filter((name) => !databaseFiles.includes(name) && name !== 'records.ndjson')
    .filter((name) => (statSync(join(installation.cwd, name), { throwIfNoEntry: false })?.size ?? 0) > 0);
}

/** Checks right after a restart that the last acknowledged edits are stored. */
async function checkLastEdits(
  { one }: Installation,
  ledger: Ledger,
  { base }: ServerProcess,
  results: Results,
): Promise<void> {
  const client = new Client();
  for (const { chunk, hasSingleWriter, acknowledged } of ledger.edits) {
    const last = acknowledged.at(-1) ?? 0;
    const { text } = await until(async () => {
      const response = await client.request(base, chunk.path, { key: one.keys.knowledge });
      return response.status === 200 && response;
    });
    const storedNumber = numberOf(JSON.parse(text).data.content);
    if (hasSingleWriter && !(storedNumber >= last))
      results.lost.push(`text ${last} of chunk ${chunk.id}: ${storedNumber} is stored`);
  }
  client.close();
}

async function checkAll(
  installation: Installation,
  ledger: Ledger,
  { base }: ServerProcess,
  results: Results,
): Promise<void> {
  await checkServed(installation, ledger, base, results);
  results.indexFaults.push(...(await indexFaults(installation, base)));
  const db = new DatabaseSync(fileOf(installation), { readOnly: true });
  results.integrity.push(String(db.prepare('PRAGMA integrity_check').get()?.integrity_check));
  db.close();
}

function findingsOf(results: Results): Finding[] {
  const { ledgers, lost, torn, readyMillis, killed, integrity, leftovers } = results;
  const sum = (of: (ledger: Ledger) => number) => count(ledgers.reduce((total, ledger) => total + of(ledger), 0));
  const acknowledged = (kind: keyof ReturnType<Ledger['acknowledged']>) => sum((ledger) => ledger.acknowledged()[kind]);
  const unexpected = ledgers.flatMap((ledger) => ledger.unexpected);
  const millis = readyMillis.toSorted((a, b) => a - b).map(Math.round);
  const kills = `${readyMillis.length} kills of serve, ${killed.starting} more while it started`;
  return [
    {
      promise: 'no acknowledged write is lost to kill -9',
      measured:
        `${lost.length} lost of ${acknowledged('edits')} edits, ${acknowledged('appends')} appends, ${acknowledged('imports')} imports, ` +
        `${acknowledged('keys')} keys, ${acknowledged('revocations')} revocations; ${kills}, and ${killed.commands} of commands` +
        some(lost),
      holds: lost.length === 0 && killed.underLoad >= readyMillis.length * 0.8,
    },
    {
      promise: 'no write is partial, applied twice or out of order',
      measured: `${torn.length} of ${sum(({ appends, overHttp, byCommand }) => appends.length + overHttp.sent + byCommand.sent)} attempted imports and ${sum(({ edits }) => edits.reduce((total, { sent }) => total + sent, 0))} attempted edits${some(torn)}`,
      holds: torn.length === 0,
    },
    {
      promise: 'until the kill, every response is 200 or 503',
      measured: `${sum(({ responses }) => responses[200])} times 200, ${sum(({ responses }) => responses[503])} times 503, ${unexpected.length} others${some(unexpected)}`,
      holds: unexpected.length === 0,
    },
    {
      promise: 'the service is ready again without repair',
      measured: `${millis.length} times, after ${millis[millis.length >> 1]} ms (median), at most ${millis.at(-1)} ms`,
      holds: millis.length > 0,
    },
    {
      promise: 'the database file is intact',
      measured: `integrity_check: ${[...new Set(integrity)].join(', ')} (${integrity.length} times)`,
      holds: integrity.length > 0 && integrity.every((one) => one === 'ok'),
    },
    indexFinding('sqlite', results.indexFaults, integrity.length),
    {
      promise: 'a killed import leaves nothing on disk',
      measured: `${leftovers.length} files with records after ${readyMillis.length} kills${some(leftovers)}`,
      holds: leftovers.length === 0,
    },
  ];
}

export const crash: Experiment = {
  name: 'crash',
  long: (log) => killService({ kills: 220, databases: 2, checkEvery: 20, log }),
};
