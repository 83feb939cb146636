import { newVersion } from '../../../domain/version.ts';
import * as audit from '../../accounting/audit.ts';
import { addDay, dayColumns } from '../../accounting/usage-statements.ts';
import type { Row, Value } from '../../engine.ts';
import { omittedIn, upsertOf } from '../../records/upserts.ts';
import {
  bulkRows,
  columnsOf,
  messageColumns,
  type OpenedConversation,
  type Rows,
  type StoredMessage,
} from '../rows.ts';
import * as citus from './statements.ts';

/** Up to this number, one statement for each row is faster than one statement that Citus sends to the nodes in parts. */
const singleRowsMax = 10;

/** One statement for each row, on the shard of the row. */
const singleRows: Rows = {
  upsert: async (transaction, kind, records) => {
    const keys = new Set<string>();
    for (const record of records) {
      const { one, returning, values, keyOfRow } = upsertOf(kind, omittedIn(record));
      for (const row of await transaction.query(`${one} ${returning}`, ...values(record))) keys.add(keyOfRow(row));
    }
    return keys;
  },

  openConversations: async (transaction, added, count) => {
    const openedRows: Row[] = [];
    const unique = newVersion();
    for (const [id, { newest, oldest }] of added) {
      const { created_at, derived_name, derived_inputs } = oldest;
      const values = [newest, created_at, derived_name, derived_inputs];
      openedRows.push(...(await transaction.query(citus.openConversation, id, count, `${unique}.${id}`, ...values)));
    }
    return openedRows as OpenedConversation[];
  },

  findMessages: async (transaction, messages) => {
    const storedMessages: StoredMessage[] = [];
    for (const [conversation_id, group] of Map.groupBy(messages, (message) => message.conversation_id)) {
      const ids = group.map(({ id }) => id);
      for (const row of await transaction.query(citus.findStoredMessages, conversation_id, ids)) {
        storedMessages.push({ ...row, total_tokens: Number(row.total_tokens ?? 0) } as StoredMessage);
      }
    }
    return storedMessages;
  },

  insertMessages: async (transaction, messages) => {
    for (const message of messages)
      await transaction.query(citus.insertMessage, ...messageColumns.map((column) => message[column]));
  },

  addDays: async (transaction, days) => {
    for (const day of days) await transaction.query(addDay, ...dayColumns.map((column) => day[column]));
  },

  updateActivity: async (transaction, conversation_ids) => {
    for (const id of conversation_ids) {
      const [newest] = await transaction.query(citus.findNewestTime, id);
      const [first] = await transaction.query(citus.findFirst, id);
      const { created_at, derived_name, derived_inputs } = first as Record<string, Value>;
      const values = [newest?.created_at, created_at, derived_name, derived_inputs] as Value[];
      await transaction.query(citus.setActivity, id, ...values);
    }
  },

  addAuditEntries: async (transaction, entries) => {
    for (const values of entries) await transaction.query(audit.writeEntry, ...values);
  },
};

const rowsFor = (count: number): Rows => (count <= singleRowsMax ? singleRows : bulkRows);

/** Few rows one by one, many at once. */
export const citusRows: Rows = {
  upsert: (transaction, kind, records) => rowsFor(records.length).upsert(transaction, kind, records),
  openConversations: (transaction, added, count) => rowsFor(added.size).openConversations(transaction, added, count),
  findMessages: async (transaction, messages) => {
    if (messages.length <= singleRowsMax) return singleRows.findMessages(transaction, messages);
    const columns = columnsOf(messages, ['conversation_id', 'id']);
    return (await transaction.query(citus.findManyStoredMessages, ...columns)) as unknown as StoredMessage[];
  },
  insertMessages: (transaction, messages) => rowsFor(messages.length).insertMessages(transaction, messages),
  addDays: (transaction, days) => rowsFor(days.length).addDays(transaction, days),
  // Rare, and Citus does not support the statement for many.
  updateActivity: singleRows.updateActivity,
  addAuditEntries: (transaction, entries) => rowsFor(entries.length).addAuditEntries(transaction, entries),
};
