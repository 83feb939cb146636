import { randomUUID } from 'node:crypto';
import { readSync } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { limits } from '../contract/limits.ts';
import type { RecordKind } from '../contract/record.ts';
import type { Prepared, PreparedRecord } from '../domain/prepare-record.ts';

/** Checked records on their way to the writer: in memory while few, in a file of ours once many. */
export type Spooled = { kinds: ReadonlySet<RecordKind> } & ({ chunks: Uint8Array[] } | { fd: number; bytes: number });

/** A record as it comes out: the text of a message is bytes by then. */
export type SpooledRecord = { [K in RecordKind]: SpooledOf<K> }[RecordKind];
export type SpooledOf<K extends RecordKind> = K extends 'message'
  ? Omit<Prepared<'message'>, 'doc'> & { doc: Buffer }
  : Prepared<K>;

export class Spool {
  readonly #folder: string;
  readonly #kinds = new Set<RecordKind>();
  #chunks: Buffer[] = [];
  #chunkBytes = 0;
  #file: { handle: FileHandle; path: string; bytes: number } | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async add(records: readonly PreparedRecord[]): Promise<void> {
    for (const { record } of records) this.#kinds.add(record);
    const chunk = encode(records);
    this.#chunks.push(chunk);
    this.#chunkBytes += chunk.length;
    if (this.#chunkBytes > limits.spoolBytesMin) await this.#flush();
  }

  async #flush(): Promise<void> {
    this.#file ??= await createSpoolFile(this.#folder);
    await this.#file.handle.writev(this.#chunks, this.#file.bytes);
    this.#file.bytes += this.#chunkBytes;
    this.#chunks = [];
    this.#chunkBytes = 0;
  }

  async finish(): Promise<Spooled> {
    const kinds = this.#kinds;
    if (this.#file === undefined) return { kinds, chunks: this.#chunks };
    await this.#flush();
    return { kinds, fd: this.#file.handle.fd, bytes: this.#file.bytes };
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

/** Lengths of the two parts that follow: records as JSON, with the length of its text in each message; those texts. */
const headerBytes = 8;

function encode(records: readonly PreparedRecord[]): Buffer {
  const texts: string[] = [];
  let textBytes = 0;
  const json = JSON.stringify(
    records.map((record) => {
      if (record.record !== 'message') return record;
      const doc = Buffer.byteLength(record.doc);
      texts.push(record.doc);
      textBytes += doc;
      return { ...record, doc };
    }),
  );
  const jsonBytes = Buffer.byteLength(json);
  const chunk = Buffer.allocUnsafe(headerBytes + jsonBytes + textBytes);
  chunk.writeUInt32LE(jsonBytes, 0);
  chunk.writeUInt32LE(textBytes, 4);
  let at = headerBytes + chunk.write(json, headerBytes);
  for (const text of texts) at += chunk.write(text, at);
  return chunk;
}

function decode(chunk: Buffer): SpooledRecord[] {
  let at = headerBytes + chunk.readUInt32LE(0);
  const records = JSON.parse(chunk.toString('utf8', headerBytes, at));
  for (const record of records) {
    if (record.record === 'message') record.doc = chunk.subarray(at, (at += record.doc));
  }
  return records;
}

/** The batches of a spool, one at a time, on whichever thread applies them. */
export function* readSpool(spooled: Spooled): Generator<SpooledRecord[]> {
  if ('chunks' in spooled) {
    for (const { buffer, byteOffset, length } of spooled.chunks) yield decode(Buffer.from(buffer, byteOffset, length));
    return;
  }
  const { fd, bytes } = spooled;
  for (let at = 0; at < bytes; ) {
    const header = readExactly(fd, headerBytes, at);
    const length = headerBytes + header.readUInt32LE(0) + header.readUInt32LE(4);
    yield decode(readExactly(fd, length, at));
    at += length;
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
