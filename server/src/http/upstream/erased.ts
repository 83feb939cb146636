import { canonicalId, isUuid } from '../../contract/primitives.ts';
import { Tombstones } from '../../domain/erasure/tombstones.ts';
import type { Store } from '../../domain/store/store.ts';

/**
 * Whether a read names a conversation, or a page a message, that was erased in Backscroll. The upstream may still have it, so such a read
 * is not passed on. Tombstones are found by conversation: a path with the id of a message alone is passed on.
 */
export async function namesErased({ erasure }: Store, url = ''): Promise<boolean> {
  const [path = '', ...rest] = url.split('?');
  const query = new URLSearchParams(rest.join('?'));
  const idIn = (name: string): string => canonicalId(query.get(name) ?? '');
  const [conversation, first, last] = [idIn('conversation_id'), idIn('first_id'), idIn('last_id')];
  // A list of conversations begins after a conversation, a page of messages before a message.
  const named = conversation === '' ? [last, first] : [conversation];
  const inPath = path.split('/').filter(isUuid);
  const conversations = [...named.filter((id) => id !== ''), ...inPath.map(canonicalId)];
  const tombstones = new Tombstones(await erasure.findTombstones(conversations));
  const message = { record: 'message', id: first, conversation_id: conversation };
  return conversations.some((id) => tombstones.hasConversation(id)) || tombstones.has(message);
}
