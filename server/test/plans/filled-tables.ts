/**
 * Enough rows in each large table of PostgreSQL that a sequential scan would be the worse plan: of many apps and datasets, and many
 * in one conversation, document and segment. SQLite plans without looking at the rows.
 */
const rows = (table: string, columns: string, count: number): string =>
  `INSERT INTO ${table} SELECT ${columns} FROM generate_series(1, ${count}) i`;

const words = `array_to_tsvector(ARRAY['often', 'w' || i] || CASE WHEN i % 5000 = 1 THEN ARRAY['rare'] ELSE '{}' END)`;

export const filledTables: readonly string[] = [
  rows('workspaces (id, name)', `'w' || i, 'w'`, 2_000),
  rows('apps (id, workspace_id, name, mode)', `'a' || i, 'w' || i, 'a', 'chat'`, 2_000),
  rows('api_keys (id, kind, name, digest, created_at)', `'k' || i, 'admin', 'n', 'x' || i, i`, 5_000),
  rows('persons (id, issuer, subject, name, role)', `'p' || i, 'i', 's' || i, 'n', 'viewer'`, 5_000),
  rows(
    'console_sessions (digest, key_id, key_digest, created_at, expires_at)',
    `'y' || i, 'k' || i, 'x' || i, 1, 9`,
    5_000,
  ),
  rows('model_providers (workspace_id, provider, position, doc)', `'w' || i % 500, 'p' || i, i, '{}'`, 5_000),
  rows('model_entries (workspace_id, model_type, position, entry)', `'w' || i % 500, 'llm', i, '{}'`, 5_000),
  rows(
    'conversations (conversation_id, app_id, "user", created_at, updated_at, deleted, version, counted_version, next_sequence, last_message_at)',
    `'c' || i, 'a' || i % 100, 'u' || i % 1000, i, i, CASE WHEN i % 7 = 0 THEN 1 ELSE 0 END, 'v', 'v', 1, i`,
    20_000,
  ),
  rows(
    'messages (conversation_id, created_at, sequence, id, doc, review_state, listed_app_id)',
    `'c' || i, i, 1, 'm' || i, '{}', CASE WHEN i % 20 = 0 THEN 'new' WHEN i % 30 = 0 THEN 'open' END, 'a' || i % 100`,
    20_000,
  ),
  rows('messages (conversation_id, created_at, sequence, id, doc)', `'c1', i + 100000, i, 'n' || i, '{}'`, 20_000),
  rows(
    'reviews (conversation_id, message_id, app_id, state, labels, updated_at, version)',
    `'c' || 30 * i, 'm' || 30 * i, 'a' || 30 * i % 100, 'open', '["price"]', i, 'v'`,
    600,
  ),
  ...[0, 1].map((later) =>
    rows(
      'conversation_days (conversation_id, day, currency, app_id, messages, tokens, price_nanos)',
      `'c' || i, i / 1000 + ${later}, 'USD', 'a' || i % 100, 1, 1, 1`,
      20_000,
    ),
  ),
  rows(
    'user_totals (user_key, app_id, "user", app_ids, app_count, conversations, messages, disliked, failed, prices, price_nanos, currency, first_at, last_at)',
    `'u' || i, 'a' || i % 2, 'u' || i, '[]', i % 3, i % 5, i, i, i, '[]', i, 'c' || i % 9, i, i`,
    10_000,
  ),
  rows('item_appends (conversation_id, name, digest, at, items)', `'c' || i, 'newest', 'd', i, '[]'`, 5_000),
  rows('tombstones (conversation_id, message_id, at, in_backups)', `'t' || i, '', i, 1`, 5_000),
  rows('datasets (id, workspace_id, name, created_at)', `'d' || i, 'w' || i % 8, 'name ' || i, i`, 2_000),
  rows(
    'documents (dataset_id, id, name, position, created_at, display_status, word_count)',
    `'d' || i % 8, 'o' || i, 'name ' || i % 100, i, i % 100, CASE i % 3 WHEN 0 THEN 'available' ELSE 'disabled' END, i`,
    20_000,
  ),
  rows(
    'segments (dataset_id, id, document_id, position, content)',
    `'d1', 's' || i, CASE i % 5 WHEN 0 THEN 'o' || i ELSE 'o1' END, i, repeat('text ', 60)`,
    20_000,
  ),
  rows(
    'child_chunks (dataset_id, id, segment_id, content, position, word_count, type, created_at, updated_at, version, deleted)',
    `'d1', 'h' || i, CASE i % 2 WHEN 0 THEN 's' || i ELSE 's1' END, repeat('text ', 60), i, 1, 'automatic', 1, 1, 'v', i % 5 / 4`,
    20_000,
  ),
  rows(
    'child_chunk_revisions (dataset_id, child_chunk_id, revision, content, replaced_at)',
    `'d1', 'h' || i % 2000, i, 'text', 1`,
    10_000,
  ),
  rows(
    'audit_entries (id, scope, at, key_id, action, record, count, ids, document_id)',
    `'00' || lpad(i::text, 10, '0'), 'd' || i % 500, i, 'k' || i % 500, CASE i % 50 WHEN 0 THEN 'update' ELSE 'import' END, 'message', 1, '[]',
     CASE i % 50 WHEN 0 THEN 'o1' END`,
    20_000,
  ),
  rows(
    'audit_reads (id, at, key_id, operation, conversation_id, "user")',
    `'r' || i, extract(epoch FROM now())::bigint - i, 'k' || i % 500, 'search', 'c' || i, 'u' || i`,
    20_000,
  ),
  rows(
    'changes (position, kind, scope, id, at, workspace_id)',
    `i + 1000000, 'message', 'c' || i, 'm' || i, i, 'w' || i % 500`,
    20_000,
  ),
  rows(
    'search_messages (position, conversation_id, id, created_at, latency, tokens)',
    `i * 65536, 'c' || i, 'm' || i, i, 1, ${words}`,
    20_000,
  ),
  rows(
    'search_citations (dataset_id, document_id, segment_id, day, part, answers, disliked)',
    `'d' || i % 100, 'o' || i % 1000, '', i / 1000, '', 9, CASE WHEN i % 50 = 0 THEN 1 ELSE 0 END`,
    20_000,
  ),
];
