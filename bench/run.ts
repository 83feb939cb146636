import { rmSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { measureChanges } from './goals/changes.ts';
import { measureDepth } from './goals/depth.ts';
import { measureEdits } from './goals/edits.ts';
import { measureFactor } from './goals/factor.ts';
import { measureImport } from './goals/imports.ts';
import { measureIndexLag } from './goals/index-lag.ts';
import { measureLists } from './goals/lists.ts';
import { measureMemory } from './goals/memory.ts';
import { measurePages } from './goals/pages.ts';
import { measurePeers } from './goals/peers.ts';
import { measurePostgresPages } from './goals/postgres-pages.ts';
import { measurePurge } from './goals/purge.ts';
import { measureReadsDuringEdits } from './goals/reads-during-edits.ts';
import { measureSearch } from './goals/search.ts';
import { measureSize } from './goals/size.ts';
import { measureStart } from './goals/starts.ts';
import { measureUpstream } from './goals/upstream.ts';
import { measureWorkers } from './goals/workers.ts';
import { describeMachine } from './support/machine.ts';
import { help, type Options, readOptions, UsageError } from './support/options.ts';
import type { Bench, Measurement, Result } from './support/result.ts';
import { endAll } from './support/servers.ts';
import { rowOf, tableOf } from './support/table.ts';

const measurements: readonly Measurement[] = [
  { goals: [1, 2, 3, 38, 39], measure: measurePages },
  { goals: [40], measure: measureLists },
  { goals: [14, 15, 16, 17, 20, 21], measure: measureWorkers },
  { goals: [9, 19], measure: measureReadsDuringEdits },
  { goals: [12], measure: measureMemory },
  { goals: [13, 41], measure: measureFactor },
  { goals: [8, 18], measure: measureEdits },
  { goals: [4, 5], measure: measurePostgresPages },
  { goals: [6], measure: measureDepth },
  { goals: [7], measure: measureSize },
  { goals: [10], measure: measureImport },
  { goals: [11], measure: measureStart },
  { goals: [22, 23, 24], measure: measureChanges },
  { goals: [25, 26, 27], measure: measureSearch },
  { goals: [28, 29], measure: measureUpstream },
  { goals: [30], measure: measurePurge },
  { goals: [32, 37], measure: measureIndexLag },
  { goals: [33, 34, 35, 36], measure: measurePeers },
];

const goals = measurements.flatMap((one) => one.goals).sort((a, b) => a - b);

async function main(argv: string[]): Promise<number> {
  const options = readOptions(argv, goals);
  if (options.help) {
    console.log(help);
    return 0;
  }
  const folder = await mkdtemp(join(tmpdir(), 'backscroll-bench-'));
  // PostgreSQL started by root runs as another user, who needs access to this folder.
  await chmod(folder, 0o755);
  cleanUpOnExit(folder);
  try {
    return await run(folder, options);
  } finally {
    await endAll();
    await rm(folder, { recursive: true, force: true });
  }
}

async function run(folder: string, { only, large, messages, pairs, json }: Options): Promise<number> {
  const machine = describeMachine();
  const start = performance.now();
  const log = (text: string) => {
    const seconds = Math.round((performance.now() - start) / 1000);
    console.log(`${`${Math.floor(seconds / 60)}`.padStart(2)}:${`${seconds % 60}`.padStart(2, '0')}  ${text}`);
  };
  const isSelected = (goal: number) => only.has(goal);
  const bench: Bench = { folder, pairs, large, messages, isSelected, log };
  const results: Result[] = [];
  const failures: string[] = [];
  for (const { goals, measure } of measurements) {
    const selected = goals.filter(isSelected);
    if (selected.length === 0) continue;
    const names = `goal${selected.length > 1 ? 's' : ''} ${selected.join(', ')}`;
    log(names);
    try {
      const measured = await measure(bench);
      for (const result of measured) console.log(`\n${rowOf(result)}\n`);
      results.push(...measured);
    } catch (error) {
      if (isStopping) return 1;
      failures.push(`${names}: ${(error as Error).message}`);
      log(`${names} failed: ${(error as Error).stack}`);
    } finally {
      await endAll();
    }
  }
  results.sort((one, other) => one.goal - other.goal);
  log(`done\n\n${tableOf(results, machine, pairs)}`);
  for (const failure of failures) console.log(`Failed: ${failure}`);
  await writeFile(json, `${JSON.stringify({ machine, pairs, results, failures }, null, 2)}\n`);
  console.log(`The measurements are in ${relative('.', json)}`);
  return failures.length === 0 ? 0 : 1;
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
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const isUsage = error instanceof UsageError;
  console.error(isUsage ? `${error.message}\nSee npm run bench -- --help` : error);
  process.exitCode = isUsage ? 2 : 1;
}
