import { deletedList } from './merge.ts';
import type { RunContext } from './run-context.ts';
import { type Found, queryIds, type Target, tableOf } from './source.ts';

/**
 * A record that is new in Backscroll brings all of its children, in every kind of sync: they may be older than the last one, which
 * did not select them because their parent was not selected. Records are new until their ids are listed; they are listed when
 * they are written.
 */

type Parent = 'app' | 'dataset' | 'document' | 'segment';

const childrenOf: Readonly<Record<Parent, { kind: Target; column: string }>> = {
  app: { kind: 'conversation', column: 'app_id' },
  dataset: { kind: 'document', column: 'dataset_id' },
  document: { kind: 'segment', column: 'document_id' },
  segment: { kind: 'child_chunk', column: 'segment_id' },
};

const batchIds = 5_000;
/** Records, and the length of their texts, that the writer certainly writes at once. */
const oneBatch = { records: 100, units: 400_000 };

/**
 * The records of these whose children must be read. They are pending from now on, before anything else is done with them: a run that is
 * killed does not lose them.
 */
export async function beginWhole(
  { state }: RunContext,
  kind: Parent | 'conversation',
  ids: readonly string[],
): Promise<string[]> {
  if (ids.length === 0) return [];
  const listed = await state.findIds(kind, ids);
  const pending = await state.findPending(kind, ids);
  const whole = ids.filter((id) => !listed.has(id) || pending.has(id));
  await state.addPending(kind, whole);
  return whole;
}

/** Lists all children of records that have been written, to be read in this sync. */
export async function addChildren(
  { source, state, checkpoint }: RunContext,
  changed: Found,
  kind: Parent,
  whole: readonly string[],
): Promise<void> {
  const children = childrenOf[kind];
  for (let start = 0; start < whole.length; start += batchIds) {
    const parents = whole.slice(start, start + batchIds);
    for (let after: string | undefined = ''; after !== undefined; ) {
      await checkpoint();
      const isAfter: string = after === '' ? '' : 'AND id > $2::uuid';
      const ids: string[] = await queryIds(
        source,
        `SELECT id FROM ${tableOf[children.kind]} WHERE ${children.column} = ANY($1::uuid[]) ${isAfter} ORDER BY id LIMIT ${batchIds}`,
        after === '' ? [parents] : [parents, after],
      );
      await state.addPending(children.kind, ids);
      changed.add(children.kind, ids);
      after = ids.length === batchIds ? ids.at(-1) : undefined;
    }
    await state.endPending(kind, parents);
  }
}

/**
 * Conversations that are new in Backscroll, if they are not written at once with all of their messages. They are marked as deleted until they
 * are complete, so that their owner responds for them. After a run that was killed they are still marked, and pending.
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
  const records = conversationIds.length + (row?.messages ?? 0);
  if (row === undefined || (records <= oneBatch.records && row.units <= oneBatch.units)) return new Set();
  const stored = await state.findIds('conversation', conversationIds);
  const marked = await state.findIds(deletedList('conversation'), conversationIds);
  return new Set(conversationIds.filter((id) => !stored.has(id) || marked.has(id)));
}
