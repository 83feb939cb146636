import type { Dialect } from '../engine.ts';

/** What PostgreSQL says differently. Every statement names the column its tables are distributed by. */

/**
 * A page, in four forms: with and without a first message, with and without a user. Every row carries the conversation's
 * version. Where that is the one that is held, and where there are no messages, one row comes back whose message is null.
 * A lateral subquery reads the range in order and stops. Joining the texts here would cost more than sending them one by
 * one. Parameters: [first_id,] held version, conversation_id, app_id[, user], count.
 */
export function findPage(hasFirst: boolean, hasUser: boolean): string {
  let at = 0;
  const next = () => `$${++at}`;
  const first = hasFirst ? next() : '';
  const [held, conversation, app] = [next(), next(), next()];
  const user = hasUser ? next() : '';
  const count = next();
  return `
    SELECT c.version, ${hasFirst ? 'f.id IS NOT NULL' : 'true'} AS first_message_exists, m.id, m.doc
    FROM conversations c
    ${hasFirst ? `LEFT JOIN messages f ON f.conversation_id = ${conversation} AND f.id = ${first}` : ''}
    LEFT JOIN LATERAL (
      SELECT id, doc, created_at, sequence FROM messages
      WHERE conversation_id = ${conversation} AND c.version <> ${held}
        ${hasFirst ? 'AND (created_at, sequence) < (f.created_at, f.sequence)' : ''}
      ORDER BY created_at DESC, sequence DESC LIMIT ${count}
    ) m ON true
    WHERE c.conversation_id = ${conversation} AND c.app_id = ${app} AND c.deleted = 0
      ${hasUser ? `AND c."user" = ${user}` : ''}
    ORDER BY m.created_at DESC, m.sequence DESC`;
}

/** For many pages at once that are held. Parameters: conversation ids. */
export const findVersions = `
  SELECT conversation_id, app_id, "user", version FROM conversations WHERE conversation_id = ANY($1) AND deleted = 0`;

export const dialect: Dialect = {
  among: (column) => `${column} = ANY(?)`,
  list: (values) => values,
  usageDays: 'conversation_days',
};

/**
 * Settles an edit and writes it, in one statement: `changed` touches the chunk only if it stands as `place` saw it, and
 * `kept` keeps the old text and `noted` tells of it only if `changed` did. No change where one was due means that another edit came between.
 * Parameters: dataset, workspace, document, segment, chunk; content, word_count, now, version, key_id, tags or null;
 * id and ids of the entry in the audit.
 */
export const updateChildChunk = `
  WITH place AS (
    SELECT o.id AS found_document, s.id AS found_segment, c.id, c.segment_id, c.content, c.position, c.word_count,
      c.type, c.created_at, c.updated_at, c.version
    FROM datasets d
    LEFT JOIN documents o ON o.dataset_id = $1 AND o.id = $3
    LEFT JOIN segments s ON s.dataset_id = $1 AND s.id = $4 AND s.document_id = $3
    LEFT JOIN child_chunks c ON c.dataset_id = $1 AND c.id = $5 AND c.segment_id = $4
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
  ), kept AS (
    INSERT INTO child_chunk_revisions (dataset_id, child_chunk_id, revision, content, replaced_at, key_id)
    SELECT $1, place.id, 1 + COALESCE((
        SELECT MAX(r.revision) FROM child_chunk_revisions r WHERE r.dataset_id = $1 AND r.child_chunk_id = $5
      ), 0), place.content, $8, $10
    FROM place, changed
    WHERE place.content <> $6
  ), noted AS (
    INSERT INTO audit_entries (id, dataset_id, at, key_id, action, record, count, ids)
    SELECT $12, $1, $8, $10, 'update', 'child_chunk', 1, $13 FROM changed
  )
  SELECT place.*, changed.updated_at AS changed_at FROM place LEFT JOIN changed ON true`;

/** An older note never replaces a newer one. Parameters: ids, moments. */
export const noteKeyUse = `
  UPDATE api_keys SET last_used_at = u.at FROM unnest($1::text[], $2::bigint[]) AS u (id, at)
  WHERE api_keys.id = u.id AND (api_keys.last_used_at IS NULL OR api_keys.last_used_at < u.at)`;

export const writeAudit = `
  INSERT INTO audit_entries (id, dataset_id, at, key_id, action, record, count, ids)
  SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[])`;

/**
 * Gives room for this many messages to each conversation, a version never used before, and the time of its newest message,
 * unless one of them moves another. Parameters: ids, room, salt, newest times by id.
 */
export const openConversations = `
  UPDATE conversations SET next_sequence = next_sequence + $2, version = $3 || '.' || conversation_id,
    last_message_at = CASE WHEN next_sequence = 1 THEN ($4::jsonb ->> conversation_id)::bigint
      ELSE GREATEST(last_message_at, ($4::jsonb ->> conversation_id)::bigint) END
  WHERE conversation_id = ANY($1) RETURNING conversation_id, app_id, next_sequence - $2 AS first_sequence`;

/** After messages have moved. Parameters: ids. */
export const settleActivity = `
  UPDATE conversations SET last_message_at = (
    SELECT MAX(m.created_at) FROM messages m WHERE m.conversation_id = conversations.conversation_id
  ) WHERE conversation_id = ANY($1)`;

export const insertMessages = `
  INSERT INTO messages (conversation_id, created_at, sequence, id, doc)
  SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[])
  ON CONFLICT (conversation_id, id) DO UPDATE SET created_at = excluded.created_at, doc = excluded.doc`;

/** Those of these messages that are there, with the fields that tell what they used. Parameters: conversation ids, ids. */
export const findMessages = `
  SELECT m.conversation_id, m.id, m.created_at, f.total_tokens, f.total_price, f.currency
  FROM unnest($1::text[], $2::text[]) AS given (conversation_id, id)
  JOIN messages m ON m.conversation_id = given.conversation_id AND m.id = given.id
  CROSS JOIN LATERAL json_to_record(CAST(m.doc AS json)) AS f (total_tokens float8, total_price text, currency text)
  WHERE m.conversation_id = ANY($1)`;

/** With the conversations known. */
export const deleteMessages = `
  WITH gone AS (DELETE FROM messages WHERE conversation_id = ANY($1) RETURNING 1) SELECT COUNT(*) AS n FROM gone`;

export const deleteDays = 'DELETE FROM conversation_days WHERE conversation_id = ANY($1)';

/** The texts that stand. Writing the rows holds them until the end of the transaction, so that no edit comes between. */
export const holdChunkTexts = `
  UPDATE child_chunks SET version = version WHERE dataset_id = $1 AND id = ANY($2) RETURNING id, content`;

/** Keeps the texts that stand as next revisions. Parameters: dataset_id, ids, replaced_at. */
export const keepRevisions = `
  INSERT INTO child_chunk_revisions (dataset_id, child_chunk_id, revision, content, replaced_at, key_id)
  SELECT c.dataset_id, c.id, 1 + COALESCE((
      SELECT MAX(r.revision) FROM child_chunk_revisions r WHERE r.dataset_id = $1 AND r.child_chunk_id = c.id
    ), 0), c.content, CAST($3 AS BIGINT), NULL
  FROM child_chunks c WHERE c.dataset_id = $1 AND c.id = ANY($2)`;

/** Leases stand in a table, since distributed engines have no advisory locks. */
export const leaseTable = `
  CREATE TABLE IF NOT EXISTS leases (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    holder TEXT COLLATE "C" NOT NULL,
    expires_at BIGINT NOT NULL
  )`;

/** Parameters: name, holder, expires_at, now. A row comes back where the lease is ours. */
export const takeLease = `
  INSERT INTO leases (name, holder, expires_at) VALUES ($1, $2, $3)
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
  WHERE leases.expires_at < $4 OR leases.holder = excluded.holder
  RETURNING holder`;

/** Held until the end of the transaction by the lock on its row. */
export const lockImports = `
  INSERT INTO leases (name, holder, expires_at) VALUES ('import', '', 0)
  ON CONFLICT (name) DO UPDATE SET expires_at = leases.expires_at + 1`;
