import { searches } from '../../domain/search/search.ts';
import { ReadBudget } from '../../domain/store/read-budget.ts';
import type { SearchInput, SearchName, SearchResult, SearchStore } from '../../domain/store/searches.ts';
import type { Engine } from '../base/engine.ts';
import type { Slots } from '../base/large-responses.ts';
import { SqlSearchReads } from './search-reads.ts';
import * as sql from './statements.ts';

/** The search, on either engine. `slots`: for reads that take long. */
export function searchStore(engine: Engine, slots: Slots): SearchStore {
  const reads = new SqlSearchReads(engine.dialect, engine.read);
  return {
    state: async () => {
      const [row] = await engine.read(sql.findState);
      if (row === undefined) throw new Error('the index of the search has no state');
      return row;
    },
    timeAfter: async (position) => (await engine.read(sql.findTimeAfter, position))[0]?.at ?? null,
    reset: async (rules) => {
      await engine.write('resetIndex', { rules }, { waitForever: true });
    },
    count: async () => {
      const counts = await Promise.all(sql.countEntries.map((statement) => engine.read(statement)));
      return counts.reduce((sum, [row]) => sum + Number(row?.n), 0);
    },
    run: (name, input, signal) => {
      const { background } = engine;
      const search = () => background?.runSearch(name, input, signal) ?? runSearchOn(reads, name, input, signal);
      return slots.run(search, signal);
    },
  };
}

/** Runs a search on this thread. */
export function runSearchOn<N extends SearchName>(
  reads: SqlSearchReads,
  name: N,
  input: SearchInput<N>,
  signal: AbortSignal,
): Promise<SearchResult<N>> {
  return searches[name](reads, input, new ReadBudget(signal));
}
