import { limits } from '../../contract/limits.ts';
import { positionsPerSecond } from '../../domain/search-document.ts';
import type {
  ChunkHit,
  ChunkIndexHit,
  IndexChange,
  IndexCheck,
  IndexDifference,
  IndexHit,
  IndexQuery,
  IndexState,
  MessageHit,
  SearchStore,
} from '../../domain/search-reads.ts';
import type { QueryToken } from '../../domain/tokens.ts';
import type { Engine, Reader, Row, SearchTable } from '../engine.ts';
import { checkIndex } from './check.ts';
import * as sql from './statements.ts';

/** The newest part of the index that the first statement of a search reads. */
const firstWindow = 86_400 * positionsPerSecond;
/** If a statement was faster than this, the next one reads a much larger part of the index, or a larger one. */
const windowMillis = { fast: 5, slow: 10, tooSlow: 40 };
/** So many words with the same beginning are searched one by one. */
const wordsMax = 100;

/** The search, on either engine. */
export class SqlSearchStore implements SearchStore {
  readonly #engine: Engine;

  /** For statements that may read a large part of the index. */
  readonly #readIndex: Reader;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#readIndex = engine.readIndex ?? ((statement, ...values) => engine.read(statement, ...values));
  }

  async state(): Promise<IndexState> {
    const [row] = await this.#engine.read(sql.findState);
    return row as IndexState;
  }

  async timeAfter(position: number): Promise<number | null> {
    const [row] = await this.#engine.read(sql.findTimeAfter, position);
    return (row?.at as number | undefined) ?? null;
  }

  takeLease(holder: string, expires_at: number, now: number): Promise<IndexState | undefined> {
    return this.#engine.write('takeIndexLease', { holder, expires_at, now });
  }

  async reset(rules: string): Promise<void> {
    await this.#engine.write('resetIndex', { rules }, { waitForever: true });
  }

  apply(from: string, changes: readonly IndexChange[], millis: number): Promise<string | undefined> {
    return this.#engine.write('applyToIndex', { from, changes, millis });
  }

  async count(): Promise<number> {
    const counts = await Promise.all(sql.countEntries.map((statement) => this.#engine.read(statement)));
    return counts.reduce((sum, [row]) => sum + Number(row?.n), 0);
  }

  check(report: (difference: IndexDifference) => void, sliceMax = limits.indexCheckEntriesMax): Promise<IndexCheck> {
    return checkIndex(this.#engine, report, sliceMax);
  }

  findMessages(query: IndexQuery, count: number): Promise<IndexHit[]> {
    return this.#find<IndexHit>('search_messages', query, count);
  }

  findChunks(query: IndexQuery, count: number): Promise<ChunkIndexHit[]> {
    return this.#find<ChunkIndexHit>('search_chunks', query, count);
  }

  async countMessages(query: IndexQuery, max: number): Promise<number> {
    return (await this.#find('search_messages', query, max)).length;
  }

  /**
   * Searches windows of positions, from the newest one back, each by one statement, so that none of them takes long.
   */
  async #find<Hit>(table: SearchTable, query: IndexQuery, count: number): Promise<Hit[]> {
    const [[newest], [oldest]] = await Promise.all([
      this.#engine.read(sql.findLast(table)),
      this.#engine.read(sql.findFirst(table)),
    ]);
    if (typeof newest?.position !== 'number' || typeof oldest?.position !== 'number') return [];
    const first = Math.max(query.from ?? Number.MIN_SAFE_INTEGER, oldest.position);
    let end = Math.min(query.to ?? Number.MAX_SAFE_INTEGER, newest.position + 1);
    const expanded = await this.#expand(table, query);
    if (expanded === undefined) return [];
    const [statement, values] = sql.findEntries(this.#engine.dialect.search, table, expanded.query);
    const hits: Row[] = [];
    // The first window is small, so its statement is fast: it need not wait for another thread.
    let read: Reader = expanded.isSlow ? this.#readIndex : (text, ...all) => this.#engine.read(text, ...all);
    for (let window = expanded.isSlow ? end - first : firstWindow; end > first && hits.length < count; ) {
      const start = Math.max(first, end - window);
      const startedAt = performance.now();
      hits.push(...(await read(statement, ...values, start, end, count - hits.length)));
      read = this.#readIndex;
      const millis = performance.now() - startedAt;
      if (millis < windowMillis.slow) window *= millis < windowMillis.fast ? 8 : 2;
      if (millis > windowMillis.tooSlow) window = Math.max(firstWindow, Math.floor(window / 2));
      end = start;
    }
    return hits as Hit[];
  }

  /**
   * Replaces the beginning of a word by the words that have it, if they are few: FTS5 reads only as much of their rows as it
   * needs. Undefined if there are none. `isSlow`: each statement reads all rows of a beginning.
   */
  async #expand(table: SearchTable, query: IndexQuery): Promise<{ query: IndexQuery; isSlow: boolean } | undefined> {
    const { wordsWith } = this.#engine.dialect.search;
    if (wordsWith === undefined) return { query, isSlow: false };
    const tokens: QueryToken[][] = [];
    let isSlow = false;
    for (const list of query.tokens) {
      const expanded: QueryToken[] = [];
      for (const queryToken of list) {
        const { token, isPrefix } = queryToken;
        const words = isPrefix ? await this.#wordsWith(wordsWith[table], token) : [token];
        const isMany = words.length > wordsMax;
        if (isMany) isSlow = true;
        expanded.push(...(isMany ? [queryToken] : words.map((word) => ({ token: word, isPrefix: false }))));
      }
      if (expanded.length === 0) return undefined;
      tokens.push(expanded);
    }
    return { query: { ...query, tokens }, isSlow };
  }

  async #wordsWith(statement: string, start: string): Promise<string[]> {
    const rows = await this.#engine.read(statement, start, start, start, start, start, wordsMax + 1);
    return rows.map(({ term }) => term as string);
  }

  async readMessages(hits: readonly IndexHit[]): Promise<MessageHit[]> {
    if (hits.length === 0) return [];
    const { isIn, list } = this.#engine.dialect;
    // By id alone: with a list of conversations too, SQLite would read all messages of these conversations.
    const statement = `
      SELECT m.conversation_id, m.id, m.doc, c.app_id, c."user"
      FROM messages m JOIN conversations c ON c.conversation_id = m.conversation_id
      WHERE ${isIn('m.id')} AND c.deleted = 0`;
    return (await this.#engine.read(statement, list(hits.map(({ id }) => id)))) as MessageHit[];
  }

  async readChunks(hits: readonly ChunkIndexHit[]): Promise<(ChunkHit | undefined)[]> {
    const segments = await this.#readIn(
      'segments',
      'id, dataset_id, document_id, content',
      hits.filter(({ kind }) => kind === 'segment'),
    );
    const chunks = await this.#readIn(
      'child_chunks',
      'id, dataset_id, segment_id, content, deleted',
      hits.filter(({ kind }) => kind === 'child_chunk'),
    );
    const parents = await this.#readIn(
      'segments',
      'id, dataset_id, document_id',
      [...chunks.values()].map(({ dataset_id, segment_id: id }) => ({ dataset_id, id }) as ChunkKey),
    );
    const documentOf = (row: Row) => ({ dataset_id: row.dataset_id, id: row.document_id }) as ChunkKey;
    const documents = await this.#readIn(
      'documents',
      'id, dataset_id, name',
      [...segments.values(), ...parents.values()].map(documentOf),
    );
    const datasets = await this.#readDatasets(hits);
    return hits.map((hit) => {
      const isSegment = hit.kind === 'segment';
      const chunk = isSegment ? undefined : chunks.get(keyOf(hit));
      if (!isSegment && (chunk === undefined || chunk.deleted === 1)) return undefined;
      const segment = isSegment
        ? segments.get(keyOf(hit))
        : parents.get(keyOf({ dataset_id: hit.dataset_id, id: chunk?.segment_id as string }));
      const document = segment && documents.get(keyOf(documentOf(segment)));
      if (segment === undefined || document === undefined) return undefined;
      return {
        dataset_id: hit.dataset_id,
        dataset_name: datasets.get(hit.dataset_id) ?? '',
        document_id: document.id as string,
        document_name: document.name as string,
        segment_id: segment.id as string,
        child_chunk_id: isSegment ? null : hit.id,
        content: (chunk ?? segment).content as string,
      };
    });
  }

  /** Rows of a table whose key begins with the dataset, by dataset and id. */
  async #readIn(table: string, columns: string, keys: readonly ChunkKey[]): Promise<Map<string, Row>> {
    if (keys.length === 0) return new Map();
    const { isIn, list } = this.#engine.dialect;
    const datasets = list([...new Set(keys.map(({ dataset_id }) => dataset_id))]);
    const ids = list([...new Set(keys.map(({ id }) => id))]);
    const statement = `SELECT ${columns} FROM ${table} WHERE ${isIn('dataset_id')} AND ${isIn('id')}`;
    const rows = await this.#engine.read(statement, datasets, ids);
    return new Map(rows.map((row) => [keyOf(row as ChunkKey), row]));
  }

  async #readDatasets(hits: readonly ChunkIndexHit[]): Promise<ReadonlyMap<string, string>> {
    if (hits.length === 0) return new Map();
    const { isIn, list } = this.#engine.dialect;
    const ids = list([...new Set(hits.map(({ dataset_id }) => dataset_id))]);
    const rows = await this.#engine.read(`SELECT id, name FROM datasets WHERE ${isIn('id')}`, ids);
    return new Map(rows.map(({ id, name }) => [id as string, name as string]));
  }
}

type ChunkKey = { dataset_id: string; id: string };
const keyOf = ({ dataset_id, id }: ChunkKey): string => `${dataset_id} ${id}`;
