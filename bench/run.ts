import { rmSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { measureBesideEdits } from './beside-edits.ts';
import { measureDepth } from './depth.ts';
import { measureEdits } from './edits.ts';
import { measureFactor } from './factor.ts';
import { measureImport } from './imports.ts';
import { describeMachine } from './machine.ts';
import { measureMemory } from './memory.ts';
import { BadUsage, help, type Options, readOptions } from './options.ts';
import { measurePages } from './pages.ts';
import { measurePostgresPages } from './postgres-pages.ts';
import type { Bench, Measurement, Result } from './result.ts';
import { endAll } from './servers.ts';
import { measureSize } from './size.ts';
import { measureStart } from './starts.ts';
import { rowOf, tableOf } from './table.ts';

const measurements: readonly Measurement[] = [
  { goals: [1, 2, 3], measure: measurePages },
  { goals: [9], measure: measureBesideEdits },
  { goals: [12], measure: measureMemory },
  { goals: [13], measure: measureFactor },
  { goals: [8], measure: measureEdits },
  { goals: [4, 5], measure: measurePostgresPages },
  { goals: [6], measure: measureDepth },
  { goals: [7], measure: measureSize },
  { goals: [10], measure: measureImport },
  { goals: [11], measure: measureStart },
];

const goals = measurements.flatMap((one) => one.goals).sort((a, b) => a - b);

async function main(argv: string[]): Promise<number> {
  const options = readOptions(argv, goals);
  if (options.help) {
    console.log(help);
    return 0;
  }
  const folder = await mkdtemp(join(tmpdir(), 'backscroll-bench-'));
  // PostgreSQL, started by root, runs as another user, who must get in.
  await chmod(folder, 0o755);
  leaveNothing(folder);
  try {
    return await run(folder, options);
  } finally {
    await endAll();
    await rm(folder, { recursive: true, force: true });
  }
}

async function run(folder: string, { only, large, pairs, json }: Options): Promise<number> {
  const machine = describeMachine();
  const start = performance.now();
  const say = (text: string) => {
    const seconds = Math.round((performance.now() - start) / 1000);
    console.log(`${`${Math.floor(seconds / 60)}`.padStart(2)}:${`${seconds % 60}`.padStart(2, '0')}  ${text}`);
  };
  const wants = (goal: number) => only.has(goal);
  const bench: Bench = { folder, pairs, large, wants, say };
  const results: Result[] = [];
  const failures: string[] = [];
  for (const { goals, measure } of measurements) {
    const wanted = goals.filter(wants);
    if (wanted.length === 0) continue;
    const names = `goal${wanted.length > 1 ? 's' : ''} ${wanted.join(', ')}`;
    say(names);
    try {
      const found = await measure(bench);
      for (const result of found) console.log(`\n${rowOf(result)}\n`);
      results.push(...found);
    } catch (error) {
      if (isStopping) return 1;
      failures.push(`${names}: ${(error as Error).message}`);
      say(`${names} failed: ${(error as Error).stack}`);
    } finally {
      await endAll();
    }
  }
  results.sort((one, other) => one.goal - other.goal);
  say(`done\n\n${tableOf(results, machine, pairs)}`);
  for (const failure of failures) console.log(`Failed: ${failure}`);
  await writeFile(json, `${JSON.stringify({ machine, pairs, results, failures }, null, 2)}\n`);
  console.log(`The figures are in ${relative('.', json)}`);
  return failures.length === 0 ? 0 : 1;
}

/** A signal has come, and what fails now fails because of it. */
let isStopping = false;

/** Whatever ends the bench, its processes and files go with it. */
function leaveNothing(folder: string): void {
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
  const isUsage = error instanceof BadUsage;
  console.error(isUsage ? `${error.message}\nSee npm run bench -- --help` : error);
  process.exitCode = isUsage ? 2 : 1;
}
