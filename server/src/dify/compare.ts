import { type Difference, findDifferentConversations, findDifferentDatasets } from './find/differing.ts';
import type { SourcePoint } from './point.ts';
import { reconcile, reconcileConversations } from './reconcile.ts';
import { readIds } from './rows/selection.ts';
import { begin, type RunContext } from './run-context.ts';

const batchConversations = 1_000;
const batchDatasets = 10;
const batchRows = 1_000;

type Visit = (difference: Difference) => void;

/**
 * Compares all selected conversations with the stored ones. What differs is read once more, and compared again. Returns the number
 * of conversations.
 */
export async function compareConversations(context: RunContext, point: SourcePoint, visit: Visit): Promise<number> {
  let compared = 0;
  begin(context.progress, 'comparing conversations', await context.state.countIds('conversation'));
  for (let after = ''; ; ) {
    await context.checkpoint();
    const ids = await readIds(context, 'conversation', { after, limit: batchConversations });
    const differing = await findDifferentConversations(context, point, ids);
    if (differing.length > 0) {
      const again = differing.map(({ id }) => id);
      await context.muteReport(() => reconcileConversations(context, again, true));
      for (const difference of await findDifferentConversations(context, point, again)) visit(difference);
    }
    compared += ids.length;
    context.progress.done = compared;
    after = ids.at(-1) ?? '';
    if (ids.length < batchConversations) return compared;
  }
}

/** Compares all selected datasets. Of those that differ, the rows that were never imported are read once more. */
export async function compareDatasets(context: RunContext, point: SourcePoint, visit: Visit): Promise<void> {
  for (let after = ''; ; ) {
    await context.checkpoint();
    const ids = await readIds(context, 'dataset', { after, limit: batchDatasets });
    const differing = (await findDifferentDatasets(context, point, ids)).map(({ id }) => id);
    if (differing.length > 0) {
      await context.muteReport(() => readUnlisted(context, differing));
      for (const difference of await findDifferentDatasets(context, point, differing)) visit(difference);
    }
    after = ids.at(-1) ?? '';
    if (ids.length < batchDatasets) return;
  }
}

async function readUnlisted(context: RunContext, datasets: readonly string[]): Promise<void> {
  for (const kind of ['document', 'segment', 'child_chunk'] as const) {
    for (let after = ''; ; ) {
      const ids = await readIds(context, kind, { datasets, after, limit: batchRows });
      const listed = await context.state.findIds(kind, ids);
      await reconcile(
        context,
        kind,
        ids.filter((id) => !listed.has(id)),
        undefined,
      );
      after = ids.at(-1) ?? '';
      if (ids.length < batchRows) break;
    }
  }
}
