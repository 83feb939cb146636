import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ChangeKind, changeKinds } from '../contract/change.ts';
import { limits } from '../contract/limits.ts';
import { ChangeWatch } from '../domain/changes/change-watch.ts';
import { startEpoch, startOf } from '../domain/changes/changes.ts';
import { followChanges } from '../domain/changes/follow-changes.ts';
import { ServiceError } from '../domain/errors.ts';
import { parseKinds } from '../domain/records/parse-kinds.ts';
import { requireSearch, SearchIndexer } from '../domain/search/search-indexer.ts';
import type { Store } from '../domain/store/store.ts';
import { type Command, withStore } from './command.ts';
import { flag, parse, print, requireOptions, showLine, text, Usage } from './terminal.ts';

export const changesCommand: Command = {
  help: `Usage: backscroll changes [--after CURSOR] [--follow] [--kinds KINDS]
       backscroll changes --new-epoch

Prints changed records, one JSON object per line, as GET /admin/changes returns them. Without --after, it prints all
records first.

Options:
  --after CURSOR  continue after the entry with this cursor; now: only later changes
  --follow        wait for more changes, until SIGINT or SIGTERM
  --kinds KINDS   only these kinds, separated by commas: ${changeKinds.slice(0, 5).join(', ')},
                  ${changeKinds.slice(5).join(', ')}
  --new-epoch     make all cursors invalid, so that every reader starts again; required after a restore
                  or a failover that may have lost changes (backscroll backup does it for its copy)`,

  run: async (argv, config) => {
    const { values } = parse(argv, { after: text, follow: flag, kinds: text, 'new-epoch': flag }, { max: 0 });
    if (values['new-epoch']) {
      if (Object.keys(values).length > 1) throw new Usage('--new-epoch allows no other option');
      await withStore(config, 'existing', startEpoch);
      print('all cursors of the change feed are now invalid: every reader starts again');
      return 0;
    }
    const { after, kinds, follow = false } = values;
    const selected = requireOptions(() => parseKinds(kinds, changeKinds));
    await withStore(config, 'existing', (store) => printChanges(store, after, selected, follow));
    return 0;
  },
};

async function printChanges(
  store: Store,
  after: string | undefined,
  kinds: readonly ChangeKind[] | undefined,
  follow: boolean,
): Promise<void> {
  const scope = { workspace_id: undefined, app_id: undefined, dataset_ids: undefined, kinds };
  const selection = {
    scope,
    limit: limits.changesMax,
    include: 'record' as const,
    bytesMax: limits.changesBytesMax,
    wholeBytesMax: limits.changesBytesMax,
    signal: new AbortController().signal,
  };
  const watch = new ChangeWatch(store);
  const stop = () => watch.close();
  if (follow) for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop);
  const waits = {
    waitMillis: follow ? Infinity : 0,
    checkMillis: limits.changesWaitSecondsMax * 1000,
    clock: Date.now,
  };
  for await (const page of followChanges(store, await startOf(store, after), selection, { watch, ...waits })) {
    for (const { json } of page.entries) if (!process.stdout.write(`${json}\n`)) await once(process.stdout, 'drain');
    page.close();
    if (!follow && !page.hasMore) return;
  }
}

/** Interval of the checks whether a service that indexes is done, or the database is available again. */
const pollMillis = 500;
/** A server or a node that restarts. */
const outageMillisMax = 60_000;

export const reindexCommand: Command = {
  help: `Usage: backscroll reindex

Rebuilds the search index from all records. The service can run meanwhile: the search finds what is indexed so far. Needed
only if the index is damaged; a new version of the program rebuilds it by itself if necessary.`,

  run: async (argv, config) => {
    parse(argv, {}, { max: 0 });
    requireSearch(config);
    const start = performance.now();
    const count = await withStore(config, 'existing', reindex);
    print(`indexed ${count} records in ${((performance.now() - start) / 1000).toFixed(1)} s`);
    return 0;
  },
};

/** The number of records in the index, whichever process has indexed them. */
async function reindex(store: Store): Promise<number> {
  const indexer = new SearchIndexer(store, Date.now);
  await throughOutages(() => indexer.reset());
  for (;;) {
    const step = await throughOutages(() => indexer.step());
    const progress = step === 'elsewhere' ? 'the running service indexes' : `${indexer.indexed} records`;
    showLine(progress);
    if (step === 'idle') break;
    // The running service has begun first.
    if (step === 'elsewhere') await sleep(pollMillis);
  }
  await throughOutages(() => indexer.end());
  showLine('');
  return throughOutages(() => store.search.count());
}

async function throughOutages<T>(work: () => Promise<T>): Promise<T> {
  for (const deadline = performance.now() + outageMillisMax; ; await sleep(pollMillis)) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ServiceError) || performance.now() > deadline) throw error;
    }
  }
}
