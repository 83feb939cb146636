import type { Tombstone } from '../store/erasure.ts';
import type { Store } from '../store/store.ts';

const batchSize = 500;

/**
 * Erases in a restored database what was erased after its backup. A conversation that was created again after an erasure
 * that the backup knows stays. `areInBackups`: the store of backups has these tombstones.
 */
export async function applyErasures(
  store: Store,
  tombstones: readonly Tombstone[],
  areInBackups: boolean,
): Promise<{ conversations: number; messages: number }> {
  const applied = { conversations: 0, messages: 0 };
  for (let at = 0; at < tombstones.length; at += batchSize) {
    const unknown = await withoutKnown(store, tombstones.slice(at, at + batchSize));
    const conversations = await store.lookup('conversation', [...new Set(unknown.map((one) => one.conversation_id))]);
    const present = unknown.filter(({ conversation_id }) => conversations.has(conversation_id));
    await Promise.all(
      present.map(async ({ conversation_id, message_id, at: now }) => {
        const eraser = { action: 'purge' as const, key_id: null, now };
        if (message_id === '') {
          const erased = await store.erasure.erase({ conversation_id }, eraser);
          applied.conversations += erased.conversations;
          applied.messages += erased.messages;
          return;
        }
        const app_id = conversations.get(conversation_id)?.parent ?? '';
        const outcome = await store.run('deleteMessage', { location: { app_id, conversation_id, message_id }, eraser });
        applied.messages += Number(outcome === 'deleted');
      }),
    );
    await store.run('keepTombstones', { tombstones: unknown, areInBackups });
  }
  return applied;
}

const keyOf = ({ conversation_id, message_id }: Tombstone): string => `${conversation_id} ${message_id}`;

async function withoutKnown(store: Store, tombstones: readonly Tombstone[]): Promise<Tombstone[]> {
  const ids = [...new Set(tombstones.map(({ conversation_id }) => conversation_id))];
  const known = new Map((await store.erasure.findTombstones(ids)).map((one) => [keyOf(one), one.at]));
  return tombstones.filter((one) => (known.get(keyOf(one)) ?? Number.NEGATIVE_INFINITY) < one.at);
}
