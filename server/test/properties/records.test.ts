import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { it } from 'node:test';
import fc from 'fast-check';
import { commandLine } from '../../src/domain/import/check-references.ts';
import { importRecords } from '../../src/domain/import/import-records.ts';
import { makeSecret } from '../../src/domain/secret.ts';
import { tables } from '../support/api-tables.ts';
import { type Engine, messageDefaults, ndjson, onEveryEngine, type Service, startService } from '../support/harness.ts';
import { shortOrLong } from '../support/long.ts';

type Json = Record<string, unknown>;

// Valid but unusual values. -0 and undefined are left out, because JSON does not return them.

const oddText = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
  { weight: 3, arbitrary: fc.string({ unit: 'grapheme', maxLength: 12 }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '',
      ' ',
      '\u2028\u2029',
      '"\\"\\\\/',
      '\r\n\t\b\f\u0001\u007f\u0085',
      '\u202eעברית العربية\u202c',
      'e\u0301\u0302é\ufb01',
      '👩‍👩‍👧‍👦🏳️‍🌈',
      '\u{10ffff}\uffff\ufffe\ufeff',
      '𝒳𠮷',
      '</script><!--',
      '{"record":"message"}\n',
      '\\u0000',
      "'; DROP TABLE messages; --",
      '%s ? $1 :a @a',
    ),
  },
);
const text = oddText.map((value) => value.replaceAll('\0', ''));

const safeInteger = fc.oneof(
  fc.maxSafeInteger(),
  fc.constantFrom(Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 0, 1, -1, 2 ** 31, -(2 ** 31) - 1, 2 ** 32),
);
/** A double within the bounds of records, without -0. */
const double = fc
  .oneof(
    fc.double({ noNaN: true, min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }),
    fc.constantFrom(0.1, 1e-7, 5e-324, 2.5e-10, 0.1 + 0.2, 123456789.12345678),
    safeInteger,
  )
  .map((value) => (value === 0 ? 0 : value));

const oddKey = fc.oneof(
  text,
  fc.constantFrom('__proto__', 'constructor', 'toString', 'hasOwnProperty', '', '0', '10', '1e3', '-1', 'a.b', 'id'),
);
const { json } = fc.letrec<{ json: unknown; list: unknown[]; object: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    fc.oneof(text, double, fc.boolean(), fc.constant(null)),
    tie('list'),
    tie('object'),
  ),
  list: fc.array(tie('json'), { maxLength: 3 }),
  object: fc.array(fc.tuple(oddKey, tie('json')), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
}));
const openObject: fc.Arbitrary<Json> = fc
  .array(fc.tuple(oddKey, json), { maxLength: 4 })
  .map((entries) => Object.fromEntries(entries));
const localized = fc.array(fc.tuple(oddKey, text), { maxLength: 3 }).map((entries) => Object.fromEntries(entries));

const uuid = fc.uuid();
const orNull = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null, freq: 3 });
const some = <T>(value: fc.Arbitrary<T>) => fc.array(value, { maxLength: 2 });
const decimal = fc.constantFrom('0', '0.0000100', '123456789012345678901234567890.10', '1.50', '-3.00');

/** Any value of a row of the tables of the API document. */
function anyOf(row: string): fc.Arbitrary<unknown> {
  const [, list, kind = '', mark, note = ''] = /^(\[)?(\w+)\]?(\?)?(?: (.+))?$/.exec(row) ?? [];
  const simple: Record<string, fc.Arbitrary<unknown>> = {
    ...{ string: text, integer: safeInteger, number: double, boolean: fc.boolean() },
    ...{ open: openObject, map: localized, any: orNull(json), uuid, decimal },
  };
  const one = note.includes('|')
    ? fc.constantFrom(...note.split('|'))
    : (simple[note] ?? simple[kind] ?? fc.record(fieldsOf(kind)));
  const value = list === undefined ? one : some(one);
  return mark === undefined ? value : orNull(value);
}
const fieldsOf = (table: string): Record<string, fc.Arbitrary<unknown>> =>
  Object.fromEntries(Object.entries(tables[table] ?? {}).map(([name, row]) => [name, anyOf(row)]));

const {
  id: _id,
  conversation_id: _of,
  query: _query,
  answer: _answer,
  created_at: _at,
  ...shown
} = fieldsOf('Message');
/** Any of the fields that may be left out. */
const optional = fc.record(
  {
    ...shown,
    ...{ message_tokens: fc.nat(), answer_tokens: fc.nat(), total_tokens: fc.nat() },
    feedback_content: orNull(text),
    rated_at: orNull(fc.nat()),
    model_provider: orNull(text.map((one) => one.slice(0, 80).toWellFormed())),
    model: orNull(text.map((one) => one.slice(0, 80).toWellFormed())),
  },
  { requiredKeys: [] },
);
const status = fc.oneof(fc.constant('active'), text);
const { tenant_id: _tenant, ...providerFields } = fieldsOf('ModelProvider');
const { total_tokens: _sum, ...defaults } = messageDefaults;

/** Times that are often equal, and some extreme ones. */
const time = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 1, max: 3 }) },
  { weight: 1, arbitrary: fc.constantFrom(0, -1, 1_700_000_000, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER) },
);

const messageWrite = fc.record({
  /** Which of a few messages of which conversation; one that is drawn twice is written twice. */
  conversation: fc.nat(2),
  slot: fc.nat(5),
  query: text,
  answer: text,
  created_at: time,
  omitsTime: fc.boolean(),
  optional,
});

const installation = fc.record({
  names: fc.array(text, { minLength: 4, maxLength: 4 }),
  mode: fc.constantFrom('chat', 'agent', 'advanced-chat', 'agent-chat'),
  app: fc.record({ description: orNull(text), site: orNull(openObject) }, { requiredKeys: [] }),
  conversations: fc.array(
    fc.record({
      user: orNull(text),
      created_at: time,
      deleted: fc.boolean(),
      name: orNull(text),
      inputs: orNull(openObject),
      introduction: orNull(text),
      renamed_at: orNull(time),
      updated_at: orNull(time),
    }),
    { minLength: 3, maxLength: 3 },
  ),
  messageWrites: fc.array(messageWrite, { maxLength: 14 }),
  chunkTexts: fc.array(text, { minLength: 1, maxLength: 4 }),
  chunkType: text,
  keyTimes: fc.array(fc.tuple(time, orNull(time), orNull(time)), { minLength: 3, maxLength: 3 }),
  providers: fc.uniqueArray(
    fc.record({
      ...providerFields,
      ...{ provider: text, status, models: some(fc.record({ ...fieldsOf('Model'), status })) },
    }),
    { selector: ({ provider }) => provider, maxLength: 3 },
  ),
});
type Installation = typeof installation extends fc.Arbitrary<infer T> ? T : never;

/** The records of an installation, in the order of import, and the pages that must be read back. */
function build(drawn: Installation) {
  const [workspace_id, other, app_id, dataset_id, document_id, segment_id, chunk_id] = Array.from({ length: 7 }, () =>
    randomUUID(),
  );
  const appSecret = makeSecret('app');
  const [one, two, three, four] = drawn.names;
  const key = (at: number) => {
    const [created_at, expires_at, revoked_at] = drawn.keyTimes[at] ?? [];
    return { record: 'api_key', id: randomUUID(), name: drawn.names[at], created_at, expires_at, revoked_at };
  };
  const digest = (secret: string) => createHash('sha256').update(secret).digest('hex');
  const knowledgeKey = {
    ...key(0),
    kind: 'knowledge',
    workspace_id,
    dataset_ids: [dataset_id],
    digest: digest(`dataset-${workspace_id}`),
  };
  const conversations = drawn.conversations.map((c) => ({ record: 'conversation', id: randomUUID(), app_id, ...c }));
  const records: object[] = [
    { record: 'workspace', id: workspace_id, name: one },
    { record: 'workspace', id: other, name: two },
    { record: 'app', id: app_id, workspace_id, name: three, mode: drawn.mode, ...drawn.app },
    { record: 'app', id: randomUUID(), workspace_id: other, name: four, mode: two },
    { record: 'dataset', id: dataset_id, workspace_id, name: one },
    { record: 'dataset', id: randomUUID(), workspace_id, name: two },
    knowledgeKey,
    { ...key(1), kind: 'writer', workspace_id, app_id, digest: digest(`writer-${app_id}`) },
    { ...key(2), kind: 'admin', digest: digest(`admin-${app_id}`) },
    { record: 'api_key', id: randomUUID(), kind: 'app', workspace_id, app_id, name: 'app', secret: appSecret },
    ...drawn.providers.map((provider, at) => ({
      record: 'model_provider',
      workspace_id: at === 2 ? other : workspace_id,
      ...provider,
    })),
    { record: 'document', id: document_id, dataset_id, name: one },
    { record: 'segment', id: segment_id, document_id, position: 1, content: two },
    // Written several times: each text except the last becomes a revision.
    ...drawn.chunkTexts.map((content, at) => ({
      record: 'child_chunk',
      id: chunk_id,
      segment_id,
      position: at,
      content,
      type: drawn.chunkType,
    })),
    {
      record: 'child_chunk_revision',
      child_chunk_id: chunk_id,
      revision: 40,
      content: three,
      replaced_at: 1,
      key_id: knowledgeKey.id,
    },
    ...conversations,
  ];

  const expectedMessages = new Map<string, { value: Json; sequence: number; conversation: number }>();
  const messageIds = Array.from({ length: 18 }, () => randomUUID());
  for (const { conversation, slot, query, answer, created_at, omitsTime, optional } of drawn.messageWrites) {
    const message_id = messageIds[conversation * 6 + slot] as string;
    const stored = expectedMessages.get(message_id);
    const keepsTime = omitsTime && stored !== undefined;
    const conversation_id = (conversations[conversation] as { id: string }).id;
    const fields = {
      id: message_id,
      conversation_id,
      query,
      answer,
      ...(!keepsTime && { created_at }),
      ...optional,
    };
    records.push({ record: 'message', ...fields });
    const { inputs, feedback, created_at: storedTime } = stored?.value ?? { ...defaults, created_at };
    const {
      feedback_content: _content,
      rated_at: _ratedAt,
      model_provider: _provider,
      model: _model,
      ...shown
    } = fields;
    const value: Json = { ...defaults, inputs, feedback, created_at: storedTime, ...shown };
    value.total_tokens = (value.message_tokens as number) + (value.answer_tokens as number);
    expectedMessages.set(message_id, { value, sequence: stored?.sequence ?? expectedMessages.size, conversation });
  }
  const expected = conversations.map(({ id, deleted, created_at, renamed_at, updated_at, ...conversation }, at) => {
    const messages = asRead(
      [...expectedMessages.values()]
        .filter(({ conversation }) => conversation === at)
        .sort((a, b) => (b.value.created_at as number) - (a.value.created_at as number) || b.sequence - a.sequence)
        .map(({ value }) => value),
    );
    const { name, inputs, introduction } = conversation;
    const listed = {
      id,
      name: name ?? derivedName(messages.at(-1)?.query as string | undefined),
      inputs: inputs ?? messages.at(-1)?.inputs ?? {},
      status: 'normal',
      introduction,
      created_at,
      updated_at: Math.max(
        created_at,
        ...[renamed_at, updated_at, messages[0]?.created_at as number].map((one) => one ?? created_at),
      ),
    };
    return { id, deleted, messages, listed: JSON.stringify(listed) };
  });
  return { records, expected, appSecret };
}

function derivedName(query: string | undefined): string {
  if (query === undefined || query === '') return 'New conversation';
  const points = [...query];
  return points.length > 20 ? `${points.slice(0, 20).join('')}…` : query;
}

/** Plain objects, as JSON.parse returns them. */
const asRead = (messages: Json[]): Json[] => JSON.parse(JSON.stringify(messages));

/** Top-level fields in a fixed order; nested fields in their own order. */
const inOrder = (value: Json) => JSON.stringify(Object.keys(defaults).map((name) => value[name]));

async function withServices(engine: Engine, use: (first: Service, second: Service) => Promise<void>): Promise<void> {
  const [first, second] = await Promise.all([startService(engine), startService(engine)]);
  try {
    await use(first, second);
  } finally {
    await Promise.all([first.close(), second.close()]);
  }
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  // In chunks that split lines and characters.
  for (let at = 0; at < bytes.length; at += 997) yield bytes.subarray(at, at + 997);
}

const exportOf = async (service: Service, key: string) => {
  const response = await service.as(key).get('/admin/records');
  assert.equal(response.status, 200, response.text);
  return response.text;
};

onEveryEngine('an arbitrary installation', (engine) => {
  it('is read back as it was imported, and export, import, export returns the same bytes', async () => {
    // Many tenants at once: creating a database costs more than filling it.
    const tenants = fc.array(installation, { minLength: 1, maxLength: 25, size: 'max' });
    await fc.assert(
      fc.asyncProperty(tenants, fc.nat(), async (drawn, cut) => {
        const built = drawn.map(build);
        const admin = makeSecret('admin');
        const records = [
          { record: 'api_key', kind: 'admin', name: 'admin', secret: admin },
          ...built.flatMap((tenant) => tenant.records),
        ];
        await withServices(engine, async (first, second) => {
          // The import may be split into two at any record.
          const at = cut % records.length;
          await first.load(records.slice(0, at));
          await first.load(records.slice(at));

          const out = await exportOf(first, admin);
          const lines = out.trimEnd().split('\n');
          assert.ok(![admin, ...built.map(({ appSecret }) => appSecret)].some((secret) => out.includes(secret)));
          assert.equal(ndjson(lines.map((line) => JSON.parse(line))), out, 'plain JSON, one record per line');
          const { records: importedCount } = await importRecords(
            second.store,
            commandLine,
            [{ bytes: bytesOf(out) }],
            4_000_000_000,
          );
          assert.equal(importedCount, lines.length);
          assert.equal(await exportOf(second, admin), out);

          for (const service of [first, second]) {
            for (const { expected, appSecret } of built) await readBack(service, appSecret, expected);
          }

          // Importing its own export changes nothing either.
          const again = await second.as(admin).post('/admin/records', out, { 'content-type': 'application/x-ndjson' });
          assert.equal(again.status, 200, again.text);
          assert.equal(await exportOf(second, admin), out);
        });
      }),
      // To find a smaller example would take hours and all memory: each attempt creates two databases.
      { numRuns: shortOrLong(1, 50), endOnFailure: true },
    );
  });
});

async function readBack(service: Service, key: string, expected: ReturnType<typeof build>['expected']): Promise<void> {
  const list = await service.as(key).get('/v1/conversations?limit=100');
  assert.equal(list.status, 200, list.text);
  assert.deepEqual(
    list.body.data.map((item: Json) => JSON.stringify(item)).sort(),
    expected
      .filter(({ deleted }) => !deleted)
      .map(({ listed }) => listed)
      .sort(),
  );
  for (const { id, deleted, messages } of expected) {
    const response = await service.as(key).get(`/v1/messages?limit=100&conversation_id=${id}`);
    if (deleted) {
      assert.equal(response.status, 404);
      continue;
    }
    assert.equal(response.status, 200, response.text);
    assert.deepEqual(response.body.data, messages);
    assert.deepEqual(response.body.data.map(inOrder), messages.map(inOrder));
  }
}
