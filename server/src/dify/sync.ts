import { addChildren, findSelected, hideIncomplete, listUnread, needsAllChildren, unreadList } from './children.ts';
import { importConfiguration } from './configuration.ts';
import type { IdSets } from './id-set.ts';
import { readAhead } from './read-ahead.ts';
import { readConversations } from './rows/conversations.ts';
import { readChildChunks, readDocuments, readSegments } from './rows/knowledge.ts';
import { readMessages, type SelectedMessages } from './rows/messages.ts';
import { conditionOf, isAfter, Parameters, readIds, type SelectedTable, tables } from './rows/selection.ts';
import { begin, type RunContext } from './run-context.ts';
import type { Target } from './scan.ts';
import { queryIds, type RecordInput } from './source.ts';
import type { PassPosition } from './state.ts';

/** Conversations, or other rows, whose ids are read at a time. */
export const conversationBatch = 200;
export const rowBatch = 1_000;
/** The list of messages that the source had not finished. */
export const waitingList = 'waiting message';
/** The list of messages with feedback of the source. */
export const ratedList = 'rated message';

/** The stages of a full sync after the configuration, in their order. */
const stages = [
  { name: 'conversations', target: 'conversation', batch: conversationBatch },
  { name: 'documents', target: 'document', batch: rowBatch },
  { name: 'segments', target: 'segment', batch: rowBatch },
  { name: 'child_chunks', target: 'child_chunk', batch: rowBatch },
] as const satisfies { name: SelectedTable; target: Target; batch: number }[];

/** Reads everything that is selected, and continues at the position of a sync that was interrupted. */
export async function syncAll(
  context: RunContext,
  begun: Pick<PassPosition, 'start' | 'isForced'>,
  interrupted: PassPosition | undefined,
): Promise<void> {
  const { state, checkpoint, progress, writer } = context;
  const messages = () => writer.counts.get('message')?.read ?? 0;
  const write = (stage: string, after: string) => {
    const { done, total } = progress;
    return state.writePosition({ ...begun, stage, after, done, ...(total !== undefined && { total }) });
  };
  if (interrupted === undefined) await write(stages[0].name, '');
  await importConfiguration(context, undefined);
  begin(progress, 'importing', await countRows(context, interrupted));
  const first = interrupted === undefined ? 0 : stages.findIndex(({ name }) => name === interrupted.stage);
  for (const [index, { name, target, batch }] of stages.entries()) {
    if (index < first) continue;
    let after = index === first ? (interrupted?.after ?? '') : '';
    for (;;) {
      await checkpoint();
      const ids = await readIds(context, name, { after, limit: batch });
      const read = messages();
      if (ids.length > 0) await importRows(context, target, ids, undefined);
      progress.done += ids.length + messages() - read;
      after = ids.at(-1) ?? after;
      if (ids.length < batch) break;
      await write(name, after);
    }
    const next = stages[index + 1];
    if (next !== undefined) await write(next.name, '');
  }
}

/** The rows that a full sync has still to read; undefined if the source cannot count them in time. */
async function countRows(
  { source, options }: RunContext,
  interrupted: PassPosition | undefined,
): Promise<number | undefined> {
  const first = stages.findIndex(({ name }) => name === (interrupted?.stage ?? stages[0].name));
  let total = 0;
  for (const { name } of stages.slice(first)) {
    // Messages are read with their conversations.
    for (const table of name === 'conversations' ? ([name, 'messages'] as const) : [name]) {
      const parameters = new Parameters();
      const conditions = [conditionOf(table, options, parameters)];
      if (name === interrupted?.stage) conditions.push(...isAfter(name, interrupted.after, parameters));
      const sql = `SELECT count(*)::float8 AS n FROM ${tables[table]} WHERE ${conditions.join(' AND ')}`;
      const rows = await source.query<{ n: number }>(sql, parameters.values).catch(() => undefined);
      if (rows === undefined) return undefined;
      total += rows[0]?.n ?? 0;
    }
  }
  return total;
}

/** Imports the rows with these ids that are selected. They are stored when this resolves. A full sync has no `changed`. */
export async function importRows(
  context: RunContext,
  target: Target,
  ids: readonly string[],
  changed: IdSets | undefined,
): Promise<void> {
  switch (target) {
    case 'conversation':
      return importConversations(context, ids, changed);
    case 'message':
      await importMessages(context, ids, changed);
      return;
    case 'document':
    case 'segment':
      return importParents(context, target, ids, changed);
    case 'child_chunk':
      await addAll(context, readChildChunks(context, ids));
      if (changed !== undefined)
        await context.state.removeIds(unreadList(target), await unreadOf(context, target, ids));
  }
}

const unreadOf = async ({ state }: RunContext, kind: 'conversation' | 'child_chunk', ids: readonly string[]) => [
  ...(await state.findIds(unreadList(kind), ids)),
];

async function addAll(
  { writer }: RunContext,
  records: AsyncIterable<RecordInput> | Iterable<RecordInput>,
  isIncluded: (id: string) => boolean = () => true,
): Promise<void> {
  for await (const record of records) if (isIncluded(record.id as string)) await writer.add(record);
  await writer.flush();
}

/** In a full sync, the children are read later as all rows are. */
async function importParents(
  context: RunContext,
  kind: 'document' | 'segment',
  ids: readonly string[],
  changed: IdSets | undefined,
): Promise<void> {
  const read = async (isIncluded?: (id: string) => boolean) =>
    addAll(context, kind === 'document' ? await readDocuments(context, ids) : readSegments(context, ids), isIncluded);
  if (changed === undefined) return read();
  const selected = await findSelected(context, kind, ids);
  const whole = await needsAllChildren(context, changed, kind, ids, [...selected]);
  // A row that is selected only since then is left to the next sync, which finds its children too.
  await read((id) => selected.has(id));
  await addChildren(context, changed, kind, whole);
}

/** In a full sync, and if a conversation is new in Backscroll, all of its messages are read. */
export async function importConversations(
  context: RunContext,
  ids: readonly string[],
  changed: IdSets | undefined,
): Promise<void> {
  const { writer, state } = context;
  const records = await readConversations(context, ids);
  const found = records.map(({ id }) => id as string);
  let whole = found;
  if (changed !== undefined) {
    const listed = await state.findIds('conversation', found);
    const unread = new Set(await unreadOf(context, 'conversation', ids));
    whole = found.filter((id) => !listed.has(id) || unread.has(id) || changed.has(unreadList('conversation'), id));
    await listUnread(context, changed, 'conversation', whole);
  }
  const hidden = await hideIncomplete(context, changed === undefined ? [] : whole);
  const isHidden = ({ id }: RecordInput) => hidden.has(id as string);
  for (const record of records) await writer.add(isHidden(record) ? { ...record, deleted: true } : record);
  if (whole.length > 0) await addMessages(context, { conversationIds: whole }, []);
  for (const record of records.filter(isHidden)) await writer.add(record);
  await writer.flush();
  if (changed === undefined) return;
  await state.removeIds(unreadList('conversation'), whole);
  changed.remove(unreadList('conversation'), whole);
}

/**
 * Messages by their ids; returns those that were read and have no feedback. Conversations that are new in Backscroll come first.
 * `areFinished`: whatever their rows look like.
 */
export async function importMessages(
  context: RunContext,
  ids: readonly string[],
  changed: IdSets | undefined,
  areFinished = false,
): Promise<string[]> {
  const { source, state } = context;
  const find = 'SELECT DISTINCT conversation_id AS id FROM messages WHERE id = ANY($1::uuid[])';
  const conversations = await queryIds(source, find, [ids]);
  const listed = await state.findIds('conversation', conversations);
  const missing = conversations.filter((id) => !listed.has(id));
  if (missing.length > 0) await importConversations(context, missing, changed);
  return addMessages(context, { messageIds: ids, areFinished }, ids);
}

/**
 * `requested`: messages that may have been waiting. Those that are waiting now are listed before anything else is done.
 * Returns the requested messages that were read and have no feedback.
 */
async function addMessages(
  context: RunContext,
  selected: SelectedMessages,
  requested: readonly string[],
): Promise<string[]> {
  const { writer, state } = context;
  const unratedIds: string[] = [];
  const waitingIds = new Set<string>();
  for await (const { records, waiting } of readAhead(readMessages(context, selected))) {
    await state.addIds(waitingList, waiting);
    for (const id of waiting) waitingIds.add(id);
    const { rated = [], unrated = [] } = Object.groupBy(records, ({ feedback }) =>
      feedback === null ? 'unrated' : 'rated',
    );
    await state.addIds(ratedList, rated.map(idOf));
    for (const record of records) await writer.add(record);
    if (requested.length > 0) unratedIds.push(...unrated.map(idOf));
  }
  await writer.flush();
  const listed = await state.findIds(waitingList, requested);
  const finished = [...listed].filter((id) => !waitingIds.has(id));
  await state.removeIds(waitingList, finished);
  return unratedIds;
}

const idOf = ({ id }: RecordInput): string => id as string;
