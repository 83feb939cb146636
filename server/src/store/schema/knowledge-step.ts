/**
 * The migration step that adds the fields, counts and indexes for the lists of knowledge bases. Times from before it are
 * unknown: 0. Documents are numbered in the order of their ids. The words of segments are counted by the program, since the
 * engines cannot: see `recount`.
 */
export const knowledgeStep: readonly string[] = [
  `ALTER TABLE datasets ADD COLUMN tags TEXT NOT NULL DEFAULT '[]'`,
  `ALTER TABLE datasets ADD COLUMN created_at BIGINT NOT NULL DEFAULT 0`,
  `ALTER TABLE datasets ADD COLUMN details TEXT`,
  `CREATE INDEX datasets_by_time ON datasets (workspace_id, created_at DESC, id)`,
  `ALTER TABLE documents ADD COLUMN position BIGINT NOT NULL DEFAULT 0`,
  `ALTER TABLE documents ADD COLUMN created_at BIGINT NOT NULL DEFAULT 0`,
  `ALTER TABLE documents ADD COLUMN display_status TEXT NOT NULL DEFAULT 'available'`,
  `ALTER TABLE documents ADD COLUMN segment_count BIGINT NOT NULL DEFAULT 0`,
  `ALTER TABLE documents ADD COLUMN word_count BIGINT NOT NULL DEFAULT 0`,
  `ALTER TABLE documents ADD COLUMN details TEXT`,
  `UPDATE documents SET position = numbered.position FROM (
     SELECT dataset_id, id, ROW_NUMBER() OVER (PARTITION BY dataset_id ORDER BY id) AS position FROM documents
   ) AS numbered
   WHERE documents.dataset_id = numbered.dataset_id AND documents.id = numbered.id`,
  `ALTER TABLE segments ADD COLUMN status TEXT NOT NULL DEFAULT 'completed'`,
  `ALTER TABLE segments ADD COLUMN word_count BIGINT NOT NULL DEFAULT 0`,
  `ALTER TABLE segments ADD COLUMN details TEXT`,
  `ALTER TABLE child_chunks ADD COLUMN deleted BIGINT NOT NULL DEFAULT 0`,
  `ALTER TABLE child_chunks ADD COLUMN details TEXT`,
  `DROP INDEX child_chunks_by_position`,
  `CREATE INDEX child_chunks_by_position ON child_chunks (dataset_id, segment_id, deleted, position, id)`,
];

/** Runs after the words of all segments were counted. */
export const recount: readonly string[] = [
  `UPDATE documents SET segment_count = counted.segments, word_count = counted.words FROM (
     SELECT dataset_id, document_id, COUNT(*) AS segments, CAST(SUM(word_count) AS BIGINT) AS words
     FROM segments GROUP BY dataset_id, document_id
   ) AS counted
   WHERE documents.dataset_id = counted.dataset_id AND documents.id = counted.document_id`,
  `CREATE INDEX documents_by_time ON documents (dataset_id, created_at DESC, position DESC, id)`,
  `CREATE INDEX documents_by_status ON documents (dataset_id, display_status, created_at DESC, position DESC, id, word_count)`,
];
