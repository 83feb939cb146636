import { searches } from '../../domain/search/search.ts';
import { ReadBudget } from '../../domain/store/read-budget.ts';
import type { IndexState } from '../../domain/store/search-reads.ts';
import type { SearchInput, SearchName, SearchResult, SearchStore } from '../../domain/store/searches.ts';
import type { Engine } from '../base/engine.ts';
import type { Slots } from '../base/large-responses.ts';
import { SqlSearchReads } from './search-reads.ts';
import * as sql from './statements.ts';

/** The search, on either engine. */
export class SqlSearchStore implements SearchStore {
  readonly #engine: Engine;
  readonly #reads: SqlSearchReads;
  readonly #slots: Slots;

  /** `slots`: for reads that take long. */
  constructor(engine: Engine, slots: Slots) {
    this.#engine = engine;
    this.#reads = new SqlSearchReads(engine.dialect, (statement, ...values) => engine.read(statement, ...values));
    this.#slots = slots;
  }

  async state(): Promise<IndexState> {
    const [row] = await this.#engine.read(sql.findState);
    if (row === undefined) throw new Error('the index of the search has no state');
    return row;
  }

  async timeAfter(position: number): Promise<number | null> {
    const [row] = await this.#engine.read(sql.findTimeAfter, position);
    return row?.at ?? null;
  }

  async reset(rules: string): Promise<void> {
    await this.#engine.write('resetIndex', { rules }, { waitForever: true });
  }

  async count(): Promise<number> {
    const counts = await Promise.all(sql.countEntries.map((statement) => this.#engine.read(statement)));
    return counts.reduce((sum, [row]) => sum + Number(row?.n), 0);
  }

  run<N extends SearchName>(name: N, input: SearchInput<N>, signal: AbortSignal): Promise<SearchResult<N>> {
    const { background } = this.#engine;
    const search = () => background?.runSearch(name, input, signal) ?? runSearchOn(this.#reads, name, input, signal);
    return this.#slots.run(search, signal);
  }
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
