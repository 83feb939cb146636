import { importConfiguration } from './configuration.ts';
import { findDeleted } from './find/deleted.ts';
import { addSlice } from './gone.ts';
import type { IdSets } from './id-set.ts';
import { batchOf, reconcile, reconcileAll } from './reconcile.ts';
import { conditionOf, isAfter, Parameters, readIds, selectedFrom } from './rows/selection.ts';
import { begin, type RunContext } from './run-context.ts';
import type { SourcePoint } from './source.ts';
import type { PassPosition, Stage } from './state.ts';
import { endComparison } from './tables.ts';

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
      await reconcile(context, kind, ids, undefined);
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

/** Compares the ids of all tables, and reconciles those that are missing in the source. */
export async function syncDeletions(context: RunContext, point: SourcePoint, changed: IdSets): Promise<void> {
  for await (const slice of findDeleted(context, point)) {
    await addSlice(context, slice, changed);
    if (slice.missing.length > 0) await reconcileAll(context, changed);
    if (slice.last === undefined) await endComparison(context, slice.kind, slice.file);
  }
}
