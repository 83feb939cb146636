import type { FoundPage, MessagePlace, Messages, PageShape } from '../../domain/store.ts';
import type { Value } from '../engine.ts';
import type { Connection } from './connection.ts';
import { pageStatements } from './statements.ts';

/** Reads a page inside the caller's snapshot: the version first, and messages only if it is not the cached version. */
export function findPage(
  db: Connection,
  place: MessagePlace,
  shape: PageShape,
  cachedVersion: string | undefined,
): FoundPage | undefined {
  const { conversation_id, app_id, user, first_id } = place;
  const from = first_id === undefined ? 'newest' : 'older';
  const first = first_id === undefined ? [] : [first_id];
  const statements = pageStatements.conversation[from];
  const row =
    user === undefined
      ? db.first(statements.anyUser, ...first, conversation_id, app_id)
      : db.first(statements.user, ...first, conversation_id, app_id, user);
  if (row === undefined) return undefined;
  const [version, created_at, sequence] = row as [string, Value | undefined, Value | undefined];
  if (created_at === null) return { version, first_message_exists: false, messages: undefined };
  if (version === cachedVersion) return { version, first_message_exists: true, messages: undefined };
  const bounds = created_at === undefined || sequence === undefined ? [] : [created_at, sequence];
  const messages = joinMessages(db, from, shape, [conversation_id, ...bounds]);
  return { version, first_message_exists: true, messages };
}

/** One message more than the page has is read, which shows whether older ones exist, and is cut off. */
function joinMessages(db: Connection, from: 'newest' | 'older', shape: PageShape, values: Value[]): Messages {
  const { limit, page_order } = shape;
  const row = db.first(pageStatements.messages[from][page_order], ...values, limit + 1);
  const [count, joined, lengths] = row as [number, Uint8Array | null, string | null];
  const docs = joined ?? new Uint8Array();
  if (count <= limit) return { docs, next: undefined };
  // `id length id length …`, in the order of the texts.
  const parts = (lengths ?? '').split(' ');
  if (page_order === 'newest_first') {
    return { docs: docs.subarray(0, -Number(parts.at(-1)) - 1), next: parts.at(-4) };
  }
  return { docs: docs.subarray(Number(parts[1]) + 1), next: parts[2] };
}
