import { insertInto, type Write, writeRows } from '../statement.ts';
import { sumColumns, sumTypes } from './usage-statements.ts';
import type { UsageOfDay } from './usage-tally.ts';

const dayTypes = { conversation_id: 'text', day: 'bigint', currency: 'text', app_id: 'text' } as const;
const sums = sumColumns.map((column) => `${column} = conversation_days.${column} + excluded.${column}`);
const addDays = insertInto(
  'conversation_days',
  { ...dayTypes, ...sumTypes },
  `ON CONFLICT (conversation_id, day, currency) DO UPDATE SET ${sums.join(', ')}`,
);

/** Adds to the usage by conversation and day. */
export function* addUsage(days: readonly UsageOfDay[]): Write<void> {
  yield* writeRows(
    addDays,
    days.map((row) => [
      ...[row.conversation_id, row.day, row.currency, row.app_id],
      ...sumColumns.map((column) => row[column]),
    ]),
  );
}
