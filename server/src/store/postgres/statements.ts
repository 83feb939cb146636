import { limits } from '../../contract/limits.ts';
import type { Dialect, SearchDialect } from '../engine.ts';
import { derivedColumns, updatedAt } from '../messages/conversation-columns.ts';

/** SQL for PostgreSQL only. Every statement names the distribution column of its tables. */

/** The columns to read for each message of a page. PostgreSQL gets the length of a text without loading the text. */
export const pageColumns = {
  /** Without large texts: the page may be too large for memory. */
  smallTexts: `m.id, octet_length(m.doc) AS bytes,
      CASE WHEN octet_length(m.doc) <= ${limits.joinedDocBytesMax} THEN m.doc END AS doc`,
  /** For a page that fits into memory. */
  allTexts: 'm.id, octet_length(m.doc) AS bytes, m.doc',
  /** For a page that does not fit into memory. */
  positions: 'm.id, octet_length(m.doc) AS bytes, m.created_at, m.sequence',
};

/**
 * A page, in four forms: with and without a first message, with and without a user. Every row carries the conversation's
 * version. If that is the cached version, or if there are no messages, the result is one row whose message is null. A
 * lateral subquery reads the range in order and stops at the limit. Joining the texts in SQL would cost more than sending
 * them as rows. Parameters: [first_id,] cached version, conversation_id, app_id[, user], count.
 */
export function pageStatement(hasFirst: boolean, hasUser: boolean, columns: string = pageColumns.smallTexts): string {
  let parameters = 0;
  const next = () => `$${++parameters}`;
  const first = hasFirst ? next() : '';
  const [cached, conversation, app] = [next(), next(), next()];
  const user = hasUser ? next() : '';
  const count = next();
  return `
    SELECT c.version, ${hasFirst ? 'f.id IS NOT NULL' : 'true'} AS first_message_exists, ${columns}
    FROM conversations c
    ${hasFirst ? `LEFT JOIN messages f ON f.conversation_id = ${conversation} AND f.id = ${first}` : ''}
    LEFT JOIN LATERAL (
      SELECT id, doc, created_at, sequence FROM messages
      WHERE conversation_id = ${conversation} AND c.version <> ${cached}
        ${hasFirst ? 'AND (created_at, sequence) < (f.created_at, f.sequence)' : ''}
      ORDER BY created_at DESC, sequence DESC LIMIT ${count}
    ) m ON true
    WHERE c.conversation_id = ${conversation} AND c.app_id = ${app} AND c.deleted = 0
      ${hasUser ? `AND c."user" = ${user}` : ''}
    ORDER BY m.created_at DESC, m.sequence DESC`;
}

/** Texts by their positions in one conversation. Parameters: conversation_id, created_at, sequence. */
export const findDocs = `
  SELECT m.doc FROM unnest($2::bigint[], $3::bigint[]) WITH ORDINALITY AS given (created_at, sequence, place)
  JOIN messages m ON m.conversation_id = $1 AND m.created_at = given.created_at AND m.sequence = given.sequence
  WHERE m.conversation_id = $1 ORDER BY given.place`;

/** Checks many cached pages in one query. Parameters: conversation ids. */
export const findVersions = `
  SELECT conversation_id, app_id, "user", version FROM conversations WHERE conversation_id = ANY($1) AND deleted = 0`;

/** Tokens have no quotation marks and no backslashes. */
const search: SearchDialect = {
  from: { search_messages: 'search_messages s', search_chunks: 'search_chunks s' },
  position: 's.position',
  matches: { search_messages: 's.tokens @@ CAST(? AS tsquery)', search_chunks: 's.tokens @@ CAST(? AS tsquery)' },
  isIndexed: { search_messages: 's.tokens IS NOT NULL', search_chunks: 's.tokens IS NOT NULL' },
  tokensOfEntry: 'tsvector_to_array(s.tokens)',
  queryOf: (tokens) =>
    tokens
      .map((list) => `(${list.map(({ token, isPrefix }) => `'${token}'${isPrefix ? ':*' : ''}`).join(' | ')})`)
      .join(' & '),
};

export const dialect: Dialect = {
  search,
  isIn: (column) => `${column} = ANY(?)`,
  list: (values) => values,
  isPair: (first, second) => `${first} = ANY(?) AND ${second} = ANY(?)`,
  pairs: (pairs) => [0, 1].map((part) => [...new Set(pairs.map((pair) => pair[part] as string))]),
  listTable: 'unnest(CAST(? AS text[])) AS listed (value)',
  jsonField: (column, name) => `CAST(${column} AS json) ->> '${name}'`,
  readsCursorFirst: false,
};

/**
 * Decides an edit and writes it, in one statement. `changed` updates the chunk only if it still has the version that `place`
 * has read. `revision` stores the old text and `entry` adds to the audit log only if `changed` has updated the chunk. If
 * nothing was updated although the edit should have been written, another edit came first.
 * Parameters: dataset, workspace, document, segment, chunk; content, word_count, now, version, key_id, tags or null;
 * id and ids of the audit entry; id and text of the note for the change feed; without an id there is none.
 */
export const updateChildChunk = `
  WITH place AS (
    SELECT o.id AS found_document, s.id AS found_segment, c.id, c.segment_id, c.content, c.position, c.word_count,
      c.type, c.created_at, c.updated_at, c.version
    FROM datasets d
    LEFT JOIN documents o ON o.dataset_id = $1 AND o.id = $3
    LEFT JOIN segments s ON s.dataset_id = $1 AND s.id = $4 AND s.document_id = $3
    LEFT JOIN child_chunks c ON c.dataset_id = $1 AND c.id = $5 AND c.segment_id = $4 AND c.deleted = 0
    WHERE d.id = $1 AND d.workspace_id = $2
  ), changed AS (
    UPDATE child_chunks SET content = $6, word_count = $7, type = 'customized',
      updated_at = GREATEST(child_chunks.updated_at, $8), version = $9
    FROM place
    WHERE child_chunks.dataset_id = $1 AND child_chunks.id = $5
      AND place.found_document IS NOT NULL AND place.found_segment IS NOT NULL AND place.id IS NOT NULL
      AND child_chunks.version = place.version
      AND NOT (place.content = $6 AND place.type = 'customized')
      AND ($11::text[] IS NULL OR place.version = ANY($11::text[]))
    RETURNING child_chunks.updated_at
  ), revision AS (
    INSERT INTO child_chunk_revisions (dataset_id, child_chunk_id, revision, content, replaced_at, key_id)
    SELECT $1, place.id, 1 + COALESCE((
        SELECT MAX(r.revision) FROM child_chunk_revisions r WHERE r.dataset_id = $1 AND r.child_chunk_id = $5
      ), 0), place.content, $8, $10
    FROM place, changed
    WHERE place.content <> $6
  ), entry AS (
    INSERT INTO audit_entries (id, scope, at, key_id, action, record, count, ids, document_id)
    SELECT $12, $1, $8, $10, 'update', 'child_chunk', 1, $13, $3 FROM changed
  ), note AS (
    INSERT INTO changes_new (id, scope, at, notes) SELECT $14, $1, $8, $15 FROM changed WHERE $14 <> ''
  )
  SELECT place.*, changed.updated_at AS changed_at FROM place LEFT JOIN changed ON true`;

/** An older time never replaces a newer one. Parameters: ids, times. */
export const noteKeyUse = `
  UPDATE api_keys SET last_used_at = u.at FROM unnest($1::text[], $2::bigint[]) AS u (id, at)
  WHERE api_keys.id = u.id AND (api_keys.last_used_at IS NULL OR api_keys.last_used_at < u.at)`;

export const writeAudit = `
  INSERT INTO audit_entries (id, scope, at, key_id, action, record, count, ids, document_id)
  SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[],
    $9::text[])`;

/**
 * What a conversation stores about its first and newest messages after new ones were added. `newest`, `created_at` (of the
 * oldest new one), `derived_name` and `derived_inputs` are expressions. If a stored message is replaced, `updateActivity`
 * corrects this.
 */
export function addedMessages(value: (name: string) => string): string {
  const isFirst = `(next_sequence = 1 OR ${value('created_at')} < first_message_at)`;
  const ofFirst = (column: string, name: string) =>
    `${column} = CASE WHEN ${isFirst} THEN ${value(name)} ELSE ${column} END`;
  return `
    last_message_at = CASE WHEN next_sequence = 1 THEN ${value('newest')}
      ELSE GREATEST(last_message_at, ${value('newest')}) END,
    updated_at = GREATEST(updated_at, ${value('newest')}),
    ${ofFirst('first_message_at', 'created_at')}, ${ofFirst('derived_name', 'derived_name')},
    ${ofFirst('derived_inputs', 'derived_inputs')}`;
}

const isTime = (name: string) => name === 'newest' || name === 'created_at';
/**
 * Sets a new version of each conversation and what it stores about its messages, and reserves sequences for this many
 * messages. Parameters: ids, count, unique part of the version, values of `addedMessages` by id.
 */
export const openConversations = `
  UPDATE conversations SET next_sequence = next_sequence + $2, version = $3 || '.' || conversation_id,
    ${addedMessages((name) => `($4::jsonb -> conversation_id ->> '${name}')${isTime(name) ? '::bigint' : ''}`)}
  WHERE conversation_id = ANY($1)
  RETURNING conversation_id, app_id, next_sequence - $2 AS first_sequence, first_message_at`;

const inConversation = 'FROM messages m WHERE m.conversation_id = conversations.conversation_id';
const newestTime = `(SELECT MAX(m.created_at) ${inConversation})`;
const ofFirst = (columns: string) => `(SELECT ${columns} ${inConversation} ORDER BY m.created_at, m.sequence LIMIT 1)`;
const { derived_name, derived_inputs } = derivedColumns.postgres;
/** Recomputes what conversations store about their messages. Parameters: ids. */
export const updateActivity = `
  UPDATE conversations SET last_message_at = ${newestTime},
    (first_message_at, derived_name, derived_inputs) = ${ofFirst(`m.created_at, ${derived_name}, ${derived_inputs}`)},
    updated_at = ${updatedAt('created_at', newestTime, 'renamed_at', 'record_updated_at')}
  WHERE conversation_id = ANY($1)`;

export const insertMessages = `
  INSERT INTO messages (conversation_id, created_at, sequence, id, doc, feedback_content, rated_at)
  SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::bigint[])
  ON CONFLICT (conversation_id, id) DO UPDATE SET created_at = excluded.created_at, doc = excluded.doc,
    feedback_content = excluded.feedback_content, rated_at = excluded.rated_at`;

/** The fields of a stored message `m` for its usage, and those that a record may omit. */
export const storedFields = `m.conversation_id, m.id, m.created_at, f.total_tokens, f.total_price, f.currency, f.feedback,
    f.inputs, f.status, m.feedback_content, m.rated_at`;
export const parseStored = `CROSS JOIN LATERAL json_to_record(CAST(m.doc AS json))
    AS f (total_tokens float8, total_price text, currency text, feedback text, inputs text, status text)`;

/**
 * Which of these messages exist. Parameters: conversation ids, ids. `LIMIT` makes PostgreSQL look up each message in the index.
 * Otherwise it reads the whole table for each statement, as long as it has no statistics of the table.
 */
export const findMessages = `
  SELECT ${storedFields}
  FROM unnest($1::text[], $2::text[]) AS given (conversation_id, id)
  CROSS JOIN LATERAL (
    SELECT * FROM messages WHERE conversation_id = given.conversation_id AND id = given.id LIMIT 1
  ) m
  ${parseStored}`;

/** The rows stay locked until the end of the transaction. Parameters: conversation ids. */
export const lockConversations = `
  UPDATE conversations SET version = version WHERE conversation_id = ANY($1) RETURNING conversation_id, deleted`;

/** Parameters: conversation ids. */
export const deleteMessages = `
  WITH deleted AS (DELETE FROM messages WHERE conversation_id = ANY($1) RETURNING 1) SELECT COUNT(*) AS n FROM deleted`;

export const deleteDays = 'DELETE FROM conversation_days WHERE conversation_id = ANY($1)';

/** The current texts. Updating the rows locks them until the end of the transaction, so that no edit can interfere. */
export const lockChunkTexts = `
  UPDATE child_chunks SET version = version WHERE dataset_id = $1 AND id = ANY($2) RETURNING id, content`;

/** Stores the current texts as the next revisions. Parameters: dataset_id, ids, replaced_at. */
export const addRevisions = `
  INSERT INTO child_chunk_revisions (dataset_id, child_chunk_id, revision, content, replaced_at, key_id)
  SELECT c.dataset_id, c.id, 1 + COALESCE((
      SELECT MAX(r.revision) FROM child_chunk_revisions r WHERE r.dataset_id = $1 AND r.child_chunk_id = c.id
    ), 0), c.content, CAST($3 AS BIGINT), NULL
  FROM child_chunks c WHERE c.dataset_id = $1 AND c.id = ANY($2)`;

/** Parameters: dataset ids, ids. */
export const findDocumentPositions = `
  SELECT id, position FROM documents WHERE dataset_id = ANY($1) AND id = ANY($2)`;
export const findHighestPositions = `
  SELECT dataset_id, MAX(position) AS position FROM documents WHERE dataset_id = ANY($1) GROUP BY dataset_id`;
export const findSegmentWords = `
  SELECT id, word_count FROM segments WHERE dataset_id = ANY($1) AND id = ANY($2)`;

/**
 * Adds to the counts of documents, all of which exist. It is an upsert, since a distributed engine rejects an UPDATE that
 * joins a list. Parameters: dataset ids, ids, segments, words.
 */
export const addDocumentCounts = `
  INSERT INTO documents (dataset_id, id, segment_count, word_count, name)
  SELECT *, '' FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[])
  ON CONFLICT (dataset_id, id) DO UPDATE SET segment_count = documents.segment_count + excluded.segment_count,
    word_count = documents.word_count + excluded.word_count`;

/** Leases are rows of a table, since distributed engines have no advisory locks. */
export const leaseTable = `
  CREATE TABLE IF NOT EXISTS leases (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    holder TEXT COLLATE "C" NOT NULL,
    expires_at BIGINT NOT NULL
  )`;

/** Returns a row if the lease was acquired. Parameters: name, holder, expires_at, now. */
export const takeLease = `
  INSERT INTO leases (name, holder, expires_at) VALUES ($1, $2, $3)
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
  WHERE leases.expires_at < $4 OR leases.holder = excluded.holder
  RETURNING holder`;

/** The row stays locked until the end of the transaction. */
export const lockImports = `
  INSERT INTO leases (name, holder, expires_at) VALUES ('import', '', 0)
  ON CONFLICT (name) DO UPDATE SET expires_at = leases.expires_at + 1`;

/** Of the tables that grow with imports. */
export const updateStatistics = 'ANALYZE conversations, messages, documents, segments, child_chunks';
