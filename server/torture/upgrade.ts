import { latestVersion } from '../src/store/schema/schema.ts';
import { newFolder, newScope, run, type Scope } from '../test/support/cli-helpers.ts';
import { type Engine, engines } from '../test/support/harness.ts';
import { type Experiment, type Finding, type Say, some } from './support/experiment.ts';
import {
  buildAt,
  copyOf,
  isLeased,
  newPlace,
  type Place,
  passLease,
  rowsOf,
  shapeOf,
  versionOf,
} from './support/schema-steps.ts';

export type UpgradeOptions = {
  /** Rounds from each older schema to the latest, and from nothing. */
  rounds: number;
  /** Migrators at once in each round, all killed. */
  migrators: number;
  /** How often the lease of one that died is waited for, and not passed over. */
  waits: number;
  messages: number;
  say?: Say;
};

/** What a database of one schema is, what it becomes when nobody disturbs it, and how long that takes. */
type Case = { from: number; base: Place; shapes: string[]; rows: string; exported: string; millis: number };

type Seen = {
  kills: number;
  stoodAt: Map<string, number>;
  torn: string[];
  stuck: string[];
  changed: string[];
  waitMillis: number[];
};

/** `migrate` and `serve`, several at once, killed while they bring the schema up to date. */
export async function killMigrations(engine: Engine, options: UpgradeOptions): Promise<Finding[]> {
  const seen: Seen = { kills: 0, stoodAt: new Map(), torn: [], stuck: [], changed: [], waitMillis: [] };
  const scope = newScope();
  try {
    const cwd = await newFolder(scope);
    const shapes: string[] = [];
    for (let version = 0; version <= latestVersion; version += 1) {
      const place = await placeAt(scope, engine, version, 0);
      shapes.push(await shapeOf(place));
    }
    for (let from = 0; from < latestVersion; from += 1) {
      const one = await prepare(scope, cwd, engine, from, shapes, options);
      for (let round = 0; round < options.rounds; round += 1) {
        await killOnce(scope, cwd, one, options, seen);
      }
      options.say?.(`${engine}: from ${from} to ${latestVersion}: ${seen.kills} kills so far`);
    }
  } finally {
    await scope.end();
  }
  return findingsOf(engine, seen);
}

async function placeAt(scope: Scope, engine: Engine, version: number, messages: number): Promise<Place> {
  const place = await newPlace(engine);
  scope.after(place.remove);
  await buildAt(place, version, messages);
  return place;
}

async function prepare(
  scope: Scope,
  cwd: string,
  engine: Engine,
  from: number,
  shapes: string[],
  { messages, migrators }: UpgradeOptions,
): Promise<Case> {
  const base = await placeAt(scope, engine, from, messages);
  const rows = from === 0 ? '' : await rowsOf(base);
  const calm = await copyOf(base);
  scope.after(calm.remove);
  const env = { DATABASE_URL: calm.url };
  // The first start compiles; it is the later ones whose time is looked at.
  await run(['migrate', '--status'], { cwd, env });
  const began = performance.now();
  const calmly = await Promise.all(Array.from({ length: migrators }, () => run(['migrate'], { cwd, env })));
  const millis = performance.now() - began;
  for (const { code, stderr } of calmly) if (code !== 0) throw new Error(`migrate: ${stderr}`);
  if ((await shapeOf(calm)) !== shapes[latestVersion]) throw new Error(`from ${from} the schema becomes another`);
  const { stdout: exported } = await run(['export'], { cwd, env });
  return { from, base, shapes, rows, exported, millis };
}

async function killOnce(
  scope: Scope,
  cwd: string,
  { from, base, shapes, rows, exported, millis }: Case,
  { migrators, waits }: UpgradeOptions,
  seen: Seen,
): Promise<void> {
  const place = await copyOf(base);
  scope.after(place.remove);
  const env = { DATABASE_URL: place.url, PORT: '0' };
  const ran = await Promise.all(
    Array.from({ length: migrators }, (_, at) => {
      // The first of them is never done by then; the others may be.
      const millisMax = millis * (0.4 + Math.random() * (at === 0 ? 0.3 : 0.7));
      return run([at % 3 === 2 ? 'serve' : 'migrate'], { cwd, env, millisMax });
    }),
  );
  seen.kills += ran.filter(({ signal }) => signal === 'SIGKILL').length;
  for (const { code, stderr } of ran) if (code !== null && code !== 0) seen.stuck.push(stderr);

  const version = await versionOf(place);
  seen.stoodAt.set(`${from} to ${version}`, (seen.stoodAt.get(`${from} to ${version}`) ?? 0) + 1);
  if ((await shapeOf(place)) !== shapes[version]) seen.torn.push(`from ${from}: not schema ${version}`);

  const isAwaited = seen.waitMillis.length < waits && (await isLeased(place));
  if (!isAwaited) await passLease(place);
  const began = performance.now();
  const { code, stderr } = await run(['migrate'], { cwd, env, millisMax: 60_000 });
  if (isAwaited) seen.waitMillis.push(performance.now() - began);
  if (code !== 0) seen.stuck.push(`exit code ${code}: ${stderr}`);
  if ((await shapeOf(place)) !== shapes[latestVersion]) seen.torn.push(`from ${from}: not the latest schema`);
  if (from > 0 && (await rowsOf(place)) !== rows) seen.changed.push(`rows, from ${from}`);
  const { stdout } = await run(['export'], { cwd, env });
  if (stdout !== exported) seen.changed.push(`export, from ${from}`);
}

function findingsOf(engine: Engine, { kills, stoodAt, torn, stuck, changed, waitMillis }: Seen): Finding[] {
  const stood = [...stoodAt].map(([what, times]) => `${what}: ${times}`).join(', ');
  const rounds = [...stoodAt.values()].reduce((sum, times) => sum + times, 0);
  return [
    {
      promise: `${engine}: a killed migration leaves the old schema or a newer one, whole`,
      measured: `${torn.length} others after ${kills} kills in ${rounds} rounds (${stood})${some(torn)}`,
      holds: torn.length === 0 && kills > 0,
    },
    {
      promise: `${engine}: the next migrate finishes without help`,
      measured:
        `${stuck.length} of ${rounds} did not; ${waitMillis.length} had to wait for one that died, ` +
        `at most ${(Math.max(0, ...waitMillis) / 1000).toFixed(1)} s${some(stuck)}`,
      holds: stuck.length === 0,
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
  long: async (say) => {
    const findings: Finding[] = [];
    const options = { rounds: 15, migrators: 3, waits: 3, messages: 2_000, say };
    for (const engine of engines) findings.push(...(await killMigrations(engine, options)));
    return findings;
  },
};
