import { type ExportStep, type IsWanted, type Row, unitsOf } from '../../base/engine.ts';
import type { PostgresPool } from '../pool/pool.ts';

/** The rows of one step of an export, in the order of their keys. */
export type StepRows = { step: number; rows: Row[] };

/** Maximum number of rows of an export, and of characters in them, that one statement reads. */
export const pageRows = 1_000;
const pageUnits = 4_194_304;
/** The first page of each table, before the size of its rows is known. */
export const firstPageRows = 50;

/** The number of rows for the next page, given the last one. */
export function nextCount(rows: readonly Row[]): number {
  const units = rows.reduce((sum, row) => sum + unitsOf(row), 0);
  return Math.max(1, Math.min(pageRows, Math.floor((pageUnits * rows.length) / Math.max(1, units))));
}

/** All rows from one snapshot. Rows are fetched from a cursor, so that memory stays flat. */
export function exportSnapshot(
  pool: PostgresPool,
  steps: readonly ExportStep[],
  isWanted: IsWanted,
): AsyncIterable<StepRows> {
  return pool.open('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', async function* (transaction) {
    for (const [step, wanted] of steps.entries()) {
      if (!isWanted(wanted)) continue;
      await transaction.query(`DECLARE export NO SCROLL CURSOR FOR ${wanted.sql}`);
      for (let count = firstPageRows; ; ) {
        const rows = await transaction.query(`FETCH ${count} FROM export`);
        if (rows.length === 0) break;
        yield { step, rows };
        count = nextCount(rows);
      }
      await transaction.query('CLOSE export');
    }
  });
}
