import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { tables } from '../support/api-tables.ts';
import { completeRecords, newPerson } from '../support/complete-records.ts';
import { makeTwoTenants, messageDefaults, onOneEngine, useService } from '../support/harness.ts';
import { firstOrAll } from '../support/long.ts';

// The tables of service-api.md and contract.md as data.

type Json = Record<string, unknown>;

type Path = (string | number)[];

/** The default of a time field: the time of the import. */
const now = Symbol('now');

type Field = {
  type: 'string' | 'uuid' | 'decimal' | 'integer' | 'number' | 'boolean' | 'object' | 'texts' | 'array' | 'any';
  nullable?: boolean;
  /** The value when the field is left out. A field without a default is required. */
  default?: unknown;
  /** A closed set. */
  values?: string[];
  /** Whether null is allowed is unspecified, or tested separately. */
  nullUntested?: boolean;
  /** A string that accepts any value although only some are documented. */
  open?: boolean;
  /** The type of the elements of an array, if it is simple. */
  items?: 'string' | 'uuid';
};
type Shape = Record<string, Field>;

/** The default of a position: after all others. */
const next = Symbol('next');

const string: Field = { type: 'string' };
const uuid: Field = { type: 'uuid' };
const integer: Field = { type: 'integer' };
const number: Field = { type: 'number' };
const boolean: Field = { type: 'boolean' };
const object: Field = { type: 'object' };
const array: Field = { type: 'array' };
const open: Field = { type: 'string', open: true };
const oneOf = (...values: string[]): Field => ({ type: 'string', values });
const orNull = (field: Field): Field => ({ ...field, nullable: true, default: null });
const or = (field: Field, value: unknown): Field => ({ ...field, default: value });

/** The table of an object in responses, as a record has it: what may be null may also be left out. */
function shapeOf(table: string, more: Shape = {}): Shape {
  const types: Record<string, Field['type']> = { open: 'object', map: 'texts', any: 'any' };
  const fields = Object.entries(tables[table] ?? {}).map(([name, row]): [string, Field] => {
    const [, kind = '', mark, note = ''] = /^([^\s?]+)(\?)?(?: (.+))?$/.exec(row) ?? [];
    const type = kind.startsWith('[') ? 'array' : /^[A-Z]/.test(kind) ? 'object' : (types[kind] ?? (kind as 'string'));
    const field: Field = note.includes('|')
      ? oneOf(...note.split('|'))
      : note === 'uuid' || note === 'decimal'
        ? { type: note }
        : { type, ...(kind === '[string]' && { items: 'string' as const }) };
    return [name, mark === '?' || kind === 'any' ? orNull(field) : field];
  });
  return { ...Object.fromEntries(fields), ...more };
}

const nested: Record<string, Shape> = {
  message_files: shapeOf('MessageFile', { type: open }),
  feedback: shapeOf('Feedback'),
  retriever_resources: shapeOf('RetrieverResource'),
  agent_thoughts: shapeOf('AgentThought'),
  extra_contents: shapeOf('HumanInputContent'),
  form_definition: shapeOf('FormDefinition'),
  inputs: shapeOf('FormInput'),
  default: shapeOf('FormInputDefault', {
    selector: or({ type: 'array', items: 'string' }, []),
    value: or(string, ''),
  }),
  actions: shapeOf('UserAction'),
  form_submission_data: shapeOf('FormSubmissionData'),
  tags: { id: string, name: string, type: or(open, 'knowledge') },
  models: shapeOf('Model', { fetch_from: open, status: open }),
};

/** The path of each nested object in the complete records below. */
const nestedPaths: { name: string; kind: string; at: Path }[] = [
  { name: 'message_files', kind: 'message', at: ['message_files', 0] },
  { name: 'feedback', kind: 'message', at: ['feedback'] },
  { name: 'retriever_resources', kind: 'message', at: ['retriever_resources', 0] },
  { name: 'agent_thoughts', kind: 'message', at: ['agent_thoughts', 0] },
  { name: 'extra_contents', kind: 'message', at: ['extra_contents', 0] },
  { name: 'form_definition', kind: 'message', at: ['extra_contents', 0, 'form_definition'] },
  { name: 'inputs', kind: 'message', at: ['extra_contents', 0, 'form_definition', 'inputs', 0] },
  { name: 'default', kind: 'message', at: ['extra_contents', 0, 'form_definition', 'inputs', 0, 'default'] },
  { name: 'actions', kind: 'message', at: ['extra_contents', 0, 'form_definition', 'actions', 0] },
  { name: 'form_submission_data', kind: 'message', at: ['extra_contents', 0, 'form_submission_data'] },
  { name: 'tags', kind: 'dataset', at: ['tags', 0] },
  { name: 'models', kind: 'model_provider', at: ['models', 0] },
];

/** total_tokens is tested separately: it is always the sum, whatever the record says. */
const { total_tokens: _sum, ...message } = shapeOf('Message', {
  inputs: or(object, {}),
  status: or(oneOf('normal', 'error'), 'normal'),
  ...Object.fromEntries(
    ['message_files', 'retriever_resources', 'agent_thoughts', 'extra_contents', 'items'].map((name) => [
      name,
      or(array, []),
    ]),
  ),
  created_at: or(integer, now),
  message_tokens: or(integer, 0),
  answer_tokens: or(integer, 0),
  provider_response_latency: or(number, 0),
  feedback_content: orNull(string),
  rated_at: orNull(integer),
  model_provider: orNull(string),
  model: orNull(string),
  trace_id: orNull(string),
});

const topLevel: Record<string, Shape> = {
  workspace: { id: string, name: string },
  app: {
    id: string,
    workspace_id: string,
    name: string,
    mode: open,
    retention_days: orNull(integer),
    description: orNull(string),
    parameters: orNull(object),
    site: orNull(object),
  },
  api_key: {
    id: { type: 'string', nullUntested: true },
    kind: oneOf('app', 'knowledge', 'writer', 'feed', 'admin'),
    workspace_id: string,
    dataset_ids: orNull({ type: 'array', items: 'uuid' }),
    name: string,
    digest: { type: 'string', nullUntested: true },
    created_at: or(integer, now),
    expires_at: orNull(integer),
    revoked_at: orNull(integer),
    read_only: or(boolean, false),
    role: orNull(oneOf('viewer', 'editor', 'admin')),
  },
  person: {
    id: { type: 'string', nullUntested: true },
    issuer: string,
    subject: string,
    name: string,
    email: orNull(string),
    role: oneOf('viewer', 'editor', 'admin'),
    blocked: or(boolean, false),
  },
  conversation: {
    id: uuid,
    app_id: string,
    user: orNull(string),
    created_at: or(integer, now),
    deleted: or(boolean, false),
    hold: or(boolean, false),
    name: orNull(string),
    inputs: orNull(object),
    introduction: orNull(string),
    renamed_at: orNull(integer),
    updated_at: orNull(integer),
  },
  message,
  dataset: {
    id: string,
    workspace_id: string,
    name: string,
    description: orNull(string),
    indexing_technique: orNull(open),
    embedding_model: orNull(string),
    embedding_model_provider: orNull(string),
    doc_form: orNull(open),
    data_source_type: orNull(open),
    tags: or(array, []),
    created_at: or(integer, now),
    updated_at: or(integer, now),
    settings: orNull(object),
  },
  document: {
    id: string,
    dataset_id: string,
    name: string,
    position: { type: 'integer', default: next, nullUntested: true },
    created_at: or(integer, now),
    updated_at: or(integer, now),
    enabled: or(boolean, true),
    archived: or(boolean, false),
    indexing_status: or(open, 'completed'),
    doc_form: orNull(open),
    doc_language: orNull(string),
    data_source_type: orNull(open),
    data_source_info: orNull(object),
    tokens: orNull(integer),
    doc_metadata: or(array, []),
    created_by: orNull(string),
    disabled_at: orNull(integer),
  },
  segment: {
    id: string,
    document_id: string,
    position: integer,
    content: string,
    answer: orNull(string),
    keywords: orNull({ type: 'array', items: 'string' }),
    enabled: or(boolean, true),
    status: or(open, 'completed'),
    tokens: or(integer, 0),
    hit_count: or(integer, 0),
    index_node_id: orNull(string),
    index_node_hash: orNull(string),
    created_at: or(integer, now),
    updated_at: or(integer, now),
    created_by: orNull(string),
    disabled_at: orNull(integer),
  },
  child_chunk: {
    id: string,
    segment_id: string,
    content: string,
    position: integer,
    word_count: { type: 'integer', default: 4, nullUntested: true },
    type: or(open, 'automatic'),
    created_at: or(integer, now),
    updated_at: { type: 'integer', default: 1_600_000_000, nullUntested: true },
    deleted: or(boolean, false),
    index_node_id: orNull(string),
  },
  child_chunk_revision: {
    child_chunk_id: string,
    revision: integer,
    content: string,
    replaced_at: integer,
    key_id: { type: 'string', nullable: true },
    person_id: { type: 'string', nullable: true },
    review_message_id: orNull(uuid),
  },
  model_provider: {
    workspace_id: string,
    provider: string,
    label: { type: 'texts' },
    icon_small: { type: 'texts' },
    icon_small_dark: orNull({ type: 'any' }),
    status: open,
    models: array,
  },
};

const absent = Symbol('absent');

/** A copy with one value changed or removed. */
function withValue(record: Json, path: Path, value: unknown): Json {
  const copy = structuredClone(record);
  let parent = copy as Record<string | number, unknown>;
  for (const step of path.slice(0, -1)) parent = parent[step] as typeof parent;
  const last = path.at(-1) as string;
  if (value === absent) delete parent[last];
  else parent[last] = value;
  return copy;
}

function valueAt(record: unknown, path: Path): unknown {
  return path.reduce((value, step) => (value as Record<string | number, unknown>)[step], record);
}

function wrongValues({ type, nullable, nullUntested, items }: Field): unknown[] {
  const text = [1, true, [], ['x'], {}];
  const wrong = {
    string: text,
    uuid: ['x', ...text, '', '00000000-0000-0000-0000-00000000000g', ` ${randomUUID()}`, `${randomUUID()}\n`],
    decimal: ['1,5', ...text, '', 'dear', 'NaN', 'Infinity'],
    integer: ['1', 1.5, true, '', [], {}, [1]],
    number: ['1', '', true, [], {}, [1]],
    boolean: [0, 1, 'true', '', [], {}],
    object: [1, true, 'x', [], [{}]],
    texts: [1, { en_US: 1 }, [], true, 'x', { en_US: null }, { en_US: {} }, { en_US: ['x'] }],
    array: [1, true, 'x', {}, { 0: 'x', length: 1 }],
    any: [],
  }[type];
  const inItems = { string: [[1], ['a', null], [['a']]], uuid: [['x'], [1], [null]] };
  return [
    ...firstOrAll(wrong, 3),
    ...(items ? firstOrAll(inItems[items]) : []),
    ...(nullable || nullUntested ? [] : [null]),
  ];
}

const required = { id: '', conversation_id: '', query: '', answer: '', created_at: 0 };

const isText = ({ type }: Field) => type === 'string' || type === 'uuid' || type === 'decimal';

onOneEngine('fields of records', (engine) => {
  const world = makeTwoTenants();
  const complete: Record<string, Json> = completeRecords(world.one);
  const ndjsonType = { 'content-type': 'application/x-ndjson' };
  const record = (kind: string) => complete[kind] as Json;
  const post = (...records: object[]) => service.as(world.admin).append(...records);

  async function assertRejected(invalid: Json, ...named: string[]) {
    const response = await post({ record: 'workspace', id: world.one.ids.workspace, name: 'changed' }, invalid);
    if (response.status === 200) await post({ record: 'workspace', id: world.one.ids.workspace, name: 'workspace' });
    const details = `${JSON.stringify(invalid).slice(0, 200)}… → ${response.text}`;
    assert.equal(response.status, 400, details);
    assert.equal(response.body.code, 'invalid_param', details);
    const start = `line 2: ${invalid.record}: ${named[0]}`;
    assert.ok(response.body.message.startsWith(start), `should start with '${start}': ${details}`);
    for (const name of named) assert.ok(response.body.message.includes(name), `should name ${name}: ${details}`);
  }

  async function exportRecords(kind: unknown, isRead: (line: string) => boolean = () => true): Promise<Json[]> {
    const response = await service.as(world.admin).get(`/admin/records?kinds=${kind}`);
    assert.equal(response.status, 200);
    assert.match(response.headers['content-type'] ?? '', /^application\/x-ndjson/);
    const lines = response.text.split('\n');
    assert.equal(lines.pop(), '', 'every line ends with a newline');
    return lines.filter(isRead).map((line) => JSON.parse(line));
  }

  const identity = ['id', 'child_chunk_id', 'provider'];
  const findLike = (records: Json[], like: Json) =>
    records.find((r) => r.record === like.record && identity.every((name) => r[name] === like[name])) as Json;

  /** Imports one record and returns it as exported. */
  async function roundTrip(sent: Json): Promise<Json> {
    const response = await post(sent);
    assert.equal(response.status, 200, `${JSON.stringify(sent)} → ${response.text}`);
    assert.deepEqual(response.body, { records: 1 });
    const isSame = (line: string) =>
      identity.some((name) => sent[name] !== undefined && line.includes(`"${sent[name]}"`));
    const out = findLike(await exportRecords(sent.record, isSame), sent);
    assert.ok(out, `${sent.record} is in the export`);
    if (sent.record === 'message') await assertShown(out);
    return out;
  }

  /** A page shows what is exported, but for the fields that no reader gets. */
  async function assertShown(exported: Json): Promise<void> {
    const path = `/v1/messages?conversation_id=${exported.conversation_id}&limit=100`;
    const { body } = await service.as(world.one.keys.app).get(path);
    const shown: Json = body.data.find(({ id }: Json) => id === exported.id);
    assert.deepEqual(Object.keys(shown).sort(), Object.keys({ ...messageDefaults, ...required }).sort());
    for (const [name, value] of Object.entries(shown)) assert.deepEqual(value, exported[name], name);
  }

  /** A complete record of this kind with a new id, so that tests do not affect each other. */
  function newRecord(kind: string): Json {
    const copy = structuredClone(record(kind));
    if ('id' in copy) copy.id = randomUUID();
    if (kind === 'api_key') copy.digest = createHash('sha256').update(randomUUID()).digest('hex');
    if (kind === 'person') Object.assign(copy, newPerson());
    if (kind === 'model_provider') copy.provider = `acme/${randomUUID()}`;
    return copy;
  }

  const service = useService(engine, world.records);

  it('tests every kind and every field of the complete records', () => {
    assert.equal(Object.keys(topLevel).length, 12);
    for (const [kind, shape] of Object.entries(topLevel)) {
      const named = Object.keys(record(kind)).filter((name) => name !== 'record' && name !== 'total_tokens');
      assert.deepEqual(named.sort(), Object.keys(shape).sort(), kind);
    }
    assert.deepEqual(nestedPaths.map(({ name }) => name).sort(), Object.keys(nested).sort());
    for (const { name, kind, at } of nestedPaths) {
      assert.deepEqual(
        Object.keys(valueAt(record(kind), at) as Json).sort(),
        Object.keys(nested[name] ?? {}).sort(),
        name,
      );
    }
  });

  for (const [kind, shape] of Object.entries(topLevel)) {
    describe(kind, () => {
      it('exports a complete record as it was imported', async () => {
        const sent = newRecord(kind);
        const out = await roundTrip(sent);
        if (kind === 'api_key') assert.equal(out.app_id ?? null, null);
        if (kind === 'api_key') delete out.app_id;
        assert.deepEqual(out, sent);
      });

      it('rejects unknown fields by name', async () => {
        for (const name of firstOrAll(['colour', 'constructor', 'Id', 'tenant_id', 'toString'], 2)) {
          await assertRejected(withValue(record(kind), [name], 1), name);
        }
        const odd = JSON.parse(`${JSON.stringify(record(kind)).slice(0, -1)},"__proto__":{"polluted":true}}`);
        await assertRejected(odd, '__proto__');
      });

      for (const [name, field] of Object.entries(shape)) {
        it(`${name}: rejects wrong types by name`, async () => {
          for (const value of wrongValues(field)) await assertRejected(withValue(record(kind), [name], value), name);
        });
        const isOptional = field.nullable === true || field.nullUntested === true;
        if (field.default === undefined && (!isOptional || name === 'digest')) {
          it(`${name}: is required`, async () => {
            if (name === 'digest') {
              const { message } = (await post(withValue(record(kind), [name], absent))).body;
              assert.match(message, /^line 1: api_key: .*(secret|digest)/);
            } else await assertRejected(withValue(record(kind), [name], absent), name);
          });
        }
        if (field.default !== undefined) {
          it(`${name}: has its default when left out`, async () => {
            const earliest = Math.floor(Date.now() / 1000);
            const sent = withValue(newRecord(kind), [name], absent);
            const out = await roundTrip(sent);
            if (field.default === next) return assert.ok((out[name] as number) >= 1, `${out[name]}`);
            if (field.default === now) {
              const latest = Math.floor(Date.now() / 1000);
              const time = out[name] as number;
              assert.ok(Number.isInteger(time) && time >= earliest && time <= latest, `${time}`);
            } else assert.deepEqual(out[name], field.default);
            for (const other of Object.keys(sent)) {
              if (other !== 'total_tokens') assert.deepEqual(out[other], sent[other], other);
            }
          });
        }
        if (field.nullable) {
          it(`${name}: may be null`, async () => {
            const sent = withValue(newRecord(kind), [name], null);
            assert.equal((await roundTrip(sent))[name], null);
          });
        }
        if (field.values) {
          it(`${name}: is a closed set`, async () => {
            for (const value of ['', 'other', field.values?.[0]?.toUpperCase(), ` ${field.values?.[0]}`]) {
              await assertRejected(withValue(record(kind), [name], value), name);
            }
            if (kind === 'api_key') return;
            for (const value of field.values ?? []) {
              assert.equal((await roundTrip(withValue(newRecord(kind), [name], value)))[name], value);
            }
          });
        }
        if (field.open) {
          it(`${name}: accepts any text`, async () => {
            for (const value of ['something-new', 'ünï ✓']) {
              assert.equal((await roundTrip(withValue(newRecord(kind), [name], value)))[name], value);
            }
          });
        }
        if (isText(field)) {
          it(`${name}: rejects NUL and lone surrogates`, async () => {
            for (const value of firstOrAll(['a\0b', '\ud800', 'x\udc00y'], 2)) {
              await assertRejected(withValue(record(kind), [name], value), name);
            }
          });
        }
        if (field.type === 'integer' || field.type === 'number') {
          it(`${name}: rejects numbers beyond ±(2^53 − 1)`, async () => {
            const literals = ['9007199254740992', '-9007199254740992', '1e400', '1e21', '-1.5e300', '-1e400', '1e20'];
            for (const literal of firstOrAll(literals, 5)) {
              const line = JSON.stringify(withValue(record(kind), [name], 'here')).replace('"here"', literal);
              const response = await service.as(world.admin).post('/admin/records', line, ndjsonType);
              assert.equal(response.status, 400, `${literal} → ${response.text}`);
              assert.match(response.body.message, new RegExp(`^line 1: ${kind}: .*${name}`), literal);
            }
          });
        }
      }
    });
  }

  for (const { name: objectName, kind, at } of nestedPaths) {
    describe(`${kind}: ${objectName}`, () => {
      const first = String(at[0]);

      it('rejects unknown fields by name', async () => {
        for (const name of firstOrAll(['hasOwnProperty', 'colour', 'tenant_id'])) {
          await assertRejected(withValue(record(kind), [...at, name], 'x'), first, name);
        }
        const holder = JSON.parse(
          `${JSON.stringify(valueAt(record(kind), at)).slice(0, -1)},"__proto__":{"polluted":true}}`,
        );
        await assertRejected(withValue(record(kind), at, holder), first, '__proto__');
      });

      it('rejects anything but an object', async () => {
        const isElement = typeof at.at(-1) === 'number';
        for (const value of [1, 'x', true, [], [[]], ...(isElement ? [null] : [])]) {
          await assertRejected(withValue(record(kind), at, value), first);
        }
      });

      for (const [name, field] of Object.entries(nested[objectName] ?? {})) {
        it(`${name}: checks type, presence and allowed values`, async () => {
          for (const value of wrongValues(field))
            await assertRejected(withValue(record(kind), [...at, name], value), first, name);
          if (isText(field)) {
            for (const value of ['a\0b', '\udfff']) {
              await assertRejected(withValue(record(kind), [...at, name], value), first, name);
            }
          }
          if (field.default === undefined)
            await assertRejected(withValue(record(kind), [...at, name], absent), first, name);
          else {
            const out = await roundTrip(withValue(newRecord(kind), [...at, name], absent));
            assert.deepEqual(valueAt(out, [...at, name]), field.default);
          }
          if (field.nullable) {
            const out = await roundTrip(withValue(newRecord(kind), [...at, name], null));
            assert.equal(valueAt(out, [...at, name]), null);
          }
          if (field.values) {
            for (const value of ['', 'other', field.values[0]?.toUpperCase()]) {
              await assertRejected(withValue(record(kind), [...at, name], value), first, name);
            }
            for (const value of field.values) {
              const out = await roundTrip(withValue(newRecord(kind), [...at, name], value));
              assert.equal(valueAt(out, [...at, name]), value);
            }
          }
          if (field.open) {
            const out = await roundTrip(withValue(newRecord(kind), [...at, name], 'something new'));
            assert.equal(valueAt(out, [...at, name]), 'something new');
          }
          if (field.type === 'integer') {
            for (const value of [2 ** 53, -(2 ** 53), 1e21, -1e300]) {
              await assertRejected(withValue(record(kind), [...at, name], value), first, name);
            }
          }
        });
      }
    });
  }

  for (const name of ['word_count', 'updated_at']) {
    it(`child_chunk: ${name} is an integer, not nullable`, async () => {
      await assertRejected(withValue(record('child_chunk'), [name], null), name);
    });
  }

  it('names a field of the second element', async () => {
    const files = valueAt(record('message'), ['message_files']) as Json[];
    const two = [files[0], { ...files[0], size: '1' }];
    await assertRejected(withValue(record('message'), ['message_files'], two), 'message_files', '1', 'size');
  });

  it('gives a message with only its required fields every default', async () => {
    const sent = {
      record: 'message',
      id: randomUUID(),
      conversation_id: world.one.ids.conversation,
      query: '',
      answer: '',
    };
    const from = Math.floor(Date.now() / 1000);
    const { created_at, ...out } = await roundTrip(sent);
    assert.ok(from <= (created_at as number) && (created_at as number) <= Date.now() / 1000);
    assert.deepEqual(out, {
      ...{
        ...messageDefaults,
        feedback_content: null,
        rated_at: null,
        model_provider: null,
        model: null,
        trace_id: null,
        items: [],
        ...sent,
      },
    });
  });

  it('stores the sum as total_tokens, whatever the record says', async () => {
    for (const total_tokens of [0, -1, 1000, null, 'many']) {
      const sent = { ...newRecord('message'), message_tokens: 30, answer_tokens: 12, total_tokens };
      assert.equal((await roundTrip(sent)).total_tokens, 42);
    }
    const { total_tokens: _, ...rest } = newRecord('message');
    assert.equal((await roundTrip(rest)).total_tokens, 7);
  });

  it('sets a missing updated_at of a child chunk to its created_at, also when that is missing', async () => {
    const { created_at: _c, updated_at: _u, ...sent } = newRecord('child_chunk');
    const from = Math.floor(Date.now() / 1000);
    const out = await roundTrip(sent);
    assert.equal(out.updated_at, out.created_at);
    assert.ok(from <= (out.created_at as number) && (out.created_at as number) <= Date.now() / 1000);
  });

  it('creates an id for an api_key without one', async () => {
    const { id: _, ...sent }: Json = { ...newRecord('api_key'), name: randomUUID() };
    assert.equal((await post(sent)).status, 200);
    const keys = (await exportRecords('api_key')).filter(({ name }) => name === sent.name);
    assert.equal(keys.length, 1);
    assert.match(keys[0]?.id as string, /^[0-9a-f]{8}-/);
  });

  it('does not read fields from an own __proto__ property', async () => {
    const line = `{"record":"workspace","__proto__":{"id":"${randomUUID()}","name":"x"}}`;
    const response = await service.as(world.admin).post('/admin/records', line, ndjsonType);
    assert.equal(response.status, 400);
    assert.match(response.body.message, /^line 1: workspace: /);
  });

  it('stores nothing from the rejected imports', async () => {
    const { name } = findLike(await exportRecords('workspace'), { record: 'workspace', id: world.one.ids.workspace });
    assert.equal(name, 'workspace');
  });
});
