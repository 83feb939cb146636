import { auditStep } from './audit-step.ts';
import { changesSteps } from './changes-step.ts';
import { conversationSteps } from './conversation-step.ts';
import { importStep } from './import-step.ts';
import { knowledgeStep, recount } from './knowledge-step.ts';
import { ratingSteps } from './rating-step.ts';
import { rebuildSteps, searchSteps } from './search-step.ts';
import { usageSteps } from './usage-step.ts';

/**
 * A migration step from one schema version to the next. Steps are only added, never changed. On Citus, a step runs on the
 * distributed tables of earlier steps; its own tables are distributed after it.
 */
export type Migration = {
  version: number;
  name: string;
  statements: readonly string[];
  /** Statements that run after `statements` and after the words of all segments were counted. */
  afterCounting?: readonly string[];
};

/**
 * The tables, defined once for both engines. The key of every large table begins with its distribution column (see
 * `distribution`), so that the same schema can be sharded. There are no foreign keys, sequences or triggers.
 */
const first: readonly string[] = [
  `CREATE TABLE workspaces (
     id TEXT NOT NULL PRIMARY KEY,
     name TEXT NOT NULL
   )`,
  `CREATE TABLE apps (
     id TEXT NOT NULL PRIMARY KEY,
     workspace_id TEXT NOT NULL,
     name TEXT NOT NULL,
     mode TEXT NOT NULL
   )`,
  `CREATE TABLE api_keys (
     id TEXT NOT NULL PRIMARY KEY,
     kind TEXT NOT NULL,
     workspace_id TEXT,
     app_id TEXT,
     dataset_ids TEXT,
     name TEXT NOT NULL,
     digest TEXT NOT NULL UNIQUE,
     created_at BIGINT NOT NULL,
     expires_at BIGINT,
     revoked_at BIGINT
   )`,
  `CREATE TABLE conversations (
     conversation_id TEXT NOT NULL PRIMARY KEY,
     app_id TEXT NOT NULL,
     "user" TEXT,
     created_at BIGINT NOT NULL,
     deleted BIGINT NOT NULL,
     version TEXT NOT NULL,
     next_sequence BIGINT NOT NULL
   )`,
  `CREATE INDEX conversations_by_app ON conversations (app_id)`,
  `CREATE TABLE messages (
     conversation_id TEXT NOT NULL,
     created_at BIGINT NOT NULL,
     sequence BIGINT NOT NULL,
     id TEXT NOT NULL,
     doc TEXT NOT NULL,
     PRIMARY KEY (conversation_id, created_at, sequence)
   )`,
  `CREATE UNIQUE INDEX messages_by_id ON messages (conversation_id, id)`,
  `CREATE TABLE datasets (
     id TEXT NOT NULL PRIMARY KEY,
     workspace_id TEXT NOT NULL,
     name TEXT NOT NULL
   )`,
  `CREATE TABLE documents (
     dataset_id TEXT NOT NULL,
     id TEXT NOT NULL,
     name TEXT NOT NULL,
     PRIMARY KEY (dataset_id, id)
   )`,
  `CREATE INDEX documents_by_id ON documents (id)`,
  `CREATE TABLE segments (
     dataset_id TEXT NOT NULL,
     id TEXT NOT NULL,
     document_id TEXT NOT NULL,
     position BIGINT NOT NULL,
     content TEXT NOT NULL,
     PRIMARY KEY (dataset_id, id)
   )`,
  `CREATE INDEX segments_by_id ON segments (id)`,
  `CREATE TABLE child_chunks (
     dataset_id TEXT NOT NULL,
     id TEXT NOT NULL,
     segment_id TEXT NOT NULL,
     content TEXT NOT NULL,
     position BIGINT NOT NULL,
     word_count BIGINT NOT NULL,
     type TEXT NOT NULL,
     created_at BIGINT NOT NULL,
     updated_at BIGINT NOT NULL,
     version TEXT NOT NULL,
     PRIMARY KEY (dataset_id, id)
   )`,
  `CREATE INDEX child_chunks_by_id ON child_chunks (id)`,
  `CREATE TABLE child_chunk_revisions (
     dataset_id TEXT NOT NULL,
     child_chunk_id TEXT NOT NULL,
     revision BIGINT NOT NULL,
     content TEXT NOT NULL,
     replaced_at BIGINT NOT NULL,
     key_id TEXT,
     PRIMARY KEY (dataset_id, child_chunk_id, revision)
   )`,
  `CREATE TABLE model_providers (
     workspace_id TEXT NOT NULL,
     provider TEXT NOT NULL,
     position BIGINT NOT NULL,
     doc TEXT NOT NULL,
     PRIMARY KEY (workspace_id, provider)
   )`,
  `CREATE TABLE model_entries (
     workspace_id TEXT NOT NULL,
     model_type TEXT NOT NULL,
     position BIGINT NOT NULL,
     entry TEXT NOT NULL,
     PRIMARY KEY (workspace_id, model_type, position)
   )`,
];

/**
 * The audit log is read by time, so its key begins with an id that sorts by time. An edit and its entry are on one node: the
 * entry has the `dataset_id` of the edit. An entry without a dataset has its own id there, which spreads entries over nodes.
 */
const audit: readonly string[] = [
  `ALTER TABLE api_keys ADD COLUMN last_used_at BIGINT`,
  `CREATE TABLE audit_entries (
     id TEXT NOT NULL,
     dataset_id TEXT NOT NULL,
     at BIGINT NOT NULL,
     key_id TEXT,
     action TEXT NOT NULL,
     record TEXT NOT NULL,
     count BIGINT NOT NULL,
     ids TEXT NOT NULL,
     PRIMARY KEY (id, dataset_id)
   )`,
];

/**
 * For the console: sessions, and indexes in the order of its lists. PostgreSQL cannot index texts of any length, so names
 * are sorted by their beginning.
 */
const console: readonly string[] = [
  `CREATE TABLE console_sessions (
     digest TEXT NOT NULL PRIMARY KEY,
     key_id TEXT NOT NULL,
     key_digest TEXT NOT NULL,
     created_at BIGINT NOT NULL,
     expires_at BIGINT NOT NULL
   )`,
  `CREATE INDEX documents_by_name ON documents (dataset_id, substr(name, 1, 200), id)`,
  `CREATE INDEX segments_by_position ON segments (dataset_id, document_id, position, id)`,
  `CREATE INDEX child_chunks_by_position ON child_chunks (dataset_id, segment_id, position, id)`,
];

const steps = (engine: keyof typeof usageSteps): readonly Migration[] => [
  { version: 1, name: 'first tables', statements: first },
  { version: 2, name: 'audit and last use of keys', statements: audit },
  { version: 3, name: 'sessions and lists of the console', statements: console },
  { version: 4, name: 'activity and usage by day', statements: usageSteps[engine] },
  { version: 5, name: 'lists of conversations', statements: conversationSteps[engine] },
  { version: 6, name: 'lists of knowledge bases', statements: knowledgeStep, afterCounting: recount },
  { version: 7, name: 'change feed', statements: changesSteps[engine] },
  { version: 8, name: 'imports that run again', statements: importStep },
  { version: 9, name: 'ratings by day, lists of all apps', statements: ratingSteps[engine] },
  { version: 10, name: 'filters of the audit log', statements: auditStep },
  { version: 11, name: 'search', statements: searchSteps[engine] },
  { version: 12, name: 'search index built again', statements: rebuildSteps[engine] },
  {
    version: 13,
    name: 'times of conversations that were imported',
    statements: ['ALTER TABLE conversations ADD COLUMN record_updated_at BIGINT'],
  },
];

/** Tables are clustered by their keys, so the messages of a page are stored together. Types are enforced. */
function forSqlite(statement: string): string {
  const translated = statement.replaceAll('BIGINT', 'INTEGER').replaceAll('DOUBLE PRECISION', 'REAL');
  return statement.startsWith('CREATE TABLE') ? `${translated} STRICT, WITHOUT ROWID` : translated;
}

/** Ids and texts compare by bytes, as they do in SQLite. */
function forPostgres(statement: string): string {
  return statement.replaceAll(' TEXT', ' TEXT COLLATE "C"');
}

const inDialect = (engine: keyof typeof usageSteps, toDialect: (statement: string) => string): readonly Migration[] =>
  steps(engine).map(({ statements, afterCounting, ...step }) => ({
    ...step,
    statements: statements.map(toDialect),
    ...(afterCounting && { afterCounting: afterCounting.map(toDialect) }),
  }));

export const sqliteMigrations = inDialect('sqlite', forSqlite);
export const postgresMigrations = inDialect('postgres', forPostgres);
export const latestVersion = Math.max(...sqliteMigrations.map(({ version }) => version));

/** How a distributed PostgreSQL stores the tables: small ones on every node, large ones by one column. */
export const distribution = {
  /** Needed to migrate. They are on every node, so that a service can use any node. */
  control: ['leases', 'schema_migrations'],
  reference: ['workspaces', 'apps', 'api_keys', 'datasets', 'model_providers', 'model_entries', 'console_sessions'],
  distributed: {
    conversations: 'conversation_id',
    messages: 'conversation_id',
    conversation_days: 'conversation_id',
    documents: 'dataset_id',
    segments: 'dataset_id',
    child_chunks: 'dataset_id',
    child_chunk_revisions: 'dataset_id',
    audit_entries: 'dataset_id',
    changes_new: 'scope',
    search_messages: 'conversation_id',
    search_chunks: 'dataset_id',
  },
  /** On one node: positions are one sequence, and only one process imports from a source. */
  single: ['changes_head', 'changes', 'import_sources', 'import_source_records', 'search_state'],
} as const;

export type SchemaStatus = {
  current: number;
  latest: number;
  pending: readonly Migration[];
  /** Tables that a started distribution over nodes has left to do. */
  undistributed: readonly string[];
};

export function statusAt(current: number, migrations: readonly Migration[]): SchemaStatus {
  if (current > latestVersion) {
    throw new Error(
      `the database has schema ${current}, newer than this program's ${latestVersion}: run a newer backscroll`,
    );
  }
  const pending = migrations.filter(({ version }) => version > current);
  return { current, latest: latestVersion, pending, undistributed: [] };
}
