import pg from 'pg';
import { DifyConnection } from '../../src/dify/connection.ts';
import { newDatabaseUrl } from './harness.ts';
import { until } from './until.ts';

/**
 * The tables of Dify 1.16.1 that an import reads, and those with secrets that it must not read. Columns without meaning for
 * an import are left out. Defaults of columns that Dify always sets keep the rows of tests short.
 */
export const difyTables = `
CREATE TABLE tenants (
  id uuid PRIMARY KEY, name varchar(255) NOT NULL, encrypt_public_key text, status varchar(255) NOT NULL DEFAULT 'normal',
  created_at timestamp NOT NULL DEFAULT now(), updated_at timestamp NOT NULL DEFAULT now());
CREATE TABLE tenant_account_joins (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(), tenant_id uuid NOT NULL, account_id uuid NOT NULL DEFAULT gen_random_uuid(),
  role varchar(16) NOT NULL DEFAULT 'owner');
CREATE TABLE apps (
  id uuid PRIMARY KEY, tenant_id uuid NOT NULL, name varchar(255) NOT NULL, description text NOT NULL DEFAULT '',
  mode varchar(255) NOT NULL, app_model_config_id uuid, workflow_id uuid, status varchar(255) NOT NULL DEFAULT 'normal',
  enable_site boolean NOT NULL DEFAULT true, enable_api boolean NOT NULL DEFAULT true, tracing text,
  created_at timestamp NOT NULL DEFAULT now(), updated_at timestamp NOT NULL DEFAULT now());
CREATE TABLE app_model_configs (
  id uuid PRIMARY KEY, app_id uuid NOT NULL, provider varchar(255), model_id varchar(255), configs json,
  opening_statement text, suggested_questions text, suggested_questions_after_answer text, speech_to_text text,
  text_to_speech text, more_like_this text, model text, user_input_form text, dataset_query_variable varchar(255),
  pre_prompt text, agent_mode text, sensitive_word_avoidance text, retriever_resource text,
  prompt_type varchar(255) NOT NULL DEFAULT 'simple', chat_prompt_config text, completion_prompt_config text,
  dataset_configs text, external_data_tools text, file_upload text);
CREATE TABLE app_annotation_settings (id uuid PRIMARY KEY, app_id uuid NOT NULL);
CREATE TABLE workflows (
  id uuid PRIMARY KEY, tenant_id uuid NOT NULL, app_id uuid NOT NULL, version varchar(255) NOT NULL DEFAULT '1',
  graph text, features text, environment_variables text NOT NULL DEFAULT '{}',
  conversation_variables text NOT NULL DEFAULT '{}');
CREATE TABLE sites (
  id uuid PRIMARY KEY, app_id uuid NOT NULL, title varchar(255) NOT NULL, icon_type varchar(255), icon varchar(255),
  icon_background varchar(255), description text, default_language varchar(255) NOT NULL DEFAULT 'en-US',
  chat_color_theme varchar(255), chat_color_theme_inverted boolean NOT NULL DEFAULT false, copyright varchar(255),
  privacy_policy varchar(255), input_placeholder varchar(255), show_workflow_steps boolean NOT NULL DEFAULT true,
  use_icon_as_answer_icon boolean NOT NULL DEFAULT false, custom_disclaimer text NOT NULL DEFAULT '',
  customize_domain varchar(255), customize_token_strategy varchar(255) NOT NULL DEFAULT 'not_allow',
  code varchar(255), created_at timestamp NOT NULL DEFAULT now());
CREATE TABLE api_tokens (
  id uuid PRIMARY KEY, app_id uuid, tenant_id uuid, type varchar(16) NOT NULL, token varchar(255) NOT NULL,
  last_used_at timestamp, created_at timestamp NOT NULL DEFAULT now());
CREATE TABLE end_users (
  id uuid PRIMARY KEY, tenant_id uuid, app_id uuid, type varchar(255) NOT NULL DEFAULT 'service_api',
  session_id varchar(255) NOT NULL);
CREATE TABLE conversations (
  id uuid PRIMARY KEY, app_id uuid NOT NULL, mode varchar(255) NOT NULL DEFAULT 'chat',
  name varchar(255) NOT NULL DEFAULT 'New conversation', override_model_configs text, inputs json, introduction text,
  system_instruction text, status varchar(255) NOT NULL DEFAULT 'normal', invoke_from varchar(255),
  from_source varchar(255) NOT NULL DEFAULT 'api', from_end_user_id uuid, from_account_id uuid,
  is_deleted boolean NOT NULL DEFAULT false, created_at timestamp NOT NULL DEFAULT now(),
  updated_at timestamp NOT NULL DEFAULT now());
CREATE TABLE messages (
  id uuid PRIMARY KEY, app_id uuid, model_provider varchar(255), model_id varchar(255), conversation_id uuid NOT NULL,
  override_model_configs text, inputs json,
  query text NOT NULL DEFAULT '', message json, message_tokens integer NOT NULL DEFAULT 0,
  answer text NOT NULL DEFAULT 'answer', answer_tokens integer NOT NULL DEFAULT 0, parent_message_id uuid,
  provider_response_latency double precision NOT NULL DEFAULT 0, total_price numeric(10, 7),
  currency varchar(255) NOT NULL DEFAULT 'USD', status varchar(255) NOT NULL DEFAULT 'normal', error text,
  message_metadata text, from_source varchar(255) NOT NULL DEFAULT 'api', workflow_run_id uuid,
  created_at timestamp NOT NULL DEFAULT now(), updated_at timestamp NOT NULL DEFAULT now());
CREATE INDEX message_conversation_id_idx ON messages (conversation_id);
CREATE INDEX message_created_at_id_idx ON messages (created_at, id);
CREATE TABLE message_feedbacks (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(), app_id uuid, conversation_id uuid, message_id uuid NOT NULL,
  rating varchar(255) NOT NULL, content text, from_source varchar(255) NOT NULL,
  created_at timestamp NOT NULL DEFAULT now(), updated_at timestamp NOT NULL DEFAULT now());
CREATE INDEX message_feedback_message_idx ON message_feedbacks (message_id, from_source);
CREATE TABLE message_files (
  id uuid PRIMARY KEY, message_id uuid NOT NULL, type varchar(255) NOT NULL, transfer_method varchar(255) NOT NULL,
  belongs_to varchar(255), url text, upload_file_id uuid, created_at timestamp NOT NULL DEFAULT now());
CREATE INDEX message_file_message_idx ON message_files (message_id);
CREATE TABLE upload_files (
  id uuid PRIMARY KEY, tenant_id uuid NOT NULL, key varchar(255) NOT NULL DEFAULT 'upload_files/x', name varchar(255) NOT NULL,
  size integer NOT NULL, extension varchar(255) NOT NULL DEFAULT '', mime_type varchar(255));
CREATE TABLE tool_files (
  id uuid PRIMARY KEY, tenant_id uuid NOT NULL, conversation_id uuid, file_key varchar(255) NOT NULL DEFAULT 'tools/x',
  mimetype varchar(255) NOT NULL, original_url varchar(2048), name varchar NOT NULL DEFAULT '',
  size integer NOT NULL DEFAULT -1);
CREATE TABLE message_agent_thoughts (
  id uuid PRIMARY KEY, message_id uuid NOT NULL, message_chain_id uuid, position integer NOT NULL, thought text, tool text,
  tool_labels_str text NOT NULL DEFAULT '{}', tool_meta_str text NOT NULL DEFAULT '{}', tool_input text, observation text,
  message_files text, created_at timestamp NOT NULL DEFAULT now());
CREATE INDEX message_agent_thought_message_id_idx ON message_agent_thoughts (message_id);
CREATE TABLE execution_extra_contents (
  id uuid PRIMARY KEY, type varchar(30) NOT NULL DEFAULT 'human_input', workflow_run_id uuid NOT NULL, message_id uuid,
  form_id uuid, created_at timestamp NOT NULL DEFAULT now(), updated_at timestamp NOT NULL DEFAULT now());
CREATE INDEX execution_extra_contents_message_id_idx ON execution_extra_contents (message_id);
CREATE TABLE human_input_forms (
  id uuid PRIMARY KEY, tenant_id uuid, app_id uuid, workflow_run_id uuid, conversation_id uuid,
  form_kind varchar(255) NOT NULL DEFAULT 'runtime', node_id varchar(60) NOT NULL, form_definition text NOT NULL,
  rendered_content text NOT NULL, status varchar(255) NOT NULL DEFAULT 'waiting', expiration_time timestamp NOT NULL,
  selected_action_id varchar(200), submitted_data text, submitted_at timestamp,
  created_at timestamp NOT NULL DEFAULT now(), updated_at timestamp NOT NULL DEFAULT now());
CREATE TABLE human_input_form_recipients (
  id uuid PRIMARY KEY, form_id uuid NOT NULL, recipient_type varchar(255) NOT NULL, recipient_payload text NOT NULL,
  access_token varchar(32) NOT NULL);
CREATE TABLE human_input_form_upload_tokens (id uuid PRIMARY KEY, form_id uuid NOT NULL, token varchar(255) NOT NULL);
CREATE TABLE datasets (
  id uuid PRIMARY KEY, tenant_id uuid NOT NULL, name varchar(255) NOT NULL, description text,
  provider varchar(255) NOT NULL DEFAULT 'vendor', permission varchar(255) NOT NULL DEFAULT 'only_me',
  data_source_type varchar(255), indexing_technique varchar(255), index_struct text, embedding_model varchar(255),
  embedding_model_provider varchar(255), retrieval_model jsonb, summary_index_setting jsonb,
  built_in_field_enabled boolean NOT NULL DEFAULT false, icon_info jsonb, runtime_mode varchar(255) DEFAULT 'general',
  pipeline_id uuid, chunk_structure varchar(255), enable_api boolean NOT NULL DEFAULT true,
  is_multimodal boolean NOT NULL DEFAULT false, created_by uuid, updated_by uuid, maintainer uuid, created_at timestamp NOT NULL DEFAULT now(),
  updated_at timestamp NOT NULL DEFAULT now());
CREATE TABLE tags (
  id uuid PRIMARY KEY, tenant_id uuid, type varchar(16) NOT NULL, name varchar(255) NOT NULL,
  created_at timestamp NOT NULL DEFAULT now());
CREATE TABLE tag_bindings (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(), tenant_id uuid, tag_id uuid, target_id uuid,
  created_at timestamp NOT NULL DEFAULT now());
CREATE TABLE external_knowledge_apis (
  id uuid PRIMARY KEY, tenant_id uuid NOT NULL, name varchar(255) NOT NULL, settings text,
  created_at timestamp NOT NULL DEFAULT now());
CREATE TABLE external_knowledge_bindings (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(), tenant_id uuid NOT NULL, external_knowledge_api_id uuid NOT NULL,
  dataset_id uuid NOT NULL, external_knowledge_id varchar(512) NOT NULL, created_at timestamp NOT NULL DEFAULT now());
CREATE TABLE dataset_metadatas (
  id uuid PRIMARY KEY, tenant_id uuid, dataset_id uuid NOT NULL, type varchar(255) NOT NULL, name varchar(255) NOT NULL,
  created_at timestamp NOT NULL DEFAULT now());
CREATE TABLE dataset_metadata_bindings (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(), tenant_id uuid, dataset_id uuid NOT NULL, metadata_id uuid NOT NULL,
  document_id uuid NOT NULL, created_at timestamp NOT NULL DEFAULT now());
CREATE TABLE documents (
  id uuid PRIMARY KEY, tenant_id uuid, dataset_id uuid NOT NULL, position integer NOT NULL DEFAULT 1,
  data_source_type varchar(255) NOT NULL DEFAULT 'upload_file', data_source_info text, name varchar(255) NOT NULL,
  created_from varchar(255) NOT NULL DEFAULT 'web', word_count integer, tokens integer, is_paused boolean DEFAULT false,
  error text, indexing_status varchar(255) NOT NULL DEFAULT 'completed', enabled boolean NOT NULL DEFAULT true,
  archived boolean NOT NULL DEFAULT false, doc_type varchar(40), doc_metadata jsonb,
  doc_form varchar(255) NOT NULL DEFAULT 'text_model', doc_language varchar(255), created_by uuid, disabled_at timestamp,
  created_at timestamp NOT NULL DEFAULT now(), updated_at timestamp NOT NULL DEFAULT now());
CREATE INDEX document_dataset_id_idx ON documents (dataset_id);
CREATE TABLE document_segments (
  id uuid PRIMARY KEY, tenant_id uuid, dataset_id uuid, document_id uuid NOT NULL, position integer NOT NULL,
  content text NOT NULL, answer text, word_count integer NOT NULL DEFAULT 0, tokens integer NOT NULL DEFAULT 0, keywords json,
  index_node_id varchar(255), index_node_hash varchar(255), hit_count integer NOT NULL DEFAULT 0,
  enabled boolean NOT NULL DEFAULT true, status varchar(255) NOT NULL DEFAULT 'completed',
  created_by uuid, disabled_at timestamp,
  created_at timestamp NOT NULL DEFAULT now(), updated_at timestamp NOT NULL DEFAULT now());
CREATE INDEX document_segment_document_id_idx ON document_segments (document_id);
CREATE TABLE child_chunks (
  id uuid PRIMARY KEY, tenant_id uuid, dataset_id uuid, document_id uuid, segment_id uuid NOT NULL,
  position integer NOT NULL, content text NOT NULL, word_count integer NOT NULL DEFAULT 0, index_node_id varchar(255),
  index_node_hash varchar(255), type varchar(255) NOT NULL DEFAULT 'automatic',
  created_at timestamp NOT NULL DEFAULT now(), updated_at timestamp NOT NULL DEFAULT now());
CREATE INDEX child_chunks_segment_idx ON child_chunks (segment_id);
CREATE TABLE alembic_version (version_num varchar(32) NOT NULL);
INSERT INTO alembic_version VALUES ('1161aa1161aa');
`;

/** A UUID that is easy to recognize. */
export const difyId = (nth: number): string => `2b1c7a0e-54b5-4e0c-9d6c-0d5a3f6f${nth.toString(16).padStart(4, '0')}`;

/** An SQL expression as the value of a column. */
class Expression {
  readonly sql: string;
  constructor(sql: string) {
    this.sql = sql;
  }
}

/** A time in seconds since 1970, as the source stores it: UTC without a zone. */
export const at = (seconds: number) => new Expression(`to_timestamp(${seconds}) AT TIME ZONE 'UTC'`);
export const minutesAgo = (minutes: number) =>
  new Expression(`now() AT TIME ZONE 'UTC' - interval '1 minute' * ${minutes}`);

export type Row = Record<string, unknown>;

function literal(value: unknown): string {
  if (value instanceof Expression) return value.sql;
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return `${value}`;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return `'${text.replaceAll("'", "''")}'`;
}

/** Objects and lists are stored as JSON. */
export const insertInto = (table: string, ...rows: Row[]): string =>
  rows
    .map((row) => `INSERT INTO ${table} (${Object.keys(row)}) VALUES (${Object.values(row).map(literal).join(', ')});`)
    .join('\n');

export const ids = {
  workspace: difyId(1),
  app: difyId(2),
  user: difyId(3),
  conversation: difyId(4),
  deleted: difyId(5),
  dataset: difyId(6),
  document: difyId(7),
  segment: difyId(8),
  chunk: difyId(9),
  upload: difyId(10),
};

export const tokens = { app: `app-${'Ab3'.repeat(8)}`, dataset: `dataset-${'Cd4'.repeat(8)}` };

const citations = {
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
};

// The order in time differs from the order of the ids and of the rows.
const [first, second, third] = [difyId(23), difyId(22), difyId(21)];
const inConversation = { conversation_id: ids.conversation, app_id: ids.app, inputs: {}, answer: 'answer' };
const created_at = at(1793600000);

/** A small installation. */
export const difyRows = [
  insertInto('tenants', { id: ids.workspace, name: 'Example', created_at }),
  insertInto('tenant_account_joins', { tenant_id: ids.workspace }),
  insertInto('apps', { id: ids.app, tenant_id: ids.workspace, name: 'Help desk', mode: 'advanced-chat', created_at }),
  insertInto(
    'api_tokens',
    { id: difyId(31), app_id: ids.app, type: 'app', token: tokens.app, created_at: at(1793600000.5) },
    { id: difyId(32), tenant_id: ids.workspace, type: 'dataset', token: tokens.dataset, created_at },
    { id: difyId(33), app_id: difyId(99), type: 'app', token: 'app-of-an-app-that-is-gone', created_at },
  ),
  insertInto('end_users', { id: ids.user, session_id: 'visitor-1' }),
  insertInto(
    'conversations',
    { id: ids.conversation, app_id: ids.app, from_end_user_id: ids.user, created_at, updated_at: created_at },
    { id: ids.deleted, app_id: ids.app, is_deleted: true, created_at, updated_at: created_at },
  ),
  insertInto(
    'messages',
    {
      ...inConversation,
      id: third,
      query: 'third',
      status: 'error',
      error: 'the model did not answer',
      message_metadata: '',
      created_at: at(1793600002),
    },
    {
      ...inConversation,
      id: second,
      query: 'second',
      status: 'paused',
      message_metadata: {},
      created_at: at(1793600001.9),
    },
    {
      ...inConversation,
      id: first,
      query: 'first',
      inputs: '{\n "city": "Oslo\\n"}',
      message_metadata: citations,
      message_tokens: 9,
      answer_tokens: 7,
      provider_response_latency: 1.25,
      total_price: 0.000021,
      created_at: at(1793600001.1),
    },
  ),
  insertInto(
    'message_feedbacks',
    { message_id: second, rating: 'like', from_source: 'admin', created_at: at(1793600009) },
    { message_id: second, rating: 'dislike', from_source: 'user', created_at: at(1793600008) },
  ),
  insertInto('upload_files', {
    id: ids.upload,
    tenant_id: ids.workspace,
    name: 'plan.pdf',
    size: 1234,
    mime_type: 'application/pdf',
  }),
  insertInto(
    'message_files',
    {
      id: difyId(41),
      message_id: first,
      type: 'document',
      transfer_method: 'local_file',
      belongs_to: 'user',
      upload_file_id: ids.upload,
      created_at: at(1793600001),
    },
    {
      id: difyId(42),
      message_id: first,
      type: 'image',
      transfer_method: 'remote_url',
      url: 'https://pictures.example/cats/cat.png?width=9',
      belongs_to: 'user',
      created_at: at(1793600002),
    },
  ),
  insertInto('message_agent_thoughts', {
    id: difyId(43),
    message_id: first,
    position: 1,
    tool: 'search',
    tool_labels_str: { search: { en_US: 'Search' } },
    tool_input: { search: {} },
    message_files: [ids.upload],
    created_at: at(1793600001),
  }),
  insertInto('datasets', { id: ids.dataset, tenant_id: ids.workspace, name: 'Handbook', created_at }),
  insertInto('documents', { id: ids.document, dataset_id: ids.dataset, name: 'guide.md', created_at }),
  insertInto('document_segments', {
    id: ids.segment,
    document_id: ids.document,
    position: 1,
    content: 'Unplug it first. Then open the lid.',
    created_at,
  }),
  insertInto('child_chunks', {
    id: ids.chunk,
    segment_id: ids.segment,
    position: 1,
    content: 'Unplug it first.',
    word_count: 16,
    type: 'customized',
    created_at: at(1793600002),
    updated_at: at(1793600003),
  }),
].join('\n');

export type DifyDatabase = {
  url: string;
  /** Runs SQL, as Dify does. */
  run(sql: string): Promise<void>;
  insert(table: string, ...rows: Row[]): Promise<void>;
  /** Waits until no open transaction of the server, in any database, is older than what was written: then a run compares it. */
  settle(): Promise<void>;
  /** Opens a connection as the import does: it probes tables and columns now. The database closes it. */
  connect(): Promise<DifyConnection>;
  close(): Promise<void>;
};

/** A database with the tables of a Dify installation, without rows. */
export async function createDify(): Promise<DifyDatabase> {
  const template = process.env.TEST_DIFY_TEMPLATE;
  const { url, remove } = await newDatabaseUrl('postgres', template);
  const client = new pg.Client(url);
  await client.connect();
  if (template === undefined) await client.query(difyTables);
  const connections: DifyConnection[] = [];
  const run = async (sql: string) => {
    await client.query(sql);
  };
  return {
    url,
    run,
    insert: (table, ...rows) => run(insertInto(table, ...rows)),
    settle: async () => {
      const { rows } = await client.query('SELECT pg_current_xact_id()::text AS xid');
      const isPast = 'SELECT pg_snapshot_xmin(pg_current_snapshot()) > $1::xid8 AS "isPast"';
      await until(async () => (await client.query(isPast, [rows[0].xid])).rows[0].isPast);
    },
    connect: async () => {
      const connection = await DifyConnection.open(url);
      connections.push(connection);
      return connection;
    },
    close: async () => {
      for (const connection of connections) await connection.close();
      await client.end();
      await remove();
    },
  };
}
