import type { ActivityListed, ActivityQuery } from '../../contract/audit.ts';
import { limits } from '../../contract/limits.ts';
import { canonicalId } from '../../contract/primitives.ts';
import type { RecordKind } from '../../contract/record.ts';
import { personPrefix, splitAuthor } from '../author.ts';
import { type CursorPage, Paging } from '../paging.ts';
import type { AuditEntry, RecordName } from '../store/audit.ts';
import type { Store } from '../store/store.ts';

const newestFirst = new Paging<ActivityListed>(['string'], ({ id }) => [id]);

/** A page of the audit log, newest first. */
export function listActivity(store: Store, query: ActivityQuery): Promise<CursorPage<ActivityListed>> {
  return newestFirst.readWindow(query, async ({ after, count }) => {
    const { cursor: _, key_id, person_id, record_id, dataset_id, document_id, ...others } = query;
    const { entries, next } = await store.listAudit({
      ...others,
      key_id: requestedAuthor(key_id, person_id),
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
  const idsByKind = new Map<RecordKind, Set<string>>();
  const add = (kind: RecordKind, ids: readonly string[]) => {
    const all = idsByKind.get(kind) ?? new Set();
    idsByKind.set(kind, all);
    for (const id of ids) all.add(id);
  };
  for (const { key_id, person_id } of entries.map((entry) => splitAuthor(entry.key_id))) {
    if (key_id !== null) add('api_key', [key_id]);
    if (person_id !== null) add('person', [person_id]);
  }
  for (const { record, ids, app_id } of entries) {
    if (app_id) add('app', [app_id]);
    add(record, firstOf(ids));
  }
  const names = new Map<RecordKind, ReadonlyMap<string, RecordName>>(
    await Promise.all(
      [...idsByKind].map(async ([kind, ids]) => [kind, await store.admin.findNames(kind, [...ids])] as const),
    ),
  );
  const nameOf = (kind: RecordKind, id: string | null) =>
    id === null ? null : (names.get(kind)?.get(id)?.name ?? null);
  return entries.map(
    ({ key_id: author, record, ids, app_id = null, messages = null, cleaned_at = null, ...entry }) => ({
      id: entry.id,
      at: entry.at,
      ...named(splitAuthor(author), nameOf),
      action: entry.action,
      record,
      count: entry.count,
      app_id,
      app_name: nameOf('app', app_id),
      messages,
      cleaned_at,
      records: firstOf(ids).map((id) => ({ id, name: null, path: null, ...names.get(record)?.get(id) })),
      tool: entry.tool ?? null,
    }),
  );
}

/** An author with the current name. */
const named = (
  { key_id, person_id }: ReturnType<typeof splitAuthor>,
  nameOf: (kind: RecordKind, id: string | null) => string | null,
) => ({ key_id, key_name: nameOf('api_key', key_id), person_id, person_name: nameOf('person', person_id) });

/** The author of the wanted entries. A key and a person together name no one. */
export function requestedAuthor(key_id: string | undefined, person_id: string | undefined): string | undefined {
  if (person_id === undefined) return key_id && canonicalId(key_id);
  return key_id === undefined ? `${personPrefix}${canonicalId(person_id)}` : '';
}

const firstOf = (ids: readonly string[]): readonly string[] => ids.slice(0, limits.namedRecordsMax);
