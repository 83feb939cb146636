import type { ExportStep, IsWanted, Row } from '../../base/engine.ts';
import { nextCount, rowsMin, type Sized, selectByKey, wholeRow, withLargeRows } from '../../base/sized.ts';
import type { PostgresPool } from '../pool/pool.ts';

/** The rows of one step of an export, in the order of their keys. */
export type StepRows = { step: number; rows: Row[] };

/** All rows from one snapshot. Rows are fetched from a cursor, and large ones one by one, so that memory stays flat. */
export function exportSnapshot(
  pool: PostgresPool,
  steps: readonly ExportStep[],
  isWanted: IsWanted,
): AsyncIterable<StepRows> {
  return pool.open('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', async function* (transaction) {
    for (const [step, wanted] of steps.entries()) {
      if (!isWanted(wanted)) continue;
      await transaction.query(`DECLARE export NO SCROLL CURSOR FOR ${selectByKey(wanted, 'small')}`);
      for (let count = rowsMin; ; ) {
        const fetched = await transaction.query<Sized>(`FETCH ${count} FROM export`);
        if (fetched.length === 0) break;
        const parts = withLargeRows(fetched, (row) => transaction.query(...wholeRow(wanted, row)));
        for await (const rows of parts) yield { step, rows };
        count = nextCount(fetched);
      }
      await transaction.query('CLOSE export');
    }
  });
}
