import type { ChildChunk } from '../../contract/child-chunk.ts';

/** The path to a dataset, or to a document, segment or child chunk in it. Each part must belong to the part before it. */
export type KnowledgePath = {
  dataset_id: string;
  document_id?: string;
  segment_id?: string;
  child_chunk_id?: string;
};

/** A path in a workspace. Ids are canonical. */
export type KnowledgeLocation = KnowledgePath & { workspace_id: string };
export type ChunkLocation = Required<KnowledgeLocation>;

/** The first part of a path that does not exist. */
export type MissingPart = { missing: 'dataset' | 'document' | 'segment' | 'child chunk' };

export type Versioned<T> = { chunk: T; version: string };

export type FoundChunk = Versioned<ChildChunk> | MissingPart;

/** `any` is `If-Match: *`; a list has the strong tags of the request; undefined: the request has no `If-Match`. */
export type Precondition = 'any' | readonly string[] | undefined;

/** Author and time of a write, in seconds, and the version that the chunk gets. */
type ChunkWrite = ChunkLocation & { now: number; key_id: string; version: string };

/** A new child chunk, for the end of its segment. */
export type NewChildChunk = ChunkWrite & { content: string };
export type ChildChunkDeletion = ChunkWrite & { precondition: Precondition };
/** `tool`: of an agent, for the audit log. `review_message_id`: the message in whose review the text is replaced. */
export type ChildChunkEdit = NewChildChunk & {
  precondition: Precondition;
  tool?: string | undefined;
  review_message_id?: string | undefined;
};

export type ChildChunkOutcome = FoundChunk | { stale: true };
