import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import net from 'node:net';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import type { KeyKind } from '../../src/contract/key-kinds.ts';
import { makeSecret } from '../../src/domain/secret.ts';
import { makeTwoTenants, onEveryEngine, onOneEngine, type TestResponse, useService } from '../support/harness.ts';

const modelPath = '/v1/workspaces/current/models/model-types/llm';
const ndjsonHeaders = { 'content-type': 'application/x-ndjson' };
const challenge = 'Bearer realm="api"';

/** Two workspaces with all kinds of key. Which kind allows which operation is in the isolation matrix. */
function makeKeyFixture() {
  const { one, other, admin, records } = makeTwoTenants();
  const keys: Record<KeyKind, string> = { ...one.keys, admin };
  const page = `/v1/messages?conversation_id=${one.ids.conversation}`;
  return { one, other, admin, keys, records, page };
}

/** The whole response as sent, without its date. */
async function rawResponse(port: number, path: string, ...headers: string[]): Promise<string> {
  const socket = net.connect(port, '127.0.0.1');
  const fixed = ['Host: a', 'X-Request-Id: same', 'Connection: close'];
  socket.write(Buffer.from(`GET ${path} HTTP/1.1\r\n${[...fixed, ...headers].join('\r\n')}\r\n\r\n`, 'latin1'));
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  await once(socket, 'close');
  return text.replace(/^date: .*\r\n/im, '');
}

function assertUnauthorized(response: TestResponse, note = ''): void {
  assert.equal(response.status, 401, `${note} ${response.text}`);
  assert.equal(response.headers['www-authenticate'], challenge);
  if (response.body !== undefined) assert.equal(response.body.code, 'unauthorized');
}

onOneEngine('keys', (engine) => {
  const { one, keys, page, records } = makeKeyFixture();
  const [expired, revoked] = [makeSecret('app'), makeSecret('app')];
  const ofApp = { record: 'api_key', kind: 'app', workspace_id: one.ids.workspace, app_id: one.ids.app, name: 'key' };
  const service = useService(engine, [
    ...records,
    { ...ofApp, secret: expired, expires_at: 1000 },
    { ...ofApp, secret: revoked, revoked_at: 1000 },
  ]);

  describe('how a key is sent', () => {
    const statusFor = async (authorization: string) =>
      /^HTTP\/1\.1 (\d+)/.exec(await rawResponse(service.port, page, `Authorization: ${authorization}`))?.[1];

    it('200: the scheme in any letter case', async () => {
      for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR']) {
        assert.equal(await statusFor(`${scheme} ${keys.app}`), '200', scheme);
      }
    });

    it('200: extra spaces around the key', async () => {
      for (const text of [`Bearer  ${keys.app}`, `Bearer     ${keys.app}`, `  Bearer ${keys.app}   `]) {
        assert.equal(await statusFor(text), '200', text);
      }
    });

    it('200: the header name in any letter case', async () => {
      assert.match(await rawResponse(service.port, page, `AUTHORIZATION: Bearer ${keys.app}`), /^HTTP\/1\.1 200 /);
    });

    it('401: the response is the same, byte for byte, for every invalid key', async () => {
      const changedSecret = `${keys.app.slice(0, -1)}${keys.app.endsWith('A') ? 'B' : 'A'}`;
      const invalidHeaders = {
        missing: [],
        empty: ['Authorization:'],
        'scheme only': ['Authorization: Bearer'],
        'key only': [`Authorization: ${keys.app}`],
        'another scheme': [`Authorization: Basic ${keys.app}`],
        'no space': [`Authorization: Bearer${keys.app}`],
        'two keys': [`Authorization: Bearer ${keys.app} ${keys.app}`],
        'a list': [`Authorization: Bearer ${keys.app}, Bearer ${keys.app}`],
        quoted: [`Authorization: Bearer "${keys.app}"`],
        'a parameter': [`Authorization: Bearer token=${keys.app}`],
        'not ASCII': [`Authorization: Bearer ${keys.app}\xe9`],
        'very long': [`Authorization: Bearer app-${'a'.repeat(8000)}`],
        'one character less': [`Authorization: Bearer ${keys.app.slice(0, -1)}`],
        'one character more': [`Authorization: Bearer ${keys.app}A`],
        'one character changed': [`Authorization: Bearer ${changedSecret}`],
        'upper case': [`Authorization: Bearer ${keys.app.toUpperCase()}`],
        'prefix only': ['Authorization: Bearer app-'],
        'without prefix': [`Authorization: Bearer ${keys.app.slice(4)}`],
        'its digest': [`Authorization: Bearer ${createHash('sha256').update(keys.app).digest('hex')}`],
        'its id': [`Authorization: Bearer ${one.keyIds.app}`],
        unknown: [`Authorization: Bearer ${makeSecret('app')}`],
        expired: [`Authorization: Bearer ${expired}`],
        revoked: [`Authorization: Bearer ${revoked}`],
        'another header': [`X-Api-Key: ${keys.app}`, `Proxy-Authorization: Bearer ${keys.app}`],
        'a cookie': [`Cookie: authorization=Bearer ${keys.app}`],
        SQL: [`Authorization: Bearer ' OR 1=1 --`],
      };
      const expected = await rawResponse(service.port, page);
      assert.match(expected, /^HTTP\/1\.1 401 /);
      assert.match(expected, /^www-authenticate: Bearer realm="api"\r$/im);
      const body = JSON.parse(expected.split('\r\n\r\n')[1] ?? '');
      assert.deepEqual(Object.keys(body).sort(), ['code', 'message', 'status']);
      assert.equal(body.code, 'unauthorized');
      for (const [name, headers] of Object.entries(invalidHeaders)) {
        assert.equal(await rawResponse(service.port, page, ...headers), expected, name);
      }
      // Also on every other route that requires a key.
      for (const path of [one.chunkPath, modelPath, '/admin/records', '/metrics']) {
        assert.equal(await rawResponse(service.port, path), expected, path);
        assert.equal(await rawResponse(service.port, path, `Authorization: Bearer ${revoked}`), expected, path);
      }
    });

    it('401: a key in the query is not accepted', async () => {
      for (const name of ['key', 'api_key', 'access_token', 'token', 'authorization']) {
        assertUnauthorized(await service.request('GET', `${page}&${name}=${keys.app}`));
      }
    });
  });

  describe('after 100 failed keys', () => {
    function assertTooMany(response: TestResponse): void {
      assert.equal(response.status, 429, response.text);
      assert.equal(response.body.code, 'too_many_requests');
      const seconds = response.headers['retry-after'] ?? '';
      assert.match(seconds, /^\d+$/);
      assert.ok(Number(seconds) >= 1 && Number(seconds) <= 60, seconds);
    }
    const fail = (from: string) => service.request('GET', page, { key: makeSecret('app'), from });

    it('429: further failing requests from that address are rejected, whatever their error; a valid key is accepted', async () => {
      const from = '127.0.0.2';
      const statuses = await Promise.all(Array.from({ length: 100 }, async () => (await fail(from)).status));
      assert.deepEqual(new Set(statuses), new Set([401]));
      assertTooMany(await fail(from));
      assertTooMany(await service.request('GET', page, { from }));
      assertTooMany(await service.request('GET', page, { from, headers: { authorization: 'nonsense' } }));
      assertTooMany(await service.request('GET', page, { key: keys.writer, from }));
      assertTooMany(await service.request('GET', '/metrics', { key: keys.app, from }));
      assertTooMany(
        await service.request('PATCH', one.chunkPath, { key: makeSecret('knowledge'), from, body: { content: 'a' } }),
      );
      assertTooMany(await service.request('POST', '/admin/records', { from, headers: ndjsonHeaders, body: 'x' }));

      for (let tries = 0; tries < 5; tries += 1) {
        assert.equal((await service.request('GET', page, { key: keys.app, from })).status, 200);
        assert.equal((await service.request('GET', '/metrics', { key: keys.admin, from })).status, 200);
      }
      assert.equal((await service.request('GET', '/health/live', { from })).status, 200);
      assert.equal((await service.request('GET', '/unknown', { from })).status, 404);
      assertTooMany(await fail(from));

      assertUnauthorized(await fail('127.0.0.3'), 'another address is not affected');
      assertUnauthorized(await service.request('GET', page, { from: '127.0.0.3' }));

      const seconds = Number((await fail(from)).headers['retry-after']);
      service.advanceClock(seconds);
      assertUnauthorized(await fail(from), 'after Retry-After');
      assert.equal((await service.request('GET', page, { key: keys.app, from })).status, 200);
    });

    it('429: in a burst, all failing requests but 100 are rejected, and none with a valid key', async () => {
      const from = '127.0.0.7';
      const valid = () => service.request('GET', page, { key: keys.app, from });
      const validKnowledge = () => service.request('GET', modelPath, { key: keys.knowledge, from });
      const senders = Array.from({ length: 240 }, (_, index) => [fail, valid, fail, validKnowledge][index % 4] ?? fail);
      const statuses = await Promise.all(senders.map(async (send) => ({ send, status: (await send(from)).status })));
      const count = (expected: number, isFailing: boolean) =>
        statuses.filter(({ send, status }) => status === expected && (send === fail) === isFailing).length;
      assert.deepEqual([count(401, true), count(429, true), count(200, false)], [100, 20, 120]);
    });

    it('401: failed keys are counted per minute', async () => {
      const from = '127.0.0.4';
      for (let round = 0; round < 4; round += 1) {
        const responses = await Promise.all(Array.from({ length: 60 }, () => fail(from)));
        for (const response of responses) assertUnauthorized(response);
        service.advanceClock(61);
      }
    });

    it('401: valid keys do not count', async () => {
      const from = '127.0.0.5';
      for (let tries = 0; tries < 120; tries += 1) {
        assert.equal((await service.request('GET', page, { key: keys.app, from })).status, 200);
      }
      assertUnauthorized(await fail(from));
    });

    it('429: X-Forwarded-For does not change the address', async () => {
      const from = '127.0.0.6';
      await Promise.all(Array.from({ length: 100 }, () => fail(from)));
      const headers = { 'x-forwarded-for': '10.1.2.3', forwarded: 'for=10.1.2.3', 'x-real-ip': '10.1.2.3' };
      assertTooMany(await service.request('GET', page, { key: makeSecret('app'), from, headers }));
    });
  });
});

onEveryEngine('stored secrets', (engine) => {
  const fixture = makeKeyFixture();
  const service = useService(engine, fixture.records);

  it('a key is looked up by its digest only', async () => {
    const requestedDigests: string[] = [];
    const { store } = service;
    const findKey = store.findKey.bind(store);
    store.findKey = (digest, now, dataVersion) => {
      requestedDigests.push(digest);
      return findKey(digest, now, dataVersion);
    };
    const secrets = [...Object.values(fixture.keys), makeSecret('app'), 'x', `${fixture.keys.app}x`, "' OR 1=1"];
    for (const key of secrets) {
      for (const path of [fixture.page, modelPath, '/metrics']) await service.as(key).get(path);
    }
    const digests = secrets.slice(0, -1).map((secret) => createHash('sha256').update(secret).digest('hex'));
    assert.deepEqual(new Set(requestedDigests), new Set(digests), 'a string that cannot be a secret is not looked up');
  });

  it('only digests are on disk and in an export', async () => {
    const newSecret = makeSecret('knowledge');
    const record = {
      record: 'api_key',
      kind: 'knowledge',
      workspace_id: fixture.one.ids.workspace,
      name: 'new',
      secret: newSecret,
    };
    const response = await service.as(fixture.admin).append(record);
    assert.equal(response.status, 200, response.text);
    assert.ok(!response.text.includes(newSecret));
    const secrets = [...Object.values(fixture.keys), ...Object.values(fixture.other.keys), newSecret];
    for (const key of secrets) await service.as(key).get(modelPath);
    for (const secret of secrets) {
      const [, random = ''] = /^(?:app|dataset|writer|feed|admin)-(.+)$/.exec(secret) ?? [];
      // At least 160 bits in an alphabet of at most 64 characters.
      assert.ok(random.length * 6 >= 160, `${random.length} characters`);
    }

    const exported = (await service.as(fixture.admin).get('/admin/records')).text;
    const places: [string, Buffer][] = [['the export', Buffer.from(exported)]];
    if (engine === 'sqlite') {
      const folder = dirname(service.config.database_url.slice('sqlite:'.length));
      for (const name of await readdir(folder)) places.push([name, await readFile(join(folder, name))]);
      assert.ok(places.length > 1);
    }
    const files = Buffer.concat(places.slice(1).map(([, bytes]) => bytes));
    for (const secret of secrets) {
      const digest = createHash('sha256').update(secret).digest();
      assert.ok(exported.includes(`"digest":"${digest.toString('hex')}"`), 'the digest is exported');
      if (engine === 'sqlite') {
        assert.ok(files.includes(digest.toString('hex')) || files.includes(digest), 'the digest is on disk');
      }
      for (const [name, bytes] of places) {
        assert.ok(!bytes.includes(secret), `a secret is in ${name}`);
        assert.ok(!bytes.includes(secret.slice(secret.indexOf('-') + 1)), `a secret is in ${name}`);
      }
    }
    assert.ok(!exported.includes('"secret"'));
  });
});
