import { keysOf } from '../../contract/primitives.ts';
import { insertInto, type Write, writeRows } from '../base/statement.ts';
import { sumColumns, sumTypes } from './usage-statements.ts';
import type { UsageOfDay } from './usage-tally.ts';

const keyTypes = {
  conversation_id: 'text',
  day: 'bigint',
  hour: 'bigint',
  currency: 'text',
  model_provider: 'text',
  model: 'text',
} as const;
const keyColumns = keysOf(keyTypes);
const sums = sumColumns.map((column) => `${column} = conversation_days.${column} + excluded.${column}`);
const addDays = insertInto(
  'conversation_days',
  { ...keyTypes, app_id: 'text', ...sumTypes },
  `ON CONFLICT (${keyColumns.join(', ')}) DO UPDATE SET ${sums.join(', ')}`,
);

/** Adds to the usage by conversation, hour and model. */
export function* addUsage(days: readonly UsageOfDay[]): Write<void> {
  yield* writeRows(
    addDays,
    days.map((row) => [
      ...keyColumns.map((column) => row[column]),
      row.app_id,
      ...sumColumns.map((column) => row[column]),
    ]),
  );
}
