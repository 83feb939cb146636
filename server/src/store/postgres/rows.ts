import type { KeptMessage, StoredUsage } from '../../domain/records/prepared-record.ts';
import { newVersion } from '../../domain/version.ts';
import { addDays, dayColumns } from '../accounting/usage-statements.ts';
import type { UsageOfDay } from '../accounting/usage-tally.ts';
import type { Value } from '../engine.ts';
import type { SpooledOf } from '../records/spool.ts';
import type { RowKind } from '../records/tables.ts';
import { omittedIn, upsertOf } from '../records/upserts.ts';
import type { Transaction } from './pool.ts';
import * as postgres from './statements.ts';

/** `first_message_at` is the time of its first message, new or stored. */
export type OpenedConversation = {
  conversation_id: string;
  app_id: string;
  first_sequence: number;
  first_message_at: number;
};
/** New messages of one conversation: the time of the newest, and the oldest. */
export type NewMessages = { newest: number; oldest: SpooledOf<'message'> };
export type StoredMessage = StoredUsage & KeptMessage & { conversation_id: string; id: string };
export type MessageRow = {
  conversation_id: string;
  created_at: number;
  sequence: number;
  id: string;
  doc: string;
  feedback_content: string | null;
  rated_at: number | null;
};
/** In the order of the parameters that insert a message. */
export const messageColumns = [
  'conversation_id',
  'created_at',
  'sequence',
  'id',
  'doc',
  'feedback_content',
  'rated_at',
] as const satisfies (keyof MessageRow)[];
export type MessageId = Pick<MessageRow, 'conversation_id' | 'id'>;

/** Reads and writes rows of several records inside a transaction. */
export interface Rows {
  /** Returns the keys of the rows that were written. Rows are locked in the order of the records. */
  upsert(transaction: Transaction, kind: RowKind, records: readonly SpooledOf<RowKind>[]): Promise<ReadonlySet<string>>;
  /** Locks conversations and reserves `count` sequences in each. `added`: their new messages, sorted by conversation. */
  openConversations(
    transaction: Transaction,
    added: ReadonlyMap<string, NewMessages>,
    count: number,
  ): Promise<OpenedConversation[]>;
  findMessages(transaction: Transaction, messages: readonly MessageId[]): Promise<StoredMessage[]>;
  insertMessages(transaction: Transaction, messages: readonly MessageRow[]): Promise<void>;
  addDays(transaction: Transaction, days: readonly UsageOfDay[]): Promise<void>;
  /** Recomputes what conversations store about their first and newest messages. */
  updateActivity(transaction: Transaction, conversation_ids: readonly string[]): Promise<void>;
  /** Values in the order of the columns of the audit log. */
  addAuditEntries(transaction: Transaction, entries: readonly Value[][]): Promise<void>;
}

/** One list of values for each column. */
export const columnsOf = <T extends object>(rows: readonly T[], names: readonly (keyof T)[]): Value[] =>
  names.map((name) => rows.map((row) => row[name])) as unknown as Value[];

type RowRecord = SpooledOf<RowKind>;

/** Records that omit the same fields, together. Usually all do. */
export function groupByOmitted(records: readonly RowRecord[]): [omitted: readonly string[], group: RowRecord[]][] {
  const groups = Map.groupBy(records, (record) => omittedIn(record).join());
  return [...groups.values()].map((group) => [omittedIn(group[0] as RowRecord), group]);
}

async function upsertMany(
  transaction: Transaction,
  kind: RowKind,
  records: readonly RowRecord[],
  omitted: readonly string[],
): Promise<Set<string>> {
  const { many, values, keyOfRow } = upsertOf(kind, omitted);
  const rows = records.map(values);
  const lists = columnsOf(rows, [...(rows[0]?.keys() ?? [])]);
  return new Set((await transaction.query(many, ...lists)).map(keyOfRow));
}

/** One statement for many rows. */
export const bulkRows: Rows = {
  upsert: async (transaction, kind, records) => {
    const groups = groupByOmitted(records);
    const omittedInAll = [...new Set(groups.flatMap(([omitted]) => omitted))];
    // Records that omit different fields need a statement each. The first one locks all rows in the order of the records.
    const written = groups.length < 2 ? undefined : await upsertMany(transaction, kind, records, omittedInAll);
    const keys = written ?? new Set<string>();
    for (const [omitted, group] of groups) {
      for (const key of await upsertMany(transaction, kind, group, omitted)) keys.add(key);
    }
    return keys;
  },

  openConversations: async (transaction, added, count) => {
    const derived = [...added].map(([id, { newest, oldest }]) => {
      const { created_at, derived_name, derived_inputs } = oldest;
      return [id, { newest, created_at, derived_name, derived_inputs }];
    });
    const values = [[...added.keys()], count, newVersion(), JSON.stringify(Object.fromEntries(derived))] as const;
    return (await transaction.query(postgres.openConversations, ...values)) as OpenedConversation[];
  },

  findMessages: async (transaction, messages) =>
    (await transaction.query(
      postgres.findMessages,
      ...columnsOf(messages, ['conversation_id', 'id']),
    )) as unknown as StoredMessage[],

  insertMessages: async (transaction, messages) => {
    await transaction.query(postgres.insertMessages, ...columnsOf(messages, messageColumns));
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
