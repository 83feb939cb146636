import type { AuditEntry } from '../../domain/store/audit.ts';
import { newEntryId } from '../accounting/entry-id.ts';
import type { WriteInput } from '../base/engine.ts';
import { begin, execute, type RowStatements, type Write } from '../base/statement.ts';
import { changed } from '../changes/changed.ts';

/** What is null stays as it is. Parameters: blocked, id. */
const setBlocked = 'UPDATE persons SET blocked = COALESCE(CAST(? AS BIGINT), blocked) WHERE id = ?';
const endSessions = 'DELETE FROM console_sessions WHERE person_id = ?';

/** An older time never replaces a newer one. Columns: time, id. */
export const setLastSeen: RowStatements = {
  one: 'UPDATE persons SET last_seen_at = MAX(COALESCE(last_seen_at, 0), ?) WHERE id = ?',
  many: `
    UPDATE persons SET last_seen_at = u.at FROM unnest($1::bigint[], $2::text[]) AS u (at, id)
    WHERE persons.id = u.id AND (persons.last_seen_at IS NULL OR persons.last_seen_at < u.at)`,
  isUndistributed: true,
};

export function* changePerson({ id, blocked, by, now }: WriteInput<'changePerson'>): Write<boolean> {
  yield* begin();
  if ((yield* execute(setBlocked, blocked === undefined ? null : Number(blocked), id)) === 0) return false;
  if (blocked !== false) yield* execute(endSessions, id);
  yield* personChanged(blocked === undefined ? 'revoke' : 'update', id, by, now);
  return true;
}

function personChanged(action: 'create' | 'update' | 'revoke', id: string, by: string | null, at: number): Write<void> {
  const entry: AuditEntry = { id: newEntryId(), at, key_id: by, action, record: 'person', count: 1, ids: [id] };
  return changed({ audit: [entry], outbox: [], at });
}
