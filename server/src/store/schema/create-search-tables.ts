/**
 * The tables of the search. `search_messages` has a row for each indexed message, at a position that sorts by time;
 * `search_chunks` has one for each segment and child chunk. The tokens are in FTS5 tables on the embedded engine, and in
 * `tsvector` columns on PostgreSQL. `search_state` has one row: how far the indexer has read the change feed, and which
 * process indexes until when.
 */

const state: readonly string[] = [
  `CREATE TABLE search_state (
     name TEXT NOT NULL PRIMARY KEY,
     cursor TEXT NOT NULL,
     rules TEXT NOT NULL,
     holder TEXT NOT NULL,
     expires_at BIGINT NOT NULL
   )`,
  `INSERT INTO search_state (name, cursor, rules, holder, expires_at) VALUES ('state', '', '', '', 0)`,
];

const messageColumns = `
     conversation_id TEXT NOT NULL,
     id TEXT NOT NULL,
     created_at BIGINT NOT NULL,
     "user" TEXT,
     cost DOUBLE PRECISION,
     latency DOUBLE PRECISION NOT NULL,
     waits_until BIGINT,
     cited TEXT`;

const chunkColumns = `
     dataset_id TEXT NOT NULL,
     kind TEXT NOT NULL,
     id TEXT NOT NULL`;

/** See `CitationTally`. */
const citations: readonly string[] = [
  `CREATE TABLE search_citations (
     dataset_id TEXT NOT NULL,
     document_id TEXT NOT NULL,
     segment_id TEXT NOT NULL,
     day BIGINT NOT NULL,
     part TEXT NOT NULL,
     answers BIGINT NOT NULL,
     disliked BIGINT NOT NULL,
     PRIMARY KEY (dataset_id, document_id, segment_id, day, part)
   )`,
  `CREATE INDEX search_citations_of_parts ON search_citations (part) WHERE part <> ''`,
  `CREATE INDEX search_citations_of_bases ON search_citations (day, dataset_id, answers, disliked) WHERE document_id = ''`,
  `CREATE INDEX search_citations_of_documents
     ON search_citations (dataset_id, day, document_id, answers, disliked) WHERE segment_id = ''`,
  `CREATE INDEX search_citations_disliked
     ON search_citations (day, dataset_id, document_id, segment_id, disliked) WHERE disliked <> 0`,
];

/**
 * FTS5 without a copy of the texts, and without the positions of words: phrases are checked in the stored texts. To remove
 * a message, its tokens are given: then nothing of them stays in the file. A replaced chunk's text is stored as a revision
 * anyway, so its entry is only marked as deleted.
 */
const fts = (name: string, options: string): readonly string[] => [
  `CREATE VIRTUAL TABLE ${name} USING fts5(tokens, content='', detail=none, tokenize='ascii', ${options})`,
];

export const createSearchTables = {
  sqlite: [
    ...state,
    ...citations,
    `CREATE TABLE search_messages (position BIGINT NOT NULL PRIMARY KEY, ${messageColumns}, filter_terms TEXT)`,
    'CREATE UNIQUE INDEX search_messages_by_id ON search_messages (conversation_id, id)',
    ...fts('search_message_tokens', 'columnsize=0'),
    `INSERT INTO search_message_tokens (search_message_tokens, rank) VALUES ('secure-delete', 1)`,
    `CREATE TABLE search_chunks (position BIGINT NOT NULL PRIMARY KEY, ${chunkColumns})`,
    'CREATE UNIQUE INDEX search_chunks_by_id ON search_chunks (dataset_id, kind, id)',
    ...fts('search_chunk_tokens', 'contentless_delete=1'),
  ],
  postgres: [
    ...state,
    ...citations,
    `CREATE TABLE search_messages (
       position BIGINT NOT NULL, ${messageColumns}, tokens tsvector, PRIMARY KEY (conversation_id, id))`,
    'CREATE INDEX search_messages_by_position ON search_messages (position)',
    'CREATE INDEX search_messages_by_token ON search_messages USING gin (tokens)',
    `CREATE TABLE search_chunks (
       position BIGINT NOT NULL, ${chunkColumns}, tokens tsvector, PRIMARY KEY (dataset_id, kind, id))`,
    'CREATE INDEX search_chunks_by_position ON search_chunks (position)',
    'CREATE INDEX search_chunks_by_token ON search_chunks USING gin (tokens)',
  ],
} as const;
