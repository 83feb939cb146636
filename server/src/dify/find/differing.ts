import type { KnowledgeCount, MessageCount } from '../../domain/store/import-sources.ts';
import { isUnfinished } from '../rows/messages.ts';
import { conditionOf, Parameters, selectedFrom } from '../rows/selection.ts';
import type { RunContext } from '../run-context.ts';
import { epoch, type SourcePoint, tableOf } from '../source.ts';
import { changedSince } from './changed.ts';

/** A conversation or dataset with fewer or older records in Backscroll; `target` is undefined if it is missing. */
export type Difference =
  | { kind: 'conversation'; id: string; source: MessageCount; target: MessageCount | undefined }
  | { kind: 'dataset'; id: string; source: KnowledgeCount; target: KnowledgeCount | undefined };

/** Compares the messages of conversations. Those that were written after `point`, or are unfinished, are not counted. */
export async function findDifferentConversations(
  { source, store }: RunContext,
  point: SourcePoint,
  ids: readonly string[],
): Promise<Difference[]> {
  const isLater = changedSince(source, 'messages', 'm', point, point);
  const rows = await source.query<MessageCount & { id: string }>(
    `SELECT c.id, o.messages, o.newest FROM unnest($1::uuid[]) AS c (id) CROSS JOIN LATERAL (
       SELECT count(*)::int4 AS messages, ${epoch('max(m.created_at)')} AS newest
       FROM messages m WHERE m.conversation_id = c.id AND NOT ${isLater} AND NOT (${isUnfinished})
     ) o ORDER BY c.id`,
    [ids],
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

/** What is counted of a dataset. Changes after the point of the rows of this name are not counted. */
const knowledge = [
  { name: 'documents', kind: 'document', row: 'd' },
  { name: 'segments', kind: 'segment', row: 'g' },
  { name: 'child_chunks', kind: 'child_chunk', row: 'h' },
] as const;

/** Compares the numbers of documents, segments and child chunks of datasets in the same way. */
export async function findDifferentDatasets(
  { source, store, options }: RunContext,
  point: SourcePoint,
  ids: readonly string[],
): Promise<Difference[]> {
  const counts = new Map(ids.map((id) => [id, { documents: 0, segments: 0, child_chunks: 0 }]));
  for (const { name, kind, row } of knowledge) {
    const parameters = new Parameters();
    const isOneOf = `s.id = ANY(${parameters.bind(ids)}::uuid[])`;
    const isLater = changedSince(source, tableOf[kind], row, point, point);
    const rows = await source.query<{ id: string; n: number }>(
      `SELECT s.id, count(*)::int4 AS n FROM ${selectedFrom[kind]}
       WHERE ${isOneOf} AND ${conditionOf(kind, options, parameters)} AND NOT ${isLater} GROUP BY s.id`,
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
