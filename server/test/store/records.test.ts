import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { KeyKind } from '../../src/contract/key-kinds.ts';
import { makeSecret } from '../../src/domain/secret.ts';
import { completeRecords } from '../support/complete-records.ts';
import {
  describeOnOneEngine,
  itOnOneEngine,
  makeTenant,
  makeTwoTenants,
  message,
  ndjson,
  onEveryEngine,
  parseLines,
  pluck,
  type Service,
  startService,
  type Tenant,
  type TestResponse,
  useService,
} from '../support/harness.ts';
import { shortOrLong } from '../support/long.ts';
import { until } from '../support/until.ts';

type Json = Record<string, unknown>;

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const ndjsonType = { 'content-type': 'application/x-ndjson' };
const nowSeconds = () => Math.floor(Date.now() / 1000);

onEveryEngine('records', (engine) => {
  const world = makeTwoTenants();

  const service = useService(engine, world.records);

  const send = (body: string | Uint8Array, key = world.admin, headers: http.OutgoingHttpHeaders = ndjsonType) =>
    service.as(key).post('/admin/records', body, headers);
  const post = (...records: object[]) => send(ndjson(records));

  async function assertAccepted(response: TestResponse | Promise<TestResponse>, records?: number): Promise<void> {
    const { status, body, text } = await response;
    assert.equal(status, 200, text);
    if (records !== undefined) assert.deepEqual(body, { records });
  }

  async function assertRejected(response: TestResponse | Promise<TestResponse>, expected: RegExp): Promise<string> {
    const { status, body, text } = await response;
    assert.equal(status, 400, text.slice(0, 500));
    assert.equal(body.code, 'invalid_param', text);
    assert.match(body.message, expected);
    return body.message;
  }

  async function exportText(from = service, key = world.admin): Promise<string> {
    const response = await from.as(key).get('/admin/records');
    assert.equal(response.status, 200);
    return response.text;
  }
  async function exportRecords(from = service, key = world.admin): Promise<Json[]> {
    return parseLines(await exportText(from, key));
  }
  const findRecord = async (kind: string, id: unknown) => {
    const all = (await exportRecords()).filter((r) => r.record === kind && (r.id ?? r.child_chunk_id) === id);
    assert.ok(all.length <= 1, 'at most once');
    return all[0];
  };

  /** Imports a new tenant for one test. */
  async function importTenant(): Promise<Tenant> {
    const tenant = makeTenant();
    await assertAccepted(post(...tenant.records), tenant.records.length);
    return tenant;
  }

  async function page(of: Tenant, conversation: string = of.ids.conversation, query = ''): Promise<Json[]> {
    const path = `/v1/messages?limit=100&conversation_id=${conversation}${query}`;
    const response = await service.as(of.keys.app).get(path);
    assert.equal(response.status, 200, response.text);
    return response.body.data;
  }
  const status = async (key: string, of: Tenant) =>
    (await service.as(key).get(`/v1/messages?conversation_id=${of.ids.conversation}`)).status;

  describe('importing a record again', () => {
    it('replaces every kind of record', async () => {
      const t = await importTenant();
      const { ids, keyIds } = t;
      const complete = completeRecords(t);
      const { person, model_provider, child_chunk_revision } = complete;
      const added = [person, model_provider, child_chunk_revision];
      const count = (await exportRecords()).length;
      const blank = { models: [], label: {}, role: 'viewer', replaced_at: 1 };
      await assertAccepted(
        post(
          ...added.map((one) => ({
            ...one,
            ...Object.fromEntries(Object.entries(blank).filter(([name]) => name in one)),
          })),
        ),
      );
      const again: Json[] = [
        { ...complete.workspace, id: ids.workspace },
        { ...complete.app, id: ids.app },
        { ...complete.dataset, id: ids.dataset },
        { ...complete.document, id: ids.document },
        { ...complete.segment, id: ids.segment },
        // Another text would create a revision.
        { ...complete.child_chunk, id: ids.chunk, content: 'chunk text' },
        ...added,
        { ...complete.conversation, id: ids.conversation },
        { ...complete.api_key, id: keyIds.knowledge },
      ];
      await assertAccepted(post(...again), again.length);
      const all = await exportRecords();
      assert.equal(all.length, count + added.length, 'nothing else was added');
      for (const sent of again) {
        const out = all.find((r) =>
          ['record', 'id', 'child_chunk_id', 'provider'].every((name) => r[name] === sent[name]),
        );
        const { app_id: _, ...rest } = out ?? {};
        assert.deepEqual(sent.record === 'api_key' ? rest : out, sent);
      }
    });

    it('keeps time, inputs and feedback of a message without them, and resets other missing fields to their defaults', async () => {
      const t = await importTenant();
      const full = {
        ...message(t.ids.conversation, 500),
        inputs: { a: 1 },
        status: 'error',
        error: 'e',
        feedback: { rating: 'like' },
        message_tokens: 3,
        answer_tokens: 4,
        provider_response_latency: 2.5,
        total_price: '1',
        currency: 'EUR',
      };
      const { created_at: _, ...bare } = { ...message(t.ids.conversation, 0), id: full.id, query: 'again' };
      await assertAccepted(post(full));
      await assertAccepted(post(bare));
      const [out, ...more] = await page(t);
      assert.deepEqual(more, []);
      assert.deepEqual(
        [out?.created_at, out?.query, out?.inputs, out?.status, out?.error, out?.feedback, out?.total_price],
        [500, 'again', { a: 1 }, 'normal', null, { rating: 'like' }, null],
      );
      assert.deepEqual([out?.message_tokens, out?.total_tokens, out?.provider_response_latency], [0, 0, 0]);
    });

    it('keeps the time of a message within one import, and when its first record had no time either', async () => {
      const t = await importTenant();
      const { created_at: _, ...bare } = message(t.ids.conversation, 0, { query: 'first' });
      await assertAccepted(post({ ...bare, created_at: 77 }, { ...bare, query: 'second' }));
      const [out] = await page(t);
      assert.deepEqual([out?.created_at, out?.query], [77, 'second']);
      const { created_at: __, ...timeless } = message(t.ids.conversation, 0);
      const earliest = nowSeconds();
      await assertAccepted(post(timeless));
      service.advanceClock(1000);
      await assertAccepted(post(timeless));
      service.advanceClock(-1000);
      const time = (await page(t)).find(({ id }) => id === timeless.id)?.created_at as number;
      assert.ok(time >= earliest && time <= nowSeconds(), `${time}`);
    });

    it('treats ids in upper case as the same ids', async () => {
      const t = await importTenant();
      const m = message(t.ids.conversation, 1);
      await assertAccepted(post(m));
      const count = (await exportRecords()).length;
      const upper = (id: string) => id.toUpperCase();
      const { ids } = t;
      await assertAccepted(
        post(
          { record: 'workspace', id: upper(ids.workspace), name: 'W' },
          { record: 'app', id: upper(ids.app), workspace_id: upper(ids.workspace), name: 'A', mode: 'chat' },
          { record: 'dataset', id: upper(ids.dataset), workspace_id: upper(ids.workspace), name: 'D' },
          { record: 'document', id: upper(ids.document), dataset_id: upper(ids.dataset), name: 'O' },
          { record: 'segment', id: upper(ids.segment), document_id: upper(ids.document), position: 1, content: 'S' },
          {
            record: 'child_chunk',
            id: upper(ids.chunk),
            segment_id: upper(ids.segment),
            position: 1,
            content: 'chunk text',
          },
          { record: 'conversation', id: upper(ids.conversation), app_id: upper(ids.app), user: 'B' },
          { ...(m as Json), id: upper(m.id), conversation_id: upper(ids.conversation), query: 'Q' },
        ),
        8,
      );
      assert.equal((await exportRecords()).length, count);
      assert.deepEqual(pluck(await page(t), 'query'), ['Q']);
      assert.deepEqual((await page(t, upper(ids.conversation), '&user=B')).length, 1);
    });
  });

  describe('parents', () => {
    it('rejects a record of any kind that would change its parent', async () => {
      const one = await importTenant();
      const other = await importTenant();
      const { ids } = one;
      const key = (kind: 'app' | 'writer' | 'knowledge', more: object) => ({
        record: 'api_key',
        id: one.keyIds[kind],
        kind,
        workspace_id: other.ids.workspace,
        name: 'x',
        secret: one.keys[kind],
        ...more,
      });
      const second = { record: 'app', id: randomUUID(), workspace_id: ids.workspace, name: 'second', mode: 'chat' };
      await assertAccepted(post(second));
      const moves: [string, object][] = [
        ['workspace_id', { record: 'app', id: ids.app, workspace_id: other.ids.workspace, name: 'x', mode: 'chat' }],
        ['workspace_id', { record: 'dataset', id: ids.dataset, workspace_id: other.ids.workspace, name: 'x' }],
        ['dataset_id', { record: 'document', id: ids.document, dataset_id: other.ids.dataset, name: 'x' }],
        [
          'document_id',
          { record: 'segment', id: ids.segment, document_id: other.ids.document, position: 1, content: 'x' },
        ],
        [
          'segment_id',
          { record: 'child_chunk', id: ids.chunk, segment_id: other.ids.segment, position: 1, content: 'x' },
        ],
        ['app_id', { record: 'conversation', id: ids.conversation, app_id: other.ids.app }],
        ['app_id', { record: 'conversation', id: ids.conversation.toUpperCase(), app_id: second.id }],
        ['workspace_id', key('knowledge', {})],
        ['workspace_id', key('app', { app_id: other.ids.app })],
        ['app_id', key('writer', { workspace_id: ids.workspace, app_id: second.id })],
      ];
      const before = await exportText();
      for (const [field, record] of moves) {
        const { record: kind } = record as { record: string };
        await assertRejected(post(record), new RegExp(`^line 1: ${kind}: ${field} `));
      }
      assert.equal(await exportText(), before);
    });

    it('rejects a change of parent within one import', async () => {
      const { ids } = await importTenant();
      const segment = { record: 'segment', id: randomUUID(), document_id: ids.document, position: 2, content: '' };
      const chunk = { record: 'child_chunk', id: randomUUID(), position: 1, content: 'x' };
      const document = { record: 'document', id: randomUUID(), dataset_id: ids.dataset, name: '' };
      await assertRejected(
        post(segment, { ...chunk, segment_id: segment.id }, { ...chunk, segment_id: ids.segment }),
        /^line 3: child_chunk: segment_id /,
      );
      await assertRejected(
        post(document, segment, { ...segment, document_id: document.id }),
        /^line 3: segment: document_id /,
      );
    });
  });

  describe('references', () => {
    /** Records of each kind with a reference to something that does not exist. */
    const dangling = (t: Tenant): [string, string, object][] => {
      const missingId = randomUUID();
      const { ids } = t;
      const id = randomUUID();
      const complete = completeRecords(t);
      const secret = (kind: 'app' | 'knowledge') => ({ record: 'api_key', kind, name: 'x', secret: makeSecret(kind) });
      return [
        ['app', 'workspace_id', { record: 'app', id, workspace_id: missingId, name: 'x', mode: 'chat' }],
        ['dataset', 'workspace_id', { record: 'dataset', id, workspace_id: missingId, name: 'x' }],
        ['document', 'dataset_id', { record: 'document', id, dataset_id: missingId, name: 'x' }],
        ['segment', 'document_id', { record: 'segment', id, document_id: missingId, position: 1, content: 'x' }],
        ['child_chunk', 'segment_id', { record: 'child_chunk', id, segment_id: missingId, position: 1, content: 'x' }],
        [
          'child_chunk_revision',
          'child_chunk_id',
          { ...complete.child_chunk_revision, child_chunk_id: missingId, key_id: null },
        ],
        ['conversation', 'app_id', { record: 'conversation', id, app_id: missingId }],
        ['message', 'conversation_id', message(missingId, 1)],
        ['model_provider', 'workspace_id', { ...complete.model_provider, workspace_id: missingId }],
        ['api_key', 'workspace_id', { ...secret('knowledge'), workspace_id: missingId }],
        ['api_key', 'app_id', { ...secret('app'), workspace_id: ids.workspace, app_id: missingId }],
        ['api_key', 'dataset_ids', { ...secret('knowledge'), workspace_id: ids.workspace, dataset_ids: [missingId] }],
      ];
    };

    it('rejects references to missing records', async () => {
      const t = await importTenant();
      const before = await exportText();
      for (const [kind, field, record] of dangling(t)) {
        await assertRejected(
          post({ record: 'workspace', id: randomUUID(), name: 'x' }, record),
          new RegExp(`^line 2: ${kind}: ${field}`),
        );
      }
      assert.equal(await exportText(), before);
    });

    it('accepts references to records earlier in the same import, not later', async () => {
      const { records } = makeTenant();
      await assertAccepted(post(...records), records.length);
      const later = makeTenant().records;
      const [first, ...rest] = later;
      const { record: kind } = rest[0] as { record: string };
      await assertRejected(post(...rest, first as object), new RegExp(`^line 1: ${kind}: workspace_id`));
      const { ids } = makeTenant();
      const conversation = { record: 'conversation', id: ids.conversation, app_id: world.one.ids.app };
      await assertRejected(post(message(ids.conversation, 1), conversation), /^line 1: message: conversation_id/);
      await assertAccepted(post(conversation, message(ids.conversation, 1)), 2);
    });

    it('does not mix kinds: the id of a segment is not a document', async () => {
      const { ids } = await importTenant();
      const segment = { record: 'segment', id: randomUUID(), document_id: ids.segment, position: 1, content: '' };
      await assertRejected(post(segment), /^line 1: segment: document_id/);
    });
  });

  describeOnOneEngine(engine, 'the first invalid line', () => {
    const notJson: [text: string, column: number][] = [
      ['nonsense', 1],
      ['{', 2],
      ['{"a":1,}', 8],
      ['{a:1}', 2],
      ["{'a':1}", 2],
      ['{"a" 1}', 6],
      ['{"a":tru}', 6],
      ['{"a":01}', 6],
      ['{"a":-}', 6],
      ['{"a":"b}', 9],
      ['{"a":"\\x"}', 7],
      ['{"a":"b\tc"}', 8],
      ['{"a":[1,2}', 10],
      ['{"a":[1 2]}', 9],
      ['{"a":{}}}', 9],
      ['{"a":1} x', 9],
      [`${'['.repeat(100_000)}}`, 100_001],
      [`{"a":"${'é\\n'.repeat(100_000)}`, 300_007],
    ];
    const good = () => JSON.stringify({ record: 'workspace', id: randomUUID(), name: 'w' });
    const dangling = () => JSON.stringify(message(randomUUID(), 1));
    const cases: [string, () => string | Uint8Array, RegExp][] = [
      [
        'an invalid reference before a line that is not JSON',
        () => `${good()}\n${dangling()}\nnot json\n`,
        /^line 2: message: /,
      ],
      [
        'a line that is not JSON before an invalid reference',
        () => `${good()}\n{"record":\n${dangling()}\n`,
        /^line 2: /,
      ],
      [
        'an invalid field before an invalid reference',
        () => `{"record":"workspace","id":"x"}\n${dangling()}\n`,
        /^line 1: workspace: name/,
      ],
      [
        'an invalid reference before an invalid field',
        () => `${dangling()}\n{"record":"workspace","id":"x"}\n`,
        /^line 1: message: conversation_id/,
      ],
      ['blank lines are counted', () => `\n  \n${good()}\n\n\t\n${dangling()}\n`, /^line 6: message: conversation_id/],
      ['lines may end in CRLF', () => `${good()}\r\n\r\n${dangling()}\r\n`, /^line 3: message: conversation_id/],
      ['the last line may lack its newline', () => `${good()}\n${dangling()}`, /^line 2: message: conversation_id/],
      ['a truncated last line', () => `${good()}\n${good().slice(0, -5)}`, /^line 2: not JSON at column 73$/],
      ...notJson.map(([text, column]): [string, () => string, RegExp] => [
        `the column of ${text.slice(0, 20)}`,
        () => `${good()}\n${text}\n`,
        new RegExp(`^line 2: not JSON at column ${column}$`),
      ]),
      ['two records in one line', () => `${good()}\n${good()}${good()}\n`, /^line 2: not JSON at column 78$/],
      [
        'the name of a misspelled field',
        () => '{"record":"workspace","id":"7d9f5c1e-8f9e-4f0e-9f43-6a2f2b6f3a10","nmae":"w"}',
        /^line 1: workspace: nmae is not a known field$/,
      ],
      [
        'bytes that are not UTF-8',
        () =>
          Buffer.concat([
            Buffer.from(`${good()}\n{"record":"workspace","id":"x","name":"`),
            Buffer.from([0xff, 0xfe]),
            Buffer.from('"}\n'),
          ]),
        /^line 2: /,
      ],
      [
        'an overlong encoding',
        () =>
          Buffer.concat([
            Buffer.from('{"record":"workspace","id":"x","name":"'),
            Buffer.from([0xc0, 0x80]),
            Buffer.from('"}'),
          ]),
        /^line 1: /,
      ],
      [
        'a surrogate in UTF-8',
        () =>
          Buffer.concat([
            Buffer.from('{"record":"workspace","id":"x","name":"'),
            Buffer.from([0xed, 0xa0, 0x80]),
            Buffer.from('"}'),
          ]),
        /^line 1: /,
      ],
      [
        'invalid UTF-8 after an invalid reference',
        () => Buffer.concat([Buffer.from(`${dangling()}\n`), Buffer.from([0xff, 10])]),
        /^line 1: message: /,
      ],
      ['UTF-16', () => Buffer.from(`${good()}\n`, 'utf16le'), /^line 1: /],
      ['an array', () => `${good()}\n[${good()}]\n`, /^line 2: /],
      ['a string', () => '"workspace"', /^line 1: /],
      ['a number', () => '1', /^line 1: /],
      ['null', () => `${good()}\nnull`, /^line 2: /],
      ['no kind', () => `{"id":"${randomUUID()}","name":"w"}`, /^line 1: .*record/],
      ['a kind that is not a string', () => '{"record":["workspace"],"id":"x","name":"w"}', /^line 1: .*record/],
      ['an unknown kind', () => `${good()}\n{"record":"tenant","id":"x"}`, /^line 2: .*record/],
      ['a kind in another case', () => '{"record":"Workspace","id":"x","name":"w"}', /^line 1: .*record/],
      ['an inherited property as the kind', () => '{"record":"constructor"}', /^line 1: .*record/],
      ['the prototype as the kind', () => '{"record":"__proto__"}', /^line 1: .*record/],
      ['a raw NUL', () => '{"record":"workspace","id":"x","name":"\0"}', /^line 1: /],
      ['JSON with a comment', () => `${good()} // mine`, /^line 1: /],
      ['NaN', () => '{"record":"segment","id":"x","document_id":"x","position":NaN,"content":""}', /^line 1: /],
    ];
    let untouched: string;
    before(async () => {
      untouched = await exportText();
    });
    for (const [name, body, expected] of cases)
      it(`is reported: ${name}`, async () => void (await assertRejected(send(body()), expected)));

    it('stores nothing of these imports', async () => assert.equal(await exportText(), untouched));

    it('accepts blank lines, CRLF and a missing last newline', async () => {
      await assertAccepted(send(`\r\n${good()}\r\n\n  \n${good()}`), 2);
    });

    it('accepts a byte order mark or rejects it at line 1', async () => {
      const response = await send(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(`${good()}\n`)]));
      if (response.status !== 200) await assertRejected(response, /^line 1: /);
      else assert.deepEqual(response.body, { records: 1 });
    });

    it('does not include the secret in the error', async () => {
      const secret = makeSecret('app');
      const line = JSON.stringify({ record: 'api_key', kind: 'admin', name: 'x', secret });
      const messages = [
        await assertRejected(send(line), /^line 1: /),
        await assertRejected(send(line.slice(0, -1)), /^line 1: /),
      ];
      for (const text of messages) assert.ok(!text.includes(secret));
      assert.ok(!service.logs.join('').includes(secret));
    });
  });

  it('imports all or nothing: an invalid last line undoes every kind of change', async () => {
    const t = await importTenant();
    const m = message(t.ids.conversation, 5);
    await assertAccepted(post(m));
    const before = await exportText();
    const [original] = await page(t);
    const changes = [
      { record: 'workspace', id: t.ids.workspace, name: 'changed' },
      { record: 'child_chunk', id: t.ids.chunk, segment_id: t.ids.segment, position: 1, content: 'changed' },
      { record: 'conversation', id: t.ids.conversation, app_id: t.ids.app, deleted: true },
      { ...m, query: 'changed' },
      message(t.ids.conversation, 6),
      {
        record: 'api_key',
        id: t.keyIds.app,
        kind: 'app',
        workspace_id: t.ids.workspace,
        app_id: t.ids.app,
        name: 'x',
        secret: t.keys.app,
        revoked_at: 1,
      },
      ...makeTenant().records,
    ];
    await assertRejected(
      post(...changes, { record: 'workspace', id: 'x' }),
      new RegExp(`^line ${changes.length + 1}: `),
    );
    await assertRejected(post(...changes, message(randomUUID(), 1)), new RegExp(`^line ${changes.length + 1}: `));
    assert.equal(await exportText(), before);
    assert.deepEqual(await page(t), [original]);
  });

  describe('api_key', () => {
    const keyOf = (t: Tenant, kind: KeyKind, more: object = {}) => ({
      record: 'api_key',
      kind,
      name: 'key',
      ...(kind !== 'admin' && { workspace_id: t.ids.workspace }),
      ...((kind === 'app' || kind === 'writer') && { app_id: t.ids.app }),
      ...more,
    });

    itOnOneEngine(engine, 'requires a secret with the prefix of its kind', async () => {
      const t = await importTenant();
      const kinds = ['app', 'writer', 'knowledge', 'admin'] as const;
      for (const kind of kinds) {
        for (const other of kinds) {
          const response = post(keyOf(t, kind, { secret: makeSecret(other) }));
          if (kind === other) await assertAccepted(response, 1);
          else await assertRejected(response, /^line 1: api_key: secret/);
        }
        await assertRejected(post(keyOf(t, kind, { secret: randomUUID() })), /^line 1: api_key: secret/);
      }
    });

    itOnOneEngine(engine, 'requires a digest that is the lower-case hex SHA-256 of the whole secret', async () => {
      const t = await importTenant();
      const secret = makeSecret('app');
      for (const digest of [
        sha256(secret).toUpperCase(),
        sha256(secret).slice(1),
        `${sha256(secret)}0`,
        `${sha256(secret)}\n`,
        '',
        'g'.repeat(64),
        createHash('sha256').update(secret).digest('base64'),
      ]) {
        await assertRejected(post(keyOf(t, 'app', { digest })), /^line 1: api_key: digest/);
      }
      await assertRejected(post(keyOf(t, 'app')), /^line 1: api_key: .*(secret|digest)/);
      await assertAccepted(post(keyOf(t, 'app', { digest: sha256(secret) })));
      assert.equal(await status(secret, t), 200);
    });

    it('never returns the secret', async () => {
      const t = await importTenant();
      const secret = makeSecret('app');
      await assertAccepted(post(keyOf(t, 'app', { secret, name: secret.slice(0, 3) })));
      const all = await exportText();
      assert.ok(!all.includes(secret));
      assert.ok(!all.includes('"secret"'));
      assert.ok(all.includes(sha256(secret)));
      assert.ok(!service.logs.join('').includes(secret));
    });

    it('updates the key with the same digest if the record has no id', async () => {
      const t = await importTenant();
      const id = randomUUID();
      const secret = makeSecret('app');
      await assertAccepted(post(keyOf(t, 'app', { id, secret, name: 'first' })));
      const count = (await exportRecords()).length;
      await assertAccepted(post(keyOf(t, 'app', { digest: sha256(secret), name: 'second' })));
      assert.equal((await findRecord('api_key', id))?.name, 'second');
      await assertAccepted(post(keyOf(t, 'app', { secret, name: 'third' })));
      assert.equal((await findRecord('api_key', id))?.name, 'third');
      assert.equal((await exportRecords()).length, count);
    });

    it('updates a key from earlier in the same import by its digest', async () => {
      const t = await importTenant();
      const secret = makeSecret('app');
      const count = (await exportRecords()).length;
      await assertAccepted(post(keyOf(t, 'app', { secret, name: 'a' }), keyOf(t, 'app', { secret, name: 'b' })), 2);
      const all = await exportRecords();
      assert.equal(all.length, count + 1);
      assert.equal(all.find(({ digest }) => digest === sha256(secret))?.name, 'b');
    });

    it('rejects the digest of another key', async () => {
      const t = await importTenant();
      await assertRejected(post(keyOf(t, 'app', { id: randomUUID(), secret: t.keys.app })), /^line 1: api_key: /);
      await assertRejected(
        post(keyOf(t, 'app', { id: randomUUID(), digest: sha256(t.keys.app) })),
        /^line 1: api_key: /,
      );
      const secret = makeSecret('app');
      await assertRejected(
        post(keyOf(t, 'app', { id: randomUUID(), secret }), keyOf(t, 'app', { id: randomUUID(), secret })),
        /^line 2: api_key: /,
      );
      assert.equal(await status(t.keys.app, t), 200);
    });

    it('accepts only the new secret of a key', async () => {
      const t = await importTenant();
      const secret = makeSecret('app');
      await assertAccepted(post(keyOf(t, 'app', { id: t.keyIds.app, secret })));
      assert.equal(await status(t.keys.app, t), 401);
      assert.equal(await status(secret, t), 200);
    });

    it('accepts a digest that an earlier record of the same import released, as in two imports', async () => {
      const t = await importTenant();
      const id = randomUUID();
      const fresh = makeSecret('app');
      await assertAccepted(
        post(keyOf(t, 'app', { id: t.keyIds.app, secret: fresh }), keyOf(t, 'app', { id, secret: t.keys.app })),
        2,
      );
      assert.equal((await findRecord('api_key', id))?.digest, sha256(t.keys.app));
      assert.equal((await findRecord('api_key', t.keyIds.app))?.digest, sha256(fresh));
    });

    itOnOneEngine(engine, 'checks workspace, app and datasets by the kind of key', async () => {
      const t = await importTenant();
      const other = await importTenant();
      const invalid: [string, object][] = [
        ['workspace_id', keyOf(t, 'admin', { workspace_id: t.ids.workspace })],
        ['app_id', keyOf(t, 'admin', { app_id: t.ids.app })],
        ['workspace_id', keyOf(t, 'app', { workspace_id: undefined })],
        ['workspace_id', keyOf(t, 'writer', { workspace_id: null })],
        ['workspace_id', keyOf(t, 'knowledge', { workspace_id: undefined })],
        ['app_id', keyOf(t, 'app', { app_id: undefined })],
        ['app_id', keyOf(t, 'writer', { app_id: null })],
        ['app_id', keyOf(t, 'knowledge', { app_id: t.ids.app })],
        ['app_id', keyOf(t, 'app', { app_id: other.ids.app })],
        ['app_id', keyOf(t, 'writer', { app_id: other.ids.app })],
        ['dataset_ids', keyOf(t, 'knowledge', { dataset_ids: [t.ids.dataset, other.ids.dataset] })],
        ['dataset_ids', keyOf(t, 'app', { dataset_ids: [t.ids.dataset] })],
        ['dataset_ids', keyOf(t, 'admin', { dataset_ids: [t.ids.dataset] })],
        ['app_id and dataset_ids', keyOf(t, 'feed', { app_id: t.ids.app, dataset_ids: [t.ids.dataset] })],
      ];
      const before = await exportText();
      for (const [field, record] of invalid) {
        const { kind } = record as { kind: 'app' };
        await assertRejected(post({ ...record, secret: makeSecret(kind) }), new RegExp(`^line 1: api_key: ${field}`));
      }
      assert.equal(await exportText(), before);
    });

    it('limits a knowledge key to dataset_ids; an empty list allows none, null allows all', async () => {
      const t = await importTenant();
      const second = { record: 'dataset', id: randomUUID(), workspace_id: t.ids.workspace, name: 'second' };
      await assertAccepted(post(second));
      for (const [dataset_ids, expected] of [
        [[t.ids.dataset.toUpperCase()], 200],
        [[second.id], 404],
        [[], 404],
        [null, 200],
      ] as const) {
        const secret = makeSecret('knowledge');
        await assertAccepted(post(keyOf(t, 'knowledge', { secret, dataset_ids })));
        const response = await service.as(secret).get(t.chunkPath);
        assert.equal(response.status, expected, JSON.stringify(dataset_ids));
      }
    });

    it('rejects expired and revoked keys', async () => {
      const t = await importTenant();
      const secret = makeSecret('app');
      await assertAccepted(post(keyOf(t, 'app', { secret, expires_at: nowSeconds() + 100 })));
      assert.equal(await status(secret, t), 200);
      service.advanceClock(101);
      assert.equal(await status(secret, t), 401);
      service.advanceClock(-101);
      assert.equal(await status(secret, t), 200);
      await assertAccepted(post(keyOf(t, 'app', { secret, revoked_at: nowSeconds() - 1 })));
      assert.equal(await status(secret, t), 401);
      await assertAccepted(post(keyOf(t, 'app', { secret, expires_at: nowSeconds() - 1 })));
      assert.equal(await status(secret, t), 401);
      await assertAccepted(post(keyOf(t, 'app', { secret })));
      assert.equal(await status(secret, t), 200, 'defaults again: neither expired nor revoked');
      const admin = makeSecret('admin');
      await assertAccepted(post(keyOf(t, 'admin', { secret: admin, expires_at: nowSeconds() + 50 })));
      await assertAccepted(send(''), 0);
      assert.equal((await send('', admin)).status, 200);
      service.advanceClock(51);
      assert.equal((await send('', admin)).status, 401);
      service.advanceClock(-51);
    });
  });

  describe('a writer key', () => {
    it('imports conversations and messages of its app', async () => {
      const t = await importTenant();
      const id = randomUUID();
      const records = [
        { record: 'conversation', id, app_id: t.ids.app, user: 'u' },
        message(id, 1),
        message(t.ids.conversation, 1),
      ];
      await assertAccepted(send(ndjson(records), t.keys.writer), 3);
      assert.equal((await page(t, id)).length, 1);
      assert.equal((await page(t)).length, 1);
    });

    it('stores each message exactly once when twenty imports write to one conversation', async () => {
      const t = await importTenant();
      const batches = Array.from({ length: 20 }, (_, at) =>
        Array.from({ length: 5 }, (_, n) => message(t.ids.conversation, 7, { query: `${at}.${n}` })),
      );
      const responses = await Promise.all(batches.map((batch) => send(ndjson(batch), t.keys.writer)));
      for (const response of responses) await assertAccepted(response, 5);
      const stored = (await page(t)).map(({ query }) => query as string).reverse();
      assert.deepEqual(
        [...stored].sort(),
        batches
          .flat()
          .map(({ query }) => query)
          .sort(),
      );
      for (let at = 0; at < stored.length; at += 5) {
        const first = stored[at]?.split('.')[0];
        assert.deepEqual(
          stored.slice(at, at + 5),
          [0, 1, 2, 3, 4].map((n) => `${first}.${n}`),
          'contiguous and in order',
        );
      }
      const again = await Promise.all(batches.map((batch) => send(ndjson(batch), t.keys.writer)));
      for (const response of again) await assertAccepted(response, 5);
      assert.deepEqual((await page(t)).map(({ query }) => query).reverse(), stored, 'importing again changes nothing');
    });
  });

  describe('values', () => {
    const line = (t: Tenant, inputs: string, more = '') =>
      `{"record":"message","id":"${randomUUID()}","conversation_id":"${t.ids.conversation}","query":"","answer":"","inputs":${inputs}${more}}`;
    const inputsOf = async (t: Tenant) => (await page(t))[0]?.inputs as Json;

    it('returns equal numbers', async () => {
      const t = await importTenant();
      const literals = [
        '9007199254740991',
        '-9007199254740991',
        '0.1',
        '1e-7',
        '5e-324',
        '9007199254740991.4',
        '0',
        '-1',
      ];
      literals.push(
        '9.007199254740991e15',
        '0.30000000000000004',
        '123456789.12345678',
        '2.2250738585072014e-308',
        '1E2',
      );
      for (const literal of literals) {
        await assertAccepted(
          send(line(t, `{"v":[${literal}]}`, `,"provider_response_latency":${literal},"created_at":9`)),
        );
        const [out] = await page(t);
        assert.deepEqual(out?.inputs, { v: [Number(literal)] }, literal);
        assert.equal(out?.provider_response_latency, Number(literal), literal);
      }
    });

    itOnOneEngine(engine, 'rejects numbers of magnitude 2^53 or more in every field and spelling', async () => {
      const t = await importTenant();
      const bad = [
        '9007199254740992',
        '-9007199254740992',
        '9007199254740993',
        '123456789012345678901234567890',
        '1e16',
      ];
      bad.push('1e20', '1e21', '-1e21', '9007199254740991.9', '1.5e300', '-1.7976931348623157e308', '1e400', '-1e400');
      bad.push(`1${'0'.repeat(308)}`, `1${'0'.repeat(400)}`);
      for (const literal of bad) {
        for (const inputs of [`{"v":${literal}}`, `{"a":[{"b":[0,${literal}]}]}`]) {
          await assertRejected(
            send(line(t, inputs)),
            /^line 1: message: inputs\S* must be a number within ±9007199254740991$/,
          );
        }
        await assertRejected(
          send(line(t, '{}', `,"provider_response_latency":${literal}`)),
          /^line 1: message: provider_response_latency/,
        );
        await assertRejected(send(line(t, '{}', `,"created_at":${literal}`)), /^line 1: message: created_at/);
      }
      assert.deepEqual(await page(t), []);
    });

    it('returns a number in the shortest spelling: -0 as 0, 1.0 as 1', async () => {
      const t = await importTenant();
      await assertAccepted(send(line(t, '{"v":[-0,-0.0,1.0,1E2,0.10]}', ',"provider_response_latency":-0')));
      const { text } = await service.as(t.keys.app).get(`/v1/messages?conversation_id=${t.ids.conversation}`);
      assert.ok(text.includes('"inputs":{"v":[0,0,1,100,0.1]}'), text);
      assert.ok(text.includes('"provider_response_latency":0,'), text);
    });

    it('returns a price unchanged, and rejects one that usage cannot add up', async () => {
      const t = await importTenant();
      const good = ['0E-7', '0E-10', '1e-99', '-1.50E+99', '0.0013120', '12345678901234567890.123456789000', '00.10'];
      for (const total_price of [...good, `0.${'3'.repeat(198)}`]) {
        await assertAccepted(post(message(t.ids.conversation, 9, { total_price, currency: 'USD' })));
        assert.equal((await page(t)).find((one) => one.total_price === total_price)?.total_price, total_price);
      }
      for (const total_price of ['1e400', '-1E+400', '1e-400', '1e100', `0.${'3'.repeat(199)}`, '9'.repeat(400)]) {
        await assertRejected(post(message(t.ids.conversation, 9, { total_price })), /^line 1: message: total_price /);
      }
    });

    itOnOneEngine(engine, 'rejects token counts whose sum exceeds the limit', async () => {
      const t = await importTenant();
      const max = Number.MAX_SAFE_INTEGER;
      await assertAccepted(post(message(t.ids.conversation, 1, { message_tokens: max, answer_tokens: 0 })));
      assert.equal((await page(t))[0]?.total_tokens, max);
      await assertRejected(
        post(message(t.ids.conversation, 1, { message_tokens: max, answer_tokens: 1 })),
        /^line 1: message: /,
      );
    });

    itOnOneEngine(engine, 'rejects NUL and lone surrogates in values and keys of open objects', async () => {
      const t = await importTenant();
      const { message: full, model_provider } = completeRecords(t);
      const provider = (label: object, features: unknown, model_properties: object) => ({
        ...{ ...model_provider, label, icon_small_dark: features },
        models: [{ ...model_provider.models[0], label, features, model_properties }],
      });
      const thought = (tool_labels: object) => ({ ...full.agent_thoughts[0], tool_labels });
      const before = await exportText();
      for (const bad of ['\0', 'a\0b', '\ud83d', '\ude00\ud83d', 'x\udfff']) {
        for (const inputs of [{ [bad]: 1 }, { a: bad }, { a: [[bad]] }, { a: { b: { [bad]: null } } }]) {
          await assertRejected(post(message(t.ids.conversation, 1, { inputs })), /^line 1: message: inputs/);
          await assertRejected(
            post(message(t.ids.conversation, 1, { agent_thoughts: [thought(inputs)] })),
            /^line 1: message: agent_thoughts.*tool_labels/,
          );
          await assertRejected(post(provider({}, null, inputs)), /^line 1: model_provider: models.*model_properties/);
          await assertRejected(
            post(provider({}, inputs, {})),
            /^line 1: model_provider: (icon_small_dark|models.*features)/,
          );
        }
        await assertRejected(post(provider({ [bad]: 'x' }, null, {})), /^line 1: model_provider: .*label/);
        await assertRejected(post(provider({ en_US: bad }, null, {})), /^line 1: model_provider: .*label/);
      }
      assert.equal(await exportText(), before);
    });

    itOnOneEngine(engine, 'checks the characters that escapes stand for, not the escapes', async () => {
      const t = await importTenant();
      const bad = ['"\\u0000"', '"\\uD83D"', '"\\ud83d\\\\ude00"', '"\\uDE00\\uD83D"', '"😀\\udbff"'];
      for (const value of bad) {
        await assertRejected(send(line(t, `{"a":${value}}`)), /^line 1: message: inputs\.a must /);
        await assertRejected(send(line(t, `{"b":{${value}:1}}`)), /^line 1: message: inputs\.b\..* must /);
      }
      const good = {
        '"\\\\u0000"': '\\u0000',
        '"\\\\ud83d"': '\\ud83d',
        '"\\uD83D\\uDE00"': '😀',
        '"\\ud83d\\uDE00 \\u00e9"': '😀 é',
      };
      for (const [spelled, value] of Object.entries(good)) {
        await assertAccepted(send(line(t, `{"a":${spelled}}`, ',"created_at":9')));
        assert.deepEqual(await inputsOf(t), { a: value }, spelled);
      }
    });

    it('preserves the key order of open objects, including unusual keys', async () => {
      const t = await importTenant();
      const inputs =
        '{"z":1,"a":{"y":[],"b":{}},"":null,"__proto__":{"x":1},"constructor":"c","toString":0,"\u2028":"\u2029","a.b":1,"é":2,"e\u0301":3}';
      await assertAccepted(send(line(t, inputs)));
      const response = await service.as(t.keys.app).get(`/v1/messages?conversation_id=${t.ids.conversation}`);
      assert.ok(response.text.includes(`"inputs":${inputs}`), response.text);
      assert.ok((await exportText()).includes(`"inputs":${inputs}`));
      assert.ok(Object.hasOwn(await inputsOf(t), '__proto__'));
    });

    it('returns ids inside nested objects unchanged', async () => {
      const t = await importTenant();
      const file = { id: randomUUID().toUpperCase(), filename: 'f', type: 't', transfer_method: 'tool_file' };
      await assertAccepted(post(message(t.ids.conversation, 1, { message_files: [file] })));
      const [out] = (await page(t)) as { message_files: Json[] }[];
      assert.equal(out?.message_files[0]?.id, file.id);
    });

    const deep = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    const deepObject = (depth: number) => '{"a":'.repeat(depth) + 1 + '}'.repeat(depth);
    const nests: [string, (t: Tenant, nest: string) => string][] = [
      ['in inputs', (t, nest) => line(t, `{"a":${nest}}`)],
      ['in inputs after a large number', (t, nest) => line(t, `{"n":1e300,"a":${nest}}`)],
      ['in inputs after an invalid number', (t, nest) => line(t, `{"n":9007199254740993,"a":${nest}}`)],
      ['in a field of another type', (t, nest) => line(t, '{}', `,"message_files":[${nest}]`)],
      ['in a text', (t, nest) => line(t, '{}', `,"error":${nest}`)],
      ['in a closed set', (t, nest) => line(t, '{}', `,"status":${nest}`)],
      ['in total_tokens', (t, nest) => line(t, '{}', `,"total_tokens":${nest}`)],
      ['in an unknown field', (t, nest) => line(t, '{}', `,"colour":${nest}`)],
      ['as the kind', (_, nest) => `{"record":${nest}}`],
      ['as the whole line', (_, nest) => nest],
      [
        'in features',
        (t, nest) =>
          `{"record":"model_provider","workspace_id":"${t.ids.workspace}","provider":"p","label":{},"icon_small":{},"icon_small_dark":${nest},"status":"active","models":[]}`,
      ],
    ];
    for (const [name, make] of nests) {
      itOnOneEngine(engine, `rejects very deep nesting ${name}`, async () => {
        const t = await importTenant();
        for (const nest of [deep(200_000), deepObject(100_000)]) {
          if (name === 'as the whole line' && nest.startsWith('{')) continue;
          await assertRejected(send(make(t, nest)), /^line 1: /);
        }
        await assertAccepted(send(''), 0);
      });
    }

    it('accepts reasonable nesting', async () => {
      const t = await importTenant();
      await assertAccepted(send(line(t, `{"a":${deep(50)}}`)));
      assert.equal(JSON.stringify((await inputsOf(t)).a), deep(50));
    });

    itOnOneEngine(engine, 'limits nesting to 100 levels, in lists and in objects', async () => {
      const t = await importTenant();
      for (const nest of [deep, deepObject]) {
        await assertAccepted(send(line(t, `{"a":${nest(99)}}`)));
        await assertRejected(
          send(line(t, `{"a":${nest(100)}}`)),
          /^line 1: message: inputs\.a.* is nested more than 100 deep/,
        );
      }
    });

    it('accepts a message larger than 1 MiB', async () => {
      const t = await importTenant();
      const answer = 'é😀"'.repeat(160_000);
      await assertAccepted(post(message(t.ids.conversation, 1, { answer })));
      assert.equal((await page(t))[0]?.answer, answer);
    });
  });

  describeOnOneEngine(engine, 'over HTTP', () => {
    it('returns 415 for any other content type', async () => {
      for (const type of ['application/json', 'text/plain', 'application/ndjson', 'application/x-ndjson2', 'x']) {
        const response = await send('', world.admin, { 'content-type': type });
        assert.deepEqual([response.status, response.body?.code], [415, 'unsupported_media_type'], type);
      }
      const none = await send(ndjson(makeTenant().records), world.admin, {});
      assert.deepEqual([none.status, none.body?.code], [415, 'unsupported_media_type']);
      await assertAccepted(send('', world.admin, { 'content-type': 'Application/X-NDJSON; charset=utf-8' }), 0);
    });

    it('accepts an empty body as zero records', async () => {
      await assertAccepted(send(''), 0);
      await assertAccepted(send('\n\n \r\n'), 0);
    });

    it('exports NDJSON, and HEAD returns that content type', async () => {
      const response = await service.as(world.admin).get('/admin/records');
      assert.match(response.headers['content-type'] ?? '', /^application\/x-ndjson/);
      const head = await service.request('HEAD', '/admin/records', { key: world.admin });
      assert.deepEqual([head.status, head.text], [200, '']);
      assert.equal(head.headers['content-type'], response.headers['content-type']);
    });

    function upload(headers: http.OutgoingHttpHeaders = {}) {
      const request = http.request(`${service.base}/admin/records`, {
        method: 'POST',
        agent: false,
        headers: { ...ndjsonType, authorization: `Bearer ${world.admin}`, ...headers },
      });
      request.setNoDelay(true);
      return request;
    }

    it('accepts chunks that split characters', async () => {
      const t = await importTenant();
      const query = '𝒳é漢👩‍👧';
      const bytes = Buffer.from(ndjson([message(t.ids.conversation, 1, { query }), message(t.ids.conversation, 2)]));
      const request = upload();
      for (let at = 0; at < bytes.length; at += 3) {
        request.write(bytes.subarray(at, at + 3));
        if (at % 30 === 0) await new Promise(setImmediate);
      }
      request.end();
      const [response] = (await once(request, 'response')) as [http.IncomingMessage];
      response.resume();
      assert.equal(response.statusCode, 200);
      assert.deepEqual(pluck(await page(t), 'query'), ['q', query]);
    });

    it('imports nothing from an aborted upload', async () => {
      const t = await importTenant();
      const before = await exportText();
      const records = Buffer.from(ndjson(Array.from({ length: 500 }, (_, at) => message(t.ids.conversation, at))));
      for (const headers of [{}, { 'content-length': records.length + 1000 }]) {
        const request = upload(headers);
        request.on('error', () => undefined);
        request.write(records);
        const aborted = () => service.logs.filter((line) => line.includes('"aborted":true')).length;
        const others = aborted();
        await until(async () => {
          const { text } = await service.as(world.admin).get('/metrics');
          // This request is in flight too.
          return text.includes('backscroll_http_requests_in_flight 2\n');
        });
        request.destroy();
        await until(() => aborted() > others);
        assert.equal(await exportText(), before);
      }
      await assertAccepted(post(message(t.ids.conversation, 1)), 1);
    });

    for (const connection of ['keep-alive', 'close']) {
      it(`delivers the response to an invalid line while the client still has 4 MB to send (${connection})`, async () => {
        const request = upload({ connection });
        request.write('not json\n');
        const responded = once(request, 'response') as Promise<[http.IncomingMessage]>;
        const sending = (async () => {
          for (let sent = 0; sent < 4e6; sent += 100_000) {
            request.write(Buffer.alloc(100_000, 'x\n'));
            await nextTurn();
          }
          request.end();
        })();
        const [[response]] = await Promise.all([responded, sending]);
        let text = '';
        for await (const chunk of response) text += chunk;
        assert.equal(response.statusCode, 400);
        assert.match(JSON.parse(text).message, /^line 1: /);
        assert.ok(!request.errored, `${request.errored}`);
        assert.ok(request.writableFinished, 'the whole body was read from the client');
        request.destroy();
      });
    }
  });
});

onEveryEngine('large imports', (engine) => {
  let service: Service;
  const { one, admin, records } = makeTwoTenants();
  const answer = 'Lorem ipsum dolor sit amet. '.repeat(20);
  /** More than fits into memory before it is spooled. */
  const count = shortOrLong(6_500, 60_000);
  const { TMPDIR } = process.env;

  before(async () => {
    // Other test files spool imports at the same time.
    process.env.TMPDIR = await mkdtemp(join(tmpdir(), 'backscroll-spool-'));
    service = await startService(engine);
    await service.load([...records, message(one.ids.conversation, 1)]);
  });
  after(async () => {
    await service.close();
    await rm(tmpdir(), { recursive: true });
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
  });

  const conversationOf = (at: number) =>
    `00000000-0000-4000-8000-${(Math.floor(at / 50) + 1).toString(16).padStart(12, '0')}`;
  const idOf = (at: number) => `11111111-1111-4111-8111-${at.toString(16).padStart(12, '0')}`;

  /** Lines generated as they are sent, a conversation before each fifty messages. */
  function* body(messages: number, last = ''): Generator<string> {
    for (let at = 0; at < messages; at += 50) {
      const conversation_id = conversationOf(at);
      let chunk = `${JSON.stringify({ record: 'conversation', id: conversation_id, app_id: one.ids.app })}\n`;
      for (let n = at; n < at + 50; n += 1) {
        chunk += `{"record":"message","id":"${idOf(n)}","conversation_id":"${conversation_id}","query":"q ${n}","answer":"${answer}","created_at":${n % 7}}\n`;
      }
      yield chunk;
    }
    yield last;
  }

  async function stream(
    chunks: Iterable<string>,
  ): Promise<{ status: number | undefined; text: string; bytes: number }> {
    const request = http.request(`${service.base}/admin/records`, {
      method: 'POST',
      agent: false,
      headers: { ...ndjsonType, authorization: `Bearer ${admin}` },
    });
    const responded = once(request, 'response') as Promise<[http.IncomingMessage]>;
    let bytes = 0;
    for (const chunk of chunks) {
      bytes += chunk.length;
      if (!request.write(chunk)) await once(request, 'drain');
    }
    request.end();
    const [response] = await responded;
    let text = '';
    for await (const chunk of response) text += chunk;
    return { status: response.statusCode, text, bytes };
  }

  const spoolFiles = async () => {
    const { database_url } = service.config;
    const folder = database_url.startsWith('sqlite:') ? dirname(database_url.replace('sqlite:', '')) : tmpdir();
    return (await readdir(folder)).filter((name) => /^import-.*\.tmp$/.test(name));
  };

  it('reports an invalid last line, stores nothing and leaves no spool file', async () => {
    const invalidAt = shortOrLong(2_000, 20_000);
    const before = await service.as(admin).get('/admin/records');
    const files = await spoolFiles();
    const { status, text } = await stream(body(invalidAt, '{"record":"workspace","id":"x"}\n'));
    assert.equal(status, 400, text);
    const line = invalidAt + invalidAt / 50 + 1;
    assert.match(JSON.parse(text).message, new RegExp(`^line ${line}: workspace: name`));
    assert.equal((await service.as(admin).get('/admin/records')).text, before.text);
    assert.deepEqual(await spoolFiles(), files);
  });

  it('keeps memory bounded, serves reads meanwhile, and leaves no file', async () => {
    const files = await spoolFiles();
    const path = `/v1/messages?conversation_id=${one.ids.conversation}`;
    const start = process.memoryUsage().rss;
    let peak = start;
    let isDone = false;
    let reads = 0;
    const reading = (async () => {
      while (!isDone) {
        const { status, body } = await service.as(one.keys.app).get(path);
        assert.equal(status, 200);
        assert.equal(body.data.length, 1);
        reads += 1;
        peak = Math.max(peak, process.memoryUsage().rss);
        await sleep(5);
      }
    })();
    const { status, text, bytes } = await stream(body(count)).finally(() => {
      isDone = true;
    });
    await reading;
    assert.equal(status, 200, text);
    assert.deepEqual(JSON.parse(text), { records: count + count / 50 });
    assert.ok(bytes > 700 * count, `${bytes}`);
    const grown = (peak - start) / 1e6;
    assert.ok(grown < 250, `grew by ${grown} MB`);
    assert.ok(reads >= 10, `${reads} reads`);
    assert.deepEqual(await spoolFiles(), files);
    for (const at of [0, count / 2, count - 50]) {
      const { body } = await service
        .as(one.keys.app)
        .get(`/v1/messages?limit=100&conversation_id=${conversationOf(at)}`);
      const expected = Array.from({ length: 50 }, (_, n) => at + n)
        .sort((a, b) => (b % 7) - (a % 7) || b - a)
        .map(idOf);
      assert.deepEqual(pluck(body.data, 'id'), expected);
    }
  });
});
