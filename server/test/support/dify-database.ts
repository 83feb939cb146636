/** A small Dify: the tables and columns that docs/from-dify/records.sql reads, and a few rows with edge cases. */

const id = (nth: number): string => `2b1c7a0e-54b5-4e0c-9d6c-0d5a3f6f1b${nth.toString().padStart(2, '0')}`;

export const ids = {
  workspace: id(1),
  app: id(2),
  user: id(3),
  conversation: id(4),
  deleted: id(5),
  dataset: id(6),
  document: id(7),
  segment: id(8),
  chunk: id(9),
  upload: id(10),
};

export const tokens = { app: `app-${'Ab3'.repeat(8)}`, dataset: `dataset-${'Cd4'.repeat(8)}` };

export const difyTables = `
CREATE TABLE tenants (id uuid, name varchar);
CREATE TABLE apps (id uuid, tenant_id uuid, name varchar, mode varchar);
CREATE TABLE api_tokens (id uuid, app_id uuid, tenant_id uuid, type varchar, token varchar, created_at timestamp);
CREATE TABLE end_users (id uuid, session_id varchar);
CREATE TABLE conversations (id uuid, app_id uuid, from_end_user_id uuid, is_deleted boolean, created_at timestamp);
CREATE TABLE messages (
  id uuid, conversation_id uuid, parent_message_id uuid, inputs json, query text, answer text, status varchar,
  error text, message_metadata text, message_tokens integer, answer_tokens integer,
  provider_response_latency double precision, total_price numeric(10, 7), currency varchar, created_at timestamp);
CREATE TABLE message_feedbacks (message_id uuid, rating varchar, from_source varchar, created_at timestamp);
CREATE TABLE message_files (
  id uuid, message_id uuid, type varchar, transfer_method varchar, url text, belongs_to varchar, upload_file_id uuid,
  created_at timestamp);
CREATE TABLE upload_files (id uuid, name varchar, size integer, mime_type varchar);
CREATE TABLE message_agent_thoughts (
  id uuid, message_id uuid, message_chain_id uuid, position integer, thought text, tool text, tool_labels_str text,
  tool_input text, observation text, message_files text, created_at timestamp);
CREATE TABLE datasets (id uuid, tenant_id uuid, name varchar);
CREATE TABLE documents (id uuid, dataset_id uuid, name varchar);
CREATE TABLE document_segments (id uuid, document_id uuid, position integer, content text);
CREATE TABLE child_chunks (
  id uuid, segment_id uuid, position integer, content text, word_count integer, type varchar, created_at timestamp,
  updated_at timestamp);
`;

const citations = JSON.stringify({
  retriever_resources: [
    {
      position: 1,
      dataset_id: ids.dataset,
      dataset_name: 'Handbook',
      document_id: ids.document,
      document_name: 'guide.md',
      data_source_type: 'upload_file',
      segment_id: ids.segment,
      retriever_from: 'api',
      score: 0.75,
      content: "It's unplugged.",
    },
    { position: 2, dataset_id: ids.dataset, document_id: ids.document, segment_id: null, content: 'from the web' },
  ],
}).replaceAll("'", "''");

const at = (seconds: number) => `to_timestamp(${seconds}) AT TIME ZONE 'UTC'`;

/** The INSERT statement of one message. */
function message(nth: number, seconds: number, query: string, more: Record<string, string> = {}): string {
  const columns: Record<string, string> = {
    id: `'${id(nth)}'`,
    conversation_id: `'${ids.conversation}'`,
    inputs: "'{}'",
    query: `'${query}'`,
    answer: "'answer'",
    status: "'normal'",
    message_tokens: '0',
    answer_tokens: '0',
    provider_response_latency: '0',
    currency: "'USD'",
    created_at: at(seconds),
    ...more,
  };
  return `INSERT INTO messages (${Object.keys(columns)}) VALUES (${Object.values(columns)});`;
}

// The order in time differs from the order of the ids and of the rows.
const [first, second, third] = [23, 22, 21];

export const difyRows = `
INSERT INTO tenants VALUES ('${ids.workspace}', 'Example');
INSERT INTO apps VALUES ('${ids.app}', '${ids.workspace}', 'Help desk', 'advanced-chat');
INSERT INTO api_tokens VALUES ('${id(31)}', '${ids.app}', NULL, 'app', '${tokens.app}', ${at(1793600000.5)});
INSERT INTO api_tokens VALUES ('${id(32)}', NULL, '${ids.workspace}', 'dataset', '${tokens.dataset}', ${at(1793600000)});
INSERT INTO api_tokens VALUES ('${id(33)}', '${id(99)}', NULL, 'app', 'app-of-an-app-that-is-gone', ${at(1793600000)});
INSERT INTO end_users VALUES ('${ids.user}', 'visitor-1');
INSERT INTO conversations VALUES ('${ids.conversation}', '${ids.app}', '${ids.user}', false, ${at(1793600000)});
INSERT INTO conversations VALUES ('${ids.deleted}', '${ids.app}', NULL, true, ${at(1793600000)});
${message(third, 1793600002, 'third', { status: "'error'", error: "'the model did not answer'", message_metadata: "''" })}
${message(second, 1793600001.9, 'second', { status: "'paused'", message_metadata: "'{}'" })}
${message(first, 1793600001.1, 'first', {
  inputs: `E'{\\n "city": "Oslo\\\\n"}'`,
  message_metadata: `'${citations}'`,
  message_tokens: '9',
  answer_tokens: '7',
  provider_response_latency: '1.25',
  total_price: '0.000021',
})}
INSERT INTO message_feedbacks VALUES ('${id(second)}', 'like', 'admin', ${at(1793600009)});
INSERT INTO message_feedbacks VALUES ('${id(second)}', 'dislike', 'user', ${at(1793600008)});
INSERT INTO upload_files VALUES ('${ids.upload}', 'plan.pdf', 1234, 'application/pdf');
INSERT INTO message_files VALUES
  ('${id(41)}', '${id(first)}', 'document', 'local_file', NULL, 'user', '${ids.upload}', ${at(1793600001)}),
  ('${id(42)}', '${id(first)}', 'image', 'remote_url', 'https://pictures.example/cats/cat.png?width=9', 'user', NULL,
   ${at(1793600002)});
INSERT INTO message_agent_thoughts VALUES
  ('${id(43)}', '${id(first)}', NULL, 1, NULL, 'search', '{"search":{"en_US":"Search"}}', '{"search":{}}', NULL,
   '["${ids.upload}"]', ${at(1793600001)});
INSERT INTO datasets VALUES ('${ids.dataset}', '${ids.workspace}', 'Handbook');
INSERT INTO documents VALUES ('${ids.document}', '${ids.dataset}', 'guide.md');
INSERT INTO document_segments VALUES ('${ids.segment}', '${ids.document}', 1, 'Unplug it first. Then open the lid.');
INSERT INTO child_chunks VALUES
  ('${ids.chunk}', '${ids.segment}', 1, 'Unplug it first.', 16, 'customized', ${at(1793600002)}, ${at(1793600003)});
`;
