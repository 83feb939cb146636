import { limits } from '../../contract/limits.ts';
import { searches } from '../../domain/search/search.ts';
import { ReadBudget } from '../../domain/store/read-budget.ts';
import type {
  ChunkHit,
  ChunkIndexHit,
  HitCount,
  IndexHit,
  IndexPart,
  IndexQuery,
  MessageHit,
  SearchReads,
} from '../../domain/store/search-reads.ts';
import type { SearchInput, SearchName, SearchResult, SearchStore } from '../../domain/store/searches.ts';
import { positionsPerSecond } from '../../domain/words/search-document.ts';
import type { QueryToken } from '../../domain/words/tokens.ts';
import type { Dialect, Engine, Reader, SearchTable, Value } from '../base/engine.ts';
import type { Slots } from '../base/large-responses.ts';
import type { Statement } from '../base/statement.ts';
import * as sql from './statements.ts';

const positionsPerDay = 86_400 * positionsPerSecond;
/** Up to this many words with the same beginning are searched one by one. */
const wordsMax = 100;

export class SqlSearchReads implements SearchReads {
  readonly #dialect: Dialect;
  readonly #read: Reader;
  /** Of searches that run. */
  readonly #ranges = new WeakMap<ReadBudget, Map<SearchTable, Promise<IndexRange | undefined>>>();

  constructor(dialect: Dialect, read: Reader) {
    this.#dialect = dialect;
    this.#read = read;
  }

  readonly findMessages: SearchReads['findMessages'] = (...find) => this.#find<IndexHit>('search_messages', ...find);

  readonly findChunks: SearchReads['findChunks'] = (...find) => this.#find<ChunkIndexHit>('search_chunks', ...find);

  async #find<Hit extends object>(
    table: SearchTable,
    query: IndexQuery,
    count: HitCount,
    budget: ReadBudget,
  ): Promise<IndexPart<Hit>> {
    const hits: Hit[] = [];
    const add = (rows: readonly Hit[]) => hits.push(...rows);
    return { hits, ...(await this.#inWindows(table, query, count, budget, sql.findEntries<Hit>, add)) };
  }

  readonly countMessages: SearchReads['countMessages'] = async (query, max, budget) => {
    let count = 0;
    const add = (rows: readonly { n: number }[]) => (count += rows[0]?.n ?? 0);
    const atMost = { usual: max, slow: max };
    const { end } = await this.#inWindows('search_messages', query, atMost, budget, sql.countFound, add);
    return { count, isPartial: end !== undefined };
  };

  /** Reads windows of positions, see `SearchWindows`. `add` returns how many hits there are so far. */
  async #inWindows<Row extends object>(
    table: SearchTable,
    query: IndexQuery,
    { usual, slow }: HitCount,
    budget: ReadBudget,
    statementFor: (...find: Parameters<typeof sql.findEntries>) => [Statement<Row>, Value[]],
    add: (rows: readonly Row[]) => number,
  ): Promise<Omit<IndexPart<never>, 'hits'>> {
    const range = await this.#range(table, budget);
    if (range === undefined) return nothing;
    const first = Math.max(query.from ?? Number.MIN_SAFE_INTEGER, range.first);
    let end = Math.min(query.to ?? Number.MAX_SAFE_INTEGER, range.last + 1);
    const expanded = await this.#expand(table, query);
    if (expanded === undefined) return nothing;
    const [statement, values] = statementFor(this.#dialect, table, expanded.query);
    const count = expanded.isSlow ? slow : usual;
    let found = 0;
    const { days, fast, slow: slowMillis, tooSlow } = this.#dialect.search.windows;
    const firstWindow = days * positionsPerDay;
    for (let window = expanded.isSlow ? end - first : firstWindow; end > first && found < count; ) {
      const start = Math.max(first, end - window);
      const startedAt = performance.now();
      found = add(await this.#read(statement, ...values, start, end, count - found));
      const millis = performance.now() - startedAt;
      if (millis < slowMillis) window *= millis < fast ? 8 : 2;
      if (millis > tooSlow) window = Math.max(firstWindow, Math.floor(window / 2));
      end = start;
      await budget.spend(0);
      if (budget.isSpent && end > first && found < count) return { isLast: false, end };
    }
    return { isLast: found < count, end: undefined };
  }

  /** A search reads it once: what is indexed while it runs need not be found. Undefined if the index is empty. */
  #range(table: SearchTable, budget: ReadBudget): Promise<IndexRange | undefined> {
    const ranges = this.#ranges.get(budget) ?? new Map<SearchTable, Promise<IndexRange | undefined>>();
    this.#ranges.set(budget, ranges);
    const range = ranges.get(table) ?? this.#readRange(table);
    ranges.set(table, range);
    return range;
  }

  async #readRange(table: SearchTable): Promise<IndexRange | undefined> {
    const [{ first = null, last = null } = {}] = await this.#read(this.#dialect.search.range(table));
    return first === null || last === null ? undefined : { first, last };
  }

  /**
   * Replaces the beginning of a word by the words that have it, if they are few: FTS5 reads only as much of their rows as it
   * needs. Undefined if there are none. `isSlow`: each statement reads all rows of a beginning.
   */
  async #expand(table: SearchTable, query: IndexQuery): Promise<{ query: IndexQuery; isSlow: boolean } | undefined> {
    const { wordsWith } = this.#dialect.search;
    if (wordsWith === undefined) return { query, isSlow: false };
    const tokens: QueryToken[][] = [];
    let isSlow = false;
    for (const list of query.tokens) {
      const expanded: QueryToken[] = [];
      for (const queryToken of list) {
        const { token, isPrefix } = queryToken;
        const words = isPrefix ? await this.#read(wordsWith[table], token, wordsMax + 1) : [{ term: token }];
        const isMany = words.length > wordsMax;
        if (isMany) isSlow = true;
        expanded.push(...(isMany ? [queryToken] : words.map(({ term }) => ({ token: term, isPrefix: false }))));
      }
      if (expanded.length === 0) return undefined;
      tokens.push(expanded);
    }
    return { query: { ...query, tokens }, isSlow };
  }

  readonly findWorst: SearchReads['findWorst'] = async (since, count) => {
    const [all] = await this.#read(sql.countDisliked, since);
    return { disliked: all?.disliked ?? 0, rows: await this.#read(sql.findWorst, since, count) };
  };

  readonly readMessages: SearchReads['readMessages'] = async (hits) => {
    if (hits.length === 0) return [];
    const { isPair, pairs } = this.#dialect;
    const statement: Statement<MessageHit & { conversation_id: string; id: string }> = `
      SELECT m.conversation_id, m.id, m.created_at, c.app_id, c."user", c.first_message_at AS first,
        c.last_message_at AS last, substr(m.feedback_content, 1, ${limits.listedTextCharsMax}) AS feedback_content, ${sql.textColumns(sql.searched)}
      FROM messages m CROSS JOIN conversations c
      WHERE ${isPair('m.conversation_id', 'm.id')}/*@*/ AND c.conversation_id = m.conversation_id AND c.deleted = 0`;
    const keys = hits.map(({ conversation_id, id }) => [conversation_id, id] as const);
    const rows = new Map(
      (await this.#read(statement, ...pairs(keys))).map((row) => [`${row.conversation_id} ${row.id}`, row]),
    );
    return keys.map((key) => rows.get(key.join(' ')));
  };

  readonly readMessage: SearchReads['readMessage'] = async ({ conversation_id, id }) =>
    (await this.#read(sql.findText, conversation_id, id))[0]?.text;

  readonly readChunk: SearchReads['readChunk'] = async ({ kind, dataset_id, id }) =>
    (await this.#read(sql.findContent[kind], dataset_id, id))[0]?.content;

  readonly readChunks: SearchReads['readChunks'] = async (hits) => {
    const rows = new Map<string, ChunkHit>();
    for (const [kind, ofKind] of Map.groupBy(hits, (hit) => hit.kind)) {
      const keys = this.#dialect.pairs(ofKind.map(({ dataset_id, id }) => [dataset_id, id]));
      for (const row of await this.#read(sql.findChunks(kind, this.#dialect), ...keys)) {
        rows.set(`${kind} ${row.dataset_id} ${row.child_chunk_id ?? row.segment_id}`, row);
      }
    }
    return hits.map(({ kind, dataset_id, id }) => rows.get(`${kind} ${dataset_id} ${id}`));
  };
}

type IndexRange = { first: number; last: number };
const nothing = { isLast: true, end: undefined };

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

export function runSearchOn<N extends SearchName>(
  reads: SqlSearchReads,
  name: N,
  input: SearchInput<N>,
  signal: AbortSignal,
): Promise<SearchResult<N>> {
  return searches[name](reads, input, new ReadBudget(signal));
}
