import { statSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createBackup } from '../backup/create-backup.ts';
import { type Destination, isStoreUrl } from '../backup/destination.ts';
import { sendErasures } from '../backup/erasures.ts';
import { findBackups, findManifest, type Manifest, timeOfId } from '../backup/manifest.ts';
import { openDestination } from '../backup/open-destination.ts';
import type { Config } from '../config.ts';
import { productVersion } from '../contract/product.ts';
import { underLease } from '../domain/lease.ts';
import type { JobKind } from '../domain/store/monitoring.ts';
import type { Store } from '../domain/store/store.ts';
import { type Database, databaseOf } from '../store/open.ts';
import { regularFile, requireNotDatabase, withPartialFile, writeAtomically } from './atomic-file.ts';
import { type Command, epochSeconds, noteBackup, requireDatabase, requireEmbedded } from './command.ts';
import { parse, print, printTable, showLine, timeOf, Usage, visible } from './terminal.ts';

const progressMillis = 200;

export const backupCommand: Command = {
  help: `Usage: backscroll backup FILE
       backscroll backup [STORE]
       backscroll backup list [STORE]

Copies a consistent snapshot of the embedded database. The service may be running.

FILE appears when the copy is complete and on disk; an older backup with that name stays until then.
STORE has many backups: a folder, which exists or ends in /, or s3://BUCKET/PREFIX. Without it, that of BACKUP_URL. The copy is compressed, stored and read back. Then backups are removed that BACKUP_KEEP does not keep.
list prints the backups of a store: time, size, messages, version of the program.

To restore from a store, see backscroll restore --help. To restore FILE: stop the service, delete the files next to the
database that end in -wal and -shm, replace the database with FILE, and start the service.`,

  run: async (argv, config) => {
    const { positionals } = parse(argv, {}, { max: argv[0] === 'list' ? 2 : 1 });
    const isList = positionals[0] === 'list';
    const given = positionals[isList ? 1 : 0] ?? config.backup_url;
    const database = databaseOf(config);
    requireEmbedded(database, 'backup');
    if (given === undefined) throw new Usage(isList ? 'backup list needs a STORE' : 'backup needs a FILE or a STORE');
    if (isList) return list(await openDestination(given, config));
    requireDatabase(database);
    const started = performance.now();
    const isStore = given === config.backup_url || isStoreUrl(given) || (await isFolder(given));
    const done = isStore ? await toStore(given, config, database) : await toFile(given, database);
    print(`backed up ${done} in ${((performance.now() - started) / 1000).toFixed(1)} s`);
    return 0;
  },
};

const isFolder = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => undefined))?.isDirectory() ?? false;

async function list(destination: Destination): Promise<number> {
  const { complete } = await findBackups(destination);
  const rows = [];
  for (const id of complete) {
    const found: Partial<Manifest> = (await findManifest(destination, id)) ?? {};
    const { bytes = 0, records = {}, version = 'damaged: use another backup' } = found;
    const at = timeOf(timeOfId(id) ?? null);
    rows.push([id, at, `${megabytes(bytes)} MB`, `${records.message ?? 0} messages`, visible(version)]);
  }
  if (rows.length === 0) print(`${destination.location} has no backups`);
  printTable(rows);
  return 0;
}

async function toFile(given: string, database: Database): Promise<string> {
  const file = await regularFile(given);
  if (file === undefined) throw new Error(`${given} is not a file`);
  await requireNotDatabase(file, database.files);
  await writeAtomically(file, (path) => withProgress(path, database.backup(path)));
  const store = await openUnmigrated(database);
  if (store !== undefined) await noteBackup(store, { kind: 'backup' });
  await store?.close();
  return `${megabytes((await stat(file)).size)} MB`;
}

/** A backup does not change the schema. */
async function openUnmigrated(database: Database): Promise<Store | undefined> {
  return (await database.status()).pending.length === 0 ? database.open() : undefined;
}

async function toStore(url: string, config: Config, database: Database): Promise<string> {
  const kind: JobKind = url === config.backup_url ? 'store' : 'backup';
  const store = await openUnmigrated(database);
  try {
    const destination = await openDestination(url, config);
    const work = () => backUp(destination, config, database, kind === 'store' ? store : undefined);
    const onWait = () => void process.stderr.write('another backup is running: this one waits\n');
    const lease = store && { store, name: 'backup', clock: Date.now, onWait };
    const { done, ...note } = await (lease === undefined
      ? work()
      : underLease(lease, new AbortController().signal, work));
    if (store !== undefined) await noteBackup(store, { kind, ...note });
    return done;
  } catch (error) {
    const failure = (error as Error).message;
    if (store !== undefined && kind === 'store') await noteBackup(store, { kind, failure });
    throw error;
  } finally {
    await store?.close();
  }
}

/** `store`: of which erasures are sent. */
async function backUp(
  destination: Destination,
  config: Config,
  database: Database,
  store: Store | undefined,
): Promise<{ done: string; at: number; bytes: number; millis: number }> {
  const started = performance.now();
  const show = (step: string, bytes: number) => showLine(`${step} ${megabytes(bytes)} MB`);
  if (store !== undefined) await sendErasures(store, destination, Date.now);
  const sizes = database.files.map((file) => statSync(file, { throwIfNoEntry: false })?.size ?? 0);
  await requireSpace(
    database.location,
    sizes.reduce((sum, size) => sum + size),
  );
  return withPartialFile(database.location, async (path) => {
    const facts = await withProgress(path, database.backup(path));
    const options = { version: productVersion(), keep: config.backup_keep, now: epochSeconds(), show };
    const { id, manifest } = await createBackup(destination, { path, facts }, options);
    show('', 0);
    const size = `${megabytes(manifest.database_bytes)} MB as ${megabytes(manifest.bytes)} MB`;
    const millis = Math.round(performance.now() - started);
    return { done: `${size} to ${destination.location}/${id}`, at: facts.created_at, bytes: manifest.bytes, millis };
  });
}

export async function requireSpace(file: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(dirname(file));
  if (bavail * bsize >= bytes) return;
  const [needed, free] = [bytes, bavail * bsize].map(megabytes);
  throw new Error(`${dirname(file)}: ${needed} MB of free space are needed, and there are ${free} MB`);
}

async function withProgress<T>(path: string, copying: Promise<T>): Promise<T> {
  if (!process.stderr.isTTY) return copying;
  const show = async () => showLine(`copied ${megabytes((await stat(path)).size)} MB`);
  const timer = setInterval(() => void show().catch(() => undefined), progressMillis);
  try {
    return await copying;
  } finally {
    clearInterval(timer);
    showLine('');
  }
}

export const megabytes = (bytes: number): string => (bytes / 1_000_000).toFixed(1);
