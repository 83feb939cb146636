import { type Difference, findDifferentConversations, findDifferentDatasets } from './find/differing.ts';
import { reconcile } from './reconcile.ts';
import { readIds, type SelectedKind } from './rows/selection.ts';
import { begin, type RunContext } from './run-context.ts';
import { type SourcePoint, silentReport } from './source.ts';

const batchConversations = 1_000;
const batchDatasets = 10;
const batchRows = 1_000;

/** The number of conversations that were compared, and conversations and datasets that have less in Backscroll. */
export type Compared = { compared: number; differences: Difference[] };

/** Compares all selected conversations and datasets with the stored ones. What differs is read once more, and compared again. */
export async function compareAll(context: RunContext, point: SourcePoint): Promise<Compared> {
  const differences: Difference[] = [];
  const again = { ...context, report: silentReport };
  begin(context.progress, 'comparing conversations', await context.state.countIds('conversation'));
  for await (const ids of pagesOf(context, 'conversation', batchConversations)) {
    const differing = (await findDifferentConversations(context, point, ids)).map(({ id }) => id);
    await reconcile(again, 'conversation', differing, undefined);
    if (differing.length > 0) differences.push(...(await findDifferentConversations(context, point, differing)));
    context.progress.done += ids.length;
  }
  const compared = context.progress.done;
  for await (const ids of pagesOf(context, 'dataset', batchDatasets)) {
    const differing = (await findDifferentDatasets(context, point, ids)).map(({ id }) => id);
    if (differing.length === 0) continue;
    await readUnlisted(again, differing);
    differences.push(...(await findDifferentDatasets(context, point, differing)));
  }
  return { compared, differences };
}

async function* pagesOf(context: RunContext, kind: SelectedKind, limit: number, datasets?: readonly string[]) {
  for (let page: string[] | undefined; page === undefined || page.length === limit; ) {
    await context.checkpoint();
    page = await readIds(context, kind, { after: page?.at(-1) ?? '', limit, ...(datasets && { datasets }) });
    yield page;
  }
}

/** Of datasets that differ, the rows that were never imported are read once more. */
async function readUnlisted(context: RunContext, datasets: readonly string[]): Promise<void> {
  for (const kind of ['document', 'segment', 'child_chunk'] as const)
    for await (const ids of pagesOf(context, kind, batchRows, datasets)) {
      const listed = await context.state.findIds(kind, ids);
      const unlisted = ids.filter((id) => !listed.has(id));
      await reconcile(context, kind, unlisted, undefined);
    }
}
