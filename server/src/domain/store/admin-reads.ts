import type { AppListed, ListedKey, ProviderListed, WorkspaceListed } from '../../contract/admin.ts';
import type { ChildChunk } from '../../contract/child-chunk.ts';
import type {
  DatasetCited,
  DatasetListed,
  DocumentCited,
  DocumentListed,
  DocumentShown,
  RevisionListed,
  SegmentListed,
} from '../../contract/console/knowledge.ts';
import type { SavedView } from '../../contract/console/saved-views.ts';
import type { PersonListed } from '../../contract/people/people.ts';
import type { RecordKind } from '../../contract/record.ts';
import type { Read, RecordName } from './audit.ts';
import type { KnowledgePath, MissingPart } from './child-chunks.ts';
import type { Selection } from './selection.ts';

/** The rows to read for a page of a list. */
export type ListRange = {
  /** Sort values of the previous row; undefined on the first page. */
  after: readonly (string | number)[] | undefined;
  count: number;
};

/** Citations are counted from this day on. `isWorst`: only those that disliked answers cite, most of them first. */
export type KnowledgeRange = ListRange & { since: number; isWorst: boolean };

/** Rows of a page. They are fewer than requested, although more follow, if they are large. */
export type ListRows<R> = { rows: R[]; has_more: boolean };

/** Lists are sorted by the beginning of a text only, since the length of index entries and of cursors is limited. */
export const sortedCharsMax = 200;

/** The part of a text that a list is sorted by. */
export function sortText(text: string): string {
  return Array.from(text.slice(0, sortedCharsMax * 2))
    .slice(0, sortedCharsMax)
    .join('');
}

export type Neighbours = Pick<DocumentShown, 'previous' | 'next'>;

/** A provider with its position in its workspace. */
export type StoredProvider = ProviderListed & { position: number };

/** Reads for the console. Ids are canonical; callers check that the parent of a list exists. */
export interface AdminReads {
  /** By name, which is the sort value. */
  listSavedViews(range: ListRange): Promise<ListRows<SavedView>>;
  listWorkspaces(range: ListRange): Promise<ListRows<WorkspaceListed>>;
  findWorkspace(id: string): Promise<WorkspaceListed | undefined>;
  listApps(range: ListRange): Promise<ListRows<AppListed>>;
  findApp(id: string): Promise<AppListed | undefined>;
  /** In the order in which they were recorded. */
  listProviders(workspace_id: string, range: ListRange): Promise<ListRows<StoredProvider>>;

  /** The workspace of the dataset, if the whole path exists. */
  findPath(path: KnowledgePath): Promise<{ workspace_id: string } | MissingPart>;
  listDatasets(range: KnowledgeRange): Promise<ListRows<DatasetCited>>;
  findDataset(id: string): Promise<DatasetListed | undefined>;
  listDocuments(dataset_id: string, range: KnowledgeRange): Promise<ListRows<DocumentCited>>;
  findDocument(dataset_id: string, id: string): Promise<DocumentListed | undefined>;
  /** The documents before and after it in the list. */
  findNeighbours(dataset_id: string, document: { id: string; name: string }): Promise<Neighbours>;
  listSegments(
    dataset_id: string,
    document_id: string,
    range: ListRange,
    order: 'asc' | 'desc',
  ): Promise<ListRows<SegmentListed>>;
  findSegment(dataset_id: string, document_id: string, id: string): Promise<SegmentListed | undefined>;
  listChildChunks(dataset_id: string, segment_id: string, range: ListRange): Promise<ListRows<ChildChunk>>;
  /** Newest first. */
  listRevisions(dataset_id: string, child_chunk_id: string, range: ListRange): Promise<ListRows<RevisionListed>>;

  /** Newest first. */
  listKeys(range: ListRange): Promise<ListRows<ListedKey>>;
  findKey(id: string): Promise<ListedKey | undefined>;

  /** By name. `now` is in seconds, for the number of sessions. */
  listPeople(range: ListRange, now: number): Promise<ListRows<PersonListed>>;
  findPerson(id: string, now: number): Promise<PersonListed | undefined>;

  /** Newest first. */
  listReads(selection: Selection, author: string | undefined, range: ListRange): Promise<ListRows<Read>>;

  /** The names of the records of one kind that exist and are not deleted, by their ids in the audit log. */
  findNames(kind: RecordKind, ids: readonly string[]): Promise<ReadonlyMap<string, RecordName>>;
}
