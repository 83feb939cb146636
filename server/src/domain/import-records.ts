import { isUtf8 } from 'node:buffer';
import { limits } from '../contract/limits.ts';
import { BadRecord } from './errors.ts';
import { type PreparedRecord, prepareRecord } from './prepare-record.ts';
import { type RawLine, type RecordSource, readLines } from './read-lines.ts';
import { checkReferences, type Importer } from './references.ts';
import type { ImportProgress, Store } from './store.ts';

/**
 * Takes records in, all or nothing: everything is checked before anything is written, and the first bad line stops it.
 * Memory stays flat: what is checked waits in the intake. Returns the number of records.
 */
export async function importRecords(
  store: Store,
  importer: Importer,
  sources: readonly RecordSource[],
  now: number,
  progress?: ImportProgress,
): Promise<number> {
  const intake = await store.openIntake();
  try {
    let count = 0;
    for (const source of sources) {
      for await (const lines of readLines(source)) {
        const { prepared, failure } = prepareLines(lines, now);
        await checkReferences(intake, importer, prepared);
        if (failure !== undefined) throw failure;
        await intake.add(prepared);
        count += prepared.length;
        progress?.('checked', count);
      }
    }
    await intake.apply(progress);
    return count;
  } finally {
    await intake.discard();
  }
}

/** Stops at the first bad line, but keeps those before it: one of them may refer to nothing, and is named first. */
function prepareLines(lines: readonly RawLine[], now: number): { prepared: PreparedRecord[]; failure?: unknown } {
  const prepared: PreparedRecord[] = [];
  try {
    for (const { bytes, ...line } of lines) {
      if (bytes === undefined) throw new BadRecord(line.number, undefined, tooLong, line.source);
      if (!isUtf8(bytes)) throw new BadRecord(line.number, undefined, 'not UTF-8', line.source);
      const json = line.number === 1 ? withoutMark(bytes.toString()) : bytes.toString();
      if (!blank.test(json)) prepared.push(prepareRecord(line, json, now));
    }
    return { prepared };
  } catch (failure) {
    return { prepared, failure };
  }
}

const blank = /^[ \t\r]*$/;
/** Some editors put a byte order mark in front of a file. */
const withoutMark = (text: string): string => (text.startsWith('\uFEFF') ? text.slice(1) : text);
const tooLong = `longer than ${limits.recordBytesMax} bytes`;
