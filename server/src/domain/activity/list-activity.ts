import type { ActivityListed, ActivityQuery, ReadListed, ReadQuery } from '../../contract/audit.ts';
import { limits } from '../../contract/limits.ts';
import { canonicalId, canonicalIds } from '../../contract/primitives.ts';
import { personPrefix } from '../author.ts';
import { type CursorPage, Paging } from '../paging.ts';
import type { AuditEntry } from '../store/audit.ts';
import { selectionOf } from '../store/selection.ts';
import type { Store } from '../store/store.ts';
import { Names } from './names.ts';

const newestFirst = new Paging<ActivityListed>(['string'], ({ id }) => [id]);

/** A page of the audit log, newest first. */
export function listActivity(store: Store, query: ActivityQuery): Promise<CursorPage<ActivityListed>> {
  return newestFirst.readWindow(query, async ({ after, count }) => {
    const { cursor: _, key_id, person_id, ...filters } = query;
    const { entries, next } = await store.listAudit({
      ...canonicalIds(filters),
      key_id: requestedAuthor(key_id, person_id),
      before: after?.[0] as string | undefined,
      limit: count,
    });
    return { rows: await nameEntries(store, entries), next: next === undefined ? undefined : [next] };
  });
}

/** Entries of the audit log with the current names of their keys and of their first records. */
export async function nameEntries(store: Store, entries: readonly AuditEntry[]): Promise<ActivityListed[]> {
  const names = new Names();
  for (const { key_id, record, ids, app_id } of entries) {
    names.addAuthor(key_id);
    names.add('app', app_id);
    names.add(record, ...firstOf(ids));
  }
  await names.read(store);
  return entries.map(({ key_id, record, ids, app_id = null, messages = null, cleaned_at = null, ...entry }) => ({
    id: entry.id,
    at: entry.at,
    ...names.ofAuthor(key_id),
    action: entry.action,
    record,
    count: entry.count,
    app_id,
    app_name: names.nameOf('app', app_id),
    messages,
    cleaned_at,
    records: firstOf(ids).map((id) => ({ id, name: null, path: null, ...names.find(record, id) })),
    tool: entry.tool ?? null,
    changes: [...(entry.changes ?? [])],
  }));
}

/** The author of the wanted entries. A key and a person together name no one. */
export function requestedAuthor(key_id: string | undefined, person_id: string | undefined): string | undefined {
  if (person_id === undefined) return key_id && canonicalId(key_id);
  return key_id === undefined ? `${personPrefix}${canonicalId(person_id)}` : '';
}

const firstOf = (ids: readonly string[]): readonly string[] => ids.slice(0, limits.namedRecordsMax);

const latestReads = new Paging<ReadListed>(['number', 'string'], ({ at, id }) => [at, id]);

/** A page of the reads, newest first. */
export function listReads(store: Store, query: ReadQuery): Promise<CursorPage<ReadListed>> {
  const author = requestedAuthor(query.key_id, query.person_id);
  return latestReads.read(query, async (range) => {
    // No stored user contains NUL, and PostgreSQL would reject the parameter.
    if (query.user?.includes('\0')) return { rows: [], has_more: false };
    const { rows, has_more } = await store.admin.listReads(selectionOf(query), author, range);
    const names = new Names();
    for (const { key_id, app_id } of rows) {
      names.addAuthor(key_id);
      names.add('app', app_id);
    }
    await names.read(store);
    const named = rows.map(({ key_id, ...row }) => ({
      ...row,
      ...names.ofAuthor(key_id),
      app_name: names.nameOf('app', row.app_id),
    }));
    return { rows: named, has_more };
  });
}
