import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readSync, rmSync, writev } from 'node:fs';
import { promisify } from 'node:util';
import { limits } from '../../contract/limits.ts';
import type { RecordKind } from '../../contract/record.ts';
import { unavailable } from '../../domain/errors.ts';
import type { Batch } from '../../domain/prepare-lines.ts';
import type { Prepared } from '../../domain/prepared-record.ts';
import { explainDiskError } from '../disk-errors.ts';

/** Checked records on their way to the writer: in memory while few, in a file of ours once many. */
export type Spooled = { kinds: ReadonlySet<RecordKind> } & ({ parts: Uint8Array[] } | { fd: number; bytes: number });

/** A record as it comes out: a message has its text. */
export type SpooledRecord = { [K in RecordKind]: SpooledOf<K> }[RecordKind];
export type SpooledOf<K extends RecordKind> = K extends 'message' ? Prepared<K> & { doc: Buffer } : Prepared<K>;

const write = promisify(writev);
/** In front of a batch: the lengths of its records, as JSON, and of its texts. */
const headerBytes = 8;

export class Spool {
  readonly #folder: string;
  readonly #kinds = new Set<RecordKind>();
  #parts: Uint8Array[] = [];
  #partBytes = 0;
  #file: { fd: number; path: string; bytes: number } | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async add({ records, texts }: Batch): Promise<void> {
    for (const { record } of records) this.#kinds.add(record);
    const json = Buffer.from(JSON.stringify(records));
    const header = Buffer.alloc(headerBytes);
    header.writeUInt32LE(json.length, 0);
    header.writeUInt32LE(texts.length, 4);
    this.#parts.push(header, json, texts);
    this.#partBytes += headerBytes + json.length + texts.length;
    if (this.#partBytes > limits.spoolBytesMin) await this.#flush();
  }

  async #flush(): Promise<void> {
    try {
      this.#file ??= createSpoolFile(this.#folder);
      const { bytesWritten } = await write(this.#file.fd, this.#parts, this.#file.bytes);
      // A disk that is nearly full takes a part without a word.
      if (bytesWritten < this.#partBytes) throw Object.assign(new Error('cut short'), { code: 'ENOSPC' });
    } catch (error) {
      throw cannotKeep(this.#folder, error);
    }
    this.#file.bytes += this.#partBytes;
    this.#parts = [];
    this.#partBytes = 0;
  }

  async finish(): Promise<Spooled> {
    const kinds = this.#kinds;
    if (this.#file === undefined) return { kinds, parts: this.#parts };
    await this.#flush();
    return { kinds, fd: this.#file.fd, bytes: this.#file.bytes };
  }

  async discard(): Promise<void> {
    this.#parts = [];
    const file = this.#file;
    this.#file = undefined;
    if (file === undefined) return;
    closeSync(file.fd);
    removeName(file.path);
  }
}

/** An import that the disk does not take is no fault of whoever sent it. */
export function cannotKeep(where: string, error: unknown): Error {
  const cause = `${where}: ${explainDiskError(error)}`;
  return Object.assign(unavailable('the import cannot be kept until it is applied'), { cause });
}

/** Without a name from its first moment, where the system allows it: not even a kill leaves records lying about. */
function createSpoolFile(folder: string) {
  const path = `${folder}/import-${randomUUID()}.tmp`;
  const fd = openSync(path, 'wx+', 0o600);
  removeName(path);
  return { fd, path, bytes: 0 };
}

/** Some systems keep the name of a file that is open. */
function removeName(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // It goes when the import is done.
  }
}

/** The batches of a spool, one at a time, on whichever thread applies them. */
export function* readSpool(spooled: Spooled): Generator<SpooledRecord[]> {
  const { bytes, read } = bytesOf(spooled);
  for (let at = 0; at < bytes; ) {
    const header = read(headerBytes, at);
    const json = header.readUInt32LE(0);
    const texts = header.readUInt32LE(4);
    yield decode(read(json + texts, at + headerBytes), json);
    at += headerBytes + json + texts;
  }
}

function bytesOf(spooled: Spooled): { bytes: number; read: (length: number, at: number) => Buffer } {
  if ('fd' in spooled) return { bytes: spooled.bytes, read: (length, at) => readExactly(spooled.fd, length, at) };
  const all = Buffer.concat(spooled.parts);
  return { bytes: all.length, read: (length, at) => all.subarray(at, at + length) };
}

function decode(batch: Buffer, jsonBytes: number): SpooledRecord[] {
  const records: SpooledRecord[] = JSON.parse(batch.toString('utf8', 0, jsonBytes));
  let at = jsonBytes;
  for (const record of records) {
    if (record.record !== 'message') continue;
    record.doc = batch.subarray(at, at + record.doc_bytes);
    at += record.doc_bytes;
  }
  return records;
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
