import type {
  AppListed,
  DatasetListed,
  DocumentListed,
  ListedKey,
  ProviderListed,
  RevisionListed,
  SegmentListed,
  WorkspaceListed,
} from '../contract/admin.ts';
import type { ChildChunk } from '../contract/child-chunk.ts';

/** Where a page of a list begins, and how much of it is read: one row more than it shows, which tells whether it is the last. */
export type ListPlace = {
  /** What the list is sorted by, of the row before; undefined at the beginning. */
  after: readonly (string | number)[] | undefined;
  count: number;
};

/** A list that is sorted by a text looks at so many characters of it: an index and an address take no text of any length. */
export const sortedCharsMax = 200;

/** The part of a text that counts in a sorted list. */
export function sortText(text: string): string {
  return Array.from(text.slice(0, sortedCharsMax * 2))
    .slice(0, sortedCharsMax)
    .join('');
}

/** A place in the tree of knowledge, as deep as it is asked for. */
export type KnowledgePath = {
  dataset_id: string;
  document_id?: string;
  segment_id?: string;
  child_chunk_id?: string;
};

/** How far a path holds together; undefined: not even its dataset exists. */
export type KnowledgeFound = { workspace_id: string; document: boolean; segment: boolean; child_chunk: boolean };

/** A provider with its place among those of its workspace. */
export type ProviderFound = ProviderListed & { position: number };

/** What the console shows. Ids are as they are kept; the parents of a list are known to exist. */
export interface AdminReads {
  listWorkspaces(place: ListPlace): Promise<WorkspaceListed[]>;
  findWorkspace(id: string): Promise<WorkspaceListed | undefined>;
  listApps(place: ListPlace): Promise<AppListed[]>;
  findApp(id: string): Promise<AppListed | undefined>;
  /** In the order in which they were recorded. */
  listProviders(workspace_id: string, place: ListPlace): Promise<ProviderFound[]>;

  findKnowledge(path: KnowledgePath): Promise<KnowledgeFound | undefined>;
  listDatasets(place: ListPlace): Promise<DatasetListed[]>;
  findDataset(id: string): Promise<DatasetListed | undefined>;
  listDocuments(dataset_id: string, place: ListPlace): Promise<DocumentListed[]>;
  findDocument(dataset_id: string, id: string): Promise<DocumentListed | undefined>;
  listSegments(dataset_id: string, document_id: string, place: ListPlace): Promise<SegmentListed[]>;
  findSegment(dataset_id: string, document_id: string, id: string): Promise<SegmentListed | undefined>;
  listChildChunks(dataset_id: string, segment_id: string, place: ListPlace): Promise<ChildChunk[]>;
  /** Newest first. */
  listRevisions(dataset_id: string, child_chunk_id: string, place: ListPlace): Promise<RevisionListed[]>;

  /** Newest first. */
  listKeys(place: ListPlace): Promise<ListedKey[]>;
  findKey(id: string): Promise<ListedKey | undefined>;
}
