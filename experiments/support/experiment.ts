import { join } from 'node:path';
import { newFolder, run, type Scope, type Settings } from '../../server/test/support/cli-helpers.ts';
import { type Engine, engines, ndjson, newDatabaseUrl } from '../../server/test/support/harness.ts';

/** Far more than a busy machine needs for the largest records. */
const importMillisMax = 1_800_000;

/** One promise of the service, and what an experiment measured. */
export type Finding = { promise: string; measured: string; holds: boolean };

/** Prints progress of an experiment. */
export type Log = (line: string) => void;

/**
 * A repeatable experiment on a running service, on loopback only. `npm run torture` runs the long form; the tests
 * call the same functions with small numbers.
 */
export type Experiment = { name: string; long: (log: Log) => Promise<Finding[]> };

/** The findings on each engine. */
export const onEachEngine =
  (find: (engine: Engine, log: Log) => Promise<Finding[]>): Experiment['long'] =>
  async (log) => {
    const findings: Finding[] = [];
    for (const engine of engines) findings.push(...(await find(engine, log)));
    return findings;
  };

export const count = (n: number): string => n.toLocaleString('en');

/** The first few faults, to append to their number. */
export const some = (faults: readonly string[]): string =>
  faults.length > 0 ? `: ${faults.slice(0, 3).join('; ')}` : '';

type Options = Parameters<typeof run>[1];

/** A folder of its own, and a database with the records that are written to a file. */
export async function importFile<T>(
  scope: Scope,
  engine: Engine,
  writeFile: (file: string) => Promise<T>,
  settings: Settings = {},
) {
  const cwd = await newFolder(scope);
  const { url, remove } = await newDatabaseUrl(engine);
  scope.after(remove);
  const env = { DATABASE_URL: url, ...settings };
  const file = join(cwd, 'records.ndjson');
  const fixture = await writeFile(file);
  await runCommand(['import', file], { cwd, env, millisMax: importMillisMax });
  return { cwd, env, fixture };
}

/** Runs a command that must succeed, and returns its output. */
export async function runCommand(args: readonly string[], options: Options): Promise<string> {
  const { code, stdout, stderr } = await run(args, options);
  if (code !== 0) throw new Error(`${args[0]}: exit code ${code}: ${stderr}`);
  return stdout;
}

export const importRecords = (records: readonly object[], options: Options): Promise<string> =>
  runCommand(['import', '-'], { ...options, stdin: ndjson(records) });
