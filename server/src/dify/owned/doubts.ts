import type { Doubt } from '../../domain/store/doubts.ts';
import { reconcileGone } from '../gone.ts';
import type { IdSets } from '../id-set.ts';
import { reconcileMessages } from '../reconcile.ts';
import type { RunContext } from '../run-context.ts';
import { type DifySource, existingIds } from '../source.ts';

/** Objects in doubt that one poll reads. */
const doubtsMax = 1_000;
/** How long an object that does not exist in the source is in doubt. */
const doubtMillisMax = 600_000;
/** On a standby of the source: how long an object is in doubt at least, since its row may be an old one. */
const standbyDoubtMillis = 10_000;

/** Whether the source is a copy of another server: its rows may be old. */
export async function readIsStandby(source: DifySource): Promise<boolean> {
  const [row] = await source.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby', []);
  return row?.standby === true;
}

/** Objects in doubt are read by the next sync, whether they have changed or not. */
export async function readDoubts({ store }: RunContext, changed: IdSets): Promise<Doubt[]> {
  const doubts = (await store?.doubts.list(doubtsMax)) ?? [];
  for (const { kind, id, conversation_id } of doubts) {
    if (kind !== 'app') changed.add(kind, [id]);
    if (conversation_id !== '') changed.add('conversation', [conversation_id]);
  }
  return doubts;
}

/** Ends doubts about objects that a sync has read since then. */
export async function endDoubts(context: RunContext, doubts: readonly Doubt[]): Promise<void> {
  if (doubts.length === 0) return;
  const { source, store, clock } = context;
  const idsOf = (kind: Doubt['kind']) => doubts.filter((doubt) => doubt.kind === kind).map(({ id }) => id);
  await reconcileGone(context, 'conversation', idsOf('conversation'));
  await reconcileGone(context, 'child_chunk', idsOf('child_chunk'));
  const messages = idsOf('message');
  const isStandby = await readIsStandby(source);
  // Their ends were seen: on the primary they are finished, also if they are empty.
  const unfinished = messages.length === 0 ? undefined : await reconcileMessages(context, messages, !isStandby);
  const existing = await existingIds(source, 'messages', messages);
  const now = clock();
  const ended = doubts.filter(({ kind, id, at }) => {
    if (kind === 'message' && (!existing.has(id) || unfinished?.has(id))) return now >= at + doubtMillisMax;
    return !isStandby || now >= at + standbyDoubtMillis;
  });
  if (ended.length > 0) await store?.run('endDoubts', ended);
}
