import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readSync, rmSync, writev } from 'node:fs';
import { promisify } from 'node:util';
import { limits } from '../../contract/limits.ts';
import type { RecordKind } from '../../contract/record.ts';
import { unavailable } from '../../domain/errors.ts';
import type { Batch } from '../../domain/records/prepare-lines.ts';
import { explainDiskError } from '../base/disk-errors.ts';
import type { SpoolHandle } from '../base/engine.ts';
import type { SpooledRecord } from '../base/spooled-record.ts';

const write = promisify(writev);
/** All spools of a thread together have at most this in memory. */
const spoolsBytesMax = 67_108_864;
/** Of the batches of all spools of this thread that are in memory. */
let bytesInMemory = 0;
/** The header of each batch: the length of its records as JSON, and the length of its texts. */
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
    const bytes = headerBytes + json.length + texts.length;
    this.#partBytes += bytes;
    bytesInMemory += bytes;
    const isLarge = this.#partBytes > limits.joinedDocBytesMax;
    if (this.#partBytes > limits.spoolBytesMin || (isLarge && bytesInMemory > spoolsBytesMax)) await this.#flush();
  }

  async #flush(): Promise<void> {
    try {
      this.#file ??= createSpoolFile(this.#folder);
      const { bytesWritten } = await write(this.#file.fd, this.#parts, this.#file.bytes);
      // On a disk that is nearly full, a write can be incomplete without an error.
      if (bytesWritten < this.#partBytes) throw Object.assign(new Error('incomplete write'), { code: 'ENOSPC' });
    } catch (error) {
      throw spoolFailure(this.#folder, error);
    }
    this.#file.bytes += this.#partBytes;
    this.#forgetParts();
  }

  #forgetParts(): void {
    bytesInMemory -= this.#partBytes;
    this.#parts = [];
    this.#partBytes = 0;
  }

  async finish(): Promise<SpoolHandle> {
    const kinds = this.#kinds;
    if (this.#file === undefined) return { kinds, parts: this.#parts };
    await this.#flush();
    return { kinds, fd: this.#file.fd, bytes: this.#file.bytes };
  }

  async discard(): Promise<void> {
    this.#forgetParts();
    const file = this.#file;
    this.#file = undefined;
    if (file === undefined) return;
    closeSync(file.fd);
    removeName(file.path);
  }
}

/** The error for an import that cannot be spooled: 503, since it is not the client's fault. */
export function spoolFailure(where: string, error: unknown): Error {
  const cause = `${where}: ${explainDiskError(error)}`;
  return Object.assign(unavailable('the import cannot be stored until it is applied'), { cause });
}

/** Its name is removed immediately, if the system allows it: then the system deletes the file even if the process is killed. */
function createSpoolFile(folder: string) {
  const path = `${folder}/import-${randomUUID()}.tmp`;
  const fd = openSync(path, 'wx+', 0o600);
  removeName(path);
  return { fd, path, bytes: 0 };
}

/** Some systems do not remove the name of an open file. */
function removeName(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // It is removed when the import is done.
  }
}

/** The batches of a spool, one at a time, on the thread that applies them. */
export function* readSpool(spool: SpoolHandle): Generator<SpooledRecord[]> {
  const { bytes, read } = bytesOf(spool);
  for (let offset = 0; offset < bytes; ) {
    const header = read(headerBytes, offset);
    const json = header.readUInt32LE(0);
    const texts = header.readUInt32LE(4);
    yield decode(read(json + texts, offset + headerBytes), json);
    offset += headerBytes + json + texts;
  }
}

function bytesOf(spool: SpoolHandle): { bytes: number; read: (length: number, offset: number) => Buffer } {
  if ('fd' in spool) return { bytes: spool.bytes, read: (length, offset) => readExactly(spool.fd, length, offset) };
  const all = Buffer.concat(spool.parts);
  return { bytes: all.length, read: (length, offset) => all.subarray(offset, offset + length) };
}

function decode(batch: Buffer, jsonBytes: number): SpooledRecord[] {
  const records: SpooledRecord[] = JSON.parse(batch.toString('utf8', 0, jsonBytes));
  let offset = jsonBytes;
  for (const record of records) {
    if (record.record !== 'message') continue;
    record.doc = batch.subarray(offset, offset + record.doc_bytes);
    offset += record.doc_bytes;
  }
  return records;
}

function readExactly(fd: number, length: number, position: number): Buffer {
  const buffer = Buffer.allocUnsafe(length);
  for (let read = 0; read < length; ) {
    const count = readSync(fd, buffer, read, length - read, position + read);
    if (count === 0) throw new Error('the import spool ended early');
    read += count;
  }
  return buffer;
}
