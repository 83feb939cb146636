import { addAppDay, addDay, appDayColumns, dayColumns } from '../accounting/usage-statements.ts';
import { byApp, type UsageTally } from '../accounting/usage-tally.ts';
import type { Connection } from './connection.ts';

/** Writes the changes of usage, by conversation and by app, and resets the tally. */
export function writeUsage(db: Connection, tally: UsageTally): void {
  const changed = tally.take();
  for (const row of changed) db.run(addDay, ...dayColumns.map((column) => row[column]));
  for (const row of byApp(changed)) db.run(addAppDay, ...appDayColumns.map((column) => row[column]));
}
