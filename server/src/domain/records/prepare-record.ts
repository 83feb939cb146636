import { knownParameters } from '../../contract/app.ts';
import {
  describeReachProblem,
  findReachProblem,
  type KeyKind,
  keyKindTable,
  readOnlyKinds,
  storedReachFields,
} from '../../contract/key-kinds.ts';
import { limits } from '../../contract/limits.ts';
import { modelTypes } from '../../contract/model.ts';
import { canonicalId } from '../../contract/primitives.ts';
import { describeProblem, findBadValue, type Problem, plainProblem } from '../../contract/problem.ts';
import { now as nowDefault, type RecordKind, recordKinds, records } from '../../contract/record.ts';
import { compile, type Validator } from '../../contract/validator.ts';
import { personId, personPrefix } from '../author.ts';
import { BadRecord, type Line } from '../errors.ts';
import { digestOf } from '../secret.ts';
import { deriveName } from './conversation-name.ts';
import { countWords } from './count-words.ts';
import { jsonErrorColumn } from './json-column.ts';
import type { Prepared, PreparedRecord } from './prepared-record.ts';
import { keptFields } from './record-kinds.ts';
import { usageOf } from './usage.ts';

/** Validates one line by itself and prepares its record. The JSON text of a message is added to `texts`. Throws BadRecord. */
export function prepareRecord(line: Line, json: string, now: number, texts: string[]): PreparedRecord {
  return completeRecord(line, validateLine(line, json), now, texts);
}

/** The fields of one line that match the schema of their kind. */
function validateLine(line: Line, json: string): Fields {
  const rejectAs = (kind: string | undefined, problem: string | Problem): never => {
    throw new BadRecord(line, kind, problem);
  };
  let input: Fields;
  try {
    input = JSON.parse(json);
  } catch {
    return rejectAs(undefined, `not JSON at column ${jsonErrorColumn(json)}`);
  }
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    return rejectAs(undefined, 'not a JSON object');
  }
  const kind: RecordKind = input.record;
  if (!recordKinds.includes(kind)) return rejectAs(undefined, `record must be one of ${recordKinds.join(', ')}`);

  const { validator } = codecOf(kind);
  if (!validator.Check(input)) return rejectAs(kind, describeProblem(validator.Errors(input)));
  const badValue = findBadValue(input, json);
  return badValue === undefined ? input : rejectAs(kind, badValue);
}

/** Prepares a record whose fields are known to match the schema of its kind. Throws BadRecord if they contradict each other. */
export function completeRecord(line: Line, input: Fields, now: number, texts: string[]): PreparedRecord {
  const kind: RecordKind = input.record;
  const { fill, idFields } = codecOf(kind);
  const fields = fill(input);
  for (const name of idFields) fields[name] = idOrNull(fields[name]);
  for (const name of timeFields) if (fields[name] === nowDefault) fields[name] = now;
  const reject: Reject = (field, problem) => {
    throw new BadRecord(line, kind, plainProblem([field], problem));
  };
  const prepared = converters[kind]?.(fields, { input, now, texts, reject }) ?? fields;
  return { record: kind, line, ...prepared };
}

const timeFields = ['created_at', 'updated_at'];
/** Of a message: not part of the text that readers get. */
const unshownFields = ['feedback_content', 'rated_at', 'model_provider', 'model', 'trace_id', 'items'];

// biome-ignore lint/suspicious/noExplicitAny: validated against the kind's schema
type Fields = any;
/** Rejects the record because of a field. */
type Reject = (field: string, problem: string) => never;
type Context = { input: Fields; now: number; texts: string[]; reject: Reject };
type PreparedFields<K extends RecordKind> = Omit<Prepared<K>, 'record' | 'line' | 'dataset_id'>;

const idOrNull = (id: string | null): string | null => (id === null ? null : canonicalId(id));

/** For kinds whose prepared form differs from their fields: converts complete fields. */
const converters: { [K in RecordKind]?: (fields: Fields, context: Context) => PreparedFields<K> } = {
  api_key: ({ secret, ...fields }, { reject }) => {
    const kind: KeyKind = fields.kind;
    const problem = findReachProblem(kind, fields, storedReachFields(kind));
    if (problem !== undefined) reject('field' in problem ? problem.field : 'kind', describeReachProblem(kind, problem));
    if (fields.read_only && !readOnlyKinds.includes(kind))
      reject('read_only', `read_only is not allowed for kind ${kind}`);
    if (fields.id?.startsWith(personPrefix)) reject('id', `id must not begin with ${personPrefix}`);
    if (fields.role !== null && kind !== 'admin') reject('role', `role is not allowed for kind ${kind}`);
    return {
      ...fields,
      role: fields.role ?? (kind === 'admin' ? 'admin' : null),
      is_unnamed: fields.id === null,
      dataset_ids: fields.dataset_ids?.map(canonicalId) ?? null,
      digest: requireDigest(kind, secret, fields.digest, reject),
    };
  },

  person: (fields, { reject }) => {
    const id = personId(fields);
    if (fields.id !== null && fields.id !== id) reject('id', 'id is not that of issuer and subject');
    return { ...fields, id };
  },

  app: (fields, { input }) => ({
    ...fields,
    parameters: knownParameters(fields.parameters),
    omitted: omittedFields('app', input),
  }),

  conversation: (fields, { input }) => ({ ...fields, omitted: omittedFields('conversation', input) }),

  message: (fields, { input, texts, reject }) => {
    fields.total_tokens = fields.message_tokens + fields.answer_tokens;
    if (!Number.isSafeInteger(fields.total_tokens))
      reject('message_tokens', 'message_tokens and answer_tokens add up to too much');
    const { id, conversation_id, created_at } = fields;
    const { feedback_content, rated_at, model_provider, model, trace_id, items } = fields;
    const usage = usageOf(fields);
    for (const name of unshownFields) fields[name] = undefined;
    const doc = JSON.stringify(fields);
    texts.push(doc);
    return {
      id,
      conversation_id,
      created_at,
      // Feedback that the record has is not that of a reader, unless the record says so.
      omitted: omittedFields('message', input).filter((field) => field !== 'rated_at' || input.feedback === undefined),
      feedback_content,
      rated_at,
      model_provider,
      model,
      trace_id,
      items,
      derived_name: deriveName(fields.query),
      derived_inputs: JSON.stringify(fields.inputs),
      usage,
      doc_bytes: Buffer.byteLength(doc),
    };
  },

  review: (fields, { reject }) => {
    for (const field of ['note', 'expected_answer', 'assignee'])
      if ((fields[field]?.length ?? 0) > limits.reviewUnitsMax)
        reject(field, `${field} must not have more than ${limits.reviewUnitsMax} characters`);
    const { labels, assignee } = fields;
    return { ...fields, labels: [...new Set(labels)], assignee: assignee && canonicalId(assignee) };
  },

  segment: (fields) => ({ ...fields, word_count: countWords(fields.content) }),

  child_chunk: (fields, { now }) => ({
    ...fields,
    word_count: fields.word_count ?? countWords(fields.content),
    updated_at: fields.updated_at ?? fields.created_at,
    replaced_at: now,
  }),

  child_chunk_revision: (fields, { now }) => ({ ...fields, imported_at: now }),

  model_provider: (fields) => {
    const { workspace_id, ...entry } = fields;
    const entries: { model_type: string; entry: string }[] = [];
    for (const model_type of entry.status === 'active' ? modelTypes : []) {
      const models = entry.models.filter((m: Fields) => m.model_type === model_type && m.status === 'active');
      if (models.length === 0) continue;
      entries.push({ model_type, entry: JSON.stringify({ ...entry, models, tenant_id: workspace_id }) });
    }
    return { workspace_id, provider: fields.provider, doc: JSON.stringify(fields), entries };
  },
};

function omittedFields(kind: RecordKind, input: Fields): string[] {
  return (keptFields[kind] ?? []).filter((field) => input[field] === undefined);
}

function requireDigest(kind: KeyKind, secret: string | null, digest: string | null, reject: Reject): string {
  if (secret === null) return digest ?? reject('secret', 'secret or digest is required');
  const { prefix } = keyKindTable[kind];
  if (!secret.startsWith(prefix) || secret === prefix)
    reject('secret', `secret of kind ${kind} must start with ${prefix}`);
  if (!/^[\x21-\x7e]+$/.test(secret)) reject('secret', 'secret must be visible ASCII without spaces');
  if (digest !== null && digest !== digestOf(secret)) reject('digest', 'digest is not that of secret');
  return digestOf(secret);
}

type Fill = (value: Fields) => Fields;

/** Returns a function that fills in defaults and puts the fields into the order of the schema. Open objects are unchanged. */
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
  // Copying an object is several times faster than adding its fields one by one.
  const empty: Fields = Object.fromEntries(fields.map((field) => [field.name, field.default]));
  return (value) => {
    const full = { ...empty };
    for (const field of fields) {
      const inputValue = value[field.name];
      if (inputValue !== undefined) full[field.name] = field.fill(inputValue);
    }
    return full;
  };
}

/** `index_node_id` is an id of another system, and is returned unchanged. */
const isIdField = (name: string): boolean => /^id$|_id$/.test(name) && name !== 'index_node_id';

type Codec = { validator: Validator; fill: Fill; idFields: readonly string[] };
const codecs = new Map<RecordKind, Codec>();

/** Compiled when a kind is first used, so that the program starts quickly. */
function codecOf(kind: RecordKind): Codec {
  let codec = codecs.get(kind);
  if (codec === undefined) {
    const schema: Fields = records[kind];
    const idFields = Object.keys(schema.properties).filter(isIdField);
    codec = { validator: compile(schema), fill: filler(schema), idFields };
    codecs.set(kind, codec);
  }
  return codec;
}
