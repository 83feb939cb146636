import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { asError } from '../domain/errors.ts';
import type { Content, Destination } from './destination.ts';

const unfinished = '.partial';

/** A store of backups in a folder, such as one on another disk. */
export class FolderDestination implements Destination {
  readonly location: string;

  constructor(url: string) {
    this.location = resolve(url.startsWith('file://') ? fileURLToPath(url) : url);
  }

  async list(start: string): Promise<string[]> {
    return (await this.#names()).filter((name) => name.startsWith(start) && !name.endsWith(unfinished));
  }

  read(name: string): AsyncIterable<Uint8Array> {
    return createReadStream(join(this.location, name), { highWaterMark: 1_048_576 });
  }

  async write(name: string, content: Content): Promise<void> {
    const path = join(this.location, name);
    const partial = path + unfinished;
    await this.#createFolder(dirname(path));
    try {
      await writeFile(partial, content, { mode: 0o600, flush: true });
      await rename(partial, path);
    } catch (error) {
      await rm(partial, { force: true }).catch(() => undefined);
      throw error;
    }
    await sync(dirname(path));
  }

  /** Also the folder of the name, if it is the last one in it. */
  async remove(name: string): Promise<void> {
    const path = join(this.location, name);
    await rm(path, { force: true });
    await rmdir(dirname(path)).catch(() => undefined);
  }

  async removeUnfinished(): Promise<void> {
    for (const name of await this.#names()) if (name.endsWith(unfinished)) await this.remove(name);
  }

  async #names(): Promise<string[]> {
    const entries = await readdir(this.location, { withFileTypes: true }).catch((error) => {
      if (asError(error).code === 'ENOENT') return [];
      throw error;
    });
    // Other folders are none of ours, and may be large.
    const folders = entries.filter((entry) => entry.isDirectory() && /^\d|^erased$/.test(entry.name));
    const names = folders.map(async ({ name: folder }) => {
      const names = await readdir(join(this.location, folder));
      return names.map((name) => `${folder}/${name}`);
    });
    return (await Promise.all(names)).flat();
  }

  /** Not the folders above the store: if a disk is not mounted, backups must not go to the disk below it. */
  async #createFolder(folder: string): Promise<void> {
    for (const path of new Set([this.location, folder])) {
      await mkdir(path, { mode: 0o700 }).catch((error) => {
        if (asError(error).code !== 'EEXIST') throw error;
      });
    }
    await sync(this.location);
  }
}

/** Makes new names durable. Not every system can open a folder. */
async function sync(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}
