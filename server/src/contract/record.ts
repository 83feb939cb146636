import type { TObject, TProperties, TSchema } from 'typebox';
import { retentionDays } from './app.ts';
import { ChildChunk } from './child-chunk.ts';
import { keyKinds, kindsWith, readOnlyKinds } from './key-kinds.ts';
import { Tag } from './knowledge.ts';
import { limits } from './limits.ts';
import { Message } from './message.ts';
import { ModelProvider } from './model.ts';
import { personFields } from './people/people.ts';
import { roles } from './people/roles.ts';
import {
  choice,
  epochSeconds,
  flag,
  id,
  integer,
  keysOf,
  list,
  nullable,
  openObject,
  shape,
  text,
  uuid,
  withDefault,
} from './primitives.ts';
import { reviewFields } from './reviews/review.ts';
import { Type } from './type.ts';

type Node = TSchema & {
  type?: string | string[];
  properties?: Record<string, Node>;
  required?: string[];
  items?: Node;
  anyOf?: Node[];
  default?: unknown;
};

/** Doubles cannot distinguish larger integers from their neighbours. */
const safeInteger = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };

/** The default of times such as `created_at`. It means the time of the import. */
export const now = 'now';

/**
 * The schema with a `default` for each field that a record may omit: nullable fields get null, and fields with a default
 * keep it. If `all` is set, the other fields of this level get the empty value of their type.
 */
function lenient(schema: Node, all: boolean, required: readonly string[] = []): Node {
  if ([schema.type].flat().includes('integer')) return { ...safeInteger, ...schema };
  if (schema.anyOf) return { ...schema, anyOf: schema.anyOf.map((branch) => lenient(branch, false)) };
  if (schema.items) return { ...schema, items: lenient(schema.items, false) };
  if (!schema.properties) return schema;
  const properties: Record<string, Node> = {};
  for (const [name, field] of Object.entries(schema.properties)) {
    const inner = lenient(field, false);
    const value = required.includes(name) ? undefined : defaultOf(field, name, all);
    properties[name] = value === undefined ? inner : { ...inner, default: value };
  }
  const stillRequired = Object.keys(properties).filter((name) => properties[name]?.default === undefined);
  return { ...schema, properties, required: stillRequired };
}

function defaultOf(schema: Node, name: string, all: boolean): unknown {
  if (schema.default !== undefined) return schema.default;
  if (schema.anyOf || Array.isArray(schema.type)) return null;
  if (!all) return undefined;
  if (name === 'created_at') return now;
  if (name === 'status') return 'normal';
  return { object: {}, array: [], integer: 0, number: 0 }[schema.type as string];
}

/** A record with these fields; those with a `default` may be omitted. */
function record<const F extends TProperties>(kind: string, fields: F): TObject<F> {
  return lenient(shape({ record: Type.Literal(kind), ...fields }) as Node, false) as unknown as TObject<F>;
}

/** A text that tables have as part of a key. */
const shortText = (description: string) => Type.String({ maxLength: limits.idUnitsMax, description });

const createdNow = withDefault(epochSeconds('Creation time.'), now);
const updatedNow = withDefault(epochSeconds('Time of the last change.'), now);

const created_by = nullable(text('Id of the creator. Default in responses: the workspace.'));
const disabled_at = nullable(epochSeconds('When it was disabled.'));

export const keyReach = {
  workspace_id: nullable(id('Workspace; null for kind admin.')),
  app_id: nullable(id(`App; only for kind ${kindsWith('app_id')}.`)),
  dataset_ids: nullable(
    list(uuid('Knowledge base ID.'), `Only these datasets; null for all. Only for kind ${kindsWith('dataset_ids')}.`),
  ),
};

const { tenant_id: _workspace, ...providerFields } = ModelProvider.properties;

export const records = {
  workspace: record('workspace', { id: id('Workspace ID.'), name: text('Name.') }),
  app: record('app', {
    id: id('App ID.'),
    workspace_id: id('Workspace of the app.'),
    name: text('Name.'),
    mode: text('App mode, for example `chat`.'),
    retention_days: retentionDays,
    description: nullable(text('Description.')),
    parameters: nullable(openObject('Values that replace the defaults of `GET /v1/parameters`, by name.')),
    site: nullable(openObject('Values that replace the defaults of `GET /v1/site`.')),
  }),
  api_key: record('api_key', {
    id: withDefault(id('Key ID. Default: a new one.'), null),
    kind: choice(keyKinds, 'Kind of key.'),
    ...keyReach,
    name: text('Name.'),
    secret: withDefault(text('Secret. It is imported, never exported.'), null),
    digest: withDefault(
      Type.String({ pattern: '^[0-9a-f]{64}$', description: 'SHA-256 of the whole secret, in hex.' }),
      null,
    ),
    created_at: createdNow,
    expires_at: nullable(epochSeconds('Time of expiry; null if the key does not expire.')),
    revoked_at: nullable(epochSeconds('Time of revocation; null if the key is not revoked.')),
    read_only: withDefault(
      flag(`Whether the key allows only reads. Only for kind ${readOnlyKinds.join(' or ')}.`),
      false,
    ),
    role: nullable(choice(roles, 'What the key may do. Only for kind admin. Default: admin.')),
  }),
  person: record('person', personFields),
  conversation: record('conversation', {
    id: uuid('Conversation ID.'),
    app_id: id('App of the conversation.'),
    user: nullable(text('End user of the conversation.')),
    created_at: createdNow,
    deleted: withDefault(flag('Whether it is deleted. Readers cannot see a deleted conversation.'), false),
    hold: withDefault(flag('Whether it is protected from retention.'), false),
    name: nullable(text('Name; null if it is derived from the query of the first message.')),
    inputs: nullable(openObject('Input variables; null if they are those of the first message.')),
    introduction: nullable(text('Introduction.')),
    renamed_at: nullable(epochSeconds('Time of the last change of the name; null if there was none.')),
    updated_at: nullable(epochSeconds('Last change in the system it comes from. Lists show the latest of all times.')),
  }),
  message: lenient(
    shape({
      record: Type.Literal('message'),
      ...Message.properties,
      total_tokens: Type.Unsafe<unknown>({
        description: 'Ignored: always the sum of message_tokens and answer_tokens.',
        default: 0,
      }),
      feedback_content: nullable(text('Text of the feedback. Readers cannot see it.')),
      rated_at: nullable(
        epochSeconds('Time at which a reader gave or removed the feedback; null if it was imported. Not shown.'),
      ),
      model_provider: nullable(shortText('Provider of the model that answered. Readers cannot see it.')),
      model: nullable(shortText('Model that answered. Readers cannot see it.')),
      trace_id: nullable(shortText('Trace of the answer, for `TRACE_URL`. Readers cannot see it.')),
      items: list(openObject('An item.'), 'Items of an OpenAI client, as received. Readers cannot see them.'),
    }) as Node,
    true,
    ['record', 'id', 'conversation_id', 'query', 'answer'],
  ),
  review: record('review', { ...reviewFields, updated_at: updatedNow }),
  dataset: record('dataset', {
    id: uuid('Knowledge base ID.'),
    workspace_id: id('Workspace of the knowledge base.'),
    name: text('Name.'),
    description: nullable(text('Description.')),
    indexing_technique: nullable(text('Indexing technique, for example `high_quality`.')),
    embedding_model: nullable(text('Embedding model.')),
    embedding_model_provider: nullable(text('Provider of the embedding model.')),
    doc_form: nullable(text('Splitting method of its documents, for example `hierarchical_model`.')),
    data_source_type: nullable(text('Type of data source, for example `upload_file`.')),
    tags: withDefault(list(Tag, 'Tags.'), []),
    created_at: createdNow,
    updated_at: updatedNow,
    settings: nullable(openObject('Replaces constants of the knowledge base in responses, by name.')),
  }),
  document: record('document', {
    id: uuid('Document ID.'),
    dataset_id: uuid('Knowledge base of the document.'),
    name: text('Name.'),
    position: withDefault(
      integer('Position in the knowledge base. Default: that of the stored document, or the next.'),
      null,
    ),
    created_at: createdNow,
    updated_at: updatedNow,
    enabled: withDefault(flag('Whether it is enabled.'), true),
    archived: withDefault(flag('Whether it is archived.'), false),
    indexing_status: withDefault(text('State of its indexing, for example `completed`.'), 'completed'),
    doc_form: nullable(text('Splitting method, for example `hierarchical_model`.')),
    doc_language: nullable(text('Language.')),
    data_source_type: nullable(text('Type of data source, for example `upload_file`.')),
    data_source_info: nullable(openObject('Its data source.')),
    tokens: nullable(integer('Number of tokens.')),
    doc_metadata: withDefault(list(openObject('A metadata field with its value.'), 'Metadata.'), []),
    created_by,
    disabled_at,
  }),
  segment: record('segment', {
    id: uuid('Segment ID.'),
    document_id: uuid('Document of the segment.'),
    position: integer('Position in the document.'),
    content: text('Text.'),
    answer: nullable(text('Answer, if the text is a question.')),
    keywords: nullable(list(text('A keyword.'), 'Keywords.')),
    enabled: withDefault(flag('Whether it is enabled.'), true),
    status: withDefault(text('State of its indexing, for example `completed`.'), 'completed'),
    tokens: withDefault(integer('Number of tokens.'), 0),
    hit_count: withDefault(integer('Number of times it was retrieved.'), 0),
    index_node_id: nullable(text('ID of its vector in a search index.')),
    index_node_hash: nullable(text('Hash of its vector.')),
    created_at: createdNow,
    updated_at: updatedNow,
    created_by,
    disabled_at,
  }),
  child_chunk: record('child_chunk', {
    ...ChildChunk.properties,
    id: id('Child chunk ID.'),
    segment_id: uuid('Segment of the child chunk.'),
    word_count: withDefault(integer('Word count. Default: counted from the text.'), null),
    type: withDefault(text('Type of child chunk.'), 'automatic'),
    created_at: createdNow,
    updated_at: withDefault(epochSeconds('Time of the last change. Default: `created_at`.'), null),
    deleted: withDefault(flag('Whether it is deleted. A deleted child chunk is not listed and cannot be read.'), false),
    index_node_id: nullable(text('ID of its vector in a search index.')),
  }),
  child_chunk_revision: record('child_chunk_revision', {
    child_chunk_id: id('Child chunk.'),
    revision: Type.Integer({ minimum: 1, maximum: 1_000_000_000, description: 'Number of the revision.' }),
    content: text('Replaced text.'),
    replaced_at: epochSeconds('Time of the replacement.'),
    key_id: nullable(id('Key that replaced it; null for an import or a person.')),
    person_id: nullable(id('Person who replaced it; null for an import or a key.')),
    review_message_id: nullable(uuid('Message in whose review it was replaced; null for other changes.')),
  }),
  model_provider: record('model_provider', {
    workspace_id: id('Workspace.'),
    ...providerFields,
    provider: Type.String({ maxLength: limits.idUnitsMax, description: 'Provider identifier, slash-separated.' }),
  }),
} satisfies Record<string, TSchema>;

export type RecordKind = keyof typeof records;
export const recordKinds = keysOf(records);
