import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, openSync, readdirSync, rmSync } from 'node:fs';
import { open, realpath, rename, stat } from 'node:fs/promises';
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
export async function writeAtomically<T>(file: string, write: (path: string) => Promise<T>): Promise<T> {
  return withPartialFile(file, async (partial) => {
    const written = await write(partial);
    await sync(partial, 'r+');
    await rename(partial, file);
    await syncFolder(file);
    return written;
  });
}

/** Makes a new name durable. Not every system can open a folder. */
export const syncFolder = (file: string): Promise<void> => sync(dirname(file), 'r').catch(() => undefined);

const written = new Set<string>();

/**
 * Calls `use` with the path of an empty file next to `file`, which only its owner may read. The file is removed at the end, or
 * when a signal ends the process. What a killed process has left there is removed first.
 */
export async function withPartialFile<T>(file: string, use: (path: string) => Promise<T>): Promise<T> {
  removeLeftFiles(file);
  const partial = `${file}.${process.pid}-${randomBytes(4).toString('hex')}.partial`;
  const remove = () => {
    for (const ending of databaseEndings) rmSync(partial + ending, { force: true });
  };
  const stop = (signal: NodeJS.Signals) => {
    remove();
    process.kill(process.pid, signal);
  };
  for (const signal of stopSignals) process.once(signal, stop);
  written.add(partial);
  try {
    createEmpty(file, partial);
    return await use(partial);
  } finally {
    remove();
    written.delete(partial);
    for (const signal of stopSignals) process.off(signal, stop);
  }
}

const databaseEndings = ['', '-wal', '-shm', '-journal'] as const;

/** Removes partial files of processes that no longer run. The number of a process may be in use again: then they stay. */
export function removeLeftFiles(file: string): void {
  const folder = dirname(file);
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const path = join(folder, name);
    const [, partial = '', pid] = /^(.*\.(\d+)-[0-9a-f]{8}\.partial)(?:-\w+)?$/.exec(path) ?? [];
    const isOfFile = partial.startsWith(`${join(folder, basename(file))}.`) && !written.has(partial);
    if (isOfFile && !isRunning(Number(pid))) rmSync(path, { force: true });
  }
}

function isRunning(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
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
