import { lastActivity } from '../tables/conversation-columns.ts';
import { createChangeTables } from './create-change-tables.ts';
import { createLogTables } from './create-log-tables.ts';
import { createLeases, createMonitoringTables } from './create-monitoring-tables.ts';
import { createReviewTables } from './create-review-tables.ts';
import { createSearchTables } from './create-search-tables.ts';

/**
 * The tables, defined once for both engines. The key of every large table begins with its distribution column (see
 * `distribution`), so that the same schema can be sharded. There are no foreign keys, sequences or triggers. `details` has
 * the fields of a record that are only shown, as JSON.
 */

const configuration: readonly string[] = [
  `CREATE TABLE workspaces (
     id TEXT NOT NULL PRIMARY KEY,
     name TEXT NOT NULL
   )`,
  `CREATE TABLE apps (
     id TEXT NOT NULL PRIMARY KEY,
     workspace_id TEXT NOT NULL,
     name TEXT NOT NULL,
     mode TEXT NOT NULL,
     retention_days BIGINT,
     details TEXT
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
     revoked_at BIGINT,
     last_used_at BIGINT,
     read_only BIGINT NOT NULL DEFAULT 0,
     role TEXT
   )`,
  // `role_source`: the value at the identity provider that gave the role at the last sign-in.
  `CREATE TABLE persons (
     id TEXT NOT NULL PRIMARY KEY,
     issuer TEXT NOT NULL,
     subject TEXT NOT NULL,
     name TEXT NOT NULL,
     email TEXT,
     role TEXT NOT NULL,
     role_source TEXT,
     blocked BIGINT NOT NULL DEFAULT 0,
     last_seen_at BIGINT
   )`,
  `CREATE TABLE model_providers (
     workspace_id TEXT NOT NULL,
     provider TEXT NOT NULL,
     position BIGINT NOT NULL,
     doc TEXT NOT NULL,
     PRIMARY KEY (workspace_id, provider)
   )`,
  // Large texts are not sorted.
  'CREATE INDEX model_providers_by_position ON model_providers (workspace_id, position)',
  `CREATE TABLE model_entries (
     workspace_id TEXT NOT NULL,
     model_type TEXT NOT NULL,
     position BIGINT NOT NULL,
     entry TEXT NOT NULL,
     PRIMARY KEY (workspace_id, model_type, position)
   )`,
  `CREATE TABLE console_sessions (
     digest TEXT NOT NULL PRIMARY KEY,
     key_id TEXT,
     key_digest TEXT,
     person_id TEXT,
     sid TEXT,
     created_at BIGINT NOT NULL,
     expires_at BIGINT NOT NULL
   )`,
  'CREATE INDEX console_sessions_by_person ON console_sessions (person_id)',
  // Values of the installation, such as the period of retention in force.
  `CREATE TABLE service_values (
     name TEXT NOT NULL PRIMARY KEY,
     value TEXT NOT NULL
   )`,
];

/** PostgreSQL cannot index texts of any length, so users and names are sorted by their beginning. */
const beginning = (column: string): string => `substr(${column}, 1, 200)`;

/**
 * A conversation stores what its lists show of its first message, and an index for each order of the lists. Only
 * conversations that are not deleted are in the list of all apps. `counted` is what the totals of its user have of it, and
 * `counted_version` its version then.
 */
const messages: readonly string[] = [
  `CREATE TABLE conversations (
     conversation_id TEXT NOT NULL PRIMARY KEY,
     app_id TEXT NOT NULL,
     "user" TEXT,
     created_at BIGINT NOT NULL,
     updated_at BIGINT NOT NULL DEFAULT 0,
     record_updated_at BIGINT,
     renamed_at BIGINT,
     deleted BIGINT NOT NULL,
     hold BIGINT NOT NULL DEFAULT 0,
     version TEXT NOT NULL,
     counted_version TEXT NOT NULL DEFAULT '',
     counted TEXT,
     next_sequence BIGINT NOT NULL,
     has_large_messages BIGINT NOT NULL DEFAULT 0,
     first_message_at BIGINT,
     last_message_at BIGINT NOT NULL DEFAULT 0,
     name TEXT,
     derived_name TEXT,
     inputs TEXT,
     derived_inputs TEXT,
     introduction TEXT
   )`,
  'CREATE INDEX conversations_by_update ON conversations (app_id, deleted, updated_at, conversation_id)',
  'CREATE INDEX conversations_by_creation ON conversations (app_id, deleted, created_at, conversation_id)',
  `CREATE INDEX conversations_by_user_update
     ON conversations (app_id, deleted, ${beginning('"user"')}, updated_at DESC, conversation_id DESC)`,
  `CREATE INDEX conversations_by_user_creation
     ON conversations (app_id, deleted, ${beginning('"user"')}, created_at, conversation_id)`,
  'CREATE INDEX conversations_by_latest ON conversations (updated_at, conversation_id) WHERE deleted = 0',
  'CREATE INDEX conversations_uncounted ON conversations (conversation_id) WHERE counted_version <> version',
  `CREATE INDEX conversations_by_activity ON conversations (app_id, (${lastActivity}))`,
  // `rated_at` is the time of feedback that was given in Backscroll, so that an import keeps it. `feedback_at` is set if there is
  // feedback, `review_state` if there is a review, or if the message needs one: `new`. Lists of them by app use `listed_app_id`.
  `CREATE TABLE messages (
     conversation_id TEXT NOT NULL,
     created_at BIGINT NOT NULL,
     sequence BIGINT NOT NULL,
     id TEXT NOT NULL,
     doc TEXT NOT NULL,
     feedback_content TEXT,
     rated_at BIGINT,
     model_provider TEXT,
     model TEXT,
     trace_id TEXT,
     items TEXT,
     feedback_at BIGINT,
     review_state TEXT,
     listed_app_id TEXT,
     PRIMARY KEY (conversation_id, created_at, sequence)
   )`,
  // In this order it also finds a message by its id alone.
  'CREATE UNIQUE INDEX messages_by_message ON messages (id, conversation_id)',
  `CREATE INDEX messages_by_feedback ON messages (listed_app_id, feedback_at, id, conversation_id)
     WHERE feedback_at IS NOT NULL`,
  `CREATE TABLE conversation_days (
     conversation_id TEXT NOT NULL,
     day BIGINT NOT NULL,
     hour BIGINT NOT NULL DEFAULT 0,
     currency TEXT NOT NULL,
     model_provider TEXT NOT NULL DEFAULT '',
     model TEXT NOT NULL DEFAULT '',
     app_id TEXT NOT NULL,
     messages BIGINT NOT NULL,
     tokens DOUBLE PRECISION NOT NULL,
     price_nanos DOUBLE PRECISION NOT NULL,
     liked BIGINT NOT NULL DEFAULT 0,
     disliked BIGINT NOT NULL DEFAULT 0,
     failed BIGINT NOT NULL DEFAULT 0,
     PRIMARY KEY (conversation_id, day, hour, currency, model_provider, model)
   )`,
  // Requests of OpenAI clients that added items: `name` is the idempotency key, or `newest`. `items` has the ids of the items.
  `CREATE TABLE item_appends (
     conversation_id TEXT NOT NULL,
     name TEXT NOT NULL,
     digest TEXT NOT NULL,
     at BIGINT NOT NULL,
     items TEXT NOT NULL,
     PRIMARY KEY (conversation_id, name)
   )`,
  // What was erased: a conversation (without a message), or one message. Ids and the time, no text. `in_backups` is 1 once the store of backups has it.
  `CREATE TABLE tombstones (
     conversation_id TEXT NOT NULL,
     message_id TEXT NOT NULL,
     at BIGINT NOT NULL,
     in_backups BIGINT NOT NULL DEFAULT 0,
     PRIMARY KEY (conversation_id, message_id)
   )`,
  'CREATE INDEX tombstones_not_in_backups ON tombstones (at) WHERE in_backups = 0',
  'CREATE INDEX conversation_days_by_day ON conversation_days (day DESC, app_id, currency)',
  ...createReviewTables,
];

/**
 * Totals of users in an app, and in all apps with an empty `app_id`. They are derived from conversations, later than these are
 * written. A list is sorted by any of its columns.
 */
const users: readonly string[] = [
  `CREATE TABLE user_totals (
     user_key TEXT NOT NULL,
     app_id TEXT NOT NULL,
     "user" TEXT NOT NULL,
     app_ids TEXT NOT NULL,
     app_count BIGINT NOT NULL,
     conversations BIGINT NOT NULL,
     messages BIGINT NOT NULL,
     disliked BIGINT NOT NULL,
     failed BIGINT NOT NULL,
     prices TEXT NOT NULL,
     price_nanos BIGINT NOT NULL,
     currency TEXT NOT NULL,
     first_at BIGINT NOT NULL,
     last_at BIGINT NOT NULL,
     PRIMARY KEY (user_key, app_id)
   )`,
  'CREATE INDEX user_totals_by_user ON user_totals (app_id, user_key)',
  ...[
    ...['app_count', 'conversations', 'messages', 'disliked', 'failed'],
    ...['price_nanos', 'currency', 'first_at', 'last_at'],
  ].map((column) => `CREATE INDEX user_totals_by_${column} ON user_totals (app_id, ${column}, user_key)`),
];

const knowledge: readonly string[] = [
  `CREATE TABLE datasets (
     id TEXT NOT NULL PRIMARY KEY,
     workspace_id TEXT NOT NULL,
     name TEXT NOT NULL,
     tags TEXT NOT NULL DEFAULT '[]',
     created_at BIGINT NOT NULL DEFAULT 0,
     details TEXT
   )`,
  'CREATE INDEX datasets_by_time ON datasets (workspace_id, created_at DESC, id)',
  `CREATE TABLE documents (
     dataset_id TEXT NOT NULL,
     id TEXT NOT NULL,
     name TEXT NOT NULL,
     position BIGINT NOT NULL DEFAULT 0,
     created_at BIGINT NOT NULL DEFAULT 0,
     display_status TEXT NOT NULL DEFAULT 'available',
     segment_count BIGINT NOT NULL DEFAULT 0,
     word_count BIGINT NOT NULL DEFAULT 0,
     details TEXT,
     PRIMARY KEY (dataset_id, id)
   )`,
  'CREATE INDEX documents_by_id ON documents (id)',
  `CREATE INDEX documents_by_name ON documents (dataset_id, ${beginning('name')}, id)`,
  'CREATE INDEX documents_by_time ON documents (dataset_id, created_at DESC, position DESC, id)',
  `CREATE INDEX documents_by_status
     ON documents (dataset_id, display_status, created_at DESC, position DESC, id, word_count)`,
  `CREATE TABLE segments (
     dataset_id TEXT NOT NULL,
     id TEXT NOT NULL,
     document_id TEXT NOT NULL,
     position BIGINT NOT NULL,
     content TEXT NOT NULL,
     status TEXT NOT NULL DEFAULT 'completed',
     word_count BIGINT NOT NULL DEFAULT 0,
     details TEXT,
     PRIMARY KEY (dataset_id, id)
   )`,
  'CREATE INDEX segments_by_id ON segments (id)',
  'CREATE INDEX segments_by_position ON segments (dataset_id, document_id, position, id)',
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
     deleted BIGINT NOT NULL DEFAULT 0,
     details TEXT,
     PRIMARY KEY (dataset_id, id)
   )`,
  'CREATE INDEX child_chunks_by_id ON child_chunks (id)',
  'CREATE INDEX child_chunks_by_position ON child_chunks (dataset_id, segment_id, deleted, position, id)',
  `CREATE TABLE child_chunk_revisions (
     dataset_id TEXT NOT NULL,
     child_chunk_id TEXT NOT NULL,
     revision BIGINT NOT NULL,
     content TEXT NOT NULL,
     replaced_at BIGINT NOT NULL,
     key_id TEXT,
     person_id TEXT,
     review_message_id TEXT,
     PRIMARY KEY (dataset_id, child_chunk_id, revision)
   )`,
  `CREATE INDEX child_chunk_revisions_by_review ON child_chunk_revisions (review_message_id)
     WHERE review_message_id IS NOT NULL`,
];

const common = [...configuration, ...messages, ...users, ...knowledge, ...createLogTables, ...createMonitoringTables];

export const createTables = {
  sqlite: [...common, ...createLeases, ...createChangeTables.sqlite, ...createSearchTables.sqlite],
  postgres: [...common, ...createChangeTables.postgres, ...createSearchTables.postgres],
} as const;
