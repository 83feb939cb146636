import { isUtf8 } from 'node:buffer';
import { limits } from '../contract/limits.ts';
import { BadRecord } from './errors.ts';
import { prepareRecord } from './prepare-record.ts';
import type { PreparedRecord } from './prepared-record.ts';
import { type Lines, splitLines } from './read-lines.ts';

/** Records that are right in themselves, and the texts of their messages, one after another. */
export type Batch = { records: PreparedRecord[]; texts: Uint8Array };

/** `failure` is what is wrong with the line after the last record. */
export type PreparedLines = Batch & { failure?: unknown };

/** Stops at the first bad line, but keeps those before it: one of them may refer to nothing, and is named first. */
export function prepareLines(lines: Lines, now: number): PreparedLines {
  const { source } = lines;
  const records: PreparedRecord[] = [];
  const texts: string[] = [];
  let failure: unknown;
  try {
    for (const { number, bytes } of splitLines(lines)) {
      if (bytes.length > limits.recordBytesMax) throw new BadRecord(number, undefined, tooLong, source);
      if (!isUtf8(bytes)) throw new BadRecord(number, undefined, 'not UTF-8', source);
      const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
      const json = number === 1 ? withoutMark(text) : text;
      if (!blank.test(json)) records.push(prepareRecord({ number, source }, json, now, texts));
    }
  } catch (error) {
    failure = error;
  }
  return { records, texts: encode(texts), failure };
}

/** In memory of its own, which can go to another thread. */
function encode(texts: readonly string[]): Uint8Array {
  const bytes = Buffer.allocUnsafeSlow(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0));
  let at = 0;
  for (const text of texts) at += bytes.write(text, at);
  return bytes;
}

const blank = /^[ \t\r]*$/;
/** Some editors put a byte order mark in front of a file. */
const withoutMark = (text: string): string => (text.startsWith('\uFEFF') ? text.slice(1) : text);
const tooLong = `longer than ${limits.recordBytesMax} bytes`;
