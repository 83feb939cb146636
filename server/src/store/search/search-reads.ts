import { limits } from '../../contract/limits.ts';
import type { ReadBudget } from '../../domain/store/read-budget.ts';
import type {
  ChunkHit,
  ChunkIndexHit,
  CitedSegment,
  Count,
  HitCount,
  IndexHit,
  IndexPart,
  IndexQuery,
  MessageHit,
  SearchReads,
} from '../../domain/store/search-reads.ts';
import { positionsPerSecond } from '../../domain/words/search-document.ts';
import type { QueryToken } from '../../domain/words/tokens.ts';
import type { Dialect, Reader, SearchTable, Value } from '../base/engine.ts';
import { sorted } from '../base/selection.ts';
import { sizedColumns, type TextSource } from '../base/sized.ts';
import type { Statement } from '../base/statement.ts';
import * as sql from './statements.ts';

const positionsPerDay = 86_400 * positionsPerSecond;
/** Up to this many words with the same beginning are searched one by one. */
const wordsMax = 100;

/** A large text is read only after the budget was checked. */
const textColumns = (text: TextSource): string => sizedColumns({ columns: [], texts: { text } }, 'small');

/** Reads of searches, on either engine. */
export class SqlSearchReads implements SearchReads {
  readonly #dialect: Dialect;
  readonly #read: Reader;
  /** Of searches that run. */
  readonly #ranges = new WeakMap<ReadBudget, Map<SearchTable, Promise<IndexRange | undefined>>>();

  constructor(dialect: Dialect, read: Reader) {
    this.#dialect = dialect;
    this.#read = read;
  }

  findMessages(query: IndexQuery, count: HitCount, budget: ReadBudget): Promise<IndexPart<IndexHit>> {
    return this.#find<IndexHit>('search_messages', query, count, budget);
  }

  findChunks(query: IndexQuery, count: HitCount, budget: ReadBudget): Promise<IndexPart<ChunkIndexHit>> {
    return this.#find<ChunkIndexHit>('search_chunks', query, count, budget);
  }

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

  async countMessages(query: IndexQuery, max: number, budget: ReadBudget): Promise<Count> {
    let count = 0;
    const add = (rows: readonly { n: number }[]) => (count += rows[0]?.n ?? 0);
    const atMost = { usual: max, slow: max };
    const { end } = await this.#inWindows('search_messages', query, atMost, budget, sql.countFound, add);
    return { count, isPartial: end !== undefined };
  }

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

  async findWorst(since: number, count: number): Promise<{ disliked: number; rows: CitedSegment[] }> {
    const [all] = await this.#read(sql.countDisliked, since);
    return { disliked: all?.disliked ?? 0, rows: await this.#read(sql.findWorst, since, count) };
  }

  async readMessages(hits: readonly IndexHit[]): Promise<(MessageHit | undefined)[]> {
    if (hits.length === 0) return [];
    const { isPair, pairs } = this.#dialect;
    const statement: Statement<MessageHit & { conversation_id: string; id: string }> = `
      SELECT m.conversation_id, m.id, m.created_at, c.app_id, c."user", c.first_message_at AS first,
        c.last_message_at AS last, substr(m.feedback_content, 1, ${limits.listedTextCharsMax}) AS feedback_content, ${textColumns(sql.searched)}
      FROM messages m CROSS JOIN conversations c
      WHERE ${isPair('m.conversation_id', 'm.id')} AND c.conversation_id = m.conversation_id AND c.deleted = 0`;
    const keys = hits.map(({ conversation_id, id }) => [conversation_id, id] as const);
    const rows = new Map(
      (await this.#read(statement, ...pairs(keys))).map((row) => [`${row.conversation_id} ${row.id}`, row]),
    );
    return keys.map((key) => rows.get(key.join(' ')));
  }

  async readMessage({ conversation_id, id }: IndexHit): Promise<string | undefined> {
    const [row] = await this.#read(sql.findText, conversation_id, id);
    return row?.text;
  }

  async readChunk({ kind, dataset_id, id }: ChunkIndexHit): Promise<string | undefined> {
    const table = kind === 'segment' ? 'segments' : 'child_chunks';
    const statement: Statement<{ content: string }> = `SELECT content FROM ${table} WHERE dataset_id = ? AND id = ?`;
    return (await this.#read(statement, dataset_id, id))[0]?.content;
  }

  async readChunks(hits: readonly ChunkIndexHit[]): Promise<(ChunkHit | undefined)[]> {
    const segments = await this.#readIn<SegmentText>(
      'segments',
      `id, dataset_id, document_id, position, ${textColumns('content')}`,
      hits.filter(({ kind }) => kind === 'segment'),
    );
    const chunks = await this.#readIn<ChunkKey & Text & { segment_id: string; position: number; deleted: number }>(
      'child_chunks',
      `id, dataset_id, segment_id, position, deleted, ${textColumns('content')}`,
      hits.filter(({ kind }) => kind === 'child_chunk'),
    );
    const parents = await this.#readIn<Segment>(
      'segments',
      'id, dataset_id, document_id, position',
      [...chunks.values()].map(({ dataset_id, segment_id: id }) => ({ dataset_id, id })),
    );
    const documentOf = ({ dataset_id, document_id: id }: Segment): ChunkKey => ({ dataset_id, id });
    const documents = await this.#readIn<ChunkKey & { name: string }>(
      'documents',
      'id, dataset_id, name',
      [...segments.values(), ...parents.values()].map(documentOf),
    );
    const datasets = await this.#readDatasets(hits);
    return hits.map((hit) => {
      const isSegment = hit.kind === 'segment';
      const chunk = isSegment ? undefined : chunks.get(chunkKeyOf(hit));
      if (!isSegment && (chunk === undefined || chunk.deleted === 1)) return undefined;
      const text = chunk ?? segments.get(chunkKeyOf(hit));
      const segment = chunk
        ? parents.get(chunkKeyOf({ ...chunk, id: chunk.segment_id }))
        : segments.get(chunkKeyOf(hit));
      const document = segment && documents.get(chunkKeyOf(documentOf(segment)));
      if (segment === undefined || document === undefined || text === undefined) return undefined;
      return {
        dataset_id: hit.dataset_id,
        dataset_name: datasets.get(hit.dataset_id) ?? '',
        document_id: document.id,
        document_name: document.name,
        segment_id: segment.id,
        segment_position: segment.position,
        child_chunk_id: isSegment ? null : hit.id,
        child_chunk_position: chunk?.position ?? null,
        text: text.text,
        bytes: text.bytes,
      };
    });
  }

  /** Rows of a table whose key begins with the dataset, by dataset and id. */
  async #readIn<R extends ChunkKey>(
    table: string,
    columns: string,
    keys: readonly ChunkKey[],
  ): Promise<Map<string, R>> {
    if (keys.length === 0) return new Map();
    const { isPair, pairs } = this.#dialect;
    const statement: Statement<R> = `SELECT ${columns} FROM ${table} WHERE ${isPair('dataset_id', 'id')}`;
    const rows = await this.#read(statement, ...pairs(keys.map(({ dataset_id, id }) => [dataset_id, id])));
    return new Map(rows.map((row) => [chunkKeyOf(row), row]));
  }

  async #readDatasets(hits: readonly ChunkIndexHit[]): Promise<ReadonlyMap<string, string>> {
    if (hits.length === 0) return new Map();
    const { isIn, list } = this.#dialect;
    const ids = list([...new Set(hits.map(({ dataset_id }) => dataset_id))]);
    const statement: Statement<{ id: string; name: string }> = `
      SELECT id, ${sorted('name')} AS name FROM datasets WHERE ${isIn('id')}`;
    return new Map((await this.#read(statement, ids)).map(({ id, name }) => [id, name]));
  }
}

type IndexRange = { first: number; last: number };
type ChunkKey = { dataset_id: string; id: string };
type Segment = ChunkKey & { document_id: string; position: number };
type Text = { text: string | null; bytes: number };
type SegmentText = Segment & Text;
const chunkKeyOf = ({ dataset_id, id }: ChunkKey): string => `${dataset_id} ${id}`;

const nothing = { isLast: true, end: undefined };
