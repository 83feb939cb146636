import { stat } from 'node:fs/promises';
import { databaseOf } from '../store/open.ts';
import { regularFile, requireNotDatabase, writeAtomically } from './atomic-file.ts';
import { type Command, noteBackup, parse, print, requireDatabase, showLine, Usage } from './command.ts';

const progressMillis = 200;

export const backupCommand: Command = {
  help: `Usage: backscroll backup FILE

Copies a consistent snapshot of the embedded database to FILE. The service may be running.
FILE appears when the copy is complete and on disk; an older backup with that name stays until then.
To restore: stop the service, delete the files next to the database that end in -wal and -shm, replace the database with
FILE, and start the service. For PostgreSQL use pg_dump.`,

  run: async (argv, config) => {
    const [given] = parse(argv, {}, { max: 1 }).positionals;
    if (given === undefined) throw new Usage('backup needs a FILE to write to');
    const database = databaseOf(config);
    requireDatabase(database);
    const file = await regularFile(given);
    if (file === undefined) throw new Error(`${given} is not a file`);
    await requireNotDatabase(file, database.files);
    const started = performance.now();
    await writeAtomically(file, (path) => withProgress(path, database.backup(path)));
    // A backup does not change the schema.
    if ((await database.status()).pending.length === 0) {
      const store = await database.open();
      await noteBackup(store, 'backup');
      await store.close();
    }
    const { size } = await stat(file);
    print(`backed up ${megabytes(size)} MB in ${((performance.now() - started) / 1000).toFixed(1)} s`);
    return 0;
  },
};

/** Shows the growing size of the file on a terminal. */
async function withProgress(path: string, copying: Promise<void>): Promise<void> {
  if (!process.stderr.isTTY) return copying;
  const show = async () => showLine(`copied ${megabytes((await stat(path)).size)} MB`);
  const timer = setInterval(() => void show().catch(() => undefined), progressMillis);
  try {
    await copying;
  } finally {
    clearInterval(timer);
    showLine('');
  }
}

const megabytes = (bytes: number): string => (bytes / 1_000_000).toFixed(1);
