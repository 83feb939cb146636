import { randomUUID } from 'node:crypto';
import { closeSync, openSync, rmSync } from 'node:fs';
import { open, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

const endings = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The path that `given` leads to, links followed; undefined where something else than a file is there, a pipe say. */
export async function regularFile(given: string): Promise<string | undefined> {
  const path = await realpath(given).catch(() => given);
  const there = await stat(path).catch(() => undefined);
  return there === undefined || there.isFile() ? path : undefined;
}

/**
 * The file appears, for its owner alone, when it is whole and on disk; what was there before stays until then. `write` is
 * given the path of an empty file to fill. If it fails, or a signal ends the process, nothing is left of that.
 */
export async function writeWhole(file: string, write: (path: string) => Promise<void>): Promise<void> {
  const partial = `${file}.${randomUUID()}.partial`;
  const stop = (signal: NodeJS.Signals) => {
    rmSync(partial, { force: true });
    process.kill(process.pid, signal);
  };
  for (const signal of endings) process.once(signal, stop);
  try {
    closeSync(openSync(partial, 'wx', 0o600));
    await write(partial);
    await sync(partial, 'r+');
    await rename(partial, file);
    // The name as well. Not every system lets a folder be opened.
    await sync(dirname(file), 'r').catch(() => undefined);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  } finally {
    for (const signal of endings) process.off(signal, stop);
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

/** Throws where writing to `file` would destroy one of these, under whatever name or link. */
export async function requireOther(file: string, precious: readonly string[]): Promise<void> {
  const place = await placeOf(file);
  for (const path of precious) {
    const other = await placeOf(path);
    const isSame = place.inode !== undefined && place.inode === other.inode;
    if (isSame || place.path === other.path) throw new Error(`${file} is the database itself`);
  }
}

async function placeOf(file: string): Promise<{ path: string; inode: string | undefined }> {
  const folder = await realpath(dirname(file)).catch(() => dirname(file));
  const there = await stat(file, { bigint: true }).catch(() => undefined);
  return { path: join(folder, basename(file)), inode: there && `${there.dev}:${there.ino}` };
}
