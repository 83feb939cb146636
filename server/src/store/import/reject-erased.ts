import { conversationsOf, Tombstones } from '../../domain/erasure/tombstones.ts';
import { badRecord } from '../../domain/records/prepared-record.ts';
import { identityOf } from '../../domain/records/record-kinds.ts';
import type { Dialect } from '../base/engine.ts';
import type { SpooledRecord } from '../base/spooled-record.ts';
import { lock, query, type Statement, type Write } from '../base/statement.ts';
import { findTombstones, lockErasures } from '../erasure/statements.ts';
import { lookupStatement } from '../tables/lookups.ts';

/** Throws BadRecord for a record that would bring back what was erased. No erasure comes before the end of the transaction. */
export function* rejectErased(records: readonly SpooledRecord[], dialect: Dialect): Write<void> {
  const { isIn, isPair, list, pairs } = dialect;
  yield* lock(lockErasures);
  const ids = conversationsOf(records);
  if (ids.length === 0) return;
  const tombstones = new Tombstones(yield* query(findTombstones(dialect), list(ids)));
  const candidates = records.filter((record) => tombstones.has(record));
  if (candidates.length === 0) return;
  const stored = new Set<string>();
  for (const { id } of yield* query(lookupStatement('conversation', isIn), list(conversationsOf(candidates))))
    stored.add(id);
  const messages = candidates.filter((record) => record.record === 'message');
  const keys = pairs(messages.map(({ conversation_id, id }) => [conversation_id, id]));
  const findMessages: Statement<{ conversation_id: string; id: string }> = `
    SELECT conversation_id, id FROM messages WHERE ${isPair('conversation_id', 'id')}`;
  for (const { conversation_id, id } of messages.length === 0 ? [] : yield* query(findMessages, ...keys))
    stored.add(`${conversation_id}/${id}`);
  for (const record of candidates) if (!stored.has(identityOf(record))) throw badRecord(record, 'was erased');
}
