import type { StoredRecord } from '../domain/store/import-sources.ts';
import type { RunContext } from './run-context.ts';
import { type Found, isOneOf, type Target, tableOf } from './source.ts';
import { comparedTable, readTables, type Slice, treatmentOf } from './tables.ts';

/** Kinds whose records are marked when their rows are gone. Datasets cannot be marked: no knowledge key reaches one that is gone. */
type MarkedKind = Exclude<Target, 'message'>;

const marks: Readonly<Record<MarkedKind, Readonly<Record<string, unknown>>>> = {
  conversation: { deleted: true },
  document: { enabled: false, archived: true },
  segment: { enabled: false },
  child_chunk: { deleted: true },
};

/** Marks records whose rows are gone from the source. Nothing is purged. */
export async function markGone(context: RunContext, kind: MarkedKind, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const { source, state, store, report, writer, readPoint } = context;
  const gone = await findSelected(context, kind, ids);
  const stored = (await store?.imports.findRecords(kind, gone)) ?? new Map<string, StoredRecord>();
  const unmarked = [...stored.values()].filter((record) =>
    Object.entries(marks[kind]).some(([name, value]) => record[name] !== value),
  );
  if (unmarked.length > 0) {
    const tables = await readTables(source, await readPoint());
    // What an older copy, or an empty table, does not have was not deleted by users.
    if ((await treatmentOf(context, kind, tables.get(kind)?.file ?? '')) !== 'delete') return;
    report.count(`${tableOf[kind]} gone from the source`, unmarked.length);
    for (const record of unmarked) await writer.add({ ...record, ...marks[kind], record: kind });
    await writer.flush();
  }
  // Also what was deleted in Backscroll, or is not stored any more.
  await state.removeIds(kind, gone);
}

/** Adds what a comparison of ids has found to `changed`. What is kept is not compared again. */
export async function addSlice({ report, state }: RunContext, slice: Slice, changed: Found): Promise<void> {
  const { kind, missing, isKept } = slice;
  if (kind !== 'feedback') changed.add(kind, slice.changed);
  if (!isKept) changed.add(kind === 'feedback' ? 'message' : kind, missing);
  else if (missing.length > 0) {
    report.count(`${comparedTable(kind)} missing in an older copy of the source, and kept`, missing.length);
    await state.removeIds(kind, missing);
  }
}

/** The records of these that belong to what this run reads. Their rows are gone, so the stored parents decide. */
async function findSelected(
  { store, options: { workspaceIds, appIds } }: RunContext,
  kind: MarkedKind,
  ids: readonly string[],
): Promise<readonly string[]> {
  if (store === undefined || (workspaceIds === undefined && appIds === undefined)) return ids;
  const targets = await store.lookup(kind, ids);
  const ownerOf = (id: string): string => {
    const target = targets.get(id);
    return (kind === 'conversation' ? target?.parent : target?.scope) ?? '';
  };
  const owners = await store.lookup(kind === 'conversation' ? 'app' : 'dataset', [...new Set(ids.map(ownerOf))]);
  return ids.filter((id) => {
    const owner = ownerOf(id);
    const isOfApp = kind !== 'conversation' || isOneOf(owner, appIds);
    return isOfApp && isOneOf(owners.get(owner)?.parent ?? '', workspaceIds);
  });
}
