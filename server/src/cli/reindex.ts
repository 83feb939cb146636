import { setTimeout as sleep } from 'node:timers/promises';
import { requireSearch, SearchIndexer } from '../domain/search-indexer.ts';
import type { Store } from '../domain/store.ts';
import { type Command, parse, print, showLine, withStore } from './command.ts';

/** How often it looks whether the service, if that indexes, is done. */
const pollMillis = 500;

export const reindexCommand: Command = {
  help: `Usage: backscroll reindex

Builds the index of the search again, from all records. The service can run meanwhile: the search finds what is
indexed so far. Needed only if the index is damaged; a new version of the program does it by itself if it has to.`,

  run: async (argv, config) => {
    parse(argv, {}, { max: 0 });
    requireSearch(config);
    const start = performance.now();
    const count = await withStore(config, 'existing', reindex);
    print(`indexed ${count} records in ${((performance.now() - start) / 1000).toFixed(1)} s`);
    return 0;
  },
};

/** The number of records that were indexed by this process. */
async function reindex(store: Store): Promise<number> {
  const indexer = new SearchIndexer(store, Date.now);
  await indexer.reset();
  for (;;) {
    const step = await indexer.step();
    if (process.stderr.isTTY) showLine(`${indexer.indexed} records`);
    if (step === 'idle') break;
    // The running service has begun first.
    if (step === 'elsewhere') await sleep(pollMillis);
  }
  await indexer.end();
  if (process.stderr.isTTY) showLine('');
  return indexer.indexed;
}
