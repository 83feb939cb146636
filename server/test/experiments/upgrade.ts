import { latestVersion } from '../../src/store/schema/schema.ts';
import { newFolder, newScope, run, type Scope } from '../support/cli-helpers.ts';
import { type Engine, engines } from '../support/harness.ts';
import { type Experiment, type Finding, type Log, some } from './support/experiment.ts';
import {
  copyDatabase,
  createAtVersion,
  type Database,
  expireLease,
  isLeased,
  messageRows,
  newDatabase,
  schemaOf,
  versionOf,
} from './support/schema-databases.ts';

export type UpgradeOptions = {
  /** The older schemas to migrate from; 0 is an empty database. */
  versions: readonly number[];
  /** Rounds for each of them. */
  rounds: number;
  /** Concurrent migrators in each round, all killed. */
  migrators: number;
  /** How many times the experiment waits until the lease of a killed migrator expires. Otherwise it expires it. */
  waits: number;
  messages: number;
  log?: Log;
};

export const olderVersions = Array.from({ length: latestVersion }, (_, version) => version);

/** A database with one older schema, the expected result of its migration, and how long that takes undisturbed. */
type Case = { from: number; base: Database; schemas: string[]; rows: string; exported: string; millis: number };

type Results = {
  kills: number;
  versionsAfterKill: Map<string, number>;
  torn: string[];
  failed: string[];
  changed: string[];
  waitMillis: number[];
};

/** Kills several concurrent `migrate` and `serve` processes while they migrate the schema. */
export async function killMigrations(engine: Engine, options: UpgradeOptions): Promise<Finding[]> {
  const results: Results = {
    kills: 0,
    versionsAfterKill: new Map(),
    torn: [],
    failed: [],
    changed: [],
    waitMillis: [],
  };
  const scope = newScope();
  try {
    const cwd = await newFolder(scope);
    const schemas: string[] = [];
    for (let version = 0; version <= latestVersion; version += 1) {
      const database = await databaseAt(scope, engine, version, 0);
      schemas.push(await schemaOf(database));
    }
    for (const from of options.versions) {
      const testCase = await prepare(scope, cwd, engine, from, schemas, options);
      for (let round = 0; round < options.rounds; round += 1) {
        await killOnce(scope, cwd, testCase, options, results);
      }
      options.log?.(`${engine}: from ${from} to ${latestVersion}: ${results.kills} kills so far`);
    }
  } finally {
    await scope.end();
  }
  return findingsOf(engine, results);
}

async function databaseAt(scope: Scope, engine: Engine, version: number, messages: number): Promise<Database> {
  const database = await newDatabase(engine);
  scope.after(database.remove);
  await createAtVersion(database, version, messages);
  return database;
}

async function prepare(
  scope: Scope,
  cwd: string,
  engine: Engine,
  from: number,
  schemas: string[],
  { messages, migrators }: UpgradeOptions,
): Promise<Case> {
  const base = await databaseAt(scope, engine, from, messages);
  const rows = from === 0 ? '' : await messageRows(base);
  const undisturbed = await copyDatabase(base);
  scope.after(undisturbed.remove);
  const env = { DATABASE_URL: undisturbed.url };
  // The first start fills the compile cache; only later ones are timed.
  await run(['migrate', '--status'], { cwd, env });
  const startedAt = performance.now();
  const migrations = await Promise.all(Array.from({ length: migrators }, () => run(['migrate'], { cwd, env })));
  const millis = performance.now() - startedAt;
  for (const { code, stderr } of migrations) if (code !== 0) throw new Error(`migrate: ${stderr}`);
  if ((await schemaOf(undisturbed)) !== schemas[latestVersion]) throw new Error(`from ${from} the schema is different`);
  const { stdout: exported } = await run(['export'], { cwd, env });
  return { from, base, schemas, rows, exported, millis };
}

async function killOnce(
  scope: Scope,
  cwd: string,
  { from, base, schemas, rows, exported, millis }: Case,
  { migrators, waits }: UpgradeOptions,
  results: Results,
): Promise<void> {
  const database = await copyDatabase(base);
  scope.after(database.remove);
  const env = { DATABASE_URL: database.url, PORT: '0' };
  const ran = await Promise.all(
    Array.from({ length: migrators }, (_, at) => {
      // The first is always killed before it is done; the others may finish.
      const millisMax = millis * (0.4 + Math.random() * (at === 0 ? 0.3 : 0.7));
      return run([at % 3 === 2 ? 'serve' : 'migrate'], { cwd, env, millisMax });
    }),
  );
  results.kills += ran.filter(({ signal }) => signal === 'SIGKILL').length;
  for (const { code, stderr } of ran) if (code !== null && code !== 0) results.failed.push(stderr);

  const version = await versionOf(database);
  results.versionsAfterKill.set(
    `${from} to ${version}`,
    (results.versionsAfterKill.get(`${from} to ${version}`) ?? 0) + 1,
  );
  if ((await schemaOf(database)) !== schemas[version]) results.torn.push(`from ${from}: not schema ${version}`);

  const isAwaited = results.waitMillis.length < waits && (await isLeased(database));
  if (!isAwaited) await expireLease(database);
  const startedAt = performance.now();
  const { code, stderr } = await run(['migrate'], { cwd, env, millisMax: 60_000 });
  if (isAwaited) results.waitMillis.push(performance.now() - startedAt);
  if (code !== 0) results.failed.push(`exit code ${code}: ${stderr}`);
  if ((await schemaOf(database)) !== schemas[latestVersion]) results.torn.push(`from ${from}: not the latest schema`);
  if (from > 0 && (await messageRows(database)) !== rows) results.changed.push(`rows, from ${from}`);
  const { stdout } = await run(['export'], { cwd, env });
  if (stdout !== exported) results.changed.push(`export, from ${from}`);
}

function findingsOf(
  engine: Engine,
  { kills, versionsAfterKill, torn, failed, changed, waitMillis }: Results,
): Finding[] {
  const versions = [...versionsAfterKill].map(([what, times]) => `${what}: ${times}`).join(', ');
  const rounds = [...versionsAfterKill.values()].reduce((sum, times) => sum + times, 0);
  return [
    {
      promise: `${engine}: a killed migration leaves the old schema or a newer one, complete`,
      measured: `${torn.length} exceptions after ${kills} kills in ${rounds} rounds (${versions})${some(torn)}`,
      holds: torn.length === 0 && kills > 0,
    },
    {
      promise: `${engine}: the next migrate completes without help`,
      measured:
        `${failed.length} of ${rounds} did not; ${waitMillis.length} had to wait for the lease of a killed one, ` +
        `at most ${(Math.max(0, ...waitMillis) / 1000).toFixed(1)} s${some(failed)}`,
      holds: failed.length === 0,
    },
    {
      promise: `${engine}: records are the same before and after`,
      measured: `${changed.length} of ${rounds} differ${some(changed)}`,
      holds: changed.length === 0,
    },
  ];
}

export const upgrade: Experiment = {
  name: 'upgrade',
  long: async (log) => {
    const findings: Finding[] = [];
    const options = { versions: olderVersions, rounds: 15, migrators: 3, waits: 3, messages: 2_000, log };
    for (const engine of engines) findings.push(...(await killMigrations(engine, options)));
    return findings;
  },
};
