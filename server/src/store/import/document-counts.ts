import type { Dialect } from '../base/engine.ts';
import type { SpooledOf } from '../base/spooled-record.ts';
import { query, type RowStatements, type Statement, type Write, writeRows } from '../base/statement.ts';

/** Maximum number of documents with changed counts in memory before they are written. */
const openDocumentsMax = 10_000;

type CountChange = { dataset_id: string; id: string; segments: number; words: number };

/** Collects by how much the segments of an import change the counts of their documents, and writes it. */
export class DocumentCounts {
  readonly #dialect: Dialect;
  readonly #changes = new Map<string, CountChange>();

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /** To be called before the segments are written. */
  *add(records: readonly SpooledOf<'segment'>[]): Write<void> {
    const { list } = this.#dialect;
    const datasets = [...new Set(records.map(({ dataset_id }) => dataset_id))];
    const ids = records.map(({ id }) => id);
    const rows = yield* query(findSegmentWords(this.#dialect), list(datasets), list(ids));
    const stored = new Map(rows.map(({ id, word_count }) => [id, word_count]));
    for (const { id, dataset_id, document_id, word_count } of records) {
      const storedWords = stored.get(id);
      const change = this.#changes.get(document_id) ?? { dataset_id, id: document_id, segments: 0, words: 0 };
      change.segments += storedWords === undefined ? 1 : 0;
      change.words += word_count - (storedWords ?? 0);
      this.#changes.set(document_id, change);
    }
    if (this.#changes.size >= openDocumentsMax) yield* this.write();
  }

  /** The changes so far, in the order of their documents. */
  *write(): Write<void> {
    const changes = [...this.#changes.values()].filter(({ segments, words }) => segments !== 0 || words !== 0);
    this.#changes.clear();
    const sorted = changes.sort((one, other) => (one.id < other.id ? -1 : 1));
    yield* writeRows(
      addCounts,
      sorted.map(({ segments, words, dataset_id, id }) => [segments, words, dataset_id, id]),
    );
  }
}

/** Gives documents without a position that of the stored document, or the next one, in the order of an import. */
export class DocumentPositions {
  readonly #dialect: Dialect;
  readonly #highest = new Map<string, number>();

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  *assign(records: readonly SpooledOf<'document'>[]): Write<void> {
    const { list } = this.#dialect;
    const unplaced = records.filter(({ position }) => position === null);
    const datasets = [...new Set(unplaced.map(({ dataset_id }) => dataset_id))];
    yield* this.#findHighest(datasets.filter((id) => !this.#highest.has(id)));
    const ids = unplaced.map(({ id }) => id);
    const rows = ids.length > 0 ? yield* query(findPositions(this.#dialect), list(datasets), list(ids)) : [];
    const stored = new Map(rows.map(({ id, position }) => [id, position]));
    for (const record of records) {
      const highest = this.#highest.get(record.dataset_id);
      record.position ??= stored.get(record.id) ?? Math.min((highest ?? 0) + 1, Number.MAX_SAFE_INTEGER);
      if (highest !== undefined) this.#highest.set(record.dataset_id, Math.max(highest, record.position));
    }
  }

  *#findHighest(datasets: readonly string[]): Write<void> {
    for (const id of datasets) this.#highest.set(id, 0);
    if (datasets.length === 0) return;
    const rows = yield* query(findHighestPositions(this.#dialect), this.#dialect.list(datasets));
    for (const row of rows) this.#highest.set(row.dataset_id, row.position);
  }
}

type Position = { dataset_id: string; id: string; position: number };

/** Parameters: dataset ids, ids. */
export const findPositions = ({ isIn }: Dialect): Statement<Position> =>
  `SELECT dataset_id, id, position FROM documents WHERE ${isIn('dataset_id')}/*@*/ AND ${isIn('id')}`;
/** Parameters: dataset ids. */
export const findHighestPositions = ({ isIn }: Dialect): Statement<Omit<Position, 'id'>> =>
  `SELECT dataset_id, MAX(position) AS position FROM documents WHERE ${isIn('dataset_id')}/*@*/ GROUP BY dataset_id`;
/** Parameters: dataset ids, ids. */
export const findSegmentWords = ({ isIn }: Dialect): Statement<{ id: string; word_count: number }> =>
  `SELECT id, word_count FROM segments WHERE ${isIn('dataset_id')}/*@*/ AND ${isIn('id')}`;

/**
 * Adds to the counts of documents, all of which exist. `many` is an upsert, since a distributed engine rejects an UPDATE that
 * joins a list. Columns: segments, words, dataset_id, id.
 */
export const addCounts: RowStatements = {
  table: 'documents',
  one: `
    UPDATE documents SET segment_count = segment_count + ?, word_count = word_count + ?
    WHERE dataset_id = ?/*@*/ AND id = ?`,
  many: `
    INSERT INTO documents (segment_count, word_count, dataset_id, id, name)
    SELECT *, '' FROM unnest($1::bigint[], $2::bigint[], $3::text[]/*@*/, $4::text[])
    ON CONFLICT (dataset_id, id) DO UPDATE SET segment_count = documents.segment_count + excluded.segment_count,
      word_count = documents.word_count + excluded.word_count`,
};
