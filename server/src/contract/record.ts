import type { TObject, TProperties, TSchema } from 'typebox';
import { ChildChunk } from './child-chunk.ts';
import { type KeyKind, keyKinds, kindsWith } from './key-kinds.ts';
import { limits } from './limits.ts';
import { Message } from './message.ts';
import { ModelProvider } from './model.ts';
import { choice, epochSeconds, flag, id, integer, list, nullable, shape, text, uuid } from './primitives.ts';
import { Type } from './type.ts';

export { type KeyKind, keyKinds };

type Node = TSchema & {
  type?: string | string[];
  properties?: Record<string, Node>;
  required?: string[];
  items?: Node;
  anyOf?: Node[];
  default?: unknown;
};

/** Numbers are doubles: beyond these, neighbours look alike. */
const safeInteger = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };

/** Stands for the moment of writing wherever a time is left out. */
export const now = 'now';

/**
 * What a record may leave out, said by `default`: inside nested objects the nullable fields and those that carry a
 * default already; at the top also `emptyOf` the type, where `all` is set.
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

/** A record of these fields; one with a `default` may be left out. */
function record<const F extends TProperties>(kind: string, fields: F): TObject<F> {
  return lenient(shape({ record: Type.Literal(kind), ...fields }) as Node, false) as unknown as TObject<F>;
}

const withDefault = <S extends TSchema>(schema: S, value: unknown): S => ({ ...schema, default: value });

const { tenant_id: _workspace, ...providerFields } = ModelProvider.properties;

export const records = {
  workspace: record('workspace', { id: id('Workspace ID.'), name: text('Name.') }),
  app: record('app', {
    id: id('App ID.'),
    workspace_id: id('Workspace of the app.'),
    name: text('Name.'),
    mode: text('App mode, for example `chat`.'),
  }),
  api_key: record('api_key', {
    id: withDefault(id('Key ID; a new one where left out.'), null),
    kind: choice(keyKinds, 'Kind of key.'),
    workspace_id: nullable(id('Workspace; null for kind admin.')),
    app_id: nullable(id(`App; only for kind ${kindsWith('app_id')}.`)),
    dataset_ids: nullable(
      list(uuid('Knowledge base ID.'), `Only these datasets; null for all. Only for kind ${kindsWith('dataset_ids')}.`),
    ),
    name: text('Name.'),
    secret: withDefault(text('The secret: taken in, never given out.'), null),
    digest: withDefault(
      Type.String({ pattern: '^[0-9a-f]{64}$', description: 'SHA-256 of the whole secret, hex.' }),
      null,
    ),
    created_at: withDefault(epochSeconds('Creation time.'), now),
    expires_at: nullable(epochSeconds('From then on the key is refused.')),
    revoked_at: nullable(epochSeconds('Since then the key is refused.')),
  }),
  conversation: record('conversation', {
    id: uuid('Conversation ID.'),
    app_id: id('App of the conversation.'),
    user: nullable(text('End user the conversation belongs to.')),
    created_at: withDefault(epochSeconds('Creation time.'), now),
    deleted: withDefault(flag('A deleted conversation does not exist for readers.'), false),
  }),
  message: lenient(
    shape({
      record: Type.Literal('message'),
      ...Message.properties,
      total_tokens: Type.Unsafe<unknown>({ description: 'Always the sum, whatever is given.', default: 0 }),
    }) as Node,
    true,
    ['record', 'id', 'conversation_id', 'query', 'answer'],
  ),
  dataset: record('dataset', {
    id: uuid('Knowledge base ID.'),
    workspace_id: id('Workspace of the knowledge base.'),
    name: text('Name.'),
  }),
  document: record('document', {
    id: uuid('Document ID.'),
    dataset_id: uuid('Knowledge base of the document.'),
    name: text('Name.'),
  }),
  segment: record('segment', {
    id: uuid('Segment ID.'),
    document_id: uuid('Document of the segment.'),
    position: integer('Position in the document.'),
    content: text('Text.'),
  }),
  child_chunk: record('child_chunk', {
    ...ChildChunk.properties,
    id: id('Child chunk ID.'),
    segment_id: uuid('Segment of the child chunk.'),
    word_count: withDefault(integer('Counted where left out.'), null),
    type: withDefault(text('Kind of child chunk.'), 'automatic'),
    created_at: withDefault(epochSeconds('Creation time.'), now),
    updated_at: withDefault(epochSeconds('created_at where left out.'), null),
  }),
  child_chunk_revision: record('child_chunk_revision', {
    child_chunk_id: id('Child chunk.'),
    revision: Type.Integer({ minimum: 1, maximum: 1_000_000_000, description: 'Number of the revision.' }),
    content: text('The text that was replaced.'),
    replaced_at: epochSeconds('When it was replaced.'),
    key_id: nullable(id('The key that replaced it; null where an import did.')),
  }),
  model_provider: record('model_provider', {
    workspace_id: id('Workspace.'),
    ...providerFields,
    provider: Type.String({ maxLength: limits.idUnitsMax, description: 'Provider identifier, slash-separated.' }),
  }),
} satisfies Record<string, TSchema>;

export type RecordKind = keyof typeof records;
export const recordKinds = Object.keys(records) as RecordKind[];
