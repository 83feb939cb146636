import { lstatSync } from 'node:fs';
import { link, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Destination } from '../backup/destination.ts';
import { readErasures } from '../backup/erasures.ts';
import { findManifest, type Manifest, readManifest } from '../backup/manifest.ts';
import { openDestination } from '../backup/open-destination.ts';
import { findBackup, readBackup } from '../backup/read-backup.ts';
import type { Config } from '../config.ts';
import { offEpoch } from '../domain/changes/changes.ts';
import { applyErasures } from '../domain/erasure/apply-erasures.ts';
import type { LaterChanges } from '../domain/store/monitoring.ts';
import type { Store } from '../domain/store/store.ts';
import { databaseOf } from '../store/open.ts';
import { syncFolder, withPartialFile } from './atomic-file.ts';
import { megabytes, requireSpace } from './backup.ts';
import { type Command, epochSeconds, fileError, requireDatabase, requireEmbedded, withStore } from './command.ts';
import { countOf, describe } from './purge.ts';
import { flag, parse, print, showLine, text, timeOf, timeOption, Usage, visible } from './terminal.ts';

export const restoreCommand: Command = {
  help: `Usage: backscroll restore [STORE] [OPTIONS]

Restores the newest backup of STORE (see backscroll backup --help; default: BACKUP_URL) to the file of DATABASE_URL, which
must not exist. The file appears when it is complete and checked, and can be read only by its owner.
What was erased after the backup is erased again, as far as the store knows it. All cursors of the change feed and all
sessions of the console end.

Options:
  --at TIME          the newest backup from this time or before: 2026-01-31 (UTC), 2026-01-31T12:00:00Z or seconds
  --tombstones FILE  also erase what was erased in this old database
  --revoke-keys      revoke all API keys`,

  run: async (argv, config) => {
    const { values, positionals } = parse(argv, { at: text, tombstones: text, 'revoke-keys': flag }, { max: 1 });
    const { at, tombstones: oldFile } = values;
    const before = at === undefined ? undefined : timeOption('--at', at);
    const url = positionals[0] ?? config.backup_url;
    if (url === undefined) throw new Usage('restore needs a STORE');
    const database = databaseOf(config);
    requireEmbedded(database, 'restore');
    requireNoFile(database.files);
    const old = oldFile === undefined ? undefined : await readOld(oldFile, config);
    const destination = await openDestination(url, config);
    const id = await findBackup(destination, before);
    const manifest = await readManifest(destination, id);
    database.requireSchema(manifest.schema);
    const source = { destination, id, manifest };
    await restoreTo(database.location, source, config, { old, revokesKeys: values['revoke-keys'] === true });
    return 0;
  },
};

/** Not even a log without its database: SQLite would apply it to the restored one. */
function requireNoFile(files: readonly string[]): void {
  const existing = files.find((file) => lstatSync(file, { throwIfNoEntry: false }) !== undefined);
  if (existing !== undefined)
    throw new Error(`${existing} exists, and a restore never replaces a file: move it away, or set DATABASE_URL`);
}

async function readOld(file: string, config: Config): Promise<LaterChanges> {
  const database = databaseOf({ ...config, database_url: `sqlite:${file}` });
  requireDatabase(database);
  return database.readLaterChanges();
}

type Source = { destination: Destination; id: string; manifest: Manifest };
type Options = { old: LaterChanges | undefined; revokesKeys: boolean };

async function restoreTo(file: string, source: Source, config: Config, options: Options): Promise<void> {
  const { destination, id, manifest } = source;
  await mkdir(dirname(file), { recursive: true });
  await requireSpace(file, manifest.database_bytes);
  const erasures = await readErasures(destination, manifest.created_at);
  const newest = (await findManifest(destination, await findBackup(destination, undefined))) ?? manifest;
  const lines = await withPartialFile(file, async (partial) => {
    await readBackup(source, partial, (bytes) => showLine(`restored ${megabytes(bytes)} MB`));
    showLine('');
    const copy = { ...config, database_url: `sqlite:${partial}` };
    await databaseOf(copy).check();
    const later = [{ tombstones: erasures.tombstones, valid_keys: newest.valid_keys }, options.old];
    const done = await withStore(copy, 'existing', (store) => prepare(store, later, options.revokesKeys));
    // Fails if the file exists by now.
    await link(partial, file).catch((error) => {
      requireNoFile([file]);
      throw fileError(file, error);
    });
    await syncFolder(file);
    return done;
  });
  print(`restored backup ${id} of ${destination.location} to ${file}: ${megabytes(manifest.database_bytes)} MB`);
  for (const line of lines) print(line);
  const knownUntil = Math.max(newest.created_at, erasures.lastAt);
  print(`the store does not know what was erased after ${timeOf(knownUntil)}: erase that again`);
}

/** Applies what happened after the backup. Returns lines about it. */
async function prepare(store: Store, later: (LaterChanges | undefined)[], revokesKeys: boolean): Promise<string[]> {
  if ((await store.changes.head()).epoch !== offEpoch) await store.changes.startEpoch();
  await store.run('endSessions', undefined);
  const erased = { conversations: 0, messages: 0 };
  for (const [at, { tombstones }] of later.filter((one) => one !== undefined).entries()) {
    const applied = await applyErasures(store, tombstones, at === 0);
    erased.conversations += applied.conversations;
    erased.messages += applied.messages;
  }
  await store.erasure.clean();
  const valid = (await store.listKeys()).filter(({ revoked_at }) => revoked_at === null);
  const now = epochSeconds();
  if (revokesKeys) for (const { id } of valid) await store.run('revokeKey', { id, by: null, now });
  const isRevokedLater = (id: string) => later.some((one) => one !== undefined && !one.valid_keys.includes(id));
  const again = revokesKeys ? [] : valid.filter(({ id }) => isRevokedLater(id));
  return [
    `erased again: ${describe(erased)}`,
    'readers of the change feed start again, and all sessions of the console have ended',
    ...(revokesKeys ? [`revoked all ${countOf(valid.length, 'key')}`] : []),
    ...again.map(({ id, name }) => `valid again, although it was revoked later: key ${id} ${visible(name)}`),
  ];
}
