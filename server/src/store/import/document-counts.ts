import type { Prepared } from '../../domain/records/prepared-record.ts';
import type { Dialect } from '../base/engine.ts';
import type { RowStatements, Statement } from '../base/statement.ts';

/** A change of the counts of one document. */
export type CountChange = { dataset_id: string; id: string; segments: number; words: number };

/** Collects by how much the segments of an import change the counts of their documents. */
export class DocumentCounts {
  readonly #changes = new Map<string, CountChange>();

  get size(): number {
    return this.#changes.size;
  }

  /** `storedWords` is the word count of the segment that the record replaces; undefined for a new segment. */
  add({ dataset_id, document_id, word_count }: Prepared<'segment'>, storedWords: number | undefined): void {
    let change = this.#changes.get(document_id);
    if (change === undefined) {
      change = { dataset_id, id: document_id, segments: 0, words: 0 };
      this.#changes.set(document_id, change);
    }
    change.segments += storedWords === undefined ? 1 : 0;
    change.words += word_count - (storedWords ?? 0);
  }

  /** The changes so far, in the order of their documents. */
  take(): CountChange[] {
    const changes = [...this.#changes.values()].filter(({ segments, words }) => segments !== 0 || words !== 0);
    this.#changes.clear();
    return changes.sort((one, other) => (one.id < other.id ? -1 : 1));
  }
}

/** Assigns positions to documents without one, in the order of an import. It has the highest position of each dataset. */
export class DocumentPositions {
  readonly #highest = new Map<string, number>();

  has(dataset_id: string): boolean {
    return this.#highest.has(dataset_id);
  }

  set(dataset_id: string, highest: number): void {
    this.#highest.set(dataset_id, highest);
  }

  /** Sets the position of the record, if it has none: that of the stored document, or the next one. */
  assign(record: Prepared<'document'>, storedPosition: number | undefined): void {
    const { dataset_id } = record;
    const highest = this.#highest.get(dataset_id) ?? 0;
    record.position ??= storedPosition ?? Math.min(highest + 1, Number.MAX_SAFE_INTEGER);
    if (this.has(dataset_id)) this.set(dataset_id, Math.max(highest, record.position));
  }
}

type Position = { dataset_id: string; id: string; position: number };

/** Parameters: dataset ids, ids. */
export const findPositions = ({ isIn }: Dialect): Statement<Position> =>
  `SELECT dataset_id, id, position FROM documents WHERE ${isIn('dataset_id')} AND ${isIn('id')}`;
/** Parameters: dataset_id. */
export const findHighestPosition: Statement<{ position: number | null }> =
  'SELECT MAX(position) AS position FROM documents WHERE dataset_id = ?';
/** Parameters: dataset ids. */
export const findHighestPositions = ({ isIn }: Dialect): Statement<Omit<Position, 'id'>> =>
  `SELECT dataset_id, MAX(position) AS position FROM documents WHERE ${isIn('dataset_id')} GROUP BY dataset_id`;
/** Parameters: dataset ids, ids. */
export const findSegmentWords = ({ isIn }: Dialect): Statement<{ id: string; word_count: number }> =>
  `SELECT id, word_count FROM segments WHERE ${isIn('dataset_id')} AND ${isIn('id')}`;

/**
 * Adds to the counts of documents, all of which exist. `many` is an upsert, since a distributed engine rejects an UPDATE that
 * joins a list. Columns: segments, words, dataset_id, id.
 */
export const addCounts: RowStatements = {
  one: `
    UPDATE documents SET segment_count = segment_count + ?, word_count = word_count + ?
    WHERE dataset_id = ? AND id = ?`,
  many: `
    INSERT INTO documents (segment_count, word_count, dataset_id, id, name)
    SELECT *, '' FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[])
    ON CONFLICT (dataset_id, id) DO UPDATE SET segment_count = documents.segment_count + excluded.segment_count,
      word_count = documents.word_count + excluded.word_count`,
};
