import { isUtf8 } from 'node:buffer';
import { limits } from '../../contract/limits.ts';
import { BadRecord } from '../errors.ts';
import { prepareRecord } from './prepare-record.ts';
import type { PreparedRecord } from './prepared-record.ts';
import { type Lines, splitLines } from './read-lines.ts';

/** Records that are valid by themselves, and the concatenated JSON texts of their messages. */
export type Batch = { records: PreparedRecord[]; texts: Uint8Array };

/** `failure` is the error of the line after the last record. */
export type PreparedLines = Batch & { failure?: unknown };

/** Validates lines by themselves, in the order of the input, each chunk up to its first bad line. */
export type LineValidator = (chunks: AsyncIterable<Lines>, now: number) => AsyncIterable<PreparedLines>;

export async function* validateInThread(chunks: AsyncIterable<Lines>, now: number): AsyncGenerator<PreparedLines> {
  for await (const chunk of chunks) yield prepareLines(chunk, now);
}

/** Stops at the first bad line, but returns the records before it: a bad reference in one of them is reported first. */
export function prepareLines(lines: Lines, now: number): PreparedLines {
  const { source } = lines;
  const records: PreparedRecord[] = [];
  const texts: string[] = [];
  let failure: unknown;
  try {
    for (const { number, bytes } of splitLines(lines)) {
      if (bytes.length > limits.recordBytesMax) throw new BadRecord({ number, source }, undefined, tooLong);
      if (!isUtf8(bytes)) throw new BadRecord({ number, source }, undefined, 'not UTF-8');
      const text = bytes.toString();
      const json = number === 1 ? withoutByteOrderMark(text) : text;
      if (!blank.test(json)) records.push(prepareRecord({ number, source }, json, now, texts));
    }
  } catch (error) {
    failure = error;
  }
  return { records, texts: encode(texts), failure };
}

/** The result has its own ArrayBuffer, which can be transferred to another thread. */
function encode(texts: readonly string[]): Uint8Array {
  const bytes = Buffer.allocUnsafeSlow(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0));
  let offset = 0;
  for (const text of texts) offset += bytes.write(text, offset);
  return bytes;
}

const blank = /^[ \t\r]*$/;
/** Some editors write a byte order mark at the start of a file. */
const withoutByteOrderMark = (text: string): string => (text.startsWith('\uFEFF') ? text.slice(1) : text);
const tooLong = `longer than ${limits.recordBytesMax} bytes`;
