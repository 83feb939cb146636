/** A numbered step from one shape of the database to the next. Steps are only ever added. */
export type Migration = { version: number; name: string; statements: readonly string[] };

/**
 * The embedded engine's tables. The first column of every key of a large table is the one it is distributed by
 * (`conversation_id`, `dataset_id`), so that the same shape shards. Tables are clustered by their keys: a page of
 * messages lies in one place. Ids and texts compare by bytes.
 */
const first: readonly string[] = [
  `CREATE TABLE workspaces (
     id TEXT NOT NULL PRIMARY KEY,
     name TEXT NOT NULL
   ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE apps (
     id TEXT NOT NULL PRIMARY KEY,
     workspace_id TEXT NOT NULL,
     name TEXT NOT NULL,
     mode TEXT NOT NULL
   ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE api_keys (
     id TEXT NOT NULL PRIMARY KEY,
     kind TEXT NOT NULL,
     workspace_id TEXT,
     app_id TEXT,
     dataset_ids TEXT,
     name TEXT NOT NULL,
     digest TEXT NOT NULL UNIQUE,
     created_at INTEGER NOT NULL,
     expires_at INTEGER,
     revoked_at INTEGER
   ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE conversations (
     conversation_id TEXT NOT NULL PRIMARY KEY,
     app_id TEXT NOT NULL,
     "user" TEXT,
     created_at INTEGER NOT NULL,
     deleted INTEGER NOT NULL,
     version TEXT NOT NULL,
     next_sequence INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX conversations_by_app ON conversations (app_id, "user")`,
  `CREATE TABLE messages (
     conversation_id TEXT NOT NULL,
     created_at INTEGER NOT NULL,
     sequence INTEGER NOT NULL,
     id TEXT NOT NULL,
     doc TEXT NOT NULL,
     PRIMARY KEY (conversation_id, created_at, sequence)
   ) STRICT, WITHOUT ROWID`,
  `CREATE UNIQUE INDEX messages_by_id ON messages (conversation_id, id)`,
  `CREATE TABLE datasets (
     id TEXT NOT NULL PRIMARY KEY,
     workspace_id TEXT NOT NULL,
     name TEXT NOT NULL
   ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE documents (
     dataset_id TEXT NOT NULL,
     id TEXT NOT NULL,
     name TEXT NOT NULL,
     PRIMARY KEY (dataset_id, id)
   ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX documents_by_id ON documents (id)`,
  `CREATE TABLE segments (
     dataset_id TEXT NOT NULL,
     id TEXT NOT NULL,
     document_id TEXT NOT NULL,
     position INTEGER NOT NULL,
     content TEXT NOT NULL,
     PRIMARY KEY (dataset_id, id)
   ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX segments_by_id ON segments (id)`,
  `CREATE TABLE child_chunks (
     dataset_id TEXT NOT NULL,
     id TEXT NOT NULL,
     segment_id TEXT NOT NULL,
     content TEXT NOT NULL,
     position INTEGER NOT NULL,
     word_count INTEGER NOT NULL,
     type TEXT NOT NULL,
     created_at INTEGER NOT NULL,
     updated_at INTEGER NOT NULL,
     version TEXT NOT NULL,
     PRIMARY KEY (dataset_id, id)
   ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX child_chunks_by_id ON child_chunks (id)`,
  `CREATE TABLE child_chunk_revisions (
     dataset_id TEXT NOT NULL,
     child_chunk_id TEXT NOT NULL,
     revision INTEGER NOT NULL,
     content TEXT NOT NULL,
     replaced_at INTEGER NOT NULL,
     key_id TEXT,
     PRIMARY KEY (dataset_id, child_chunk_id, revision)
   ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE model_providers (
     workspace_id TEXT NOT NULL,
     provider TEXT NOT NULL,
     position INTEGER NOT NULL,
     doc TEXT NOT NULL,
     PRIMARY KEY (workspace_id, provider)
   ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE model_entries (
     workspace_id TEXT NOT NULL,
     model_type TEXT NOT NULL,
     position INTEGER NOT NULL,
     entry TEXT NOT NULL,
     PRIMARY KEY (workspace_id, model_type, position)
   ) STRICT, WITHOUT ROWID`,
];

export const migrations: readonly Migration[] = [{ version: 1, name: 'first tables', statements: first }];
