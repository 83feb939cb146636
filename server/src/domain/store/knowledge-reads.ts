import type { ChildChunk } from '../../contract/child-chunk.ts';
import type { DisplayStatus } from '../../contract/knowledge.ts';
import type { Listed } from '../large-text.ts';
import type { KnowledgeLocation, MissingPart } from './child-chunks.ts';

/** Which knowledge bases a key allows: all of a workspace, or some of them. */
export type KnowledgeScope = { workspace_id: string; dataset_ids: readonly string[] | null };

export type OffsetQuery = {
  page: number;
  limit: number;
  keyword?: string | undefined;
  /** A signal that aborts when the client disconnects: a list with a keyword may read many rows. */
  disconnected?: (() => AbortSignal) | undefined;
};
export type DatasetQuery = OffsetQuery & { tag_ids?: readonly string[] | undefined };
export type DocumentQuery = OffsetQuery & { status?: DisplayStatus | undefined };
export type SegmentQuery = OffsetQuery & { status?: readonly string[] | undefined };

type Fields = Record<string, unknown>;
/** Rows with the fields of their records. */
export type DatasetRow = Fields & { id: string; workspace_id: string; settings: Fields | null };
export type DocumentRow = Fields & { id: string; segment_count: number; word_count: number };
export type SegmentRow = Fields & { id: string };

export type OffsetRows<R> = { total: number; items: readonly (Listed<R> & { id: string })[] };

/** `doc_form`: of the document that they belong to. */
export type SegmentRows = OffsetRows<SegmentRow> & { doc_form: string | null };

export type DatasetTotals = { documents: number; available: number; words: number };

/** Child chunks of segments, by segment. Undefined if they are too many or too large to be read at once. */
export type ChunksBySegment = ReadonlyMap<string, readonly ChildChunk[]> | undefined;

/**
 * Reads for the lists of knowledge bases. Every list is one statement, and names its dataset, except that of datasets. A
 * list with a keyword may be read in slices.
 */
export interface KnowledgeReads {
  listDatasets(scope: KnowledgeScope, query: DatasetQuery): Promise<OffsetRows<DatasetRow>>;
  listDocuments(location: KnowledgeLocation, query: DocumentQuery): Promise<OffsetRows<DocumentRow> | MissingPart>;
  listSegments(location: KnowledgeLocation, query: SegmentQuery): Promise<SegmentRows | MissingPart>;
  listChildChunks(location: KnowledgeLocation, query: OffsetQuery): Promise<OffsetRows<ChildChunk> | MissingPart>;

  findDataset(location: KnowledgeLocation): Promise<DatasetRow | MissingPart>;
  findDocument(location: KnowledgeLocation): Promise<DocumentRow | MissingPart>;
  findSegment(location: KnowledgeLocation): Promise<SegmentRows | MissingPart>;

  /** DatasetTotals of datasets, by id. */
  findTotals(dataset_ids: readonly string[]): Promise<ReadonlyMap<string, DatasetTotals>>;
  /** Undefined if their texts have more than `bytesMax`. */
  findChildChunks(dataset_id: string, segment_ids: readonly string[], bytesMax: number): Promise<ChunksBySegment>;
  /** All child chunks of a segment, one after another. */
  scanChildChunks(dataset_id: string, segment_id: string): AsyncIterable<ChildChunk>;
}
