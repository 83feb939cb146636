import assert from 'node:assert/strict';
import {
  allRows,
  type DifySource,
  type ImportOptions,
  type RecordInput,
  type Report,
  type Skip,
} from '../../../src/dify/source.ts';

/** Rows and reports of a reader. */
export type Reading = { records: RecordInput[]; skips: Skip[]; counts: Record<string, number>; unfinished: string[] };

type Batch = { records: RecordInput[]; unfinished: string[] };
type Reader<A extends unknown[]> = (
  context: { source: DifySource; options: ImportOptions; report: Report },
  ...args: A
) => Promise<RecordInput[]> | AsyncIterable<RecordInput | Batch>;

/** Runs a reader to its end. */
export async function read<A extends unknown[]>(
  source: DifySource,
  reader: Reader<A>,
  options: Partial<ImportOptions> = {},
  ...args: A
): Promise<Reading> {
  const reading: Reading = { records: [], skips: [], counts: {}, unfinished: [] };
  const report: Report = {
    skip(one) {
      reading.skips.push(one);
    },
    count(what, n = 1) {
      reading.counts[what] = (reading.counts[what] ?? 0) + n;
    },
  };
  const result = reader({ source, options: { ...allRows, ...options }, report }, ...args);
  if (result instanceof Promise) reading.records = await result;
  else {
    for await (const one of result) {
      if ('unfinished' in one && 'records' in one) {
        reading.records.push(...(one as Batch).records);
        reading.unfinished.push(...(one as Batch).unfinished);
      } else reading.records.push(one as RecordInput);
    }
  }
  return reading;
}

export const idsOf = (reading: Reading): unknown[] => reading.records.map(({ id }) => id);

/** The only record of a reading. */
export function onlyRecord(reading: Reading): Record<string, unknown> {
  assert.equal(reading.records.length, 1);
  return reading.records[0] as Record<string, unknown>;
}
