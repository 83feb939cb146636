import { isDeepStrictEqual } from 'node:util';
import type { KnowledgeCount, MessageCount } from '../domain/store/import-sources.ts';
import { addChildren, listUnread } from './children.ts';
import type { IdSets } from './id-set.ts';
import type { SourcePoint } from './point.ts';
import { conditionOf, epoch, Parameters, readIds, tables } from './rows/selection.ts';
import { begin, type RunContext } from './run-context.ts';
import { changedSince } from './scan.ts';
import { importConversations, waitingList } from './sync.ts';
import { syncChanges } from './sync-changes.ts';

const batchConversations = 1_000;
const batchDatasets = 10;

/** A conversation or dataset with fewer or older records in Backscroll; `target` is undefined if it is missing. */
export type Difference =
  | { kind: 'conversation'; id: string; source: MessageCount; target: MessageCount | undefined }
  | { kind: 'dataset'; id: string; source: KnowledgeCount; target: KnowledgeCount | undefined };

type Visit = (difference: Difference) => void;

/**
 * Compares all selected conversations with the stored ones. Messages that were written after `point` are not counted. What
 * differs is read once more, and compared again. Returns the number of conversations.
 */
export async function compareConversations(context: RunContext, point: SourcePoint, visit: Visit): Promise<number> {
  let compared = 0;
  begin(context.progress, 'comparing conversations', await context.state.countIds('conversation'));
  for (let after = ''; ; ) {
    await context.checkpoint();
    const ids = await readIds(context, 'conversations', { after, limit: batchConversations });
    const differing = await findDifferent(context, point, ids);
    if (differing.length > 0) {
      const again = differing.map(({ id }) => id);
      await context.muteReport(() => importConversations(context, again, undefined));
      for (const difference of await findDifferent(context, point, again)) visit(difference);
    }
    compared += ids.length;
    context.progress.done = compared;
    after = ids.at(-1) ?? '';
    if (ids.length < batchConversations) return compared;
  }
}

/**
 * Compares the numbers of documents, segments and child chunks of all selected datasets, as conversations are compared. A
 * dataset may be large: it is not read again if it differs as it did after the last time.
 */
export async function compareDatasets(
  context: RunContext,
  point: SourcePoint,
  changed: IdSets,
  visit: Visit,
): Promise<void> {
  for (let after = ''; ; ) {
    await context.checkpoint();
    const ids = await readIds(context, 'datasets', { after, limit: batchDatasets });
    const seen = await context.state.readValues('differs');
    const isSeen = (difference: Difference) => isDeepStrictEqual(seen.get(difference.id), difference);
    const differing = await findDifferentDatasets(context, point, ids);
    for (const difference of differing.filter(isSeen)) visit(difference);
    const again = differing.filter((difference) => !isSeen(difference)).map(({ id }) => id);
    if (again.length > 0) {
      await context.muteReport(async () => {
        await listUnread(context, changed, 'dataset', again);
        await addChildren(context, changed, 'dataset', again);
        await syncChanges(context, changed);
      });
      const left = await findDifferentDatasets(context, point, again);
      for (const difference of left) visit(difference);
      await context.state.writeValues('differs', new Map(left.map((one) => [one.id, one])));
    }
    after = ids.at(-1) ?? '';
    if (ids.length < batchDatasets) return;
  }
}

async function findDifferent(
  { source, store, state }: RunContext,
  point: SourcePoint,
  ids: readonly string[],
): Promise<Difference[]> {
  const isLater = changedSince(source, 'messages', 'm', point, point);
  const waiting = await state.listIds(waitingList, '', Number.MAX_SAFE_INTEGER);
  const rows = await source.query<MessageCount & { id: string }>(
    `SELECT c.id, o.messages, o.newest FROM unnest($1::uuid[]) AS c (id) CROSS JOIN LATERAL (
       SELECT count(*)::int4 AS messages, ${epoch('max(m.created_at)')} AS newest
       FROM messages m WHERE m.conversation_id = c.id AND NOT ${isLater} AND NOT m.id = ANY($2::uuid[])
     ) o ORDER BY c.id`,
    [ids, waiting],
  );
  const stored = await store?.imports.countMessages(ids);
  const tombstones = await store?.erasure.findTombstones(ids);
  const erased = new Set(tombstones?.map(({ conversation_id }) => conversation_id));
  return rows.flatMap(({ id, messages, newest }): Difference[] => {
    // As a whole, or some of its messages.
    if (erased.has(id)) return [];
    const target = stored?.get(id);
    // Messages may have been added in Backscroll, or after the point.
    const isSame = target !== undefined && target.messages >= messages && (target.newest ?? 0) >= (newest ?? 0);
    return isSame ? [] : [{ kind: 'conversation', id, source: { messages, newest }, target }];
  });
}

/** The tables of a dataset, with the name of the rows whose changes after the point are not counted. */
const knowledge = [
  { name: 'documents', table: 'documents', row: 'd' },
  { name: 'segments', table: 'document_segments', row: 'g' },
  { name: 'child_chunks', table: 'child_chunks', row: 'h' },
] as const;

async function findDifferentDatasets(
  { source, store, options }: RunContext,
  point: SourcePoint,
  ids: readonly string[],
): Promise<Difference[]> {
  const counts = new Map(ids.map((id) => [id, { documents: 0, segments: 0, child_chunks: 0 }]));
  for (const { name, table, row } of knowledge) {
    const parameters = new Parameters();
    const isOneOf = `s.id = ANY(${parameters.bind(ids)}::uuid[])`;
    const isLater = changedSince(source, table, row, point, point);
    const rows = await source.query<{ id: string; n: number }>(
      `SELECT s.id, count(*)::int4 AS n FROM ${tables[name]}
       WHERE ${isOneOf} AND ${conditionOf(name, options, parameters)} AND NOT ${isLater} GROUP BY s.id`,
      parameters.values,
    );
    for (const { id, n } of rows) {
      const count = counts.get(id);
      if (count !== undefined) count[name] = n;
    }
  }
  const stored = await store?.imports.countKnowledge(ids);
  return [...counts].flatMap(([id, counted]): Difference[] => {
    const target = stored?.get(id);
    const isSame = target !== undefined && knowledge.every(({ name }) => target[name] >= counted[name]);
    return isSame ? [] : [{ kind: 'dataset', id, source: counted, target }];
  });
}
