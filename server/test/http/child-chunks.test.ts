import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { makeSecret } from '../../src/domain/secret.ts';
import {
  type ChunkIds,
  chunkPath,
  describeOnOneEngine,
  itOnOneEngine,
  makeTenant,
  ndjson,
  onEveryEngine,
  pluck,
  type Tenant,
  type TestResponse,
  useService,
} from '../support/harness.ts';
import { describeRefusals } from '../support/scenarios.ts';

type Revision = {
  person_id: string | null;
  review_message_id: string | null;
  record: string;
  child_chunk_id: string;
  revision: number;
  content: string;
  replaced_at: number;
  key_id: string | null;
};

const MiB = 1024 * 1024;
const json = { 'content-type': 'application/json' };
const now = () => Math.floor(Date.now() / 1000);

const notFoundMessages = {
  dataset: 'dataset not found',
  document: 'document not found',
  segment: 'segment not found',
  chunk: 'child chunk not found',
};
const parts = ['dataset', 'document', 'segment', 'chunk'] as const;

function assertError(response: TestResponse, status: number, code: string, message?: string | RegExp): void {
  assert.equal(response.status, status, response.text);
  assert.deepEqual(Object.keys(response.body).sort(), ['code', 'message', 'status']);
  assert.equal(response.body.status, status);
  assert.equal(response.body.code, code);
  if (typeof message === 'string') assert.equal(response.body.message, message);
  if (message instanceof RegExp) assert.match(response.body.message, message);
}

/** A JSON object of exactly this many bytes, with the content `padded` and an ignored field. */
function bodyOfBytes(bytes: number): Buffer {
  const start = '{"content":"padded","filler":"';
  return Buffer.from(`${start}${'x'.repeat(bytes - start.length - 2)}"}`);
}

onEveryEngine('child chunks', (engine) => {
  const admin = makeSecret('admin');
  /** Its chunk is what refused requests name. */
  const refused = makeTenant();
  const service = useService(engine, [
    ...refused.records,
    { record: 'api_key', kind: 'admin', name: 'admin', secret: admin },
  ]);

  /** Creates a workspace for one test; `chunk` replaces fields of its child chunk. */
  async function createTenant(chunk: object = {}, more: (tenant: Tenant) => object[] = () => []): Promise<Tenant> {
    const tenant = makeTenant();
    const records = tenant.records.map((record) =>
      'record' in record && record.record === 'child_chunk' ? { ...record, ...chunk } : record,
    );
    await service.load([...records, ...more(tenant)]);
    return tenant;
  }

  const patch = (tenant: Tenant, content: unknown, headers: Record<string, string | string[]> = {}) =>
    service.as(tenant.keys.knowledge).patch(tenant.chunkPath, { content }, headers);
  const patchRaw = (tenant: Tenant, body: string | Uint8Array, headers: Record<string, string> = json) =>
    service.as(tenant.keys.knowledge).patch(tenant.chunkPath, body, headers);
  const get = (tenant: Tenant, headers: Record<string, string> = {}) =>
    service.as(tenant.keys.knowledge).get(tenant.chunkPath, headers);
  const etagOf = async (tenant: Tenant) => (await get(tenant)).headers.etag ?? assert.fail('no ETag');

  async function revisionsOf(tenant: Tenant): Promise<Revision[]> {
    const path = '/admin/records?kinds=child_chunk_revision';
    const { status, text } = await service.as(admin).get(path);
    assert.equal(status, 200);
    return text
      .split('\n')
      .filter((line) => line.includes(tenant.ids.chunk))
      .map((line) => JSON.parse(line));
  }

  /** Asserts that the action changes neither the chunk nor its tag nor its revisions. */
  async function assertUnchanged<T>(tenant: Tenant, action: () => Promise<T>): Promise<T> {
    const [chunkBefore, revisions] = [await get(tenant), await revisionsOf(tenant)];
    const result = await action();
    const chunkAfter = await get(tenant);
    assert.equal(chunkAfter.text, chunkBefore.text);
    assert.equal(chunkAfter.headers.etag, chunkBefore.headers.etag);
    assert.deepEqual(await revisionsOf(tenant), revisions);
    return result;
  }

  describe('successful responses', () => {
    it('200: the body is `data` with exactly eight fields; id, segment, position and created_at stay', async () => {
      const tenant = await createTenant({ position: 7, created_at: 1234, updated_at: 2345 });
      const from = now();
      const response = await patch(tenant, 'An open-source platform.');
      const to = now();
      assert.equal(response.status, 200);
      assert.match(response.headers['content-type'] ?? '', /^application\/json/);
      assert.deepEqual(Object.keys(response.body), ['data']);
      const { updated_at, ...rest } = response.body.data;
      assert.deepEqual(rest, {
        id: tenant.ids.chunk,
        segment_id: tenant.ids.segment,
        content: 'An open-source platform.',
        position: 7,
        word_count: 4,
        type: 'customized',
        created_at: 1234,
      });
      assert.ok(updated_at >= from && updated_at <= to, `${from} <= ${updated_at} <= ${to}`);
    });

    it('200: GET on the same path returns the same bytes and the same tag', async () => {
      const tenant = await createTenant();
      const patched = await patch(tenant, 'current text');
      const getResponse = await get(tenant);
      assert.equal(getResponse.status, 200);
      assert.equal(getResponse.text, patched.text);
      assert.equal(getResponse.headers.etag, patched.headers.etag);
    });

    it('200: GET returns an unedited chunk as it was imported', async () => {
      const tenant = await createTenant({ word_count: 99, type: 'automatic', updated_at: 1500 });
      const response = await get(tenant);
      assert.deepEqual(response.body, {
        data: {
          id: tenant.ids.chunk,
          segment_id: tenant.ids.segment,
          content: 'chunk text',
          position: 1,
          word_count: 99,
          type: 'automatic',
          created_at: 1000,
          updated_at: 1500,
        },
      });
      assert.match(response.headers.etag ?? '', /^"[^"]+"$/);
    });

    const exactTexts: Record<string, string> = {
      'leading and trailing spaces': '  \t text \n ',
      'three kinds of line endings': 'a\r\nb\nc\rd',
      'composed letters': 'caf\u00e9',
      'decomposed letters': 'cafe\u0301',
      'a trailing space': 'cafe\u0301 ',
      'compatibility letters': '\ufb01\u2460\u212b\uff21',
      'characters outside the BMP': '😀👩‍👩‍👧‍👦𠮷',
      'a byte order mark inside': '\ufefftext\ufeff',
      'control characters other than NUL': 'a\u0001\u0008\u001f\u007f\u0085z',
      'line separators of Unicode': 'a\u2028b\u2029c',
      noncharacters: 'a\ufffe\uffff\u{10ffff}',
      'HTML and SQL syntax': `<b>&amp;</b> '; DROP TABLE child_chunks; -- "\\`,
      'a direction override': 'a\u202eb',
      'only a zero-width space, which is not white space': '\u200b',
    };
    it('200: texts are stored and returned exactly as sent, also as revisions', async () => {
      const tenant = await createTenant();
      for (const [name, content] of Object.entries(exactTexts)) {
        const response = await patch(tenant, content);
        assert.equal(response.status, 200, `${name}: ${response.text}`);
        assert.equal(response.body.data.content, content, name);
        assert.equal((await get(tenant)).body.data.content, content, name);
      }
      await patch(tenant, 'last');
      const revisions = (await revisionsOf(tenant)).map(({ content }) => content);
      assert.deepEqual(revisions, ['chunk text', ...Object.values(exactTexts)]);
    });

    itOnOneEngine(engine, '200: JSON escapes are decoded', async () => {
      const response = await patchRaw(await createTenant(), '{"content":"\\u0041\\ud83d\\ude00\\/\\n"}');
      assert.equal(response.body.data.content, 'A😀/\n');
    });

    itOnOneEngine(engine, '200: word_count counts words, by segmentation where a language has no spaces', async () => {
      const counts: Record<string, number> = {
        'An open-source platform.': 4,
        '  one   two\nthree ': 3,
        "can't stop": 2,
        '3.14 is pi': 3,
        '😀 🎉': 0,
        '...!?': 0,
        'naïve café': 2,
        'Привет, мир': 2,
      };
      for (const text of ['我们喜欢开源软件', '吾輩は猫である。名前はまだ無い。', 'สวัสดีชาวโลก']) {
        const segments = [...new Intl.Segmenter('en', { granularity: 'word' }).segment(text)];
        counts[text] = segments.filter(({ isWordLike }) => isWordLike).length;
        assert.ok(counts[text] > 1);
      }
      const tenant = await createTenant();
      for (const [content, words] of Object.entries(counts))
        assert.equal((await patch(tenant, content)).body.data.word_count, words, content);
    });

    itOnOneEngine(engine, '200: other fields of the body are ignored', async () => {
      const tenant = await createTenant({ position: 3, created_at: 1111 });
      const response = await patchRaw(
        tenant,
        JSON.stringify({
          id: randomUUID(),
          segment_id: randomUUID(),
          position: 99,
          word_count: 99,
          type: 'other',
          created_at: 1,
          updated_at: 1,
          extra: [{ deep: null }],
          Content: 'not this',
          content: 'this text',
        }),
      );
      assert.equal(response.status, 200);
      const { updated_at, ...rest } = response.body.data;
      assert.deepEqual(rest, {
        id: tenant.ids.chunk,
        segment_id: tenant.ids.segment,
        content: 'this text',
        position: 3,
        word_count: 2,
        type: 'customized',
        created_at: 1111,
      });
      assert.ok(updated_at > 1111);
    });

    itOnOneEngine(engine, '200: fields with names of inherited properties are ignored like any other', async () => {
      const tenant = await createTenant();
      for (const field of ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '']) {
        const body = `{"${field}":{"content":"no","prototype":{"polluted":1},"polluted":1},"content":"yes ${field}"}`;
        const response = await patchRaw(tenant, body);
        assert.equal(response.body?.data?.content, `yes ${field}`, response.text);
        assert.equal(({} as { polluted?: unknown }).polluted, undefined);
      }
    });

    itOnOneEngine(engine, '200: a deeply nested other field is ignored', async () => {
      const depth = 50_000;
      const response = await patchRaw(
        await createTenant(),
        `{"deep":${'['.repeat(depth)}${']'.repeat(depth)},"content":"shallow"}`,
      );
      assert.equal(response.status, 200);
      assert.equal(response.body.data.content, 'shallow');
    });
  });

  const refusedEdit = { method: 'PATCH', path: refused.chunkPath, key: refused.keys.knowledge, headers: json };
  const missingPath = chunkPath({ ...refused.ids, dataset: randomUUID() });
  const unsupported = { status: 415, code: 'unsupported_media_type' };
  const badRequest = { status: 400, code: 'bad_request' };
  const invalidContent = { status: 400, code: 'invalid_param', message: /\bcontent\b/ };
  const tooLarge = { status: 413, code: 'payload_too_large' };
  const missing = (part: keyof ChunkIds) => ({ status: 404, code: 'not_found', message: notFoundMessages[part] });
  const text = { 'content-type': 'text/plain' };
  const stale = { ...json, 'if-match': '"stale"' };
  const content = '{"content":"x"}';

  const invalidJson: [string, string | Uint8Array][] = [
    ['empty', ''],
    ['white space', '  \n'],
    ['truncated', '{"content":"x"'],
    ['a bare word', 'content'],
    ['single quotes', "{'content':'x'}"],
    ['a trailing comma', '{"content":"x",}'],
    ['two values', '{"content":"x"}{"content":"y"}'],
    ['a comment', '{"content":"x"}//'],
    ['a raw control character in a string', '{"content":"a\nb"}'],
    ['a raw NUL in a string', '{"content":"a\0b"}'],
    ['a form', 'content=x'],
    ['NaN', 'NaN'],
    ['a bad escape', '{"content":"\\x"}'],
    ['a byte that is not UTF-8', Buffer.from([...Buffer.from('{"content":"a'), 0xff, ...Buffer.from('"}')])],
    ['an overlong encoding', Buffer.from([...Buffer.from('{"content":"a'), 0xc0, 0xaf, ...Buffer.from('"}')])],
    ['a surrogate in UTF-8', Buffer.from([...Buffer.from('{"content":"'), 0xed, 0xa0, 0x80, ...Buffer.from('"}')])],
    ['a truncated character', Buffer.from([...Buffer.from('{"content":"'), 0xe4, 0xb8, ...Buffer.from('"}')])],
    ['Latin-1', Buffer.from('{"content":"café"}', 'latin1')],
    ['UTF-16', Buffer.from('{"content":"x"}', 'utf16le')],
  ];
  const invalidContents: [string, string][] = [
    ['a number', '{"content":1}'],
    ['zero', '{"content":0}'],
    ['true', '{"content":true}'],
    ['null', '{"content":null}'],
    ['an array of one string', '{"content":["x"]}'],
    ['an object', '{"content":{"content":"x"}}'],
    ['missing', '{}'],
    ['missing, with other fields', '{"text":"x"}'],
    ['in another letter case', '{"Content":"x"}'],
    ['only inherited', '{"__proto__":{"content":"x"}}'],
    ['only inherited, by constructor', '{"constructor":{"prototype":{"content":"x"}}}'],
    ['in an array body', '[{"content":"x"}]'],
    ['an empty array body', '[]'],
    ['a null body', 'null'],
    ['a string body', '"content"'],
    ['a number body', '1'],
    ['a true body', 'true'],
    ['empty', '{"content":""}'],
    ['a space', '{"content":" "}'],
    ['ASCII white space', '{"content":" \\t\\r\\n\\u000b\\u000c"}'],
    ['no-break space', '{"content":"\\u00a0"}'],
    ['ideographic spaces', '{"content":"\\u3000\\u3000"}'],
    ['em, thin, figure and narrow no-break spaces', '{"content":"\\u2003\\u2009\\u2007\\u202f"}'],
    ['Ogham and mathematical spaces', '{"content":"\\u1680\\u205f"}'],
    ['line and paragraph separators', '{"content":"\\u2028\\u2029"}'],
    ['next line', '{"content":" \\u0085"}'],
    ['raw ideographic space', '{"content":"\u3000"}'],
    ['100,001 spaces', `{"content":"${' '.repeat(100_001)}"}`],
    ['NUL', '{"content":"\\u0000"}'],
    ['NUL inside', '{"content":"a\\u0000b"}'],
    ['NUL at the end', '{"content":"a\\u0000"}'],
    ['a lone high surrogate', '{"content":"a\\ud800b"}'],
    ['a lone low surrogate', '{"content":"a\\udc00b"}'],
    ['a high surrogate at the end', '{"content":"a\\ud83d"}'],
    ['a low surrogate at the start', '{"content":"\\ude00a"}'],
    ['surrogates in the wrong order', '{"content":"\\ude00\\ud83d"}'],
    ['100,001 characters', `{"content":"${'a'.repeat(100_001)}"}`],
    ['100,001 units in 50,001 code points', `{"content":"${'😀'.repeat(50_000)}a"}`],
    ['100,002 units in 50,001 code points', `{"content":"${'😀'.repeat(50_001)}"}`],
    ['100,001 units in few graphemes', `{"content":"a${'\u0301'.repeat(100_000)}"}`],
  ];
  const otherTypes = ['', 'text/plain', 'text/json', 'application/x-www-form-urlencoded', 'application/jsonx', 'json'];
  otherTypes.push('application/x-ndjson', 'application/json-patch+json', 'text/plain; application/json');
  otherTypes.push(
    'multipart/form-data; boundary=x',
    'application/json; charset=latin1',
    'application/json;charset=utf-16',
  );
  const invalidUuids = ['x', '0', '-1', 'null', '%20', '%00', '%2F', '..%2F..', '%F0%9F%98%80', "'%20OR%201=1--", '*'];
  invalidUuids.push('00000000-0000-0000-0000-000000000000', 'a'.repeat(2000));
  const { dataset } = refused.ids;
  const malformedUuids = [dataset.replaceAll('-', ''), `${dataset}x`, `%20${dataset}`, `${dataset}%00`];
  malformedUuids.push(`%7B${dataset}%7D`, `urn:uuid:${dataset}`);

  /** Paths of `refused` that do not exist, with the first part that fails. */
  const missingPaths = [
    ...Array.from({ length: 15 }, (_, at): [string, ChunkIds, keyof ChunkIds] => {
      const badParts = parts.filter((_part, bit) => (at + 1) & (1 << bit));
      const ids: ChunkIds = { ...refused.ids };
      for (const part of badParts) ids[part] = randomUUID();
      return [`of ${badParts.join(', ')}`, ids, badParts[0] ?? 'chunk'];
    }),
    ...parts.flatMap((part) =>
      [...invalidUuids, ...(part === 'dataset' ? malformedUuids : [])].map((id): [string, ChunkIds, keyof ChunkIds] => [
        `a ${part} id that is not a UUID, ${id.slice(0, 50)}`,
        { ...refused.ids, [part]: id },
        part,
      ]),
    ),
  ];

  describeRefusals({ service: () => service, admin, engine }, [
    ...[
      { name: 'the content type is checked before the body and the path', headers: text, body: '{', ...unsupported },
      { name: 'the JSON is checked before the path', body: '{', ...badRequest },
      { name: 'the body is checked before the path', body: '{"content":" "}', headers: stale, ...invalidContent },
      { name: 'the size is checked before the path', body: bodyOfBytes(MiB + 1), ...tooLarge },
    ].map((row) => ({ ...refusedEdit, path: missingPath, ...row })),
    ...[
      { name: 'the body is checked before If-Match', body: '{"content":" "}', headers: stale, ...invalidContent },
      { name: 'one byte more than 1 MiB', body: bodyOfBytes(MiB + 1), ...tooLarge },
      { name: 'a body that is too large need not be JSON', body: Buffer.alloc(MiB + 1, '['), ...tooLarge },
      { name: 'no content type', body: content, headers: {}, ...unsupported },
      { name: 'an encoded body', body: content, headers: { ...json, 'content-encoding': 'gzip' }, ...unsupported },
      { name: 'no content type and no body', headers: {}, ...unsupported },
      ...otherTypes.map((type) => ({
        name: `the content type ${type}`,
        body: content,
        headers: { 'content-type': type },
        ...unsupported,
      })),
      ...invalidJson.map(([name, body]) => ({ name: `not JSON: ${name}`, body, ...badRequest })),
      ...invalidContents.map(([name, body]) => ({ name: `the content is ${name}`, body, ...invalidContent })),
    ].map((row) => ({ ...refusedEdit, ...row })),
    ...missingPaths.flatMap(([name, ids, part]) => [
      { ...refusedEdit, name: `GET ${name}`, method: 'GET', path: chunkPath(ids), ...missing(part) },
      { ...refusedEdit, name: `PATCH ${name}`, path: chunkPath(ids), body: content, ...missing(part) },
    ]),
    ...['"stale"', '*', 'W/"x"', 'garbage'].map((tag) => ({
      ...refusedEdit,
      name: `the path is checked before If-Match: ${tag}`,
      path: chunkPath({ ...refused.ids, chunk: randomUUID() }),
      headers: { ...json, 'if-match': tag },
      body: content,
      ...missing('chunk'),
    })),
  ]);

  describeOnOneEngine(engine, 'the body', () => {
    it('200: the content type may have a charset, in any letter case', async () => {
      const tenant = await createTenant();
      for (const type of [
        'application/json',
        'application/json; charset=utf-8',
        'application/json;charset=UTF-8',
        'application/json ; charset="utf-8"',
        'APPLICATION/JSON',
        'Application/Json; Charset=utf-8',
      ]) {
        const response = await patchRaw(tenant, `{"content":"é ${type.length}"}`, { 'content-type': type });
        assert.equal(response.body.data?.content, `é ${type.length}`, type);
      }
    });

    it('400: the rule for blank texts is the pattern in the OpenAPI document', async () => {
      const { paths } = (await service.request('GET', '/openapi.json')).body;
      const path =
        '/v1/datasets/{dataset_id}/documents/{document_id}/segments/{segment_id}/child_chunks/{child_chunk_id}';
      const { content } = paths[path].patch.requestBody.content['application/json'].schema.properties;
      for (const text of [' ', '\u0085\t', '\u200b', 'x']) {
        const isBlank = !new RegExp(content.pattern, 'u').test(text);
        const response = await patch(await createTenant(), text);
        if (isBlank) assertError(response, 400, 'invalid_param', /^content must not be blank$/);
        else assert.equal(response.status, 200);
      }
    });
  });

  itOnOneEngine(engine, '413: later requests of the same client succeed', async () => {
    const tenant = await createTenant();
    for (let round = 0; round < 3; round++) {
      assertError(await patchRaw(tenant, bodyOfBytes(5_000_000)), 413, 'payload_too_large');
      assert.equal((await patch(tenant, `round ${round}`)).status, 200);
    }
  });

  describeOnOneEngine(engine, 'ids in the path', () => {
    it('200: the letter case of an id does not matter', async () => {
      const tenant = await createTenant();
      for (const part of parts) {
        const path = chunkPath({ ...tenant.ids, [part]: tenant.ids[part].toUpperCase() });
        const options = { key: tenant.keys.knowledge };
        const patched = await service.request('PATCH', path, { ...options, body: { content: `by ${part}` } });
        assert.equal(patched.status, 200, part);
        assert.equal(patched.body.data.id, tenant.ids.chunk);
        assert.equal(patched.body.data.segment_id, tenant.ids.segment);
        assert.equal((await service.request('GET', path, options)).text, patched.text);
      }
    });

    it('200: an id may be percent-encoded', async () => {
      const tenant = await createTenant();
      const path = tenant.chunkPath.replaceAll('-', '%2D');
      assert.equal((await service.as(tenant.keys.knowledge).get(path)).status, 200);
    });
  });

  describe('time', () => {
    it('200: updated_at never decreases, even if it is in the future', async () => {
      const future = now() + 1_000_000;
      const tenant = await createTenant({ updated_at: future });
      for (const content of ['one', 'two']) {
        const { updated_at, created_at } = (await patch(tenant, content)).body.data;
        assert.ok(updated_at >= future, `${updated_at} is before ${future}`);
        assert.equal(created_at, 1000);
      }
    });

    it('200: updated_at follows the clock forward, never back', async () => {
      const tenant = await createTenant();
      const edit = async (content: string): Promise<number> => (await patch(tenant, content)).body.data.updated_at;
      const first = await edit('one');
      service.advanceClock(100);
      const second = await edit('two');
      assert.ok(second >= first + 100 && second <= first + 105);
      service.advanceClock(-50);
      assert.equal(await edit('three'), second);
      service.advanceClock(-5000);
      assert.equal(await edit('four'), second);
      service.advanceClock(5200);
      assert.ok((await edit('five')) > second);
      service.advanceClock(-250);
    });
  });

  describe('ETag and If-Match', () => {
    it('200: the tag is strong and changes with every edit', async () => {
      const tenant = await createTenant();
      const seen = new Set([await etagOf(tenant)]);
      for (const content of ['a', 'b', 'a', 'chunk text']) {
        const { headers } = await patch(tenant, content);
        assert.match(headers.etag ?? '', /^"[\x21\x23-\x7e]+"$/);
        assert.ok(!seen.has(headers.etag ?? ''), 'a tag is never used again');
        seen.add(headers.etag ?? '');
        assert.equal(await etagOf(tenant), headers.etag);
      }
    });

    it('200: an import that changes the chunk changes the tag', async () => {
      const tenant = await createTenant();
      const tag = await etagOf(tenant);
      const { chunk: id, segment: segment_id } = tenant.ids;
      await service.load([{ record: 'child_chunk', id, segment_id, position: 1, content: 'imported' }]);
      assert.notEqual(await etagOf(tenant), tag);
      assertError(await patch(tenant, 'x', { 'if-match': tag }), 412, 'precondition_failed');
    });

    const matchingHeaders: [string, (tag: string) => string][] = [
      ['the tag', (tag) => tag],
      ['*', () => '*'],
      ['* with spaces', () => ' * '],
      ['a list with the tag first', (tag) => `${tag}, "other"`],
      ['a list with the tag last', (tag) => `"one", W/"two","three" ,${tag}`],
      ['a list with empty elements', (tag) => `, ,${tag},`],
      ['a list with the tag weak and strong', (tag) => `W/${tag}, ${tag}`],
      ['a list whose other tag contains a comma', (tag) => `"a,b", ${tag}`],
    ];
    itOnOneEngine(engine, '200: If-Match matches', async () => {
      const tenant = await createTenant();
      for (const [name, header] of matchingHeaders) {
        const response = await patch(tenant, name, { 'if-match': header(await etagOf(tenant)) });
        assert.equal(response.body.data?.content, name, response.text);
      }
      const response = await patch(tenant, 'two headers', { 'if-match': ['"other"', await etagOf(tenant)] });
      assert.equal(response.status, 200, 'two headers form one list');
    });

    const staleHeaders: [string, (tag: string) => string][] = [
      ['another tag', () => '"other"'],
      ['the tag as a weak tag', (tag) => `W/${tag}`],
      ['the tag as a weak tag in a list', (tag) => `"other", W/${tag}`],
      ['the tag without quotes', (tag) => tag.replaceAll('"', '')],
      ['the tag with one quote', (tag) => tag.slice(0, -1)],
      ['the tag in single quotes', (tag) => tag.replaceAll('"', "'")],
      ['the tag in another letter case', (tag) => swapCase(tag)],
      ['a part of the tag', (tag) => `"${tag.slice(1, 5)}"`],
      ['the tag with a space in it', (tag) => `" ${tag.slice(1)}`],
      ['the tag as a part of another', (tag) => `"x${tag.slice(1, -1)}x"`],
      ['the empty tag', () => '""'],
      ['a star in quotes', () => '"*"'],
      ['garbage', () => 'garbage'],
      ['the tag with a lower-case w', (tag) => `w/${tag}`],
      ['the tag directly after garbage', (tag) => `garbage${tag}`],
    ];
    itOnOneEngine(engine, '412: If-Match does not match, and nothing changes', async () => {
      const tenant = await createTenant();
      const tag = await etagOf(tenant);
      await assertUnchanged(tenant, async () => {
        for (const [name, header] of staleHeaders) {
          const response = await patch(tenant, 'never', { 'if-match': header(tag) });
          assert.equal(response.body.code, 'precondition_failed', name);
        }
      });
    });

    it('412: an outdated tag changes nothing', async () => {
      const tenant = await createTenant();
      const tag = await etagOf(tenant);
      assert.equal((await patch(tenant, 'first', { 'if-match': tag })).status, 200);
      const response = await assertUnchanged(tenant, () => patch(tenant, 'second', { 'if-match': tag }));
      assertError(response, 412, 'precondition_failed');
    });

    it('412: an outdated tag stays invalid when the text is changed back', async () => {
      const tenant = await createTenant();
      const { etag = '' } = (await patch(tenant, 'A')).headers;
      await patch(tenant, 'B');
      await patch(tenant, 'A');
      assertError(await patch(tenant, 'C', { 'if-match': etag }), 412, 'precondition_failed');
    });

    it('200: the tag of a response allows the next edit', async () => {
      const tenant = await createTenant();
      let tag = await etagOf(tenant);
      for (let step = 0; step < 5; step++) {
        const { status, headers } = await patch(tenant, `step ${step}`, { 'if-match': tag });
        assert.equal(status, 200);
        tag = headers.etag ?? '';
      }
    });
  });

  describeOnOneEngine(engine, 'If-None-Match and HEAD', () => {
    it('304: If-None-Match matches', async () => {
      const tenant = await createTenant();
      const tag = await etagOf(tenant);
      for (const header of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
        const response = await get(tenant, { 'if-none-match': header });
        assert.equal(response.status, 304, header);
        assert.equal(response.text, '');
        assert.equal(response.headers.etag, tag);
      }
    });

    it('200: If-None-Match with another tag, or with the tag from before an edit, does not match', async () => {
      const tenant = await createTenant();
      const tag = await etagOf(tenant);
      assert.equal((await get(tenant, { 'if-none-match': '"other"' })).status, 200);
      await patch(tenant, 'new');
      const response = await get(tenant, { 'if-none-match': tag });
      assert.equal(response.status, 200);
      assert.equal(response.body.data.content, 'new');
    });

    it('404: a missing chunk, also with If-None-Match: *', async () => {
      const tenant = await createTenant();
      const path = chunkPath({ ...tenant.ids, chunk: randomUUID() });
      const options = { key: tenant.keys.knowledge, headers: { 'if-none-match': '*' } };
      assertError(await service.request('GET', path, options), 404, 'not_found', 'child chunk not found');
    });

    it('200, 304, 404 and 401: HEAD responds as GET does, without a body', async () => {
      const tenant = await createTenant();
      const key = tenant.keys.knowledge;
      const getResponse = await get(tenant);
      const response = await service.request('HEAD', tenant.chunkPath, { key });
      assert.equal(response.status, 200);
      assert.equal(response.text, '');
      for (const name of ['etag', 'content-type', 'cache-control']) {
        assert.equal(response.headers[name], getResponse.headers[name], name);
      }
      const headers = { 'if-none-match': getResponse.headers.etag };
      assert.equal((await service.request('HEAD', tenant.chunkPath, { key, headers })).status, 304);
      const path = chunkPath({ ...tenant.ids, chunk: randomUUID() });
      assert.equal((await service.request('HEAD', path, { key })).status, 404);
      assert.equal((await service.request('HEAD', tenant.chunkPath)).status, 401);
    });

    it('200: GET writes nothing', async () => {
      const tenant = await createTenant({ updated_at: 1500 });
      await assertUnchanged(tenant, () => get(tenant));
      assert.equal((await get(tenant)).body.data.updated_at, 1500);
    });
  });

  describe('repeated edits', () => {
    for (const [name, headers] of [
      ['without If-Match', {}],
      ['with a stale tag', { 'if-match': '"stale"' }],
      ['with a weak tag', { 'if-match': 'W/"stale"' }],
      ['with *', { 'if-match': '*' }],
    ] as const) {
      it(`200: an edit with the stored text on a customized chunk writes nothing, ${name}`, async () => {
        const tenant = await createTenant({ type: 'customized', updated_at: 1500, word_count: 77 });
        const before = await get(tenant);
        const response = await assertUnchanged(tenant, () => patch(tenant, 'chunk text', headers));
        assert.equal(response.status, 200);
        assert.equal(response.text, before.text);
        assert.equal(response.headers.etag, before.headers.etag);
        assert.equal(response.body.data.updated_at, 1500);
      });
    }

    it('200: a replayed request succeeds, although it made its own tag stale', async () => {
      const tenant = await createTenant();
      const tag = await etagOf(tenant);
      const first = await patch(tenant, 'once', { 'if-match': tag });
      const replay = await assertUnchanged(tenant, () => patch(tenant, 'once', { 'if-match': tag }));
      assert.equal(replay.status, 200);
      assert.equal(replay.text, first.text);
      assert.equal(replay.headers.etag, first.headers.etag);
      assert.equal((await revisionsOf(tenant)).length, 1);
    });

    it('412: a replayed request fails after another edit', async () => {
      const tenant = await createTenant();
      const tag = await etagOf(tenant);
      await patch(tenant, 'own text', { 'if-match': tag });
      await patch(tenant, 'other text');
      const response = await assertUnchanged(tenant, () => patch(tenant, 'own text', { 'if-match': tag }));
      assertError(response, 412, 'precondition_failed');
    });

    it('200: an edit with the stored text makes an automatic chunk customized', async () => {
      const tenant = await createTenant({ updated_at: 1500, word_count: 77 });
      const tag = await etagOf(tenant);
      const from = now();
      const response = await patch(tenant, 'chunk text');
      assert.equal(response.status, 200);
      const { type, content, updated_at, word_count } = response.body.data;
      assert.deepEqual({ type, content, word_count }, { type: 'customized', content: 'chunk text', word_count: 2 });
      assert.ok(updated_at >= from);
      assert.notEqual(response.headers.etag, tag, 'a strong tag changes with the representation');
    });

    it('412: an edit with the stored text and a stale tag on an automatic chunk fails', async () => {
      const tenant = await createTenant();
      const response = await assertUnchanged(tenant, () => patch(tenant, 'chunk text', { 'if-match': '"stale"' }));
      assertError(response, 412, 'precondition_failed');
    });

    it('200: an edit with the stored text makes a chunk of any other type customized', async () => {
      const tenant = await createTenant({ type: 'Customized' });
      assert.equal((await patch(tenant, 'chunk text')).body.data.type, 'customized');
    });
  });

  describe('revisions', () => {
    it('are numbered from 1, with the earlier text, the time and the key of the edit', async () => {
      const second = { id: randomUUID(), secret: makeSecret('knowledge') };
      const tenant = await createTenant({}, ({ ids }) => [
        { record: 'api_key', kind: 'knowledge', workspace_id: ids.workspace, name: 'second', ...second },
      ]);
      assert.deepEqual(await revisionsOf(tenant), []);
      const from = now();
      await patch(tenant, 'one');
      await service.as(second.secret).patch(tenant.chunkPath, { content: 'two' });
      await patch(tenant, 'three');
      const to = now();
      const revisions = await revisionsOf(tenant);
      for (const { replaced_at } of revisions) assert.ok(replaced_at >= from && replaced_at <= to);
      const child_chunk_id = tenant.ids.chunk;
      const ownKeyId = tenant.keyIds.knowledge;
      assert.deepEqual(
        revisions.map(({ replaced_at: _, person_id, review_message_id, ...rest }) => [
          rest,
          person_id,
          review_message_id,
        ]),
        [
          { record: 'child_chunk_revision', child_chunk_id, revision: 1, content: 'chunk text', key_id: ownKeyId },
          { record: 'child_chunk_revision', child_chunk_id, revision: 2, content: 'one', key_id: second.id },
          { record: 'child_chunk_revision', child_chunk_id, revision: 3, content: 'two', key_id: ownKeyId },
        ].map((revision) => [revision, null, null]),
      );
    });

    it('are also written when the text is changed back to an earlier one', async () => {
      const tenant = await createTenant();
      for (const content of ['A', 'B', 'A', 'B']) await patch(tenant, content);
      assert.deepEqual(
        (await revisionsOf(tenant)).map(({ revision, content }) => [revision, content]),
        [
          [1, 'chunk text'],
          [2, 'A'],
          [3, 'B'],
          [4, 'A'],
        ],
      );
    });

    it('are numbered per chunk', async () => {
      const [one, other] = [await createTenant(), await createTenant()];
      await patch(one, 'x');
      await patch(other, 'y');
      assert.deepEqual(pluck([...(await revisionsOf(one)), ...(await revisionsOf(other))], 'revision'), [1, 1]);
    });

    it('are written by an import that changes the text, with key_id null', async () => {
      const tenant = await createTenant();
      await patch(tenant, 'edited');
      const { chunk: id, segment: segment_id } = tenant.ids;
      const record = { record: 'child_chunk', id, segment_id, position: 1, content: 'imported' };
      const from = now();
      const options = { key: admin, headers: { 'content-type': 'application/x-ndjson' }, body: ndjson([record]) };
      assert.deepEqual((await service.request('POST', '/admin/records', options)).body, { records: 1 });
      const [, revision, ...none] = await revisionsOf(tenant);
      assert.deepEqual(none, []);
      assert.equal(revision?.revision, 2);
      assert.equal(revision.content, 'edited');
      assert.equal(revision.key_id, null);
      assert.ok(revision.replaced_at >= from && revision.replaced_at <= now());
      assert.equal((await get(tenant)).body.data.content, 'imported');
      await patch(tenant, 'edited again');
      assert.deepEqual(
        (await revisionsOf(tenant)).map((one) => [one.revision, one.content, one.key_id]),
        [
          [1, 'chunk text', tenant.keyIds.knowledge],
          [2, 'edited', null],
          [3, 'imported', tenant.keyIds.knowledge],
        ],
      );
    });

    it('are not written by an import of the same text', async () => {
      const tenant = await createTenant();
      await patch(tenant, 'edited');
      const { chunk: id, segment: segment_id } = tenant.ids;
      const record = { record: 'child_chunk', id, segment_id, position: 2, content: 'edited', type: 'customized' };
      await service.load([record, record]);
      assert.equal((await revisionsOf(tenant)).length, 1);
    });

    it('are written for both changes of an import that changes the text twice', async () => {
      const tenant = await createTenant();
      const { chunk: id, segment: segment_id } = tenant.ids;
      const record = { record: 'child_chunk', id, segment_id, position: 1 };
      await service.load([
        { ...record, content: 'one' },
        { ...record, content: 'two' },
      ]);
      assert.deepEqual(
        (await revisionsOf(tenant)).map(({ revision, content, key_id }) => [revision, content, key_id]),
        [
          [1, 'chunk text', null],
          [2, 'one', null],
        ],
      );
    });

    it('continue the numbers of imported revisions', async () => {
      const tenant = await createTenant({}, ({ ids }) => [
        {
          record: 'child_chunk_revision',
          child_chunk_id: ids.chunk,
          revision: 7,
          content: 'long ago',
          replaced_at: 500,
          key_id: null,
        },
      ]);
      await patch(tenant, 'edited');
      assert.deepEqual(
        (await revisionsOf(tenant)).map(({ revision, content }) => [revision, content]),
        [
          [7, 'long ago'],
          [8, 'chunk text'],
        ],
      );
    });
  });

  describe('concurrent requests', () => {
    it('200: 50 edits without If-Match all succeed, and every text except the last becomes a revision', async () => {
      const tenant = await createTenant();
      const texts = Array.from({ length: 50 }, (_, at) => `text ${at}`);
      const responses = await Promise.all(texts.map((content) => patch(tenant, content)));
      assert.deepEqual(
        responses.map(({ status, body }) => [status, body.data?.content]),
        texts.map((content) => [200, content]),
      );
      assert.equal(new Set(responses.map(({ headers }) => headers.etag)).size, 50);
      const last = await get(tenant);
      const revisions = await revisionsOf(tenant);
      assert.deepEqual(
        pluck(revisions, 'revision'),
        texts.map((_, at) => at + 1),
      );
      assert.equal(revisions[0]?.content, 'chunk text');
      assert.deepEqual(
        [...revisions.map(({ content }) => content), last.body.data.content].sort(),
        ['chunk text', ...texts].sort(),
      );
      const winner = responses.find(({ headers }) => headers.etag === last.headers.etag);
      assert.equal(winner?.text, last.text);
    });

    it('200 and 412: of 20 edits with the same If-Match, exactly one succeeds', async () => {
      const tenant = await createTenant();
      const headers = { 'if-match': await etagOf(tenant) };
      const responses = await Promise.all(Array.from({ length: 20 }, (_, at) => patch(tenant, `text ${at}`, headers)));
      const succeeded = responses.filter(({ status }) => status === 200);
      assert.equal(succeeded.length, 1);
      for (const response of responses)
        if (response !== succeeded[0]) assertError(response, 412, 'precondition_failed');
      assert.equal((await get(tenant)).text, succeeded[0]?.text);
      assert.deepEqual(pluck(await revisionsOf(tenant), 'content'), ['chunk text']);
    });

    it('200: 20 requests with the same text and the same If-Match are one edit', async () => {
      const tenant = await createTenant();
      const headers = { 'if-match': await etagOf(tenant) };
      const responses = await Promise.all(Array.from({ length: 20 }, () => patch(tenant, 'same', headers)));
      const [first] = responses;
      for (const response of responses) {
        assert.equal(response.status, 200);
        assert.equal(response.text, first?.text);
        assert.equal(response.headers.etag, first?.headers.etag);
      }
      assert.equal((await revisionsOf(tenant)).length, 1);
    });

    it('200: concurrent reads see complete states, each text with its own tag', async () => {
      const tenant = await createTenant();
      const textByTag = new Map<string, string>();
      const read = async () => {
        const { headers, text } = await get(tenant);
        const tag = headers.etag ?? assert.fail('no ETag');
        assert.equal(textByTag.get(tag) ?? text, text);
        textByTag.set(tag, text);
      };
      const edits = Array.from({ length: 20 }, (_, at) => patch(tenant, `${'w '.repeat(at)}end`));
      await Promise.all([...edits, ...Array.from({ length: 60 }, read)]);
      for (const text of textByTag.values()) {
        const { content, word_count } = JSON.parse(text).data;
        assert.equal(word_count, content.split(' ').length);
      }
    });
  });

  /** Last, because every later export contains them. */
  describeOnOneEngine(engine, 'texts of the maximum length', () => {
    it('200: exactly 100,000 characters are accepted', async () => {
      const content = 'abcd '.repeat(20_000);
      const response = await patch(await createTenant(), content);
      assert.equal(response.status, 200);
      assert.equal(response.body.data.content, content);
      assert.equal(response.body.data.word_count, 20_000);
    });

    it('200: exactly 100,000 UTF-16 units of characters outside the BMP are accepted', async () => {
      const content = '😀'.repeat(50_000);
      assert.equal((await patch(await createTenant(), content)).body.data.content, content);
    });

    it('200: exactly 100,000 units as escapes of six bytes each are accepted', async () => {
      const response = await patchRaw(await createTenant(), `{"content":"${'\\u4e2d'.repeat(100_000)}"}`);
      assert.equal(response.status, 200);
      assert.equal(response.body.data.content, '中'.repeat(100_000));
    });
  });
});

const swapCase = (text: string): string =>
  text.replaceAll(/[a-z]/gi, (letter) => (letter < 'a' ? letter.toLowerCase() : letter.toUpperCase()));
