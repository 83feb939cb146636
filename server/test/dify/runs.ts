import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { importFromDify, type RunOptions, type RunResult } from '../../src/dify/run.ts';
import { allRows, type ImportOptions, type Skip } from '../../src/dify/source.ts';
import type { Store } from '../../src/domain/store/store.ts';
import { createDify, difyRows } from '../support/dify-database.ts';
import { type Engine, exportedText, parseLines, startService } from '../support/harness.ts';

export const everything = allRows;

export type Outcome = RunResult & {
  kind: 'verify' | 'full' | 'resumed' | 'changes';
  /** Records that were written, of all kinds. */
  written: number;
  skips: Skip[];
  events: Map<string, number>;
  differing: string[];
  warnings: string[];
};

/** Imports as the command does, in this process. */
export async function runImport(
  url: string,
  store: Store | undefined,
  options: Partial<ImportOptions & RunOptions & { onPoll: (stop: () => void) => Promise<void> | void }> = {},
): Promise<Outcome> {
  const { isDry = false, isForced = false, isOwner = false, models, follow, settleMillis, onPoll } = options;
  const { clock = Date.now, ...rest } = options;
  const selection = Object.fromEntries(Object.entries(rest).filter(([name]) => Object.hasOwn(everything, name)));
  const verifying = settleMillis === undefined ? {} : { settleMillis };
  const skips: Skip[] = [];
  const events = new Map<string, number>();
  const differing: string[] = [];
  const warnings: string[] = [];
  const stop = new AbortController();
  let kind: Outcome['kind'] = 'full';
  const result = await importFromDify(
    url,
    store,
    { ...everything, ...selection },
    { isDry, isForced, isOwner, models, follow, clock, ...verifying },
    {
      skip(skipped) {
        skips.push(skipped);
      },
      count(what, n = 1) {
        events.set(what, (events.get(what) ?? 0) + n);
      },
    },
    {
      begin: (_schema, begun) => {
        kind = begun;
      },
      progress: () => undefined,
      difference: ({ id }) => void differing.push(id),
      complete: () => undefined,
      lag: () => void onPoll?.(() => stop.abort()),
      elsewhere: () => undefined,
      warning: (text) => void warnings.push(text),
      unavailable: () => undefined,
    },
    stop.signal,
  );
  const written = result.counts.values().reduce((sum, count) => sum + count.written, 0);
  return { ...result, kind, written, skips, events, differing, warnings };
}

/** A Dify installation with rows, and a service to import them into, until the test ends. */
export async function startDify(t: TestContext, engine: Engine) {
  const dify = await createDify();
  const service = await startService(engine);
  t.after(async () => {
    await service.close();
    await dify.close();
  });
  await dify.run(difyRows);
  return { dify, service, store: service.store };
}

/** All records of a store, as an export writes them. */
export const exportOf = async (store: Store): Promise<Record<string, unknown>[]> =>
  parseLines(await exportedText(store));

/** The ids that differ, by kind, when everything is compared. */
export async function verify(
  url: string,
  store: Store,
  options: Parameters<typeof runImport>[2] = {},
): Promise<Record<string, readonly string[]>> {
  const { verified } = await runImport(url, store, { settleMillis: 0, ...options });
  return Object.fromEntries(verified?.differing ?? assert.fail());
}
