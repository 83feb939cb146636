import { addUnread } from './children.ts';
import type { IdSets } from './id-set.ts';
import { begin, type RunContext } from './run-context.ts';
import { noId, type Target } from './scan.ts';
import { conversationBatch, importRows, rowBatch, waitingList } from './sync.ts';

/** Times that changed rows are read at most, because a request may store a newer state while they are written. */
const readsMax = 3;

/**
 * Reads rows that have changed, of all kinds, and all children of records that are new in Backscroll. Parents come before children.
 * Without `withUnread`, what earlier syncs have left stays left: a poll within a sync must not do the work of the sync.
 */
export async function syncChanges(context: RunContext, changed: IdSets, withUnread = true): Promise<void> {
  const { checkpoint, progress, state } = context;
  changed.add('message', await state.listIds(waitingList, '', Number.MAX_SAFE_INTEGER));
  if (withUnread) await addUnread(context, changed);
  begin(progress, 'importing changes', 0);
  for (const target of targets) {
    progress.total = targets.reduce((sum, one) => sum + changed.count(one), progress.done);
    for (;;) {
      await checkpoint();
      const ids = target === 'message' ? await takeMessages(context, changed) : takeIds(target, changed);
      if (ids.length === 0) break;
      await importUntilCurrent(context, target, ids, changed);
      progress.done += ids.length;
    }
  }
  changed.clear();
}

/**
 * A request to Dify that passes through Backscroll stores its change at once. If that comes between the read of a row and its write, the write is
 * that of an older state. So rows that were written are read again.
 */
async function importUntilCurrent(
  context: RunContext,
  target: Target,
  ids: readonly string[],
  changed: IdSets,
): Promise<void> {
  const { writer, isOwner } = context;
  for (let reads = 1; ; reads += 1) {
    const before = writer.written;
    await importRows(context, target, ids, changed);
    if (!isOwner || writer.written === before || reads === readsMax) return;
  }
}

const targets = ['conversation', 'message', 'document', 'segment', 'child_chunk'] as const;

const takeIds = (target: Target, changed: IdSets): string[] =>
  changed.take(target, target === 'conversation' ? conversationBatch : rowBatch);

/** Messages that are read after others, by conversation: each id follows the id of its conversation. */
const laterList = 'message by conversation';
const idLength = 36;

/**
 * The next messages to read. If they are too many for one batch, those of a conversation are in the same batch: messages of
 * one second are stored in the order in which they are read.
 */
async function takeMessages({ source }: RunContext, changed: IdSets): Promise<string[]> {
  const first = takeIds('message', changed);
  if (changed.count('message') === 0 && changed.count(laterList) === 0) return first;
  for (let ids = first; ids.length > 0; ids = takeIds('message', changed)) {
    const rows = await source.query<{ id: string; conversation_id: string }>(
      'SELECT id, conversation_id FROM messages WHERE id = ANY($1::uuid[])',
      [ids],
    );
    const conversations = new Map(rows.map(({ id, conversation_id }) => [id, conversation_id]));
    // Messages that the source has deleted are a group of their own.
    changed.add(
      laterList,
      ids.map((id) => (conversations.get(id) ?? noId) + id),
    );
  }
  return changed.takeGroups(laterList, rowBatch, idLength).map((id) => id.slice(idLength));
}
