import type { UsageFields } from '../../domain/usage.ts';
import { newVersion } from '../../domain/version.ts';
import { addDays, dayColumns } from '../accounting/usage-statements.ts';
import type { UsageOfDay } from '../accounting/usage-tally.ts';
import type { Value } from '../engine.ts';
import type { SpooledOf } from '../records/spool.ts';
import type { RowKind } from '../records/tables.ts';
import { upsertOf } from '../records/upserts.ts';
import type { Transaction } from './pool.ts';
import * as postgres from './statements.ts';

export type OpenedConversation = { conversation_id: string; app_id: string; first_sequence: number };
export type StoredMessage = UsageFields & { conversation_id: string; id: string; created_at: number };
export type MessageRow = { conversation_id: string; created_at: number; sequence: number; id: string; doc: string };
export type MessageId = Pick<MessageRow, 'conversation_id' | 'id'>;

/** Reads and writes rows of several records inside a transaction. */
export interface Rows {
  /** Returns the keys of the rows that were written. Rows are locked in the order of the records. */
  upsert(transaction: Transaction, kind: RowKind, records: readonly SpooledOf<RowKind>[]): Promise<ReadonlySet<string>>;
  /** Locks conversations and reserves `count` sequences in each. `newest`: the time of the newest message by id, sorted. */
  openConversations(
    transaction: Transaction,
    newest: ReadonlyMap<string, number>,
    count: number,
  ): Promise<OpenedConversation[]>;
  findMessages(transaction: Transaction, messages: readonly MessageId[]): Promise<StoredMessage[]>;
  insertMessages(transaction: Transaction, messages: readonly MessageRow[]): Promise<void>;
  addDays(transaction: Transaction, days: readonly UsageOfDay[]): Promise<void>;
  /** Recomputes the time of the newest message of conversations. */
  updateActivity(transaction: Transaction, conversation_ids: readonly string[]): Promise<void>;
  /** Values in the order of the columns of the audit log. */
  addAuditEntries(transaction: Transaction, entries: readonly Value[][]): Promise<void>;
}

/** One list of values for each column. */
const columnsOf = <T extends object>(rows: readonly T[], names: readonly (keyof T)[]): Value[] =>
  names.map((name) => rows.map((row) => row[name])) as unknown as Value[];

/** One statement for many rows. */
export const bulkRows: Rows = {
  upsert: async (transaction, kind, records) => {
    const { many, values, keyOfRow } = upsertOf(kind);
    const rows = records.map(values);
    const lists = columnsOf(rows, [...(rows[0]?.keys() ?? [])]);
    return new Set((await transaction.query(many, ...lists)).map(keyOfRow));
  },

  openConversations: async (transaction, newest, count) => {
    const times = JSON.stringify(Object.fromEntries(newest));
    const values = [[...newest.keys()], count, newVersion(), times] as const;
    return (await transaction.query(postgres.openConversations, ...values)) as OpenedConversation[];
  },

  findMessages: async (transaction, messages) =>
    (await transaction.query(
      postgres.findMessages,
      ...columnsOf(messages, ['conversation_id', 'id']),
    )) as unknown as StoredMessage[],

  insertMessages: async (transaction, messages) => {
    const columns = columnsOf(messages, ['conversation_id', 'created_at', 'sequence', 'id', 'doc']);
    await transaction.query(postgres.insertMessages, ...columns);
  },

  addDays: async (transaction, days) => {
    await transaction.query(addDays, ...columnsOf(days, dayColumns));
  },

  updateActivity: async (transaction, conversation_ids) => {
    await transaction.query(postgres.updateActivity, conversation_ids);
  },

  addAuditEntries: async (transaction, entries) => {
    await transaction.query(postgres.writeAudit, ...columnsOf(entries, [...(entries[0]?.keys() ?? [])]));
  },
};
