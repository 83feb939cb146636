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
