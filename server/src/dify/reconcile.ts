import { addChildren, beginWhole, hideIncomplete } from './children.ts';
import { markGone } from './gone.ts';
import type { IdSets } from './id-set.ts';
import { readConversations } from './rows/conversations.ts';
import { readChildChunks, readDocuments, readSegments } from './rows/documents.ts';
import { readMessages, type SelectedMessages } from './rows/messages.ts';
import { readIds } from './rows/selection.ts';
import { begin, type RunContext } from './run-context.ts';
import { existingIds, type Found, noId, queryIds, type RecordInput, type Target, tableOf, targets } from './source.ts';

/** Conversations, or other rows, that are read at a time. */
export const batchOf = (target: Target): number => (target === 'conversation' ? 200 : 1_000);
/** Times that changed rows are read at most, because a request may store a newer state while they are written. */
const readsMax = 3;

/** For records whose children are read anyway, or that have none. */
export const noChildren: Found = { add: () => undefined };

/**
 * Makes the stored records with these ids those of the source, if their rows are selected. It does not matter how an id was found. A
 * record that is new here brings all of its children: they are added to `changed`. A record whose row is gone is marked. A full
 * sync has no `changed`, since it reads all rows. Everything is stored when this resolves. Returns the messages that could not
 * be stored: the source has not finished them, or does not have them.
 */
export async function reconcile(
  context: RunContext,
  kind: Target,
  ids: readonly string[],
  changed: Found | undefined,
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  if (kind === 'message') return reconcileMessages(context, ids);
  const found = await (kind === 'conversation'
    ? reconcileConversations(context, ids, changed === undefined)
    : reconcileKnowledge(context, kind, ids, changed));
  if (changed !== undefined) await markGone(context, kind, await endAbsent(context, kind, ids, found));
  return new Set();
}

/** Ends what is pending of rows that the source does not have, and returns them. */
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

const knowledgeReaders = { document: readDocuments, segment: readSegments, child_chunk: readChildChunks };

/** Documents, segments or child chunks. Returns those that were read. */
async function reconcileKnowledge(
  context: RunContext,
  kind: keyof typeof knowledgeReaders,
  ids: readonly string[],
  changed: Found | undefined,
): Promise<ReadonlySet<string>> {
  const { writer, state } = context;
  const found = new Set<string>();
  const hasChildren = changed !== undefined && kind !== 'child_chunk';
  const selected = new Set(hasChildren ? await readIds(context, kind, { ids }) : ids);
  const whole = hasChildren ? await beginWhole(context, kind, [...selected]) : [];
  for await (const record of await knowledgeReaders[kind](context, ids)) {
    // A row that is selected only since then is left to the next sync, which finds its children too.
    if (!selected.has(idOf(record))) continue;
    await writer.add(record);
    found.add(idOf(record));
  }
  await writer.flush();
  if (hasChildren) await addChildren(context, changed, kind, whole);
  else if (changed !== undefined) await state.endPending(kind, ids);
  return found;
}

/** All messages are read with a conversation that is new in Backscroll; `areWhole`: with every one. Returns those that were read. */
async function reconcileConversations(
  context: RunContext,
  ids: readonly string[],
  areWhole: boolean,
): Promise<ReadonlySet<string>> {
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
  if (!areWhole) await state.endPending('conversation', whole);
  return new Set(found);
}

/** Conversations that are new in Backscroll come first. */
async function reconcileMessages(context: RunContext, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const { source, state, report } = context;
  const find = 'SELECT DISTINCT conversation_id AS id FROM messages WHERE id = ANY($1::uuid[])';
  const conversations = await queryIds(source, find, [ids]);
  const listed = await state.findIds('conversation', conversations);
  const unlisted = conversations.filter((id) => !listed.has(id));
  await reconcile(context, 'conversation', unlisted, noChildren);
  const { unfinished, open, rated, unrated } = await addMessages(context, { messageIds: ids });
  const absent = await endAbsent(context, 'message', ids, new Set([...unfinished, ...rated, ...unrated]));
  await state.endPending(
    'message',
    ids.filter((id) => !unfinished.has(id) && !open.has(id)),
  );
  const withdrawn = await state.findIds('feedback', unrated);
  if (withdrawn.size > 0) report.count('ratings withdrawn in the source', withdrawn.size);
  await state.removeIds('feedback', [...withdrawn, ...(await state.findIds('feedback', absent))]);
  return new Set([...unfinished, ...absent]);
}

/** Messages that change without another sign are pending before anything else is done with them. */
async function addMessages(context: RunContext, selected: SelectedMessages) {
  const { writer, state, finished } = context;
  const [unfinished, open] = [new Set<string>(), new Set<string>()];
  const [rated, unrated]: [string[], string[]] = [[], []];
  for await (const batch of readAhead(readMessages(context, selected, finished))) {
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

/** Adds what was left by a run that was killed. Pending messages are found by `findMessages`. */
export async function addPending({ state }: RunContext, changed: IdSets): Promise<void> {
  for (const target of targets) if (target !== 'message') changed.add(target, await state.listPending(target));
}

/** Reconciles everything that was found, and all children of records that are new in Backscroll. Returns what `reconcile` returns. */
export async function reconcileAll(context: RunContext, changed: IdSets): Promise<ReadonlySet<string>> {
  const { checkpoint, progress, isOwner, writer } = context;
  const unstored = new Set<string>();
  begin(progress, 'importing changes', 0);
  for (const target of targets) {
    progress.total = targets.reduce((sum, one) => sum + changed.count(one), progress.done);
    for (;;) {
      await checkpoint();
      const ids = target === 'message' ? await takeMessages(context, changed) : changed.take(target, batchOf(target));
      if (ids.length === 0) break;
      // A request that passes through Backscroll stores its change at once. If that comes between the read of a row and its
      // write, the write is that of an older state. So rows that were written are read again.
      for (let reads = 1; ; reads += 1) {
        const before = writer.written;
        const rest = await reconcile(context, target, ids, changed);
        if (isOwner && writer.written !== before && reads < readsMax) continue;
        for (const id of rest) unstored.add(id);
        break;
      }
      progress.done += ids.length;
    }
  }
  changed.clear();
  return unstored;
}

/** Messages that are read after others, by conversation: each id follows the id of its conversation. */
const laterList = 'message by conversation';
const idLength = 36;

/**
 * The next messages to read. If they are too many for one batch, those of a conversation are in the same batch: messages of
 * one second are stored in the order in which they are read.
 */
async function takeMessages({ source }: RunContext, changed: IdSets): Promise<string[]> {
  const limit = batchOf('message');
  const first = changed.take('message', limit);
  if (changed.count('message') === 0 && changed.count(laterList) === 0) return first;
  for (let ids = first; ids.length > 0; ids = changed.take('message', limit)) {
    const rows = await source.query<{ id: string; conversation_id: string }>(
      'SELECT id, conversation_id FROM messages WHERE id = ANY($1::uuid[])',
      [ids],
    );
    const conversations = new Map(rows.map(({ id, conversation_id }) => [id, conversation_id]));
    // Messages that the source has deleted are a group of their own.
    changed.add(
      laterList,
      ids.map((id) => (conversations.get(id) ?? noId) + id),
    );
  }
  return changed.takeGroups(laterList, limit, idLength).map((id) => id.slice(idLength));
}

/** Reads the next batch of the source while the current one is written. At most one more batch is in memory. */
export async function* readAhead<T>(batches: AsyncGenerator<T>): AsyncGenerator<T> {
  const readNext = () => {
    const next = batches.next();
    // A failure is thrown when the batch is due.
    next.catch(() => undefined);
    return next;
  };
  let next = readNext();
  try {
    for (;;) {
      const { done, value } = await next;
      if (done) return;
      next = readNext();
      yield value;
    }
  } finally {
    // The source is not in use when this ends, however it ends.
    await next.catch(() => undefined);
    await batches.return(undefined);
  }
}
