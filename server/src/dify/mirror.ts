import type { StoredRecord } from '../domain/import-sources.ts';
import { importMessages, ratedList } from './pass.ts';
import type { RunContext } from './run-context.ts';
import { mirroredList } from './writer.ts';

const batchIds = 2_000;

type Mirrored = {
  kind: 'conversation' | 'document' | 'segment' | 'child_chunk';
  table: string;
  /** What a record gets that is gone from the source. */
  gone: Readonly<Record<string, unknown>>;
};

/** Datasets cannot be marked: no knowledge key reaches one that is gone. Nothing is purged. */
const mirroredKinds: readonly Mirrored[] = [
  { kind: 'conversation', table: 'conversations', gone: { deleted: true } },
  { kind: 'document', table: 'documents', gone: { enabled: false, archived: true } },
  { kind: 'segment', table: 'document_segments', gone: { enabled: false } },
  { kind: 'child_chunk', table: 'child_chunks', gone: { deleted: true } },
];

/** Marks records that came from the source and are gone from it. */
export async function mirrorDeletions(context: RunContext): Promise<void> {
  for (const mirrored of mirroredKinds) {
    if (mirrored.kind !== 'conversation' && context.options.appIds !== undefined) continue;
    await mirrorKind(context, mirrored);
  }
  await mirrorFeedback(context);
}

/** Feedback that was withdrawn: its row is gone from the source. The messages are read again, without it. */
async function mirrorFeedback(context: RunContext): Promise<void> {
  const { source, state, report, signal } = context;
  if (!source.has('message_feedbacks')) return;
  for (let after = ''; ; ) {
    signal.throwIfAborted();
    const ids = await state.listIds(ratedList, after, batchIds);
    const rows = await source.query<{ id: string; is_rated: boolean }>(
      `SELECT m.id, EXISTS (SELECT FROM message_feedbacks f WHERE f.message_id = m.id AND f.from_source = 'user') AS is_rated
       FROM messages m WHERE m.id = ANY($1::uuid[])`,
      [ids],
    );
    const present = new Set(rows.map(({ id }) => id));
    const withdrawn = rows.filter(({ is_rated }) => !is_rated).map(({ id }) => id);
    const unrated = withdrawn.length === 0 ? [] : await importMessages(context, withdrawn, undefined);
    if (unrated.length > 0) report.count('ratings withdrawn in the source', unrated.length);
    await state.removeIds(ratedList, [...unrated, ...ids.filter((id) => !present.has(id))]);
    after = ids.at(-1) ?? '';
    if (ids.length < batchIds) return;
  }
}

async function mirrorKind(context: RunContext, { kind, table, gone }: Mirrored): Promise<void> {
  const { source, store, state, writer, report, signal } = context;
  for (let after = ''; ; ) {
    signal.throwIfAborted();
    const ids = await state.listIds(kind, after, batchIds);
    const rows = await source.query<{ id: string }>(`SELECT id FROM ${table} WHERE id = ANY($1::uuid[])`, [ids]);
    const present = new Set(rows.map(({ id }) => id));
    const missing = await selected(
      context,
      kind,
      ids.filter((id) => !present.has(id)),
    );
    const stored = (await store?.imports.findRecords(kind, missing)) ?? new Map<string, StoredRecord>();
    const unmarked = [...stored.values()].filter((record) =>
      Object.entries(gone).some(([name, value]) => record[name] !== value),
    );
    if (unmarked.length > 0) {
      report.count(`${table} gone from the source`, unmarked.length);
      if ('deleted' in gone)
        await state.addIds(
          mirroredList(kind),
          unmarked.map(({ id }) => id),
        );
      for (const record of unmarked) await writer.add({ ...record, ...gone, record: kind });
      await writer.flush();
    }
    after = ids.at(-1) ?? '';
    if (ids.length < batchIds) return;
  }
}

/** The records of these that belong to what this run reads. Their rows are gone, so the stored parents decide. */
async function selected(
  { store, options: { workspaceIds, appIds } }: RunContext,
  kind: Mirrored['kind'],
  ids: readonly string[],
): Promise<readonly string[]> {
  if (store === undefined || (workspaceIds === undefined && appIds === undefined)) return ids;
  const targets = await store.lookup(kind, ids);
  const ownerOf = (id: string): string => {
    const target = targets.get(id);
    return (kind === 'conversation' ? target?.parent : target?.scope) ?? '';
  };
  const owners = await store.lookup(kind === 'conversation' ? 'app' : 'dataset', [...new Set(ids.map(ownerOf))]);
  const isOneOf = (id: string, among: readonly string[] | undefined) =>
    among === undefined || among.some((one) => one.toLowerCase() === id);
  return ids.filter((id) => {
    const owner = ownerOf(id);
    const isOfApp = kind !== 'conversation' || isOneOf(owner, appIds);
    return isOfApp && isOneOf(owners.get(owner)?.parent ?? '', workspaceIds);
  });
}
