import { randomUUID } from 'node:crypto';
import { readSync } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { deserialize, serialize } from 'node:v8';
import { limits } from '../contract/limits.ts';
import type { PreparedRecord } from '../domain/prepare-record.ts';

/** Checked records on their way to the writer: in memory while few, in a file of ours once many. */
export type Spooled = { chunks: Uint8Array[] } | { fd: number; bytes: number };

const headerBytes = 4;

export class Spool {
  readonly #folder: string;
  #chunks: Buffer[] = [];
  #chunkBytes = 0;
  #file: { handle: FileHandle; path: string; bytes: number } | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async add(records: readonly PreparedRecord[]): Promise<void> {
    const chunk = serialize(records);
    this.#chunks.push(chunk);
    this.#chunkBytes += chunk.length + headerBytes;
    if (this.#chunkBytes > limits.spoolBytesMin) await this.#flush();
  }

  async #flush(): Promise<void> {
    this.#file ??= await createSpoolFile(this.#folder);
    const parts = this.#chunks.flatMap((chunk) => {
      const header = Buffer.alloc(headerBytes);
      header.writeUInt32LE(chunk.length);
      return [header, chunk];
    });
    await this.#file.handle.writev(parts, this.#file.bytes);
    this.#file.bytes += this.#chunkBytes;
    this.#chunks = [];
    this.#chunkBytes = 0;
  }

  async finish(): Promise<Spooled> {
    if (this.#file === undefined) return { chunks: this.#chunks };
    await this.#flush();
    return { fd: this.#file.handle.fd, bytes: this.#file.bytes };
  }

  async discard(): Promise<void> {
    this.#chunks = [];
    const file = this.#file;
    this.#file = undefined;
    if (file === undefined) return;
    await file.handle.close();
    await unlink(file.path).catch(() => undefined);
  }
}

/** Unlinked at once where the system allows it, so that not even a crash leaves records lying about. */
async function createSpoolFile(folder: string) {
  const path = `${folder}/import-${randomUUID()}.tmp`;
  const handle = await open(path, 'wx+', 0o600);
  await unlink(path).catch(() => undefined);
  return { handle, path, bytes: 0 };
}

/** The batches of a spool, one at a time, on whichever thread applies them. */
export function* readSpool(spooled: Spooled): Generator<PreparedRecord[]> {
  if ('chunks' in spooled) {
    for (const chunk of spooled.chunks) yield deserialize(chunk);
    return;
  }
  const { fd, bytes } = spooled;
  for (let at = 0; at < bytes; ) {
    const length = readExactly(fd, headerBytes, at).readUInt32LE();
    yield deserialize(readExactly(fd, length, at + headerBytes));
    at += headerBytes + length;
  }
}

function readExactly(fd: number, length: number, position: number): Buffer {
  const buffer = Buffer.allocUnsafe(length);
  for (let read = 0; read < length; ) {
    const got = readSync(fd, buffer, read, length - read, position + read);
    if (got === 0) throw new Error('the import spool ended early');
    read += got;
  }
  return buffer;
}
