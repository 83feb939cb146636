import { importHead } from './head.ts';
import type { IdSets } from './id-set.ts';
import { readConversations } from './rows/conversations.ts';
import { readChildChunks, readDocuments, readSegments } from './rows/knowledge.ts';
import { readMessages } from './rows/messages.ts';
import { conditionOf, Parameters, type SelectedTable, tables } from './rows/selection.ts';
import type { RunContext } from './run-context.ts';
import type { Target } from './scan.ts';
import type { PassPosition, SourcePoint } from './state.ts';

/** Conversations, or other rows, whose ids are read at a time. */
const conversationBatch = 200;
const rowBatch = 1_000;
/** The list of messages that the source had not finished. */
export const waitingList = 'waiting message';

/** The stages of a full pass after the head, in their order. `id` is the column in `tables`. */
const stages = [
  { name: 'conversations', id: 'c.id', target: 'conversation', batch: conversationBatch },
  { name: 'documents', id: 'd.id', target: 'document', batch: rowBatch },
  { name: 'segments', id: 'g.id', target: 'segment', batch: rowBatch },
  { name: 'child_chunks', id: 'h.id', target: 'child_chunk', batch: rowBatch },
] as const satisfies { name: SelectedTable; id: string; target: Target; batch: number }[];

/** Reads everything that is selected, and continues at the position of a pass that was interrupted. */
export async function fullPass(
  context: RunContext,
  start: SourcePoint,
  interrupted: PassPosition | undefined,
): Promise<void> {
  const { state, signal } = context;
  if (interrupted === undefined) await state.writePosition({ start, stage: stages[0].name, after: '' });
  await importHead(context);
  const first = interrupted === undefined ? 0 : stages.findIndex(({ name }) => name === interrupted.stage);
  for (const [index, { name, id, target, batch }] of stages.entries()) {
    if (index < first) continue;
    let after = index === first ? (interrupted?.after ?? '') : '';
    for (;;) {
      signal.throwIfAborted();
      const ids = await readIds(context, name, id, after, batch);
      if (ids.length > 0) await importRows(context, target, ids, true);
      after = ids.at(-1) ?? after;
      if (ids.length < batch) break;
      await state.writePosition({ start, stage: name, after });
    }
    const next = stages[index + 1];
    if (next !== undefined) await state.writePosition({ start, stage: next.name, after: '' });
  }
}

/** Reads rows that have changed, of all kinds. Parents come before children. */
export async function changedPass(context: RunContext, changed: IdSets): Promise<void> {
  const { signal, state } = context;
  changed.add('message', await state.listIds(waitingList, '', Number.MAX_SAFE_INTEGER));
  for (const target of ['conversation', 'message', 'document', 'segment', 'child_chunk'] as const) {
    for (;;) {
      signal.throwIfAborted();
      const ids = changed.take(target, target === 'conversation' ? conversationBatch : rowBatch);
      if (ids.length === 0) break;
      await importRows(context, target, ids, false);
    }
  }
}

async function readIds(
  { source, options }: RunContext,
  table: SelectedTable,
  column: string,
  after: string,
  limit: number,
): Promise<string[]> {
  const parameters = new Parameters();
  const condition = conditionOf(table, options, parameters);
  const isAfter = after === '' ? '' : `AND ${column} > ${parameters.bind(after)}::uuid`;
  const rows = await source.query<{ id: string }>(
    `SELECT ${column} AS id FROM ${tables[table]} WHERE ${condition} ${isAfter} ORDER BY ${column} LIMIT ${limit}`,
    parameters.values,
  );
  return rows.map(({ id }) => id);
}

/** Imports the rows with these ids that are selected. They are stored when this resolves. */
async function importRows(context: RunContext, target: Target, ids: readonly string[], isFull: boolean): Promise<void> {
  const { source, options, report, writer } = context;
  const add = async (records: AsyncIterable<object> | Iterable<object>) => {
    for await (const record of records) await writer.add(record as never);
  };
  switch (target) {
    case 'conversation':
      await importConversations(context, ids, isFull);
      break;
    case 'message':
      await importMessages(context, ids);
      break;
    case 'document':
      await add(await readDocuments(source, options, report, ids));
      break;
    case 'segment':
      await add(readSegments(source, options, report, ids));
      break;
    case 'child_chunk':
      await add(readChildChunks(source, options, report, ids));
      break;
  }
  await writer.flush();
}

/** All messages of a conversation that is not stored yet are read: earlier, it may not have been selected. */
async function importConversations(context: RunContext, ids: readonly string[], isFull: boolean): Promise<void> {
  const { source, options, report, writer, store } = context;
  const records = await readConversations(source, options, report, ids);
  const found = records.map(({ id }) => id as string);
  const stored = isFull ? undefined : await store?.lookup('conversation', found);
  for (const record of records) await writer.add(record);
  const conversationIds = found.filter((id) => stored?.get(id) === undefined);
  if (conversationIds.length > 0) await addMessages(context, { conversationIds }, []);
}

/** Messages by their ids. Conversations that are not stored yet come first. */
async function importMessages(context: RunContext, ids: readonly string[]): Promise<void> {
  const { source, store } = context;
  const rows = await source.query<{ id: string }>(
    'SELECT DISTINCT conversation_id AS id FROM messages WHERE id = ANY($1::uuid[])',
    [ids],
  );
  const conversations = rows.map(({ id }) => id);
  const stored = await store?.lookup('conversation', conversations);
  const missing = conversations.filter((id) => stored?.get(id) === undefined);
  if (missing.length > 0) await importConversations(context, missing, true);
  await addMessages(context, { messageIds: ids }, ids);
}

/** `requested`: messages that may have been waiting. Those that are waiting now are listed before anything else is done. */
async function addMessages(
  { source, options, report, writer, state }: RunContext,
  selected: { conversationIds: readonly string[] } | { messageIds: readonly string[] },
  requested: readonly string[],
): Promise<void> {
  const waitingIds = new Set<string>();
  for await (const { records, waiting } of readMessages(source, options, report, selected)) {
    await state.addIds(waitingList, waiting);
    for (const id of waiting) waitingIds.add(id);
    for (const record of records) await writer.add(record);
  }
  await writer.flush();
  const listed = await state.findIds(waitingList, requested);
  await state.removeIds(
    waitingList,
    [...listed].filter((id) => !waitingIds.has(id)),
  );
}
