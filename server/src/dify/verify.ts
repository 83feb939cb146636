import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordKind } from '../contract/record.ts';
import { importConfiguration } from './configuration.ts';
import { noChildren, reconcile } from './reconcile.ts';
import { begin, type RunContext } from './run-context.ts';
import { type RecordInput, silentReport, targets } from './source.ts';

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
