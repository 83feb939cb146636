import type { Config } from '../config.ts';
import { switchFeed } from '../domain/changes/changes.ts';
import type { JobNote } from '../domain/store/monitoring.ts';
import type { Store } from '../domain/store/store.ts';
import { type Database, databaseOf } from '../store/open.ts';

/** Returns the exit code. */
export type Command = { help: string; run: (argv: string[], config: Config) => Promise<number> };

export const epochSeconds = (): number => Math.floor(Date.now() / 1000);

/** The address at which this machine can reach the service. */
export function addressOf(host: string, port: number): string {
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '[::1]' }[host] ?? (host.includes(':') ? `[${host}]` : host);
  return `http://${reachable}:${port}`;
}

/** For commands that do not create a database. */
export function requireDatabase(database: Database): void {
  if (!database.exists()) throw new Error(`there is no database at ${database.location} (see DATABASE_URL)`);
}

export function requireEmbedded(database: Database, command: string): void {
  if (database.engine === 'sqlite') return;
  throw new Error(
    `${command} is for the embedded database, and this is PostgreSQL: use pg_dump, the backups of your provider, or export (see docs/run/backup.md)`,
  );
}

/** Opens the configured database and migrates it. A command that only reads does not create a new one. */
export async function withStore<T>(
  config: Config,
  mode: 'create' | 'existing',
  use: (store: Store) => Promise<T>,
): Promise<T> {
  const database = databaseOf(config);
  if (mode === 'existing') requireDatabase(database);
  await database.migrate(epochSeconds());
  const store = await database.open();
  try {
    if (!config.changes) await switchFeed(store, false, (text) => void process.stderr.write(`${text}\n`));
    return await use(store);
  } finally {
    await store.close();
  }
}

/** Stores that the data was copied, or why not, for the metrics. If this fails, the copy is as good. */
export async function noteBackup(store: Store, note: Omit<JobNote, 'at'> & { at?: number }): Promise<void> {
  await store.run('noteJob', { at: epochSeconds(), ...note }).catch(() => undefined);
}

const fileErrors: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or folder',
  EISDIR: 'is a folder',
  EACCES: 'permission denied',
};

/** Names the file as the user gave it. */
export function fileError(file: string, error: unknown): Error {
  const { code, message } = error as NodeJS.ErrnoException;
  return new Error(`${file}: ${fileErrors[code ?? ''] ?? message}`);
}
