import { rmSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { edits } from './goals/edits.ts';
import { imports } from './goals/imports.ts';
import { memory } from './goals/memory.ts';
import { pages } from './goals/pages.ts';
import { postgres } from './goals/postgres.ts';
import { readsBesideWrites } from './goals/reads-beside-writes.ts';
import { search } from './goals/search.ts';
import { size } from './goals/size.ts';
import { starts } from './goals/starts.ts';
import { workers } from './goals/workers.ts';
import type { Bench, Group, Measurements } from './support/goal.ts';
import { endAll } from './support/servers.ts';
import { describeMachine, publish, type Row, tableOf } from './support/table.ts';

const groups: Record<string, Group> = {
  pages,
  workers,
  edits,
  'reads-beside-writes': readsBesideWrites,
  imports,
  search,
  size,
  memory,
  starts,
  postgres,
};

const help = `Usage: npm run bench [-- OPTIONS]

Compares this service with other programs, side by side, and writes the table of docs/understand/performance.md. It takes about
20 minutes and 30 GB of temporary files (TMPDIR), which it removes. Close other programs that use the processor.
With cargo and go it also builds the programs in bench/peers and PocketBase, the first time for some minutes.

Options:
  --only NAME,NAME  measure only these groups, and only print the table: ${Object.keys(groups).join(', ')}
  --quick           try everything with little data, in about two minutes, and only print the table
  --help            print this text`;

async function main(): Promise<number> {
  const { only, quick, help: isHelp } = readOptions();
  if (isHelp) {
    console.log(help);
    return 0;
  }
  const names = only?.split(',') ?? Object.keys(groups);
  const unknown = names.filter((name) => !(name in groups));
  if (unknown.length > 0) throw new UsageError(`--only: there is no group ${unknown.join(', ')}`);
  const folder = await mkdtemp(join(tmpdir(), 'backscroll-bench-'));
  // PostgreSQL started by root runs as another user, who needs access to this folder.
  await chmod(folder, 0o755);
  cleanUpOnExit(folder);
  try {
    const { rows, failures } = await measureAll(folder, names);
    const text = `${describeMachine()}\n\n${tableOf(rows)}`;
    console.log(`\n${text}\n`);
    for (const failure of failures) console.error(failure);
    if (failures.length > 0) return 1;
    if (only === undefined && !quick) publish(text);
    return 0;
  } finally {
    await endAll();
    await rm(folder, { recursive: true, force: true });
  }
}

async function measureAll(folder: string, names: readonly string[]): Promise<{ rows: Row[]; failures: Error[] }> {
  const start = performance.now();
  const log = (text: string) => {
    const seconds = Math.round((performance.now() - start) / 1000);
    console.log(`${`${Math.floor(seconds / 60)}`.padStart(2)}:${`${seconds % 60}`.padStart(2, '0')}  ${text}`);
  };
  const bench: Bench = { folder, log };
  const selected = Object.entries(groups).filter(([name]) => names.includes(name));
  log('filling databases');
  await Promise.all(selected.map(([, { prepare }]) => prepare?.(bench)));
  const rows: Row[] = [];
  const failures: Error[] = [];
  for (const [name, { goals, measure }] of selected) {
    log(name);
    let measurements: Measurements<string> = {};
    try {
      measurements = await measure(bench);
    } catch (error) {
      if (isStopping) throw error;
      failures.push(new Error(name, { cause: error }));
      log(`${name} failed: ${(error as Error).message}`);
    } finally {
      await endAll();
    }
    for (const [id, goal] of Object.entries(goals)) rows.push({ goal, measured: measurements[id] ?? 'it failed' });
  }
  log('done');
  return { rows, failures };
}

class UsageError extends Error {}

function readOptions() {
  try {
    const options = { only: { type: 'string' }, quick: { type: 'boolean' }, help: { type: 'boolean' } } as const;
    return parseArgs({ options }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** A signal was received; failures after it are its consequence. */
let isStopping = false;

/** Ends the child processes and removes the files, however the bench ends. */
function cleanUpOnExit(folder: string): void {
  const stop = async (_signal: NodeJS.Signals, number: number) => {
    isStopping = true;
    console.log('\nstopped');
    await endAll();
    process.exit(128 + number);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, stop);
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
}

try {
  process.exitCode = await main();
} catch (error) {
  const isUsage = error instanceof UsageError;
  console.error(isUsage ? `${error.message}\nSee npm run bench -- --help` : error);
  process.exitCode = isUsage ? 2 : 1;
}
