import { newVersion } from '../../../domain/version.ts';
import * as audit from '../../accounting/audit.ts';
import { addDay, dayColumns } from '../../accounting/usage-statements.ts';
import type { Row } from '../../engine.ts';
import { upsertOf } from '../../records/upserts.ts';
import { bulkRows, type OpenedConversation, type Rows, type StoredMessage } from '../rows.ts';
import * as citus from './statements.ts';

/** Up to this number, one statement for each row is faster than one statement that Citus sends to the nodes in parts. */
const singleRowsMax = 10;

/** One statement for each row, on the shard of the row. */
const singleRows: Rows = {
  upsert: async (transaction, kind, records) => {
    const { one, returning, values, keyOfRow } = upsertOf(kind);
    const keys = new Set<string>();
    for (const record of records) {
      for (const row of await transaction.query(`${one} ${returning}`, ...values(record))) keys.add(keyOfRow(row));
    }
    return keys;
  },

  openConversations: async (transaction, newest, count) => {
    const openedRows: Row[] = [];
    const unique = newVersion();
    for (const [id, time] of newest) {
      const values = [count, `${unique}.${id}`, time, time, id, count];
      openedRows.push(...(await transaction.query(citus.openConversation, ...values)));
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
    for (const { conversation_id, created_at, sequence, id, doc } of messages)
      await transaction.query(citus.insertMessage, conversation_id, created_at, sequence, id, doc);
  },

  addDays: async (transaction, days) => {
    for (const day of days) await transaction.query(addDay, ...dayColumns.map((column) => day[column]));
  },

  updateActivity: async (transaction, conversation_ids) => {
    for (const id of conversation_ids) {
      const [newest] = await transaction.query(citus.findNewestTime, id);
      await transaction.query(citus.setActivity, newest?.created_at as number, id);
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
  openConversations: (transaction, newest, count) => rowsFor(newest.size).openConversations(transaction, newest, count),
  findMessages: (transaction, messages) => rowsFor(messages.length).findMessages(transaction, messages),
  insertMessages: (transaction, messages) => rowsFor(messages.length).insertMessages(transaction, messages),
  addDays: (transaction, days) => rowsFor(days.length).addDays(transaction, days),
  updateActivity: (transaction, ids) => rowsFor(ids.length).updateActivity(transaction, ids),
  addAuditEntries: (transaction, entries) => rowsFor(entries.length).addAuditEntries(transaction, entries),
};
