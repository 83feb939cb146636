import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { FastifyBaseLogger } from 'fastify';
import { sendErasures } from '../backup/erasures.ts';
import { openDestination } from '../backup/open-destination.ts';
import type { Config } from '../config.ts';
import type { Store } from '../domain/store/store.ts';
import { backUpRegularly } from '../service/back-up.ts';
import type { Database } from '../store/open.ts';
import { removeLeftFiles } from './atomic-file.ts';
import { noteBackup, requireEmbedded } from './command.ts';

export type ScheduledBackups = { start: (store: Store, logger: FastifyBaseLogger) => { end: () => Promise<void> } };

/** The backups of `serve`. Throws if they cannot work with these settings. */
export async function scheduledBackups(url: string, config: Config, database: Database): Promise<ScheduledBackups> {
  requireEmbedded(database, 'BACKUP_URL');
  const destination = await openDestination(url, config);
  return {
    start: (store, logger) => {
      removeLeftFiles(database.location);
      return backUpRegularly({
        store,
        logger,
        clock: Date.now,
        everySeconds: config.backup_every,
        sendErasures: () => sendErasures(store, destination, Date.now),
        backUp: (signal) => backUp(store, signal),
      });
    },
  };
}

/**
 * In a process of its own, which compresses and computes digests while this one serves requests. It is the command `backup`
 * with the same settings, from the environment.
 */
async function backUp(store: Store, signal: AbortSignal): Promise<string> {
  const args = [...process.execArgv, process.argv[1] ?? '', 'backup'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const stop = () => child.kill('SIGTERM');
  signal.addEventListener('abort', stop);
  try {
    const [said, problem, [code, ended]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit'),
    ]);
    if (code === 0) return said.trim();
    const failure = problem.trim().split('\n').at(-1) || `its process ended: ${ended ?? code}`;
    // The process has done so, unless something has ended it.
    if (!signal.aborted) await noteBackup(store, { kind: 'store', failure });
    throw new Error(failure);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
