import { randomUUID } from 'node:crypto';
import { closeSync, openSync, rmSync } from 'node:fs';
import { open, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileError } from './command.ts';

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The path with links resolved; undefined for a pipe or a device. Throws for a folder. */
export async function regularFile(givenPath: string): Promise<string | undefined> {
  const path = await realpath(givenPath).catch(() => givenPath);
  const stats = await stat(path).catch(() => undefined);
  if (stats?.isDirectory()) throw new Error(`${givenPath}: is a folder`);
  return stats === undefined || stats.isFile() ? path : undefined;
}

/**
 * Calls `write` with the path of an empty file, which only its owner may read. That file replaces `file` when it is complete
 * and on disk. If `write` fails or a signal ends the process, the partial file is removed.
 */
export async function writeAtomically(file: string, write: (path: string) => Promise<void>): Promise<void> {
  const partial = `${file}.${randomUUID()}.partial`;
  const stop = (signal: NodeJS.Signals) => {
    rmSync(partial, { force: true });
    process.kill(process.pid, signal);
  };
  for (const signal of stopSignals) process.once(signal, stop);
  try {
    createEmpty(file, partial);
    await write(partial);
    await sync(partial, 'r+');
    await rename(partial, file);
    // Makes the new name durable. Not every system can open a folder.
    await sync(dirname(file), 'r').catch(() => undefined);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  } finally {
    for (const signal of stopSignals) process.off(signal, stop);
  }
}

function createEmpty(file: string, partial: string): void {
  try {
    closeSync(openSync(partial, 'wx', 0o600));
  } catch (error) {
    throw fileError(file, error);
  }
}

async function sync(path: string, flags: string): Promise<void> {
  const handle = await open(path, flags);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Throws if `file` is one of the database's files, even under another name or through a link. */
export async function requireNotDatabase(file: string, databaseFiles: readonly string[]): Promise<void> {
  const target = await identify(file);
  for (const databaseFile of databaseFiles) {
    const { path, inode } = await identify(databaseFile);
    const isSameInode = target.inode !== undefined && target.inode === inode;
    if (isSameInode || target.path === path) throw new Error(`${file} is the database itself`);
  }
}

async function identify(file: string): Promise<{ path: string; inode: string | undefined }> {
  const folder = await realpath(dirname(file)).catch(() => dirname(file));
  const stats = await stat(file, { bigint: true }).catch(() => undefined);
  return { path: join(folder, basename(file)), inode: stats && `${stats.dev}:${stats.ino}` };
}
