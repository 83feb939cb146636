import { type CommandResult, inScope, newFolder, run, type Scope } from '../server/test/support/cli-helpers.ts';
import type { Engine } from '../server/test/support/harness.ts';
import { addedVersion, currentVersion, statementsOf, withAddedStep } from './support/added-step.ts';
import { type Experiment, type Finding, type Log, onEachEngine, some } from './support/experiment.ts';
import {
  createMigrated,
  type Database,
  expireLease,
  isLeased,
  messageRows,
  newDatabase,
  rowsOfAddedStep,
  schemaOf,
  undistributedTables,
  versionOf,
} from './support/schema-databases.ts';

/** The migration of an empty database, and of one with records by a step that a test adds, in processes that are killed. */

export type UpgradeOptions = {
  /** Before how many statements of the added step a process is killed, at most all; before a third as many on an empty database. */
  points: number;
  /** Rounds in which several concurrent processes at the added step are killed. */
  rounds: number;
  /** Concurrent processes. */
  migrators: number;
  /** How many times the experiment waits until the lease of a killed process expires. Otherwise it expires it. */
  waits: number;
  messages: number;
  /** Prepares each empty database. */
  install?: (url: string) => Promise<void>;
  log?: Log;
};

type Results = {
  kills: number;
  /** How many databases a kill has left, by version before and after. */
  states: Map<string, number>;
  torn: string[];
  failed: string[];
  changed: string[];
  waitMillis: number[];
};

type Case = {
  engine: Engine;
  options: UpgradeOptions;
  results: Results;
  scope: Scope;
  cwd: string;
  /** The version to start from; 0 is an empty database. */
  from: number;
  /** The complete schemas, by version. */
  schemas: Map<number, string>;
  rows: string;
};

export async function killMigrations(engine: Engine, options: UpgradeOptions): Promise<Finding[]> {
  const results: Results = { kills: 0, states: new Map(), torn: [], failed: [], changed: [], waitMillis: [] };
  await inScope(async (scope) => {
    const cwd = await newFolder(scope);
    const schemas = new Map([[0, '[]']]);
    for (const from of [currentVersion, 0]) {
      const base = { engine, options, results, scope, cwd, from, schemas, rows: '' };
      const database = await create(base);
      if (from > 0) schemas.set(from, await schemaOf(database));
      const test: Case = { ...base, rows: from > 0 ? await messageRows(database) : '' };
      const statements = await migrateUndisturbed(test, database);
      await killAtPoints(test, statements, from > 0 ? options.points : Math.ceil(options.points / 3));
      for (let round = 0; from > 0 && round < options.rounds; round += 1) await killSeveral(test, statements);
      options.log?.(`${engine}: from ${from}: ${statements} statements, ${results.kills} kills so far`);
    }
  });
  return findingsOf(engine, options, results);
}

async function create({ engine, options, scope, from }: Case): Promise<Database> {
  const database = await newDatabase(engine);
  scope.after(database.remove);
  await options.install?.(database.url);
  if (from > 0) await createMigrated(database, options.messages);
  return database;
}

const migrate = ({ cwd }: Case, { url }: Database, killBefore?: number, command = 'migrate'): Promise<CommandResult> =>
  // A service that has migrated is killed later.
  run([command], {
    cwd,
    env: { DATABASE_URL: url, PORT: '0', ...withAddedStep(killBefore) },
    ...(command === 'serve' && { millisMax: 5_000 }),
  });

/** Several processes start at once. Returns the number of statements of the one that migrated. */
async function migrateUndisturbed(test: Case, database: Database): Promise<number> {
  const all = await Promise.all(Array.from({ length: test.options.migrators }, () => migrate(test, database)));
  for (const { code, stderr } of all) if (code !== 0) test.results.failed.push(stderr);
  test.schemas.set(addedVersion, await schemaOf(database));
  await judgeComplete(test, database);
  const applied = all.filter(({ stdout }) => stdout.includes(`applied ${addedVersion}:`));
  if (applied.length !== 1) throw new Error(`${applied.length} processes have migrated`);
  return statementsOf(applied[0]?.stderr ?? '');
}

/** Kills one process after the other, each before a later statement. */
async function killAtPoints(test: Case, statements: number, pointsMax: number): Promise<void> {
  let database = await create(test);
  const points = Math.min(pointsMax, statements);
  for (let at = 0; at < points; at += 1) {
    const killBefore = 1 + Math.floor(((at + Math.random()) * statements) / points);
    await expireLease(database);
    const ran = await migrate(test, database, killBefore);
    const version = await judgeKilled(test, database, [ran], `before statement ${killBefore}`);
    if (version === test.from) continue;
    await complete(test, database);
    database = await create(test);
  }
  await complete(test, database);
}

/** Kills several processes at once. If one of them is killed, another takes over. */
async function killSeveral(test: Case, statements: number): Promise<void> {
  const database = await create(test);
  const ran = await Promise.all(
    Array.from({ length: test.options.migrators }, async (_, at) => {
      const killBefore = 1 + Math.floor(Math.random() * statements);
      const result = await migrate(test, database, killBefore, at % 3 === 2 ? 'serve' : 'migrate');
      await expireLease(database);
      return result;
    }),
  );
  await judgeKilled(test, database, ran, 'several');
  await complete(test, database);
}

/** Returns the version of the database. */
async function judgeKilled(test: Case, database: Database, ran: CommandResult[], what: string): Promise<number> {
  const { results, from, schemas } = test;
  results.kills += ran.filter(({ signal }) => signal === 'SIGKILL').length;
  for (const { code, stderr } of ran) if (code !== null && code !== 0) results.failed.push(stderr);
  const version = await versionOf(database);
  const state = `${from} to ${version}`;
  results.states.set(state, (results.states.get(state) ?? 0) + 1);
  if ((await schemaOf(database)) !== schemas.get(version)) results.torn.push(`${what}: not schema ${version}`);
  return version;
}

/** The next start, which is not killed. */
async function complete(test: Case, database: Database): Promise<void> {
  const { results, options } = test;
  const isAwaited = results.waitMillis.length < options.waits && (await isLeased(database));
  if (!isAwaited) await expireLease(database);
  const startedAt = performance.now();
  const { code, stdout, stderr } = await migrate(test, database);
  if (isAwaited) results.waitMillis.push(performance.now() - startedAt);
  if (code !== 0 || !stdout.includes(`schema ${addedVersion} of ${addedVersion}: up to date`))
    results.failed.push(`exit code ${code}: ${stdout}${stderr}`);
  await judgeComplete(test, database);
}

async function judgeComplete({ results, from, schemas, options, rows }: Case, database: Database): Promise<void> {
  if ((await schemaOf(database)) !== schemas.get(addedVersion))
    results.torn.push(`from ${from}: not the latest schema`);
  const local = await undistributedTables(database);
  if (local.length > 0) results.torn.push(`not distributed: ${local}`);
  if (from === 0) return;
  if ((await messageRows(database)) !== rows) results.changed.push('messages');
  const added = await rowsOfAddedStep(database);
  if (added !== `${options.messages} messages, ${options.messages} counted`) results.changed.push(added);
}

function findingsOf(engine: Engine, { install }: UpgradeOptions, results: Results): Finding[] {
  const { kills, states, torn, failed, changed, waitMillis } = results;
  const name = install === undefined ? engine : `${engine}, distributed`;
  const rounds = [...states.values()].reduce((sum, times) => sum + times, 0);
  const list = [...states].map(([state, times]) => `${state}: ${times}`).join(', ');
  return [
    {
      promise: `${name}: a killed migration leaves the old schema or a newer one, complete`,
      measured: `${torn.length} exceptions after ${kills} kills in ${rounds} rounds (${list})${some(torn)}`,
      holds: torn.length === 0 && kills > 0,
    },
    {
      promise: `${name}: the next migrate completes without help`,
      measured:
        `${failed.length} of ${rounds} did not; ${waitMillis.length} had to wait for the lease of a killed one, ` +
        `at most ${(Math.max(0, ...waitMillis) / 1000).toFixed(1)} s${some(failed)}`,
      holds: failed.length === 0,
    },
    {
      promise: `${name}: records are the same before and after`,
      measured: `${changed.length} of ${rounds} differ${some(changed)}`,
      holds: changed.length === 0,
    },
  ];
}

export const upgrade: Experiment = {
  name: 'upgrade',
  long: onEachEngine((engine, log) =>
    killMigrations(engine, {
      points: Number.POSITIVE_INFINITY,
      rounds: 15,
      migrators: 3,
      waits: 3,
      messages: 2_000,
      log,
    }),
  ),
};
