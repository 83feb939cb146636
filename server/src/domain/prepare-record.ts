import type { TSchema } from 'typebox';
import { describeReachProblem, findReachProblem, keyKindTable, storedReachFields } from '../contract/key-kinds.ts';
import { modelTypes } from '../contract/model.ts';
import { canonicalId } from '../contract/primitives.ts';
import { describeProblem, findBadValue } from '../contract/problem.ts';
import { type KeyKind, now as nowDefault, type RecordKind, recordKinds, records } from '../contract/record.ts';
import { compile, type Validator } from '../contract/validator.ts';
import { countWords } from './count-words.ts';
import { BadRecord } from './errors.ts';
import type { Columns, Line, PreparedRecord } from './prepared-record.ts';
import { digestOf } from './secret.ts';
import { usageOf } from './usage.ts';

/** Checks one line in itself and renders what is stored; the text of a message is added to `texts`. Throws BadRecord. */
export function prepareRecord(line: Line, json: string, now: number, texts: string[]): PreparedRecord {
  const refuse = (problem: string, kind?: string): never => {
    throw new BadRecord(line.number, kind, problem, line.source);
  };
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(json);
  } catch {
    return refuse('not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return refuse('not a JSON object');
  const kind = value.record as RecordKind;
  if (!recordKinds.includes(kind)) return refuse(`record must be one of ${recordKinds.join(', ')}`);

  const { validator, fill } = codecOf(kind);
  if (!validator.Check(value)) return refuse(describeProblem(validator.Errors(value)), kind);
  const badValue = findBadValue(value, json);
  if (badValue !== undefined) return refuse(badValue, kind);

  const columns = render[kind](fill(value) as Fields, value, now, (problem) => refuse(problem, kind), texts);
  return { record: kind, line, ...columns } as PreparedRecord;
}

// biome-ignore lint/suspicious/noExplicitAny: checked against the kind's schema just before
type Fields = any;
type Refuse = (problem: string) => never;
type Render<K extends RecordKind> = (
  fields: Fields,
  given: Fields,
  now: number,
  refuse: Refuse,
  texts: string[],
) => Columns[K];

const timeOr = (time: number | typeof nowDefault, now: number): number => (time === nowDefault ? now : time);
const idOr = (id: string | null): string | null => (id === null ? null : canonicalId(id));

/** From complete fields to columns. */
const render: { [K in RecordKind]: Render<K> } = {
  workspace: ({ id, name }) => ({ id: canonicalId(id), name }),

  app: ({ id, workspace_id, name, mode }) => ({
    id: canonicalId(id),
    workspace_id: canonicalId(workspace_id),
    name,
    mode,
  }),

  api_key: (fields, _given, now, refuse) => {
    const kind: KeyKind = fields.kind;
    const problem = findReachProblem(kind, fields, storedReachFields(kind));
    if (problem !== undefined) refuse(describeReachProblem(kind, problem));
    return {
      id: idOr(fields.id),
      is_unnamed: fields.id === null,
      kind,
      workspace_id: idOr(fields.workspace_id),
      app_id: idOr(fields.app_id),
      dataset_ids: fields.dataset_ids?.map(canonicalId) ?? null,
      name: fields.name,
      digest: requireDigest(kind, fields.secret, fields.digest, refuse),
      created_at: timeOr(fields.created_at, now),
      expires_at: fields.expires_at,
      revoked_at: fields.revoked_at,
    };
  },

  conversation: ({ id, app_id, user, created_at, deleted }, _given, now) => ({
    id: canonicalId(id),
    app_id: canonicalId(app_id),
    user,
    created_at: timeOr(created_at, now),
    deleted,
  }),

  message: (fields, given, now, refuse, texts) => {
    // UUIDs all of them, or they would not have come so far.
    fields.id = fields.id.toLowerCase();
    fields.conversation_id = fields.conversation_id.toLowerCase();
    fields.parent_message_id = fields.parent_message_id?.toLowerCase() ?? null;
    fields.created_at = timeOr(fields.created_at, now);
    fields.total_tokens = fields.message_tokens + fields.answer_tokens;
    if (!Number.isSafeInteger(fields.total_tokens)) refuse('message_tokens and answer_tokens add up to too much');
    const { id, conversation_id, created_at } = fields;
    const doc = JSON.stringify(fields);
    texts.push(doc);
    return {
      id,
      conversation_id,
      created_at,
      keeps_created_at: given.created_at === undefined,
      usage: usageOf(fields),
      doc_bytes: Buffer.byteLength(doc),
    };
  },

  dataset: ({ id, workspace_id, name }) => ({ id: canonicalId(id), workspace_id: canonicalId(workspace_id), name }),

  document: ({ id, dataset_id, name }) => ({ id: canonicalId(id), dataset_id: canonicalId(dataset_id), name }),

  segment: ({ id, document_id, position, content }) => ({
    id: canonicalId(id),
    dataset_id: '',
    document_id: canonicalId(document_id),
    position,
    content,
  }),

  child_chunk: (fields, _given, now) => {
    const created_at = timeOr(fields.created_at, now);
    return {
      id: canonicalId(fields.id),
      dataset_id: '',
      segment_id: canonicalId(fields.segment_id),
      content: fields.content,
      position: fields.position,
      word_count: fields.word_count ?? countWords(fields.content),
      type: fields.type,
      created_at,
      updated_at: fields.updated_at ?? created_at,
      replaced_at: now,
    };
  },

  child_chunk_revision: ({ child_chunk_id, revision, content, replaced_at, key_id }, _given, now) => ({
    dataset_id: '',
    child_chunk_id: canonicalId(child_chunk_id),
    revision,
    content,
    replaced_at,
    key_id: idOr(key_id),
    imported_at: now,
  }),

  model_provider: (fields) => {
    const workspace_id = canonicalId(fields.workspace_id);
    const { workspace_id: _, ...entry } = fields;
    const doc = JSON.stringify({ ...fields, workspace_id });
    const entries: { model_type: string; entry: string }[] = [];
    for (const model_type of entry.status === 'active' ? modelTypes : []) {
      const models = entry.models.filter((m: Fields) => m.model_type === model_type && m.status === 'active');
      if (models.length === 0) continue;
      entries.push({ model_type, entry: JSON.stringify({ ...entry, models, tenant_id: workspace_id }) });
    }
    return { workspace_id, provider: fields.provider, doc, entries };
  },
};

function requireDigest(kind: KeyKind, secret: string | null, digest: string | null, refuse: Refuse): string {
  if (secret === null) return digest ?? refuse('secret or digest is required');
  const { prefix } = keyKindTable[kind];
  if (!secret.startsWith(prefix) || secret === prefix) refuse(`secret of kind ${kind} must start with ${prefix}`);
  if (!/^[\x21-\x7e]+$/.test(secret)) refuse('secret must be visible ASCII without spaces');
  if (digest !== null && digest !== digestOf(secret)) refuse('digest is not that of secret');
  return digestOf(secret);
}

type Fill = (value: Fields) => unknown;

/** Makes a value complete and puts its fields into the document's order; open objects stay as they came. */
function filler(schema: Fields): Fill {
  if (schema.anyOf) {
    const inner = filler(schema.anyOf[0]);
    return (value) => (value === null ? null : inner(value));
  }
  if (schema.type === 'array') {
    const inner = filler(schema.items);
    return (value) => value.map(inner);
  }
  if (!schema.properties) return (value) => value;
  const fields = Object.entries<Fields>(schema.properties)
    .filter(([name]) => name !== 'record')
    .map(([name, field]) => ({ name, fill: filler(field), default: field.default }));
  // Several times faster than an object that gets its fields one by one.
  const empty: Fields = Object.fromEntries(fields.map((field) => [field.name, field.default]));
  return (value) => {
    const full = { ...empty };
    for (const field of fields) {
      const given = value[field.name];
      if (given !== undefined) full[field.name] = field.fill(given);
    }
    return full;
  };
}

type Codec = { validator: Validator; fill: Fill };
const machines = new Map<RecordKind, Codec>();

/** Compiled when a kind is first met, so that a start does not pay for it. */
function codecOf(kind: RecordKind): Codec {
  let machine = machines.get(kind);
  if (machine === undefined) {
    const schema: TSchema = records[kind];
    machine = { validator: compile(schema), fill: filler(schema) };
    machines.set(kind, machine);
  }
  return machine;
}
