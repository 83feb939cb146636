import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { EventEmitter, on } from 'node:events';
import net from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { before, describe, it } from 'node:test';
import pg from 'pg';
import { digestOf, makeSecret } from '../../src/domain/secret.ts';
import { trimRegularly } from '../../src/service/maintenance.ts';
import {
  type Engine,
  itOnOneEngine,
  makeTwoTenants,
  onEveryEngine,
  startService,
  type TestResponse,
  useService,
} from '../support/harness.ts';
import { until } from '../support/until.ts';

const path = '/console/session';
const hours12 = 43_200;
const consoleHeader = { 'backscroll-console': '1' };

/** The cookie that a browser would store. */
function cookieOf({ headers }: TestResponse): string {
  const [cookie = ''] = headers['set-cookie'] ?? [];
  return cookie.split(';')[0] ?? '';
}
const secretOf = (cookie: string): string => cookie.slice(cookie.indexOf('=') + 1);

async function runSql(engine: Engine, url: string, sql: string): Promise<Record<string, unknown>[]> {
  if (engine === 'sqlite') {
    const db = new DatabaseSync(url.replace('sqlite:', ''), { timeout: 5_000 });
    const rows = db.prepare(sql).all();
    db.close();
    return rows;
  }
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query(sql);
  await client.end();
  return rows;
}

/** Blocks all other writes of sessions until it is released. */
async function lockSessions(engine: Engine, url: string): Promise<() => Promise<void>> {
  if (engine === 'sqlite') {
    const db = new DatabaseSync(url.replace('sqlite:', ''), { timeout: 5_000 });
    db.exec('BEGIN IMMEDIATE');
    return async () => db.close();
  }
  const client = new pg.Client(url);
  await client.connect();
  await client.query('BEGIN; LOCK TABLE console_sessions IN EXCLUSIVE MODE');
  return () => client.end();
}

onEveryEngine('sessions of the console', (engine) => {
  const { one, admin, records } = makeTwoTenants();
  let adminId: string;
  let address = 0;
  const service = useService(engine, records);
  before(async () => {
    adminId = (await service.store.listKeys()).find(({ kind }) => kind === 'admin')?.id ?? '';
  });

  const signIn = (key: unknown, headers: Record<string, string> = {}, on = service) =>
    on.request('POST', path, { body: { key }, headers });
  const newSession = async (key: string, on = service): Promise<string> => {
    const response = await signIn(key, {}, on);
    assert.equal(response.status, 200, response.text);
    return cookieOf(response);
  };
  const withSession = (cookie: string, more: Record<string, string> = {}) => ({
    headers: { ...consoleHeader, cookie, ...more },
  });
  const statusOf = async (cookie: string, on = service) =>
    (await on.request('GET', '/admin/keys', withSession(cookie))).status;
  /** A separate key for tests that revoke or expire it. */
  const newKey = async (more: object = {}): Promise<{ id: string; secret: string }> => {
    const key = { id: randomUUID(), secret: makeSecret('admin') };
    await service.load([{ record: 'api_key', kind: 'admin', name: 'separate', ...key, ...more }]);
    return key;
  };

  it('200: an admin key is exchanged for a cookie that is HttpOnly and SameSite=Strict', async () => {
    const startedAt = Math.floor(Date.now() / 1000);
    const response = await signIn(admin);
    assert.equal(response.status, 200);
    const { expires_at, ...rest } = response.body;
    assert.deepEqual(rest, { key_id: adminId, person_id: null, name: 'admin', read_only: false, role: 'admin' });
    assert.ok(expires_at >= startedAt + hours12 && expires_at <= startedAt + hours12 + 60);
    const [cookie = '', ...more] = response.headers['set-cookie'] ?? [];
    assert.deepEqual(more, []);
    const [pair = '', ...attributes] = cookie.split('; ');
    assert.match(pair, /^backscroll_session=[\w-]{40,}$/);
    assert.deepEqual(attributes, ['Path=/', 'HttpOnly', 'SameSite=Strict', 'Max-Age=43200']);
    assert.equal(response.headers['cache-control'], 'no-store');
    assert.ok(!response.text.includes(secretOf(pair)), 'the secret is only in the cookie');
    const current = await service.request('GET', path, withSession(pair));
    assert.deepEqual([current.status, current.body], [200, response.body]);
    assert.equal((await service.request('HEAD', path, withSession(pair))).status, 200);
  });

  itOnOneEngine(engine, '200: behind a TLS proxy the cookie is Secure', async () => {
    for (const [proto, isSecure] of [
      ['https', true],
      ['HTTPS', true],
      ['https, http', true],
      ['http', false],
      ['http, https', false],
      ['httpsx', false],
    ] as const) {
      const headers = { 'x-forwarded-proto': proto };
      const signedOut = await service.request('DELETE', path, { headers });
      for (const response of [await signIn(admin, headers), signedOut])
        assert.equal(response.headers['set-cookie']?.[0]?.endsWith('; Secure'), isSecure, proto);
    }
  });

  itOnOneEngine(engine, '200 and 401: a session allows what the console needs, and nothing else', async () => {
    const cookie = await newSession(admin);
    const inDataset = `/admin/datasets/${one.ids.dataset}/documents`;
    for (const allowed of ['workspaces', 'apps', 'datasets', 'keys', 'traffic', 'records', `apps/${one.ids.app}`])
      assert.equal((await service.request('GET', `/admin/${allowed}`, withSession(cookie))).status, 200, allowed);
    assert.equal((await service.request('GET', inDataset, withSession(cookie))).status, 200);
    const chunk = { ...withSession(cookie), body: { content: 'by a session' } };
    const edited = await service.request('PATCH', one.chunkPath.replace('/v1/', '/admin/'), chunk);
    assert.equal(edited.status, 200, edited.text);
    for (const denied of ['/metrics', one.chunkPath, '/v1/messages?conversation_id=x'])
      assert.equal((await service.request('GET', denied, withSession(cookie))).status, 401, denied);
    const imported = await service.request('POST', '/admin/records', {
      headers: { ...withSession(cookie).headers, 'content-type': 'application/x-ndjson' },
      body: '',
    });
    assert.equal(imported.status, 200, imported.text);
    const secret = secretOf(cookie);
    assert.equal((await service.as(secret).get('/admin/keys')).status, 401, 'it is not a key');
    assert.equal((await signIn(secret)).status, 401);
  });

  it('403: the session of a read-only key only reads, and can be ended', async () => {
    const { id, secret } = await newKey({ read_only: true });
    const cookie = await newSession(secret);
    assert.equal((await service.request('GET', path, withSession(cookie))).body.read_only, true);
    assert.equal(await statusOf(cookie), 200);
    const write = () => service.request('POST', '/admin/keys', { ...withSession(cookie), body: { kind: 'admin' } });
    assert.deepEqual((await write()).body, { status: 403, code: 'forbidden', message: 'this key is read-only' });
    await service.as(admin).patch(`/admin/keys/${id}`, { read_only: false });
    assert.equal((await write()).status, 201);
    assert.equal((await service.request('DELETE', path, withSession(cookie))).status, 204);
    assert.equal(await statusOf(cookie), 401);
  });

  it('403: a session has the role of its key, as it is now', async () => {
    const { id, secret } = await newKey({ role: 'viewer' });
    const cookie = await newSession(secret);
    assert.equal((await service.request('GET', path, withSession(cookie))).body.role, 'viewer');
    assert.equal((await service.request('GET', '/admin/users', withSession(cookie))).status, 200);
    assert.equal(await statusOf(cookie), 403);
    await service.as(admin).patch(`/admin/keys/${id}`, { role: 'admin' });
    assert.equal(await statusOf(cookie), 200);
    const own = { ...withSession(cookie), body: { role: 'viewer' } };
    assert.equal((await service.request('PATCH', `/admin/keys/${id}`, own)).status, 403);
  });

  itOnOneEngine(
    engine,
    '401: the cookie is ignored without the header, and in requests from another site',
    async () => {
      const cookie = await newSession(admin);
      const unauthorized = (await service.request('GET', '/admin/keys')).body;
      const rejectedHeaders: Record<string, string>[] = [
        { cookie },
        { cookie, 'backscroll-console': '' },
        { cookie, 'backscroll-console': '0' },
        { cookie, 'backscroll-console': '1, 1' },
        ...['cross-site', 'same-site', 'none', 'x'].map((site) => ({
          cookie,
          ...consoleHeader,
          'sec-fetch-site': site,
        })),
        // A cookie does not make up for an invalid key.
        { cookie, ...consoleHeader, authorization: `Bearer ${makeSecret('admin')}` },
        { cookie, ...consoleHeader, authorization: 'Basic eDp5' },
        { cookie: cookie.slice(0, -1), ...consoleHeader },
        { cookie: `${cookie}A`, ...consoleHeader },
        { cookie: `x${cookie}`, ...consoleHeader },
        { cookie: secretOf(cookie), ...consoleHeader },
        { cookie: 'backscroll_session=', ...consoleHeader },
        { cookie: `backscroll_session=${admin}`, ...consoleHeader },
      ];
      for (const headers of rejectedHeaders) {
        const response = await service.request('GET', '/admin/keys', { headers });
        assert.deepEqual([response.status, response.body], [401, unauthorized], JSON.stringify(headers));
      }
      for (const headers of rejectedHeaders.filter(({ authorization }) => authorization === undefined))
        assert.equal((await service.request('GET', path, { headers })).status, 401, JSON.stringify(headers));
      for (const more of [{}, { 'sec-fetch-site': 'same-origin' }])
        assert.equal((await service.request('GET', '/admin/keys', withSession(cookie, more))).status, 200);
      for (const other of [`a=b; ${cookie}`, `${cookie}; c=d`, `a="; x";${cookie};c=d`])
        assert.equal((await service.request('GET', '/admin/keys', withSession(other))).status, 200, other);
    },
  );

  itOnOneEngine(
    engine,
    '401: only a valid admin key creates a session, and the response is the same for all others, except a key of another kind',
    async () => {
      const keys = {
        'not a key': 'x',
        empty: '',
        'not ASCII': 'admin-é',
        'a lone surrogate': 'admin-\ud800',
        unknown: makeSecret('admin'),
        expired: (await newKey({ expires_at: 1 })).secret,
        revoked: (await newKey({ revoked_at: 1 })).secret,
        'in upper case': admin.toUpperCase(),
        'with a scheme': `Bearer ${admin}`,
      };
      const unauthorized = (await service.request('GET', path)).body;
      for (const [name, key] of Object.entries(keys)) {
        const response = await signIn(key);
        assert.deepEqual([response.status, response.body], [401, unauthorized], name);
        assert.equal(response.headers['set-cookie'], undefined, name);
      }
      const { status, body, headers } = await signIn(one.keys.knowledge);
      const message = 'a key of kind admin is required; this key is of kind knowledge';
      assert.deepEqual([status, body.message, headers['set-cookie']], [401, message, undefined]);
    },
  );

  itOnOneEngine(engine, '400 and 415: an invalid body is rejected with the name of the field', async () => {
    for (const body of [{}, { key: 1 }, { key: null }, { secret: admin }]) {
      const response = await service.request('POST', path, { body });
      assert.equal(response.status, 400);
      assert.match(response.body.message, /^key /);
    }
    const json = { 'content-type': 'application/json' };
    assert.equal((await service.request('POST', path, { headers: json, body: '{' })).status, 400);
    // Content types that a form on another site could send.
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])
      assert.equal((await signIn(admin, { 'content-type': type })).status, 415, type);
  });

  itOnOneEngine(engine, '429: failed sign-ins count as failed keys; a valid key can still sign in', async () => {
    const from = `127.0.2.${++address}`;
    const attempt = (key: string) => service.request('POST', path, { body: { key }, from });
    const statuses = [];
    for (let tries = 0; tries < 101; tries += 1) statuses.push((await attempt(makeSecret('admin'))).status);
    assert.deepEqual([statuses.filter((status) => status === 401).length, statuses.at(-1)], [100, 429]);
    assert.equal((await attempt(admin)).status, 200);
  });

  itOnOneEngine(engine, '408: incomplete sign-in requests do not block others', async () => {
    const small = await startService(engine, { IN_FLIGHT_MAX: '20' }, service.config.database_url);
    const head = `POST ${path} HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{`;
    const sockets = Array.from({ length: 40 }, () => net.connect(small.port, '127.0.0.1').setEncoding('utf8'));
    try {
      const responses = new EventEmitter();
      for (const socket of sockets) socket.on('data', (response) => responses.emit('one', response)).write(head);
      let left = sockets.length - 2;
      for await (const [response] of on(responses, 'one')) {
        assert.match(response, /^HTTP\/1\.1 408 /);
        left -= 1;
        if (left === 0) break;
      }
      assert.equal(await statusOf(await newSession(admin, small), small), 200);
    } finally {
      for (const socket of sockets) socket.destroy();
      await small.close();
    }
  });

  itOnOneEngine(engine, '413: the body of a sign-in is limited to 16 KiB', async () => {
    const response = await signIn('x'.repeat(16_384));
    assert.deepEqual([response.status, response.body.message], [413, 'the body is larger than 16384 bytes']);
  });

  it('204: signing out ends only this session and clears the cookie; repeating it is harmless', async () => {
    const [own, other] = [await newSession(admin), await newSession(admin)];
    assert.notEqual(own, other);
    // Without the header the cookie is ignored.
    assert.equal((await service.request('DELETE', path, { headers: { cookie: own } })).status, 204);
    assert.equal(await statusOf(own), 200);
    for (const headers of [withSession(own).headers, withSession(own).headers, {}]) {
      const response = await service.request('DELETE', path, { headers });
      assert.deepEqual([response.status, response.text], [204, '']);
      assert.deepEqual(response.headers['set-cookie'], [
        'backscroll_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0',
      ]);
      assert.equal(await statusOf(own), 401);
    }
    assert.equal(await statusOf(other), 200);
  });

  it('204: signing out of an unknown session writes nothing and does not wait for other writes', async () => {
    const release = await lockSessions(engine, service.config.database_url);
    try {
      const unknown = withSession(`backscroll_session=${makeSecret('admin')}`);
      assert.equal((await service.request('DELETE', path, unknown)).status, 204);
    } finally {
      await release();
    }
  });

  it('401: a session ends immediately with its key, whichever instance revokes it', async (t) => {
    const second = await startService(engine, {}, service.config.database_url);
    t.after(() => second.close());
    const endKey: Record<string, (id: string) => Promise<unknown>> = {
      'revoked by this instance': (id) => service.as(admin).delete(`/admin/keys/${id}`),
      'revoked by the other instance': (id) => second.as(admin).delete(`/admin/keys/${id}`),
      'given another secret': (id) =>
        second.load([{ record: 'api_key', id, kind: 'admin', name: 'separate', secret: makeSecret('admin') }]),
      expired: (id) =>
        second.load([{ record: 'api_key', id, kind: 'admin', name: 'n', digest: digests.get(id), expires_at: 1 }]),
    };
    const digests = new Map<string, string>();
    for (const [name, end] of Object.entries(endKey)) {
      const { id, secret } = await newKey();
      digests.set(id, digestOf(secret));
      const cookies = [await newSession(secret), await newSession(secret, second)];
      for (const on of [service, second]) for (const cookie of cookies) assert.equal(await statusOf(cookie, on), 200);
      await end(id);
      for (const on of [service, second])
        for (const cookie of cookies) assert.equal(await statusOf(cookie, on), 401, name);
    }
  });

  it('200 and 401: a session survives a restart and ends after twelve hours', async (t) => {
    const cookie = await newSession(admin);
    const restarted = await startService(engine, {}, service.config.database_url);
    t.after(() => restarted.close());
    restarted.freezeClock();
    restarted.advanceClock(hours12 - 60);
    assert.equal(await statusOf(cookie, restarted), 200);
    restarted.advanceClock(61);
    assert.equal(await statusOf(cookie, restarted), 401);
    assert.equal((await restarted.request('GET', path, withSession(cookie))).status, 401);
  });

  it('401: a session ends with a key that expires sooner, and has that time as expires_at', async (t) => {
    const ownService = await startService(engine, {}, service.config.database_url);
    t.after(() => ownService.close());
    ownService.freezeClock();
    const expires_at = Math.floor(Date.now() / 1000) + 3_600;
    const { secret } = await newKey({ expires_at });
    const response = await signIn(secret, {}, ownService);
    assert.equal(response.body.expires_at, expires_at);
    ownService.advanceClock(3_500);
    assert.equal(await statusOf(cookieOf(response), ownService), 200);
    ownService.advanceClock(101);
    assert.equal(await statusOf(cookieOf(response), ownService), 401);
  });

  itOnOneEngine(engine, '429: requests of a session count for its key', async (t) => {
    const limited = await startService(engine, { RATE_LIMIT: '2' }, service.config.database_url);
    t.after(() => limited.close());
    limited.freezeClock();
    const cookie = await newSession(admin, limited);
    const other = await newSession(admin, limited);
    const statuses = [await statusOf(cookie, limited), await statusOf(other, limited), await statusOf(cookie, limited)];
    assert.deepEqual(statuses, [200, 200, 429]);
  });

  it('no secret appears in the log, the export or the database; the log has the key id', async () => {
    const cookie = await newSession(admin);
    await service.request('GET', '/admin/workspaces', withSession(cookie, { 'x-request-id': secretOf(cookie) }));
    assert.equal((await service.request('GET', '/admin/workspaces', withSession(cookie))).status, 200);
    const exported = await service.as(admin).get('/admin/records');
    const rows = JSON.stringify(
      await runSql(engine, service.config.database_url, 'SELECT * FROM console_sessions ORDER BY created_at'),
    );
    assert.ok(rows.includes(digestOf(secretOf(cookie))));
    assert.ok(!exported.text.includes(digestOf(secretOf(cookie))), 'a session is not a record');
    for (const [name, text] of Object.entries({ log: service.logs.join(''), export: exported.text, database: rows }))
      for (const secret of [secretOf(cookie), admin]) assert.ok(!text.includes(secret), name);
    assert.ok(
      service.logs.some((line) => line.includes('/admin/workspaces') && line.includes(`"key_id":"${adminId}"`)),
    );
  });

  describe('maintenance', () => {
    it('deletes expired sessions only', async () => {
      const url = service.config.database_url;
      const [old, current] = [await newSession(admin), await newSession(admin)];
      const digest = digestOf(secretOf(old));
      await runSql(engine, url, `UPDATE console_sessions SET expires_at = 1 WHERE digest = '${digest}'`);
      const storedDigests = async () =>
        (await runSql(engine, url, 'SELECT digest FROM console_sessions')).map((row) => row.digest);
      assert.ok((await storedDigests()).includes(digest));
      const logger = { debug: () => undefined } as never;
      const maintenance = trimRegularly(1, { store: service.store, logger });
      await until(async () => !(await storedDigests()).includes(digest));
      await maintenance.end();
      assert.ok((await storedDigests()).includes(digestOf(secretOf(current))));
      assert.equal(await statusOf(current), 200);
    });
  });
});
