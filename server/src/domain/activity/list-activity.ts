import type { ActivityListed, ActivityQuery } from '../../contract/audit.ts';
import { limits } from '../../contract/limits.ts';
import { canonicalId } from '../../contract/primitives.ts';
import type { RecordKind } from '../../contract/record.ts';
import { type CursorPage, Paging } from '../paging.ts';
import type { AuditEntry, RecordName } from '../store/audit.ts';
import type { Store } from '../store/store.ts';

const newestFirst = new Paging<ActivityListed>(['string'], ({ id }) => [id]);

/** A page of the audit log, newest first. */
export function listActivity(store: Store, query: ActivityQuery): Promise<CursorPage<ActivityListed>> {
  return newestFirst.readWindow(query, async ({ after, count }) => {
    const { cursor: _, key_id, record_id, dataset_id, document_id, ...others } = query;
    const { entries, next } = await store.listAudit({
      ...others,
      key_id: key_id && canonicalId(key_id),
      record_id: record_id && canonicalId(record_id),
      dataset_id: dataset_id && canonicalId(dataset_id),
      document_id: document_id && canonicalId(document_id),
      before: after?.[0] as string | undefined,
      limit: count,
    });
    return { rows: await nameEntries(store, entries), next: next === undefined ? undefined : [next] };
  });
}

/** Entries of the audit log with the current names of their keys and of their first records. */
export async function nameEntries(store: Store, entries: readonly AuditEntry[]): Promise<ActivityListed[]> {
  const idsByKind = new Map<RecordKind, Set<string>>([['api_key', new Set()]]);
  const add = (kind: RecordKind, ids: readonly string[]) => {
    const all = idsByKind.get(kind) ?? new Set();
    idsByKind.set(kind, all);
    for (const id of ids) all.add(id);
  };
  for (const { key_id, record, ids, app_id } of entries) {
    if (key_id !== null) add('api_key', [key_id]);
    if (app_id) add('app', [app_id]);
    add(record, firstOf(ids));
  }
  const names = new Map<RecordKind, ReadonlyMap<string, RecordName>>(
    await Promise.all(
      [...idsByKind].map(async ([kind, ids]) => [kind, await store.admin.findNames(kind, [...ids])] as const),
    ),
  );
  return entries.map(({ key_id, record, ids, app_id = null, messages = null, cleaned_at = null, ...entry }) => ({
    id: entry.id,
    at: entry.at,
    key_id,
    key_name: key_id === null ? null : (names.get('api_key')?.get(key_id)?.name ?? null),
    action: entry.action,
    record,
    count: entry.count,
    app_id,
    app_name: app_id === null ? null : (names.get('app')?.get(app_id)?.name ?? null),
    messages,
    cleaned_at,
    records: firstOf(ids).map((id) => ({ id, name: null, path: null, ...names.get(record)?.get(id) })),
    tool: entry.tool ?? null,
  }));
}

const firstOf = (ids: readonly string[]): readonly string[] => ids.slice(0, limits.namedRecordsMax);
