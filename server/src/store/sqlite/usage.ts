import { addDay, dayColumns } from '../accounting/usage-statements.ts';
import type { UsageTally } from '../accounting/usage-tally.ts';
import type { Connection } from './connection.ts';

/** Writes the changes of usage and resets the tally. */
export function writeUsage(db: Connection, tally: UsageTally): void {
  for (const row of tally.take()) db.run(addDay, ...dayColumns.map((column) => row[column]));
}
