import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordKind } from '../contract/record.ts';
import { importConfiguration } from './configuration.ts';
import { type Difference, findDifferentConversations, findDifferentDatasets } from './find/differing.ts';
import { noChildren, reconcile } from './reconcile.ts';
import { readIds, type SelectedKind } from './rows/selection.ts';
import { begin, type RunContext } from './run-context.ts';
import { type RecordInput, type SourcePoint, silentReport, targets } from './source.ts';

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

/** A record that an import would write. The digest is that of what it would write, since a time in milliseconds. */
type Differing = { kind: RecordKind; id: string; digest: string; since: number };

/** How many records were compared, and the ids of those that differ. */
export type Verified = { compared: number; differing: ReadonlyMap<RecordKind, readonly string[]> };

const pauseMillis = 5_000;
const batchIds = 200;
/** If more records differ, the rest is not counted. */
const differingMax = 100_000;

export class DifferingRecords {
  readonly #clock: () => number;
  #records = new Map<string, Differing>();
  #before: ReadonlyMap<string, Differing> = new Map();

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  add(record: RecordInput): void {
    if (this.#records.size >= differingMax) return;
    const { record: kind, id } = record;
    // A key would be revoked at the time of the comparison.
    const digest = kind === 'api_key' ? '' : createHash('sha256').update(JSON.stringify(record)).digest('base64');
    const before = this.#before.get(`${kind} ${id}`);
    const since = before?.digest === digest ? before.since : this.#clock();
    this.#records.set(`${kind} ${id}`, { kind, id: id as string, digest, since });
  }

  /** Those that were added since the last call. */
  take(): Differing[] {
    this.#before = this.#records;
    this.#records = new Map();
    return [...this.#before.values()];
  }
}

/**
 * Compares again what differs after everything was compared, in a dry run whose writer adds records to `found`. While the source is in
 * use, and is followed, a record may differ for a moment. So it is compared for `settleMillis`, and at least once: only what an
 * import would write all the time differs.
 */
export async function settle(context: RunContext, found: DifferingRecords, settleMillis: number): Promise<Verified> {
  const { writer, clock, signal } = context;
  const compared = writer.counts.values().reduce((sum, { read }) => sum + read, 0);
  const compareEnd = clock();
  let differing = found.take();
  begin(context.progress, 'comparing differences again', undefined);
  while (differing.length > 0) {
    await sleep(Math.min(pauseMillis, settleMillis), undefined, { signal });
    const ids = Map.groupBy(differing, ({ kind }) => kind);
    await compareAgain({ ...context, report: silentReport }, ids);
    differing = found.take();
    if (clock() >= compareEnd + settleMillis) break;
  }
  const lasting = differing.filter(({ since }) => since <= compareEnd);
  const byKind = Map.groupBy(lasting, ({ kind }) => kind);
  return { compared, differing: new Map([...byKind].map(([kind, records]) => [kind, records.map(({ id }) => id)])) };
}

async function compareAgain(
  context: RunContext,
  records: ReadonlyMap<RecordKind, readonly Differing[]>,
): Promise<void> {
  if ((['workspace', 'app', 'dataset', 'api_key'] as const).some((kind) => records.has(kind)))
    await importConfiguration(context, undefined);
  for (const target of targets) {
    const ids = (records.get(target) ?? []).map(({ id }) => id);
    for (let start = 0; start < ids.length; start += batchIds)
      await reconcile(context, target, ids.slice(start, start + batchIds), noChildren);
  }
}
