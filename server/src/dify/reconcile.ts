import { addChildren, beginWhole, hideIncomplete } from './children.ts';
import type { IdSets } from './id-set.ts';
import { readConversations } from './rows/conversations.ts';
import { readChildChunks, readDocuments, readSegments } from './rows/knowledge.ts';
import { readMessages, type SelectedMessages } from './rows/messages.ts';
import { readAhead } from './rows/read-ahead.ts';
import { readIds } from './rows/selection.ts';
import type { RunContext } from './run-context.ts';
import { existingIds, queryIds, type RecordInput, type Target, tableOf } from './source.ts';

/**
 * Makes the stored records with these ids those of the source, if their rows are selected. It does not matter how an id was found. A
 * record that is new here brings all of its children: they are added to `changed`. A full sync has no `changed`, since it reads
 * all rows. Everything is stored when this resolves.
 */
export async function reconcile(
  context: RunContext,
  kind: Target,
  ids: readonly string[],
  changed: IdSets | undefined,
): Promise<void> {
  switch (kind) {
    case 'conversation':
      return reconcileConversations(context, ids, changed === undefined);
    case 'message':
      await reconcileMessages(context, ids);
      return;
    case 'document':
    case 'segment':
      return reconcileParents(context, kind, ids, changed);
    case 'child_chunk':
      await addAll(context, readChildChunks(context, ids));
      if (changed !== undefined) await context.state.endPending(kind, ids);
  }
}

async function addAll(
  { writer }: RunContext,
  records: AsyncIterable<RecordInput> | Iterable<RecordInput>,
  isIncluded: (id: string) => boolean = () => true,
): Promise<void> {
  for await (const record of records) if (isIncluded(idOf(record))) await writer.add(record);
  await writer.flush();
}

async function reconcileParents(
  context: RunContext,
  kind: 'document' | 'segment',
  ids: readonly string[],
  changed: IdSets | undefined,
): Promise<void> {
  const read = async (isIncluded?: (id: string) => boolean) =>
    addAll(context, kind === 'document' ? await readDocuments(context, ids) : readSegments(context, ids), isIncluded);
  if (changed === undefined) return read();
  const selected = new Set(await readIds(context, kind, { ids }));
  const whole = await beginWhole(context, kind, [...selected]);
  // A row that is selected only since then is left to the next sync, which finds its children too.
  await read((id) => selected.has(id));
  await addChildren(context, changed, kind, whole);
  await endAbsent(context, kind, ids, selected);
}

/** Pending rows that the source does not have any more. */
async function endAbsent(
  { source, state }: RunContext,
  kind: Target,
  ids: readonly string[],
  found: ReadonlySet<string>,
): Promise<string[]> {
  const missing = ids.filter((id) => !found.has(id));
  const existing = await existingIds(source, tableOf[kind], missing);
  const absent = missing.filter((id) => !existing.has(id));
  await state.endPending(kind, absent);
  return absent;
}

/** All messages are read with a conversation that is new in Backscroll; `areWhole`: with every one. */
export async function reconcileConversations(
  context: RunContext,
  ids: readonly string[],
  areWhole: boolean,
): Promise<void> {
  const { writer, state } = context;
  const records = await readConversations(context, ids);
  const found = records.map(idOf);
  const whole = areWhole ? found : await beginWhole(context, 'conversation', found);
  const hidden = await hideIncomplete(context, areWhole ? [] : whole);
  const isHidden = (record: RecordInput) => hidden.has(idOf(record));
  for (const record of records) await writer.add(isHidden(record) ? { ...record, deleted: true } : record);
  if (whole.length > 0) await addMessages(context, { conversationIds: whole });
  for (const record of records.filter(isHidden)) await writer.add(record);
  await writer.flush();
  if (areWhole) return;
  await state.endPending('conversation', whole);
  await endAbsent(context, 'conversation', ids, new Set(found));
}

/**
 * Conversations that are new in Backscroll come first. `areFinished`: whatever the rows look like. Returns the messages that the source
 * has not finished: they are not stored.
 */
export async function reconcileMessages(
  context: RunContext,
  ids: readonly string[],
  areFinished = false,
): Promise<Set<string>> {
  const { source, state, report } = context;
  const find = 'SELECT DISTINCT conversation_id AS id FROM messages WHERE id = ANY($1::uuid[])';
  const conversations = await queryIds(source, find, [ids]);
  const listed = await state.findIds('conversation', conversations);
  const missing = conversations.filter((id) => !listed.has(id));
  if (missing.length > 0) await reconcileConversations(context, missing, false);
  const { unfinished, open, rated, unrated } = await addMessages(context, { messageIds: ids, areFinished });
  const found = new Set([...unfinished, ...rated, ...unrated]);
  const absent = await endAbsent(context, 'message', ids, found);
  await state.endPending(
    'message',
    ids.filter((id) => !unfinished.has(id) && !open.has(id)),
  );
  const withdrawn = await state.findIds('feedback', unrated);
  if (withdrawn.size > 0) report.count('ratings withdrawn in the source', withdrawn.size);
  await state.removeIds('feedback', [...withdrawn, ...(await state.findIds('feedback', absent))]);
  return unfinished;
}

/** Messages that change without another sign are pending before anything else is done with them. */
async function addMessages(context: RunContext, selected: SelectedMessages) {
  const { writer, state } = context;
  const [unfinished, open] = [new Set<string>(), new Set<string>()];
  const [rated, unrated]: [string[], string[]] = [[], []];
  for await (const batch of readAhead(readMessages(context, selected))) {
    await state.addPending('message', [...batch.unfinished, ...batch.open]);
    for (const id of batch.unfinished) unfinished.add(id);
    for (const id of batch.open) open.add(id);
    const withFeedback = batch.records.filter(({ feedback }) => feedback !== null).map(idOf);
    await state.addIds('feedback', withFeedback);
    for (const record of batch.records) await writer.add(record);
    if ('conversationIds' in selected) continue;
    rated.push(...withFeedback);
    unrated.push(...batch.records.filter(({ feedback }) => feedback === null).map(idOf));
  }
  await writer.flush();
  return { unfinished, open, rated, unrated };
}

const idOf = ({ id }: RecordInput): string => id as string;
