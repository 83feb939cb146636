import { DatabaseSync } from 'node:sqlite';

/** The tables of the straightforward design: messages, and a table for each of their parts. */

const tables = `
  PRAGMA journal_mode = WAL;
  CREATE TABLE api_keys (digest TEXT PRIMARY KEY, app_id TEXT NOT NULL, mode TEXT NOT NULL);
  CREATE TABLE conversations (id TEXT PRIMARY KEY, app_id TEXT NOT NULL, "user" TEXT);
  CREATE TABLE messages (
    id TEXT PRIMARY KEY, conversation_id TEXT NOT NULL, parent_message_id TEXT, inputs TEXT NOT NULL, query TEXT NOT NULL,
    answer TEXT NOT NULL, status TEXT NOT NULL, error TEXT, extra_contents TEXT NOT NULL, created_at INTEGER NOT NULL,
    message_tokens INTEGER NOT NULL, answer_tokens INTEGER NOT NULL, provider_response_latency REAL NOT NULL,
    total_price TEXT, currency TEXT
  );
  CREATE INDEX messages_by_time ON messages (conversation_id, created_at);
  CREATE TABLE message_files (id TEXT PRIMARY KEY, message_id TEXT NOT NULL, doc TEXT NOT NULL);
  CREATE INDEX message_files_of ON message_files (message_id);
  CREATE TABLE feedbacks (message_id TEXT PRIMARY KEY, rating TEXT NOT NULL);
  CREATE TABLE retriever_resources (
    id TEXT PRIMARY KEY, message_id TEXT NOT NULL, position INTEGER NOT NULL, dataset_id TEXT, dataset_name TEXT,
    document_id TEXT, document_name TEXT, data_source_type TEXT, segment_id TEXT, score REAL, hit_count INTEGER,
    word_count INTEGER, segment_position INTEGER, index_node_hash TEXT, content TEXT, summary TEXT, created_at INTEGER
  );
  CREATE INDEX retriever_resources_of ON retriever_resources (message_id);
  CREATE TABLE agent_thoughts (id TEXT PRIMARY KEY, message_id TEXT NOT NULL, doc TEXT NOT NULL);
  CREATE INDEX agent_thoughts_of ON agent_thoughts (message_id);`;

type Fields = Record<string, string | number | null>;
type MessageRecord = Fields & { retriever_resources?: Fields[] };

/** Creates the database file from lines of records. */
export function fillStraightforward(path: string, digest: string, lines: Iterable<string>): void {
  const db = new DatabaseSync(path);
  db.exec(`${tables} BEGIN`);
  const insert = (table: string, row: Fields) => {
    const names = Object.keys(row);
    const text = `INSERT INTO ${table} (${names.map((name) => `"${name}"`)}) VALUES (${names.map(() => '?')})`;
    prepare(text).run(...Object.values(row));
  };
  const statements = new Map<string, ReturnType<DatabaseSync['prepare']>>();
  const prepare = (text: string) => {
    const statement = statements.get(text) ?? db.prepare(text);
    statements.set(text, statement);
    return statement;
  };
  for (const text of lines) {
    for (const line of text.trimEnd().split('\n')) {
      const { record, ...fields } = JSON.parse(line) as MessageRecord;
      if (record === 'app') insert('api_keys', { digest, app_id: fields.id ?? '', mode: fields.mode ?? '' });
      if (record === 'conversation') insert('conversations', fields as Fields);
      if (record !== 'message') continue;
      const { retriever_resources = [], ...message } = fields;
      insert('messages', { inputs: '{}', status: 'normal', extra_contents: '[]', ...(message as Fields) });
      for (const resource of retriever_resources) insert('retriever_resources', resource);
    }
  }
  db.exec('COMMIT');
  db.close();
}
