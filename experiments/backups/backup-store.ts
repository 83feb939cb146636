import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Asked, FakeS3, type Fault } from '../../server/test/backup/fake-s3.ts';
import { call, inScope, newFolder, oneLine, type Scope, start } from '../../server/test/support/cli-helpers.ts';
import { makeTwoTenants, message, ndjson } from '../../server/test/support/harness.ts';
import { count, type Experiment, type Finding, type Log, some } from '../support/experiment.ts';

/** What happens at a request: the process is killed before or after the service has done it, or the service fails. */
export const events = ['killed after', 'full', 'killed before', 'rejected', 'cut'] as const;
type Event = (typeof events)[number];

const faults: Readonly<Record<Event, Fault>> = {
  'killed before': 'silent',
  'killed after': 'late',
  rejected: { status: 403, code: 'AccessDenied' },
  cut: 'cut',
  full: { status: 507, code: 'InsufficientStorage' },
};
/** A repeated request is rejected at last, so that the experiment does not wait for the pauses. */
const isTemporary = (event: Event) => event === 'cut';

/**
 * Interrupts a backup at each of its requests in each way. The store keeps one backup, so that each run also removes the one
 * before. `every`: each such request. `bytes`: of the data, which cannot be compressed.
 */
export const interruptBackups = (
  { every, bytes, kinds = events }: { every: number; bytes: number; kinds?: readonly Event[] },
  log: Log = () => undefined,
): Promise<Finding[]> =>
  inScope(async (scope) => {
    const found = await interruptAll(await newStore(scope, bytes), { every, kinds }, log);
    return findingsOf(found);
  });

async function newStore(scope: Scope, bytes: number) {
  const cwd = await newFolder(scope);
  const s3 = await FakeS3.start(scope);
  const env = { ...s3.env(), BACKUP_KEEP: '1' };
  const { one, records } = makeTwoTenants();
  const large = [1, 2, 3, 4].map((at) =>
    message(one.ids.conversation, at, { answer: randomBytes(bytes / 4).toString('base64') }),
  );
  const succeed = async (args: string[], more = {}, stdin = '') => {
    const ran = await call(args, { cwd, env: { ...env, ...more }, stdin });
    if (ran.code !== 0) throw new Error(`${args.join(' ')}: ${ran.stderr}`);
    return ran.stdout;
  };
  await succeed(['import', '-'], {}, ndjson([...records, ...large]));
  await succeed(['backup']);
  return { cwd, s3, env, succeed };
}

type Found = { interruptions: number; completed: number; lost: string[]; left: string[]; unclear: string[] };

async function interruptAll(
  { cwd, s3, env, succeed }: Awaited<ReturnType<typeof newStore>>,
  { every, kinds }: { every: number; kinds: readonly Event[] },
  log: Log,
): Promise<Found> {
  const found: Found = { interruptions: 0, completed: 0, lost: [], left: [], unclear: [] };
  const exported = await succeed(['export']);
  for (const event of kinds)
    for (let at = 1; ; at += every) {
      const { code, stderr, operation } = await interrupt({ cwd, s3, env }, event, at);
      if (operation === undefined) break;
      const name = `${event} at request ${at}, ${operation}`;
      found.interruptions += 1;
      if (code === 0) found.completed += 1;
      if (code === 1 && !oneLine.test(stderr)) found.unclear.push(`${name}: ${stderr}`);
      await succeed(['restore'], { DATABASE_URL: 'sqlite:restored.db' }).catch((error) =>
        found.lost.push(`${name}: ${error}`),
      );
      const restored = await succeed(['export'], { DATABASE_URL: 'sqlite:restored.db' }).catch(() => '');
      if (restored !== exported) found.lost.push(name);
      for (const ending of ['', '-wal', '-shm']) await rm(join(cwd, `restored.db${ending}`), { force: true });
      await succeed(['backup']).catch((error) => found.lost.push(`the next run after ${name}: ${error}`));
      const files = readdirSync(join(cwd, 'data'));
      const isClean = s3.names().length === 2 && s3.uploads.size === 0 && files.join() === 'backscroll.db';
      if (!isClean) found.left.push(`${name}: ${[...s3.names(), ...s3.uploads.keys(), ...files].join()}`);
      log(`${name}: exit code ${code}`);
    }
  return found;
}

/** `operation` is undefined if the backup had fewer requests. */
async function interrupt(
  { cwd, s3, env }: { cwd: string; s3: FakeS3; env: Record<string, string> },
  event: Event,
  at: number,
): Promise<{ code: number | null; stderr: string; operation: string | undefined }> {
  const child = start(['backup'], { cwd, env });
  let stderr = '';
  child.stderr.on('data', (text) => (stderr += text));
  let requests = 0;
  let operation: string | undefined;
  s3.fault = (asked: Asked) => {
    requests += 1;
    if (requests < at || (isTemporary(event) && requests > at)) return undefined;
    operation ??= asked.operation;
    if (event.startsWith('killed')) child.kill('SIGKILL');
    return faults[event];
  };
  const [code] = (await once(child, 'exit')) as [number | null];
  s3.fault = () => undefined;
  endLease(join(cwd, 'data', 'backscroll.db'));
  return { code, stderr, operation };
}

/** That of a killed process would end in ten seconds. */
function endLease(file: string): void {
  const db = new DatabaseSync(file, { timeout: 10_000 });
  db.exec("DELETE FROM leases WHERE name = 'backup'");
  db.close();
}

function findingsOf({ interruptions, completed, lost, left, unclear }: Found): Finding[] {
  const all = `${count(interruptions)} backups interrupted at each of their requests: killed, rejected, cut, no space`;
  return [
    {
      promise: 'an interrupted backup leaves a good one, which is restored byte for byte, and the next run succeeds',
      measured: `${all}; ${count(completed)} of them completed; ${lost.length} lost${some(lost)}`,
      holds: interruptions > 0 && lost.length === 0,
    },
    {
      promise: 'the next run removes what an interrupted one has left, in the store and beside the database',
      measured: `left ${left.length} times${some(left)}`,
      holds: left.length === 0,
    },
    {
      promise: 'a failure is one line',
      measured: `${unclear.length} others${some(unclear)}`,
      holds: unclear.length === 0,
    },
  ];
}

export const backupStore: Experiment = {
  name: 'backup-store',
  // More than a part of an upload.
  long: (log) => interruptBackups({ every: 1, bytes: 9_600_000 }, log),
};
