import type { IdSets } from './id-set.ts';
import { readIds, type SelectedTable } from './rows/selection.ts';
import type { RunContext } from './run-context.ts';
import { existingIds, queryIds } from './source.ts';
import { deletedList, isOneBatch } from './writer.ts';

/**
 * A record that is new in Backscroll brings all of its children, in every kind of sync: they may be older than the last one, which
 * did not select them because their parent was not selected. Records are new until their ids are listed; they are listed when
 * they are written.
 */

type Parent = 'app' | 'dataset' | 'document' | 'segment';
/** Kinds that are read by their ids. */
type Child = 'conversation' | 'document' | 'segment' | 'child_chunk';

type Relation = {
  selected: SelectedTable;
  table: string;
  children: { kind: Child; table: string; column: string };
};

const relations: Readonly<Record<Parent, Relation>> = {
  app: {
    selected: 'apps',
    table: 'apps',
    children: { kind: 'conversation', table: 'conversations', column: 'app_id' },
  },
  dataset: {
    selected: 'datasets',
    table: 'datasets',
    children: { kind: 'document', table: 'documents', column: 'dataset_id' },
  },
  document: {
    selected: 'documents',
    table: 'documents',
    children: { kind: 'segment', table: 'document_segments', column: 'document_id' },
  },
  segment: {
    selected: 'segments',
    table: 'document_segments',
    children: { kind: 'child_chunk', table: 'child_chunks', column: 'segment_id' },
  },
};

const batchIds = 5_000;

/**
 * The list of rows that must be read with all of their children, although they may not have changed. It is in the state, so
 * that a run that is killed does not lose them, and in the sets of the sync.
 */
export const unreadList = (kind: Parent | Child): string => `unread ${kind}`;

/** Adds the rows that earlier syncs have left. */
export async function addUnread({ state }: RunContext, changed: IdSets): Promise<void> {
  for (const kind of ['conversation', 'document', 'segment', 'child_chunk'] as const) {
    for (let after: string | undefined = ''; after !== undefined; ) {
      const ids: string[] = await state.listIds(unreadList(kind), after, batchIds);
      changed.add(kind, ids);
      changed.add(unreadList(kind), ids);
      after = ids.length === batchIds ? ids.at(-1) : undefined;
    }
  }
}

/** Lists rows as unread, before anything else is done with them. */
export async function listUnread(
  { state }: RunContext,
  changed: IdSets,
  kind: Parent | Child,
  ids: readonly string[],
): Promise<void> {
  await state.addIds(unreadList(kind), ids);
  changed.add(unreadList(kind), ids);
}

/** The ids of these that are selected now. */
export const findSelected = async (context: RunContext, kind: Parent, ids: readonly string[]): Promise<Set<string>> =>
  new Set(await readIds(context, relations[kind].selected, { ids }));

/**
 * The records of `found` whose children must be read. `requested` are the ids that were read to find them. It is called
 * before the records are written, which lists their ids.
 */
export async function needsAllChildren(
  context: RunContext,
  changed: IdSets,
  kind: Parent,
  requested: readonly string[],
  found: readonly string[],
): Promise<string[]> {
  const { state } = context;
  const listed = await state.findIds(kind, requested);
  const unread = new Set([
    ...(await state.findIds(unreadList(kind), requested)),
    ...requested.filter((id) => changed.has(unreadList(kind), id)),
  ]);
  const foundIds = new Set(found);
  const whole = found.filter((id) => !listed.has(id) || unread.has(id));
  await listUnread(context, changed, kind, whole);
  const missing = [...unread].filter((id) => !foundIds.has(id));
  const existing = await existingIds(context.source, relations[kind].table, missing);
  await state.removeIds(
    unreadList(kind),
    missing.filter((id) => !existing.has(id)),
  );
  return whole;
}

/** Lists all children of records that have been written, to be read in this sync. */
export async function addChildren(
  context: RunContext,
  changed: IdSets,
  kind: Parent,
  whole: readonly string[],
): Promise<void> {
  const { source, state, checkpoint } = context;
  const { children } = relations[kind];
  for (let start = 0; start < whole.length; start += batchIds) {
    const parents = whole.slice(start, start + batchIds);
    for (let after: string | undefined = ''; after !== undefined; ) {
      await checkpoint();
      const isAfter: string = after === '' ? '' : 'AND id > $2::uuid';
      const ids: string[] = await queryIds(
        source,
        `SELECT id FROM ${children.table} WHERE ${children.column} = ANY($1::uuid[]) ${isAfter} ORDER BY id LIMIT ${batchIds}`,
        after === '' ? [parents] : [parents, after],
      );
      await listUnread(context, changed, children.kind, ids);
      changed.add(children.kind, ids);
      after = ids.length === batchIds ? ids.at(-1) : undefined;
    }
    await state.removeIds(unreadList(kind), parents);
  }
}

/**
 * Conversations that are new in Backscroll, if they are not written at once with all of their messages. They are marked as deleted until they
 * are complete, so that their owner responds for them. After a run that was killed they are still marked, and unread.
 */
export async function hideIncomplete(
  { source, state, isOwner }: RunContext,
  conversationIds: readonly string[],
): Promise<Set<string>> {
  if (!isOwner || conversationIds.length === 0) return new Set();
  const [row] = await source.query<{ messages: number; units: number }>(
    `SELECT count(*)::float8 AS messages, coalesce(sum(octet_length(query) + octet_length(answer)), 0)::float8 AS units
     FROM messages WHERE conversation_id = ANY($1::uuid[])`,
    [conversationIds],
  );
  if (row === undefined || isOneBatch(conversationIds.length + row.messages, row.units)) return new Set();
  const stored = await state.findIds('conversation', conversationIds);
  const marked = await state.findIds(deletedList('conversation'), conversationIds);
  const hidden = conversationIds.filter((id) => !stored.has(id) || marked.has(id));
  await state.addIds(deletedList('conversation'), hidden);
  return new Set(hidden);
}
