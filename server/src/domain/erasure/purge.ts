import { setTimeout as sleep } from 'node:timers/promises';
import type { Purged } from '../../contract/erasure.ts';
import { canonicalId } from '../../contract/primitives.ts';
import type { Author } from '../call.ts';
import { invalidParam, notFound } from '../errors.ts';
import type { ErasedCopies, MessageLocation, PurgeSelection } from '../store/erasure.ts';
import type { Store } from '../store/store.ts';

/** Then reads are stored that were noted just before a purge, such as that of a copy for the user. */
const blankAgainMillis = 2_500;

type Named = { [N in 'conversation_id' | 'app_id' | 'user']?: string | undefined };

/** Throws if the request does not have exactly one form. */
export function purgeSelection({ conversation_id, app_id, user }: Named): PurgeSelection {
  if (conversation_id && app_id === undefined && user === undefined) {
    return { conversation_id: canonicalId(conversation_id) };
  }
  if (conversation_id === undefined && app_id && user) return { app_id: canonicalId(app_id), user };
  throw invalidParam('give either conversation_id, or app_id and user');
}

/**
 * Erases conversations for good, or counts them.
 *
 * @example
 * const { audit_id } = await purge(store, { app_id, user: 'ann' }, { key_id: null, now });
 */
export async function purge(store: Store, selection: PurgeSelection, author: Author, isDry = false): Promise<Purged> {
  const { erasure } = store;
  const counts = await erasure.count(selection);
  if (isDry) return { ...counts, audit_id: null, copies: [] };
  const erased = await erasure.erase(selection, { action: 'purge', ...author });
  await store.run('blankReads', selection);
  void sleep(blankAgainMillis, undefined, { ref: false })
    .then(() => store.run('blankReads', selection))
    .catch(() => undefined);
  // Everything is erased: what is left in the files is removed later, and the hourly run logs why it was not.
  const copies = await erasure.clean().catch((): ErasedCopies[] => ['files']);
  const { audit_id, ...erasedCounts } = erased;
  return { ...erasedCounts, held: counts.held, audit_id, copies: audit_id === null ? [] : copies };
}

/** Throws if the conversation or the app does not exist. A user may have no conversations. */
export async function purgeExisting(
  store: Store,
  selection: PurgeSelection,
  requester: Author,
  isDry: boolean,
): Promise<Purged> {
  if ('app_id' in selection && (await store.lookup('app', [selection.app_id])).size === 0) {
    throw notFound('app not found');
  }
  const purged = await purge(store, selection, requester, isDry);
  if ('conversation_id' in selection && purged.conversations === 0) throw notFound('conversation not exists');
  return purged;
}

/** Erases one message for good. Throws if it does not exist. */
export async function deleteMessage(store: Store, location: MessageLocation, { key_id, now }: Author): Promise<void> {
  const outcome = await store.run('deleteMessage', { location, eraser: { action: 'purge', key_id, now } });
  if (outcome === 'no conversation') throw notFound('conversation not exists');
  if (outcome === 'no message') throw notFound('message not exists');
}
