import { importConfiguration } from './configuration.ts';
import type { IdSets } from './id-set.ts';
import { reconcile } from './reconcile.ts';
import { conditionOf, isAfter, Parameters, readIds, selectedFrom } from './rows/selection.ts';
import { begin, type RunContext } from './run-context.ts';
import { noId, type Target, targets } from './source.ts';
import type { PassPosition, Stage } from './state.ts';

/** Conversations, or other rows, that are read at a time. */
const batchOf = (target: Target): number => (target === 'conversation' ? 200 : 1_000);
/** Times that changed rows are read at most, because a request may store a newer state while they are written. */
const readsMax = 3;

/** The stages of a full sync after the configuration. Messages are read with their conversations. */
const stages = ['conversation', 'document', 'segment', 'child_chunk'] as const;

/** Reads everything that is selected, and continues at the position of a sync that was interrupted. */
export async function syncAll(
  context: RunContext,
  begun: Pick<PassPosition, 'start' | 'isForced'>,
  interrupted: PassPosition | undefined,
): Promise<void> {
  const { state, checkpoint, progress, writer } = context;
  const messages = () => writer.counts.get('message')?.read ?? 0;
  const write = (stage: Stage, after: string) => {
    const { done, total } = progress;
    return state.writePosition({ ...begun, stage, after, done, ...(total !== undefined && { total }) });
  };
  if (interrupted === undefined) await write(stages[0], '');
  await importConfiguration(context, undefined);
  begin(progress, 'importing', await countRows(context, interrupted));
  const first = interrupted === undefined ? 0 : stages.indexOf(interrupted.stage);
  for (const [index, kind] of stages.entries()) {
    if (index < first) continue;
    let after = index === first ? (interrupted?.after ?? '') : '';
    for (;;) {
      await checkpoint();
      const ids = await readIds(context, kind, { after, limit: batchOf(kind) });
      const read = messages();
      if (ids.length > 0) await reconcile(context, kind, ids, undefined);
      progress.done += ids.length + messages() - read;
      after = ids.at(-1) ?? after;
      if (ids.length < batchOf(kind)) break;
      await write(kind, after);
    }
    const next = stages[index + 1];
    if (next !== undefined) await write(next, '');
  }
}

/** The rows that a full sync has still to read; undefined if the source cannot count them in time. */
async function countRows(
  { source, options }: RunContext,
  interrupted: PassPosition | undefined,
): Promise<number | undefined> {
  const first = stages.indexOf(interrupted?.stage ?? stages[0]);
  let total = 0;
  for (const stage of stages.slice(first)) {
    for (const kind of stage === 'conversation' ? ([stage, 'message'] as const) : [stage]) {
      const parameters = new Parameters();
      const conditions = [conditionOf(kind, options, parameters)];
      if (stage === interrupted?.stage) conditions.push(...isAfter(stage, interrupted.after, parameters));
      const sql = `SELECT count(*)::float8 AS n FROM ${selectedFrom[kind]} WHERE ${conditions.join(' AND ')}`;
      const rows = await source.query<{ n: number }>(sql, parameters.values).catch(() => undefined);
      if (rows === undefined) return undefined;
      total += rows[0]?.n ?? 0;
    }
  }
  return total;
}

/**
 * Adds what earlier syncs have left. A poll within a sync leaves it, because it must not do the work of the sync. Pending
 * messages are found by `pollMessages`.
 */
export async function addPending({ state }: RunContext, changed: IdSets): Promise<void> {
  for (const target of targets) if (target !== 'message') changed.add(target, await state.listPending(target));
}

/** Reads rows that have changed, of all kinds, and all children of records that are new in Backscroll. */
export async function syncChanges(context: RunContext, changed: IdSets): Promise<void> {
  const { checkpoint, progress } = context;
  begin(progress, 'importing changes', 0);
  for (const target of targets) {
    progress.total = targets.reduce((sum, one) => sum + changed.count(one), progress.done);
    for (;;) {
      await checkpoint();
      const ids = target === 'message' ? await takeMessages(context, changed) : changed.take(target, batchOf(target));
      if (ids.length === 0) break;
      await reconcileUntilCurrent(context, target, ids, changed);
      progress.done += ids.length;
    }
  }
  changed.clear();
}

/**
 * A request to Dify that passes through Backscroll stores its change at once. If that comes between the read of a row and its write, the write is
 * that of an older state. So rows that were written are read again.
 */
async function reconcileUntilCurrent(
  context: RunContext,
  target: Target,
  ids: readonly string[],
  changed: IdSets,
): Promise<void> {
  const { writer, isOwner } = context;
  for (let reads = 1; ; reads += 1) {
    const before = writer.written;
    await reconcile(context, target, ids, changed);
    if (!isOwner || writer.written === before || reads === readsMax) return;
  }
}

/** Messages that are read after others, by conversation: each id follows the id of its conversation. */
const laterList = 'message by conversation';
const idLength = 36;

/**
 * The next messages to read. If they are too many for one batch, those of a conversation are in the same batch: messages of
 * one second are stored in the order in which they are read.
 */
async function takeMessages({ source }: RunContext, changed: IdSets): Promise<string[]> {
  const limit = batchOf('message');
  const first = changed.take('message', limit);
  if (changed.count('message') === 0 && changed.count(laterList) === 0) return first;
  for (let ids = first; ids.length > 0; ids = changed.take('message', limit)) {
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
  return changed.takeGroups(laterList, limit, idLength).map((id) => id.slice(idLength));
}
