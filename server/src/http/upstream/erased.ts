import { canonicalId } from '../../contract/primitives.ts';
import { Tombstones } from '../../domain/erasure/tombstones.ts';
import type { Store } from '../../domain/store/store.ts';

/**
 * Whether a read of messages or conversations names one that was erased in Backscroll. The upstream may still have it, so such a read is
 * not passed on.
 */
export async function namesErased({ erasure }: Store, url = ''): Promise<boolean> {
  const query = new URLSearchParams(url.slice(url.indexOf('?') + 1));
  const idIn = (name: string): string => canonicalId(query.get(name) ?? '');
  const [conversation, first, last] = [idIn('conversation_id'), idIn('first_id'), idIn('last_id')];
  // A list of conversations begins after a conversation, a page of messages before a message.
  const named = conversation === '' ? [last, first] : [conversation];
  const conversations = named.filter((id) => id !== '');
  const tombstones = new Tombstones(await erasure.findTombstones(conversations));
  const message = { record: 'message', id: first, conversation_id: conversation };
  return conversations.some((id) => tombstones.hasConversation(id)) || tombstones.has(message);
}
