import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { currentVersion } from '../../../experiments/support/added-step.ts';
import { makeSecret } from '../../src/domain/secret.ts';
import { migrations } from '../../src/store/schema/schema.ts';
import {
  call,
  command,
  type HttpResponse,
  newFolder,
  newScope,
  oneLine,
  run,
  type Scope,
  sendRequest,
  serve,
} from '../support/cli-helpers.ts';
import {
  databaseAt,
  importInto,
  makeTwoTenants,
  message,
  ndjson,
  newDatabaseUrl,
  newMigratedUrl,
  pluck,
  startService,
} from '../support/harness.ts';
import { provider } from '../support/isolation-fixture.ts';
import { isLong, itLong, shortOrLong } from '../support/long.ts';
import { until } from '../support/until.ts';
import { startProxy } from './recording-proxy.ts';

/** Time that an instance may cache a key. */
const keyMillisMax = 5_000;

async function newUrl(scope: Scope, newDatabase = newDatabaseUrl): Promise<string> {
  const { url, remove } = await newDatabase('postgres');
  scope.after(remove);
  return url;
}

async function query(url: string, statement: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query(statement, values)).rows;
  } finally {
    await client.end();
  }
}

/** Sends a request with any headers, with a timeout of 10 seconds. */
async function send(serving: Instance, path: string, key: string, headers: Record<string, string>, json?: unknown) {
  const response = await fetch(`${serving.base}${path}`, {
    method: json === undefined ? 'GET' : 'PATCH',
    headers: {
      authorization: `Bearer ${key}`,
      ...(json !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(json !== undefined && { body: JSON.stringify(json) }),
    signal: AbortSignal.timeout(10_000),
  });
  const text = await response.text();
  return {
    status: response.status,
    etag: response.headers.get('etag') ?? '',
    body: text ? JSON.parse(text) : undefined,
  };
}

type Instance = { base: string };

const post = ({ base }: Instance, key: string, ...records: object[]): Promise<HttpResponse> =>
  sendRequest(base, '/admin/records', key, { method: 'POST', lines: ndjson(records) });
const patch = ({ base }: Instance, path: string, key: string, content: string): Promise<HttpResponse> =>
  sendRequest(base, path, key, { method: 'PATCH', json: { content } });
const pageOf = (conversation: string, more = ''): string => `/v1/messages?conversation_id=${conversation}${more}`;
const models = '/v1/workspaces/current/models/model-types/llm';

describe('several instances on one PostgreSQL database', { concurrency: 2 }, () => {
  describe('startup', { concurrency: 1 }, () => {
    itLong('lets several instances start at once on an empty database: one migrates, all become ready', async (t) => {
      const [cwd, url] = await Promise.all([newFolder(t), newUrl(t)]);
      const env = { DATABASE_URL: url };
      const all = await Promise.all(Array.from({ length: 4 }, () => serve(t, { cwd, env })));
      t.diagnostic(`ready after ${all.map(({ readyMillis }) => Math.round(readyMillis)).join(', ')} ms`);
      const versions = await query(url, 'SELECT version FROM schema_migrations ORDER BY version');
      assert.deepEqual(
        versions.map(({ version }) => Number(version)),
        migrations.postgres.map(({ version }) => version),
      );
      assert.equal(all.filter(({ output }) => output().includes('"migrated"')).length, 1);
      const { one, records } = makeTwoTenants();
      await importInto(url, records);
      for (const { base } of all)
        assert.equal((await sendRequest(base, pageOf(one.ids.conversation), one.keys.app)).status, 200);
      // One instance stops; the others continue.
      await all[0]?.end('SIGTERM');
      assert.equal((await sendRequest(all[1]?.base ?? '', '/health/ready', '')).status, 200);
    });

    itLong('lets concurrent commands on an empty database all succeed', async (t) => {
      const [cwd, url] = await Promise.all([newFolder(t), newUrl(t)]);
      const env = { DATABASE_URL: url };
      const world = makeTwoTenants();
      const ran = await Promise.all([
        run(['migrate'], { cwd, env }),
        run(['import', '-'], { cwd, env, stdin: ndjson(world.one.records) }),
        run(['import', '-'], { cwd, env, stdin: ndjson(world.other.records) }),
        run(['keys', 'list'], { cwd, env }),
      ]);
      assert.deepEqual(
        ran.map(({ code, stderr }) => [code, stderr]),
        ran.map(() => [0, '']),
      );
      const [count] = await query(url, 'SELECT COUNT(*)::int AS n FROM workspaces');
      assert.equal(count?.n, 2);
    });

    it('runs 8 concurrent migrations on empty databases without an error', async (t) => {
      const urls = await Promise.all(Array.from({ length: shortOrLong(1, 10) }, () => newUrl(t)));
      const migrate = (url: string) => databaseAt(url, { DATABASE_POOL: '2' }).migrate(1);
      for (const url of urls) {
        const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => migrate(url)));
        const failed = outcomes.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
        assert.deepEqual(failed, []);
      }
    });

    it('takes over the lease of a process that died during a migration', async (t) => {
      const migrateWithLease = async (seconds: number) => {
        const url = await newUrl(t);
        // The state after a process died between taking the lease and its first step.
        await query(
          url,
          'CREATE TABLE leases (name TEXT COLLATE "C" NOT NULL PRIMARY KEY, holder TEXT COLLATE "C" NOT NULL, expires_at BIGINT NOT NULL)',
        );
        const expires = Math.floor(Date.now() / 1000) + seconds;
        await query(url, `INSERT INTO leases VALUES ('migrate', 'dead', $1)`, [expires]);
        const applied = await databaseAt(url).migrate(1);
        assert.equal(applied.length, migrations.postgres.length);
        return Date.now() / 1000 - expires;
      };
      const [, late] = await Promise.all([migrateWithLease(-10), migrateWithLease(3)]);
      t.diagnostic(`done ${late.toFixed(1)} s after the lease expired`);
      assert.ok(late >= 0, 'it did not wait for the lease');
    });

    it('waits for the running step of another process whose lease has expired, and does not repeat it', async (t) => {
      const [cwd, url] = await Promise.all([newFolder(t), newUrl(t)]);
      const other = new pg.Client(url);
      await other.connect();
      await other.query('CREATE TABLE schema_migrations (version BIGINT PRIMARY KEY, name TEXT, applied_at BIGINT)');
      await other.query('BEGIN');
      for (const { version, name, statements } of migrations.postgres) {
        await other.query('INSERT INTO schema_migrations VALUES ($1, $2, 1)', [version, name]);
        for (const statement of statements) await other.query(statement);
      }
      const pending = call(['migrate'], { cwd, env: { DATABASE_URL: url } });
      const waiting = `SELECT query FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      const blocked = await until(async () => {
        const rows = await query(url, waiting);
        return rows.length > 0 && rows;
      });
      await other.query('COMMIT');
      await other.end();
      const { code, stdout, stderr } = await pending;
      assert.match(String(blocked[0]?.query), /INSERT INTO schema_migrations/);
      assert.equal(code, 0, stderr);
      assert.match(stdout, /up to date/);
    });

    it('waits while another process migrates, and continues when it is done', async (t) => {
      const [cwd, url] = await Promise.all([newFolder(t), newUrl(t)]);
      await importInto(url, []);
      // Another instance is migrating: it holds the lease and has not recorded the step yet.
      const applied = await query(url, 'DELETE FROM schema_migrations RETURNING version, name, applied_at');
      const expires = Math.floor(Date.now() / 1000) + 600;
      await query(url, `UPDATE leases SET holder = 'other', expires_at = $1 WHERE name = 'migrate'`, [expires]);
      const pending = call(['migrate'], { cwd, env: { DATABASE_URL: url } });
      // Each attempt to take the lease locks its row, even if it fails.
      const attempts = new Set<unknown>();
      const attempted = until(async () => {
        const [lease] = await query(url, `SELECT xmax::text FROM leases WHERE name = 'migrate'`);
        return attempts.add(lease?.xmax).size > 3;
      });
      assert.equal(await Promise.race([pending, attempted]), true);
      for (const { version, name, applied_at } of applied)
        await query(url, 'INSERT INTO schema_migrations VALUES ($1, $2, $3)', [version, name, applied_at]);
      const { code, stdout } = await pending;
      assert.equal(code, 0);
      assert.match(stdout, /^schema \d+ of \d+: up to date\n$/);
    });
  });

  describe('a rolling upgrade', { concurrency: 1 }, () => {
    it('rejects the start of an older program', async (t) => {
      const [cwd, url] = await Promise.all([newFolder(t), newUrl(t)]);
      await importInto(url, []);
      await query(url, `INSERT INTO schema_migrations VALUES ($1, 'additions', 1)`, [currentVersion + 1]);
      const env = { DATABASE_URL: url, PORT: '0' };
      for (const command of [['serve'], ['migrate'], ['import', '-'], ['export']]) {
        const { code, stderr, stdout } = await call(command, { cwd, env });
        assert.deepEqual([code, stdout], [1, '']);
        assert.match(stderr, oneLine);
        assert.match(stderr, new RegExp(`schema ${currentVersion + 1}, newer than this program's ${currentVersion}`));
      }
    });

    itLong('a running older program handles additive changes and loses no request', async (t) => {
      const [cwd, url] = await Promise.all([newFolder(t), newUrl(t)]);
      const { one, admin, records } = makeTwoTenants();
      await importInto(url, [...records, message(one.ids.conversation, 1), provider(one.ids.workspace, 'first')]);
      const env = { DATABASE_URL: url };
      const older = await serve(t, { cwd, env });

      let isRunning = true;
      let responses = 0;
      const failed: string[] = [];
      const loop = async (what: string, send: (n: number) => Promise<HttpResponse>) => {
        for (let n = 0; isRunning; n += 1) {
          const { status, text } = await send(n);
          responses += 1;
          if (status !== 200) failed.push(`${what}: ${status} ${text}`);
        }
      };
      const clients = [
        loop('GET /messages', () => sendRequest(older.base, pageOf(one.ids.conversation), one.keys.app)),
        loop('PATCH', (n) => patch(older, one.chunkPath, one.keys.knowledge, `text ${n}`)),
        loop('GET models', () => sendRequest(older.base, models, one.keys.app)),
        loop('writer', (n) => post(older, one.keys.writer, message(one.ids.conversation, n))),
        loop('admin', (n) => post(older, admin, ...one.records, provider(one.ids.workspace, `provider ${n % 3}`))),
        loop('export', () => sendRequest(older.base, '/admin/records', admin)),
      ];
      const stop = async () => {
        isRunning = false;
        await Promise.all(clients);
      };
      t.after(stop);

      // As a newer program would, it changes table after table while the older one is under load.
      const waitForResponses = (more: number) => {
        const from = responses;
        return until(() => responses >= from + more);
      };
      await waitForResponses(12);
      const tables = await query(
        url,
        `SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'schema_migrations'`,
      );
      assert.ok(tables.length >= 12);
      for (const { tablename } of tables) {
        await query(
          url,
          `ALTER TABLE ${tablename} ADD COLUMN added TEXT NOT NULL DEFAULT 'x', ADD COLUMN later BIGINT`,
        );
        await waitForResponses(12);
      }
      await query(url, 'CREATE TABLE additions (id TEXT NOT NULL PRIMARY KEY)');
      await query(url, 'CREATE INDEX additions_by_user ON conversations ("user")');
      await query(url, `INSERT INTO schema_migrations VALUES ($1, 'additions', 1)`, [currentVersion + 1]);
      await waitForResponses(12);
      await stop();
      t.diagnostic(`${responses} responses, ${failed.length} failed`);
      assert.deepEqual([...new Set(failed)].slice(0, 5), []);
      assert.ok(responses > 100);
      assert.equal((await sendRequest(older.base, '/health/ready', '')).status, 200);
    });
  });

  // Together, because several of them wait until an instance no longer caches a key.
  describe('two running instances', { concurrency: 4 }, () => {
    const scope = newScope();
    const { one, admin, records } = makeTwoTenants();
    let url: string;
    let cwd: string;
    let a: Instance;
    let b: Instance;
    before(async () => {
      [cwd, url] = await Promise.all([newFolder(scope), newUrl(scope, newMigratedUrl)]);
      await importInto(url, records);
      // Within one process they share nothing but the database either.
      const services = [await startService('postgres', {}, url), await startService('postgres', {}, url)] as const;
      for (const { close } of services) scope.after(close);
      [a, b] = services;
    });
    after(() => scope.end());

    /** Creates a conversation for one test. */
    async function newConversation(): Promise<string> {
      const id = randomUUID();
      const { status } = await post(a, one.keys.writer, { record: 'conversation', id, app_id: one.ids.app });
      assert.equal(status, 200);
      return id;
    }

    /** Creates a child chunk for one test. Returns its path. */
    async function newChunk(): Promise<string> {
      const list = one.chunkPath.slice(0, one.chunkPath.lastIndexOf('/'));
      const { body } = await sendRequest(a.base, list, one.keys.knowledge, {
        method: 'POST',
        json: { content: 'new' },
      });
      return `${list}/${body.data.id}`;
    }

    /** Repeats a request until it returns this status. Returns when the last request with another status was sent, in milliseconds. */
    async function millisUntil(status: number, probe: () => Promise<HttpResponse>): Promise<number> {
      const startedAt = performance.now();
      for (let last = 0; ; ) {
        const sentAt = performance.now() - startedAt;
        if ((await probe()).status === status) return last;
        last = sentAt;
        if (last > keyMillisMax) return Number.POSITIVE_INFINITY;
        // Failed keys are counted per address, so do not poll too often.
        await sleep(100);
      }
    }

    const newKey = (more: object = {}) => ({
      record: 'api_key',
      id: randomUUID(),
      kind: 'app',
      workspace_id: one.ids.workspace,
      app_id: one.ids.app,
      name: 'key',
      secret: makeSecret('app'),
      ...more,
    });
    const use = ({ base }: Instance, secret: string) => sendRequest(base, pageOf(one.ids.conversation), secret);

    it("show each other's writes at once", async () => {
      const [conversation, chunkPath] = await Promise.all([newConversation(), newChunk()]);
      for (let round = 0; round < 10; round += 1) {
        const [from, to] = round % 2 ? [a, b] : [b, a];
        const line = message(conversation, round, { query: `round ${round}` });
        assert.equal((await post(from, one.keys.writer, line)).status, 200);
        const page = await sendRequest(to.base, pageOf(conversation, '&limit=1'), one.keys.app);
        assert.deepEqual([page.body.data[0].id, page.body.data[0].query], [line.id, `round ${round}`]);

        const edited = await patch(from, chunkPath, one.keys.knowledge, `round ${round}`);
        const chunk = await sendRequest(to.base, chunkPath, one.keys.knowledge);
        assert.equal(chunk.body.data.content, `round ${round}`);
        assert.equal(chunk.headers.get('etag'), edited.headers.get('etag'));

        const named = provider(one.ids.workspace, 'provider', 'active', [`model ${round}`]);
        assert.equal((await post(from, admin, named)).status, 200);
        const listed = await sendRequest(to.base, models, one.keys.app);
        assert.deepEqual(
          listed.body.data.flatMap((entry: { models: { model: string }[] }) => entry.models.map(({ model }) => model)),
          [`model ${round}`],
        );
      }
    });

    it('reject a key that another process revoked within 5 seconds, also while it is in use', async (t) => {
      const [key, other] = [newKey(), newKey()];
      assert.equal((await post(a, admin, key, other)).status, 200);
      for (const serving of [a, b])
        for (const { secret } of [key, other]) assert.equal((await use(serving, secret)).status, 200);
      const { code, stderr } = await call(['keys', 'revoke', key.id], { cwd, env: { DATABASE_URL: url } });
      assert.equal(code, 0, stderr);
      const millis = await Promise.all([a, b].map((serving) => millisUntil(401, () => use(serving, key.secret))));
      t.diagnostic(`stopped after ${millis.map(Math.round).join(' and ')} ms`);
      assert.ok(Math.max(...millis) < keyMillisMax, `${millis} ms`);
      assert.equal((await use(a, other.secret)).status, 200);
    });

    it('reject a key that one instance revoked or expired at once there, and within 5 seconds in the other', async (t) => {
      const now = Math.floor(Date.now() / 1000);
      const revoked = newKey();
      const expired = newKey();
      assert.equal((await post(a, admin, revoked, expired)).status, 200);
      for (const serving of [a, b])
        for (const { secret } of [revoked, expired]) assert.equal((await use(serving, secret)).status, 200);
      assert.equal((await post(a, admin, { ...revoked, revoked_at: now })).status, 200);
      assert.equal((await use(a, revoked.secret)).status, 401);
      assert.equal((await post(a, admin, { ...expired, expires_at: now - 1 })).status, 200);
      assert.equal((await use(a, expired.secret)).status, 401);
      const millis = await Promise.all([revoked, expired].map(({ secret }) => millisUntil(401, () => use(b, secret))));
      t.diagnostic(`in the other instance after ${millis.map(Math.round).join(' and ')} ms`);
      assert.ok(Math.max(...millis) < keyMillisMax, `${millis} ms`);
      // The same record makes the key valid again.
      assert.equal((await post(a, admin, revoked)).status, 200);
      assert.equal((await use(a, revoked.secret)).status, 200);
    });

    it('reject a key from the second in which it expires, however often it is used', async () => {
      const expires_at = Math.floor(Date.now() / 1000) + 2;
      const key = newKey({ expires_at });
      assert.equal((await post(a, admin, key)).status, 200);
      let last: HttpResponse;
      do {
        const sentAt = Date.now() / 1000;
        last = await use(b, key.secret);
        if (last.status === 200) assert.ok(sentAt < expires_at, 'accepted after its expiry');
        else assert.ok(Date.now() / 1000 >= expires_at, 'rejected before its expiry');
      } while (last.status === 200);
      assert.equal(last.status, 401);
    });

    it('accept a new key at once where it was created, and within 5 seconds in the other, even after rejecting it', async (t) => {
      const key = newKey();
      for (const serving of [a, b]) assert.equal((await use(serving, key.secret)).status, 401);
      assert.equal((await post(a, admin, key)).status, 200);
      assert.equal((await use(a, key.secret)).status, 200);
      const millis = await millisUntil(200, () => use(b, key.secret));
      t.diagnostic(`in the other instance after ${Math.round(millis)} ms`);
      assert.ok(millis < keyMillisMax, `${millis} ms`);
    });

    it('apply a new app mode at once where it was written, and within 5 seconds in the other', async () => {
      const app = { record: 'app', id: randomUUID(), workspace_id: one.ids.workspace, name: 'app', mode: 'chat' };
      const key = newKey({ app_id: app.id });
      const conversation = { record: 'conversation', id: randomUUID(), app_id: app.id };
      assert.equal((await post(a, admin, app, key, conversation)).status, 200);
      const page = ({ base }: Instance) => sendRequest(base, pageOf(conversation.id), key.secret);
      for (const serving of [a, b]) assert.equal((await page(serving)).status, 200);
      assert.equal((await post(a, admin, { ...app, mode: 'workflow' })).status, 200);
      const response = await page(a);
      const millis = await millisUntil(400, () => page(b));
      assert.ok(millis < keyMillisMax, `${millis} ms`);
      assert.deepEqual([response.status, response.body.code], [400, 'not_chat_app']);
    });

    it('return the same ETag for a page, and another one after a write through either', async () => {
      const conversation = await newConversation();
      const path = pageOf(conversation);
      const lines = Array.from({ length: 5 }, (_, at) => message(conversation, at));
      await post(a, one.keys.writer, ...lines);
      const tags = new Set<string>();
      for (let round = 0; round < 6; round += 1) {
        const [from, to] = round % 2 ? [a, b] : [b, a];
        const { etag, status } = await send(from, path, one.keys.app, {});
        assert.equal(status, 200);
        assert.ok(!tags.has(etag));
        tags.add(etag);
        assert.equal((await send(to, path, one.keys.app, {})).etag, etag);
        assert.equal((await send(to, path, one.keys.app, { 'if-none-match': etag })).status, 304);
        const line = { ...lines[round % 5], answer: `answer ${round}` };
        assert.equal((await post(to, one.keys.writer, round < 3 ? line : message(conversation, 9))).status, 200);
        const after = await send(from, path, one.keys.app, { 'if-none-match': etag });
        assert.equal(after.status, 200);
      }
    });

    it('accept only one of many edits with the same If-Match', async () => {
      const key = one.keys.knowledge;
      const chunkPath = await newChunk();
      const { etag } = await send(a, chunkPath, key, {});
      const edited = await send(b, chunkPath, key, { 'if-match': etag }, { content: 'edited through the other' });
      assert.equal(edited.status, 200);
      assert.notEqual(edited.etag, etag);
      assert.equal((await send(a, chunkPath, key, { 'if-match': etag }, { content: 'stale' })).status, 412);
      const rivals = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          send(n % 2 ? a : b, chunkPath, key, { 'if-match': edited.etag }, { content: `rival ${n}` }),
        ),
      );
      const statuses = rivals.map(({ status }) => status);
      assert.equal(statuses.filter((status) => status === 200).length, 1);
      // A busy machine rejects some as an overload.
      assert.deepEqual(
        statuses.filter((status) => ![200, 412, 503].includes(status)),
        [],
      );
      const winner = rivals.find(({ status }) => status === 200);
      const current = await send(a, chunkPath, key, {});
      assert.deepEqual([current.body.data.content, current.etag], [winner?.body.data.content, winner?.etag]);
    });

    it('return every message once to a client that pages back through both while both append', async () => {
      const conversation = await newConversation();
      const initial = Array.from({ length: 120 }, (_, at) => message(conversation, 1_000 + Math.floor(at / 40)));
      for (let at = 0; at < initial.length; at += 30)
        assert.equal((await post(at % 60 ? a : b, one.keys.writer, ...initial.slice(at, at + 30))).status, 200);
      let isRunning = true;
      const appended: string[] = [];
      const writers = [a, b, a, b].map(async (serving, at) => {
        while (isRunning) {
          // Later messages, and messages in the newest second of the initial ones.
          const lines = [message(conversation, 1_002), message(conversation, 2_000 + at)];
          assert.equal((await post(serving, one.keys.writer, ...lines)).status, 200);
          appended.push(...lines.map(({ id }) => id));
        }
      });
      const walk = async (start: number) => {
        const visited: string[] = [];
        for (let first = '', at = start; ; at += 1) {
          const more = `&limit=7${first && `&first_id=${first}`}`;
          const { status, body } = await sendRequest((at % 2 ? a : b).base, pageOf(conversation, more), one.keys.app);
          assert.equal(status, 200);
          visited.push(...body.data.map(({ id }: { id: string }) => id));
          if (!body.has_more) return visited;
          first = visited.at(-1) ?? '';
        }
      };
      const walks: string[][] = [];
      const walking = Promise.all([0, 1, 2].map(async (start) => walks.push(await walk(start))));
      await walking.finally(() => {
        isRunning = false;
      });
      await Promise.all(writers);
      assert.ok(appended.length > 10);
      const finalOrder = await walk(0);
      assert.deepEqual([...finalOrder].sort(), [...initial.map(({ id }) => id), ...appended].sort());
      for (const visited of walks) {
        assert.equal(new Set(visited).size, visited.length, 'a message came twice');
        const missed = initial.filter(({ id }) => !visited.includes(id));
        assert.equal(missed.length, 0, `${missed.length} messages were missed`);
        // In the same order as at the end.
        const order = visited.map((id) => finalOrder.indexOf(id));
        assert.deepEqual(
          order,
          order.toSorted((x, y) => x - y),
        );
      }
    });

    it('work behind a pooler with DATABASE_PREPARED=off, without named statements', async (t) => {
      const names = { on: new Set<string>(), off: new Set<string>() };
      for (const prepared of ['on', 'off'] as const) {
        const proxy = await startProxy(url);
        t.after(proxy.close);
        const serving = await startService('postgres', { DATABASE_PREPARED: prepared }, proxy.url);
        t.after(serving.close);
        const conversation = await newConversation();
        const line = message(conversation, 1);
        assert.equal((await post(serving, one.keys.writer, line)).body.records, 1);
        const page = await sendRequest(serving.base, pageOf(conversation), one.keys.app);
        assert.deepEqual(pluck(page.body.data, 'id'), [line.id]);
        const before = await sendRequest(serving.base, pageOf(conversation, `&first_id=${line.id}`), one.keys.app);
        assert.deepEqual([before.status, before.body.data], [200, []]);
        const text = `prepared ${prepared}`;
        const chunkPath = await newChunk();
        assert.equal((await patch(serving, chunkPath, one.keys.knowledge, text)).body.data.content, text);
        assert.equal((await sendRequest(serving.base, models, one.keys.app)).status, 200);
        const second = makeTwoTenants();
        const imported = await post(serving, admin, ...second.records, provider(second.one.ids.workspace, 'p'));
        assert.deepEqual(imported.body, { records: second.records.length + 1 });
        assert.match((await sendRequest(serving.base, '/admin/records', admin)).text, new RegExp(second.one.ids.chunk));
        for (const { name } of proxy.traffic.statements) names[prepared].add(name);
      }
      assert.deepEqual([...names.off], ['']);
      assert.ok(names.on.size > 3, 'the proxy reports names');
    });
  });

  describe('migrating between engines', { concurrency: 1 }, () => {
    it('exports the same bytes after moving from SQLite to PostgreSQL and back', async (t) => {
      const [cwd, postgres] = await Promise.all([newFolder(t), newUrl(t)]);
      const [first, last] = ['first', 'last'].map((name) => `sqlite:${join(cwd, `${name}.db`)}`);
      const { one, records } = makeTwoTenants();
      const { conversation, chunk, workspace } = one.ids;
      const odd = { query: 'é e\u0301 😀 \u2028 "\\ \u0001', inputs: { z: 1, a: [1e15, -0.5, null], ключ: 'ß' } };
      const ordered = Array.from({ length: 60 }, (_, at) => message(conversation, 5_000 + (at % 3), odd));
      const stdin = ndjson([
        ...records,
        ...ordered,
        { record: 'conversation', id: randomUUID(), app_id: one.ids.app, deleted: true },
        {
          record: 'child_chunk_revision',
          child_chunk_id: chunk,
          revision: 1,
          content: 'older',
          replaced_at: 7,
          key_id: null,
        },
        {
          record: 'child_chunk_revision',
          child_chunk_id: chunk,
          revision: 2,
          content: 'old',
          replaced_at: 8,
          key_id: one.keyIds.knowledge,
        },
        ...['Zebra', 'apple', 'Ärger', 'ape'].map((name) => provider(workspace, name)),
      ]);
      const imported = await call(['import', '-'], { cwd, env: { DATABASE_URL: first }, stdin });
      assert.equal(imported.code, 0, imported.stderr);
      const movePiped = (from: string | undefined, to: string | undefined) =>
        run(['-c', 'set -e; "$1" export | DATABASE_URL="$2" "$1" import -', 'sh', command, to ?? ''], {
          cwd,
          command: '/bin/sh',
          env: { DATABASE_URL: from },
        });
      const exportFrom = async (from: string | undefined) => {
        const { code, stdout, stderr } = await call(['export'], { cwd, env: { DATABASE_URL: from } });
        assert.equal(code, 0, stderr);
        return stdout;
      };
      const move = async (from: string | undefined, to: string | undefined) =>
        isLong
          ? movePiped(from, to)
          : call(['import', '-'], { cwd, env: { DATABASE_URL: to }, stdin: await exportFrom(from) });
      for (const [from, to] of [
        [first, postgres],
        [postgres, last],
      ]) {
        const { code, stdout, stderr } = await move(from, to);
        assert.equal(code, 0, stderr);
        assert.match(stdout, /^imported \d+ records/);
      }
      const [original, moved, back] = await Promise.all([first, postgres, last].map(exportFrom));
      assert.equal(original?.trimEnd().split('\n').length, stdin.trimEnd().split('\n').length);
      assert.ok(moved === original, 'PostgreSQL exports different bytes than SQLite');
      assert.ok(back === original, 'SQLite exports different bytes than before');

      // A second import changes nothing.
      const again = await call(['import', '-'], { cwd, env: { DATABASE_URL: postgres }, stdin: original ?? '' });
      assert.equal(again.code, 0, again.stderr);
      assert.ok((await exportFrom(postgres)) === original);
    });
  });
});
