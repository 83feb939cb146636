import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type pg from 'pg';
import { drivenOf } from './driven.ts';

/**
 * A column of this name is returned as bytes, a part of what was received. All other columns of such a statement are texts, too:
 * its rows are requested in the binary format, in which a text has the same bytes, but the server need not search for its end.
 */
export const bytesColumn = 'raw_doc';
export const hasBytes = (statement: string): boolean => statement.includes(bytesColumn);

/** https://www.postgresql.org/docs/current/protocol-message-formats.html: the type, a length without the type, the content. */
const headerBytes = 5;
const dataRow = 'D'.charCodeAt(0);

/**
 * Reads the rows of a client's results, so that texts of messages are not decoded only to be encoded again, which takes more
 * time than all the rest of a page. The driver reads all other messages.
 */
export function readRowBytes(client: pg.Client): void {
  const { connection } = drivenOf(client);
  const attachDriver = connection.attachListeners;
  connection.attachListeners = (stream) => {
    const others = new EventEmitter();
    attachDriver.call(connection, others);
    let bytesAt = -1;
    // Before the driver's listener, which would copy each value of a binary row.
    connection.prependListener('rowDescription', ({ fields }: { fields: { name: string; format: string }[] }) => {
      bytesAt = fields.findIndex(({ name }) => name === bytesColumn);
      if (bytesAt >= 0) for (const field of fields) field.format = 'text';
    });
    const splitter = new MessageSplitter(
      (bytes) => others.emit('data', bytes),
      (content) => {
        const fields = readFields(content, bytesAt);
        connection.emit('dataRow', { name: 'dataRow', length: content.length, fieldCount: fields.length, fields });
      },
    );
    (stream as Socket).on('data', (chunk: Buffer) => splitter.add(chunk)).on('end', () => others.emit('end'));
  };
}

/**
 * Releases what the rows were received in, of which nothing may be used any more. Otherwise it would be collected with the whole
 * heap, every few hundred pages. A connection runs one statement at a time, so no other statement has rows in it.
 */
export function freeRowBytes(rows: readonly { [bytesColumn]: Buffer | null }[]): void {
  let last: ArrayBufferLike | undefined;
  for (const row of rows) {
    const received = row[bytesColumn]?.buffer;
    if (received !== last && received !== undefined) (received as ArrayBuffer).transfer(0);
    last = received ?? last;
  }
}

function readFields(content: Buffer, bytesAt: number): (string | Buffer | null)[] {
  const fields = new Array<string | Buffer | null>(content.readInt16BE(0));
  let at = 2;
  for (let index = 0; index < fields.length; index += 1) {
    const length = content.readInt32BE(at);
    at += 4;
    if (length < 0) {
      fields[index] = null;
      continue;
    }
    const end = at + length;
    fields[index] = index === bytesAt ? content.subarray(at, end) : content.toString('utf8', at, end);
    at = end;
  }
  return fields;
}

/** In memory that is not shared with other buffers, as that of `Buffer.concat` would be. */
function joinParts(parts: readonly Buffer[], length: number): Buffer {
  const joined = Buffer.allocUnsafeSlow(length);
  let offset = 0;
  for (const part of parts) offset += part.copy(joined, offset);
  return joined;
}

/** Separates rows from other messages, in the order in which they arrive. */
class MessageSplitter {
  readonly #onOthers: (messages: Buffer) => void;
  readonly #onRow: (content: Buffer) => void;
  /** The start of a message that has not arrived as a whole, its length so far, and the length that is waited for. */
  #parts: Buffer[] = [];
  #held = 0;
  #needed = 0;

  constructor(onOthers: (messages: Buffer) => void, onRow: (content: Buffer) => void) {
    this.#onOthers = onOthers;
    this.#onRow = onRow;
  }

  add(chunk: Buffer): void {
    let rest = chunk;
    while (this.#held > 0) {
      const missing = this.#needed - this.#held;
      this.#parts.push(rest.subarray(0, missing));
      this.#held += Math.min(missing, rest.length);
      if (this.#held < this.#needed) return;
      rest = rest.subarray(missing);
      const start = joinParts(this.#parts, this.#held);
      [this.#parts, this.#held] = [[], 0];
      // This is a whole message, or only its header, which tells the length.
      this.#split(start);
    }
    this.#split(rest);
  }

  #split(chunk: Buffer): void {
    let at = 0;
    let othersAt = 0;
    this.#needed = headerBytes;
    while (chunk.length - at >= headerBytes) {
      const length = 1 + chunk.readUInt32BE(at + 1);
      if (at + length > chunk.length) {
        this.#needed = length;
        break;
      }
      if (chunk[at] === dataRow) {
        if (othersAt < at) this.#onOthers(chunk.subarray(othersAt, at));
        othersAt = at + length;
        this.#onRow(chunk.subarray(at + headerBytes, othersAt));
      }
      at += length;
    }
    if (othersAt < at) this.#onOthers(chunk.subarray(othersAt, at));
    if (at === chunk.length) return;
    this.#parts = [chunk.subarray(at)];
    this.#held = chunk.length - at;
  }
}
