import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../../contract/limits.ts';
import { recentKeyErrors } from '../keys/key-uses.ts';
import { indexLag } from '../search/search-indexer.ts';
import { copyProgress, followLag } from '../store/import-sources.ts';
import type { Store } from '../store/store.ts';

/** `search`: why it is off. `owned`: set if another system owns the data. `clock`: in milliseconds. */
type Source = { store: Store; search: string | undefined; owned: object | undefined; clock: () => number };

/** What operators watch of the database. */
const reads = {
  changes: ({ store }: Source) => store.changes.count(),
  search: ({ store, search }: Source) => (search === undefined ? indexLag(store) : undefined),
  dify: ({ store, clock }: Source) => followLag(store, clock()),
  copy: ({ store, owned }: Source) => owned && copyProgress(store),
  /** Objects in doubt. */
  doubts: ({ store, owned }: Source) => owned && store.doubts.count(),
  size: ({ store }: Source) => store.monitoring.databaseSize(),
  nodes: ({ store }: Source) => store.monitoring.nodes(),
  copies: ({ store }: Source) => store.erasure.readCopies(),
  jobs: ({ store }: Source) => store.monitoring.listJobs(),
  keyErrors: ({ store, clock }: Source) => recentKeyErrors(store, clock()),
};

type Reads = typeof reads;
/** What is not used, or did not respond in time, is undefined. */
export type DatabaseState = { [N in keyof Reads]: Awaited<ReturnType<Reads[N]>> | undefined };

/** Undefined for what the database does not return soon. Then the other values are needed most. */
export async function readState<N extends keyof Reads>(
  source: Source,
  names: readonly N[],
): Promise<Pick<DatabaseState, N>> {
  const late = sleep(limits.metricsMillisMax, undefined, { ref: false });
  const results = names.map(async (name) => {
    const read = Promise.resolve<unknown>(reads[name](source)).catch(() => undefined);
    return [name, await Promise.race([read, late])];
  });
  return Object.fromEntries(await Promise.all(results));
}
