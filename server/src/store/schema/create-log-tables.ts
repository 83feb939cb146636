/**
 * The audit log is read by time, so its key begins with an id that sorts by time. A write and its entry are on one node:
 * `scope` is the dataset or conversation of the write. An entry without one has its own id there, which spreads entries over
 * nodes. Imports are the bulk of the log, so an index that they do not need leaves them out.
 */
const audit: readonly string[] = [
  `CREATE TABLE audit_entries (
     id TEXT NOT NULL,
     scope TEXT NOT NULL,
     at BIGINT NOT NULL,
     key_id TEXT,
     action TEXT NOT NULL,
     record TEXT NOT NULL,
     count BIGINT NOT NULL,
     ids TEXT NOT NULL,
     document_id TEXT,
     tool TEXT,
     app_id TEXT,
     messages BIGINT,
     cleaned_at BIGINT,
     changes TEXT,
     PRIMARY KEY (id, scope)
   )`,
  'CREATE INDEX audit_entries_by_key ON audit_entries (key_id, id)',
  `CREATE INDEX audit_entries_by_action ON audit_entries (action, id) WHERE action <> 'import'`,
  `CREATE INDEX audit_entries_without_appends ON audit_entries (id)
     WHERE (action <> 'import' OR record NOT IN ('conversation', 'message'))`,
  `CREATE INDEX audit_entries_uncleaned ON audit_entries (id)
     WHERE cleaned_at IS NULL AND action IN ('purge', 'retain')`,
  'CREATE INDEX audit_entries_by_dataset ON audit_entries (scope, id) WHERE document_id IS NOT NULL',
  'CREATE INDEX audit_entries_by_document ON audit_entries (scope, document_id, id) WHERE document_id IS NOT NULL',
];

/** Who read what. The beginning of a user is indexed, as for conversations. */
const reads: readonly string[] = [
  `CREATE TABLE audit_reads (
     id TEXT NOT NULL PRIMARY KEY,
     at BIGINT NOT NULL,
     key_id TEXT NOT NULL,
     operation TEXT NOT NULL,
     app_id TEXT,
     conversation_id TEXT,
     "user" TEXT,
     words TEXT
   )`,
  'CREATE INDEX audit_reads_by_time ON audit_reads (at, id)',
  'CREATE INDEX audit_reads_by_author ON audit_reads (key_id, at, id)',
  'CREATE INDEX audit_reads_by_conversation ON audit_reads (conversation_id, at, id)',
  'CREATE INDEX audit_reads_by_user ON audit_reads ((substr("user", 1, 200)), at, id)',
];

/** For imports from another system that run again: what is stored about a source, and which records came from it. */
const imports: readonly string[] = [
  `CREATE TABLE import_sources (
     source TEXT NOT NULL,
     name TEXT NOT NULL,
     value TEXT NOT NULL,
     PRIMARY KEY (source, name)
   )`,
  `CREATE TABLE import_source_records (
     source TEXT NOT NULL,
     kind TEXT NOT NULL,
     id TEXT NOT NULL,
     PRIMARY KEY (source, kind, id)
   )`,
];

/**
 * Objects that another system has changed, and that could not be stored here in time. `scope` is their app or dataset;
 * `conversation_id` is empty if it is not known.
 */
const doubts: readonly string[] = [
  `CREATE TABLE doubts (
     scope TEXT NOT NULL,
     kind TEXT NOT NULL,
     id TEXT NOT NULL,
     conversation_id TEXT NOT NULL,
     at BIGINT NOT NULL,
     PRIMARY KEY (scope, kind, id)
   )`,
];

/** What is stored about writes: the audit log, and the state of imports from other systems. */
export const createLogTables: readonly string[] = [...audit, ...reads, ...imports, ...doubts];
