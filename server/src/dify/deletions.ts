import {
  type ComparedKind,
  comparedTable,
  compareSlice,
  kindsOf,
  readNewest,
  readTables,
  type Slice,
  type Treatment,
  treatmentOf,
} from './find/deleted.ts';
import { reconcileGone } from './gone.ts';
import type { SourcePoint } from './point.ts';
import { reconcileMessages } from './reconcile.ts';
import type { RunContext } from './run-context.ts';

/** Compares all tables. */
export async function applyDeletions(context: RunContext, point: SourcePoint): Promise<void> {
  const status = await readTables(context, point);
  for (const kind of kindsOf(context)) {
    const { file } = status.get(kind) ?? { file: '' };
    const treatment = await treatmentOf(context, kind, file);
    if (treatment === undefined) continue;
    for (let after: string | undefined = ''; after !== undefined; ) {
      await context.checkpoint();
      after = (await applySlice(context, kind, after, treatment)).last;
    }
    await endComparison(context, kind, file);
  }
}

/** Compares a slice of ids after `after`, and applies what is missing. */
export async function applySlice(
  context: RunContext,
  kind: ComparedKind,
  after: string,
  treatment: Treatment,
  changes?: { since: SourcePoint; now: SourcePoint },
): Promise<Slice> {
  const slice = await compareSlice(context, kind, after, changes);
  const { missing } = slice;
  if (missing.length === 0) return slice;
  if (treatment === 'keep') {
    context.report.count(`${comparedTable(kind)} missing in an older copy of the source, and kept`, missing.length);
    await context.state.removeIds(kind, missing);
  } else if (kind === 'feedback') await reconcileMessages(context, missing);
  else await reconcileGone(context, kind, missing);
  return slice;
}

export async function endComparison({ source, state }: RunContext, kind: ComparedKind, file: string): Promise<void> {
  const table = comparedTable(kind);
  const known = await state.readTable(table);
  const newest = await readNewest(source);
  if (known?.file !== file || known.newest !== newest) await state.writeTable(table, { file, newest });
}
