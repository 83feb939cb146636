import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { after, before, describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import {
  call,
  freePort,
  newFolder,
  newScope,
  oneLine,
  type Scope,
  type ServerProcess,
  sendRequest,
  serve,
  serveWithWorkers,
} from '../support/cli-helpers.ts';
import { FaultyPostgres, onDatabase } from '../support/faulty-postgres.ts';
import {
  chunkPath,
  importInto,
  makeTwoTenants,
  message,
  ndjson,
  newMigratedUrl,
  parseLines,
  type Service,
  startService,
} from '../support/harness.ts';
import { isLong, itLong, shortOrLong } from '../support/long.ts';
import { until } from '../support/until.ts';
import { startProxy } from './recording-proxy.ts';

function memoryMiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

type Reply = {
  status: number;
  retryAfter: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: tests read any field of a response
  body: any;
};

/** Sends one request. Without a response within a minute the status is 0 and the body is the reason. */
async function send(
  base: string,
  path: string,
  key: string,
  parts: Parameters<typeof sendRequest>[3] = {},
): Promise<Reply> {
  try {
    const response = await sendRequest(base, path, key, { ...parts, signal: AbortSignal.timeout(60_000) });
    const { status, headers, body, text } = response;
    return { status, retryAfter: headers.get('retry-after'), body: body ?? text };
  } catch (error) {
    return { status: 0, retryAfter: null, body: String((error as Error).cause ?? error) };
  }
}

/** The fault of a response while the database may be unavailable, if any. */
function faultOf(what: string, { status, retryAfter, body }: Reply): string | undefined {
  if (status === 200) return undefined;
  const isError = status === 503 && body?.code === 'service_unavailable' && Object.keys(body).length === 3;
  if (!isError) return `${what}: ${status} ${JSON.stringify(body)}`;
  if (!/^[1-9]\d*$/.test(retryAfter ?? '')) return `${what}: 503 with Retry-After ${retryAfter}`;
  if (/postgres|ECONN|sql|127\.0\.0\.1|timeout/i.test(body.message))
    return `${what}: exposes internals: ${body.message}`;
  return undefined;
}

type Installation = Awaited<ReturnType<typeof install>>;

const chunkCount = 5;
const initialMessages = 25;

/** Creates one tenant, some chunks and a conversation without writers in a database, and starts a service for it. */
async function install(scope: Scope, url: string, settings: Record<string, string>) {
  const cwd = await newFolder(scope);
  const { one, other, admin, records } = makeTwoTenants();
  const chunkIds = Array.from({ length: chunkCount }, (): string => randomUUID());
  const quiet = randomUUID();
  const messages = Array.from({ length: initialMessages }, (_, at) =>
    message(quiet, 1_000 + at, { query: `query ${at}` }),
  );
  const lines = [
    ...records,
    ...chunkIds.map((id, at) => ({
      record: 'child_chunk',
      id,
      segment_id: one.ids.segment,
      position: at + 2,
      content: `${at}: text 0`,
    })),
    { record: 'conversation', id: quiet, app_id: one.ids.app, created_at: 1 },
    ...messages,
  ];
  const env = { DATABASE_URL: url, LOG_LEVEL: 'info', ...settings };
  await importInto(url, lines, env);
  const serving = isLong ? await serveWithWorkers(scope, { cwd, env }) : await serveInProcess(scope, url, settings);
  const paths = chunkIds.map((chunk) => chunkPath({ ...one.ids, chunk }));
  const page = messages.toReversed().slice(0, 20);
  return { url, cwd, env, serving, one, other, admin, chunkIds, paths, quiet, page, messages };
}

type Serving = Pick<ServerProcess, 'base' | 'pid' | 'output' | 'ended' | 'signal'>;

/** A process of its own takes a second of processor time, and responds in the same way. */
async function serveInProcess(scope: Scope, url: string, settings: Record<string, string>): Promise<Serving> {
  const service = await startService('postgres', settings, url);
  scope.after(service.close);
  return {
    base: service.base,
    pid: process.pid,
    output: () => service.logs.join(''),
    ended: new Promise(() => undefined),
    signal: (signal) => assert.fail(`${signal} would end the tests`),
  };
}

type Writable = Pick<Installation, 'one'> & { serving: { base: string } };
const patch = ({ serving, one }: Writable, path: string, content: string) =>
  send(serving.base, path, one.keys.knowledge, { method: 'PATCH', json: { content } });
const read = ({ serving, one, quiet }: Installation) =>
  send(serving.base, `/v1/messages?conversation_id=${quiet}`, one.keys.app);
const append = ({ serving, one }: Writable, conversation_id: string, ...ids: string[]) =>
  send(serving.base, '/admin/records', one.keys.writer, {
    method: 'POST',
    lines: ndjson(ids.map((id) => message(conversation_id, 5, { id }))),
  });

/** Runs readers, editors and writers until they are stopped, and collects their results. */
function startLoad(world: Installation) {
  const { serving, one, paths, quiet, page } = world;
  const statuses = { 200: 0, 503: 0 };
  const faults: string[] = [];
  const wrong: string[] = [];
  const acknowledged = { texts: [] as { chunk: number; text: string }[], messages: [] as string[] };
  let isRunning = true;

  const count = (what: string, reply: Reply): boolean => {
    const fault = faultOf(what, reply);
    if (fault !== undefined) faults.push(fault);
    if (reply.status === 200 || reply.status === 503) statuses[reply.status] += 1;
    return reply.status === 200;
  };
  const loop = async (step: () => Promise<boolean>) => {
    while (isRunning) if (!(await step())) await sleep(100);
  };
  const reader = () =>
    loop(async () => {
      const reply = await read(world);
      if (!count('GET /messages', reply)) return false;
      const received = reply.body.data.map((one: { id: string; query: string }) => `${one.id} ${one.query}`);
      const expected = page.map(({ id, ...rest }) => `${id} ${(rest as unknown as { query: string }).query}`);
      if (received.join() !== expected.join() || reply.body.has_more !== true) wrong.push(`page: ${received.join()}`);
      return true;
    });
  /** The only editor of its chunk: an acknowledged text is the current one. */
  const editor = (chunk: number) => {
    let edits = 0;
    return loop(async () => {
      edits += 1;
      const text = `${chunk}: text ${edits}`;
      const path = paths[chunk] ?? '';
      const reply = await patch(world, path, text);
      if (!count('PATCH', reply)) return false;
      acknowledged.texts.push({ chunk, text });
      if (reply.body.data.content !== text) wrong.push(`PATCH ${text} returned ${reply.body.data.content}`);
      const after = await send(serving.base, path, one.keys.knowledge);
      if (!count('GET chunk', after)) return false;
      if (after.body.data.content !== text)
        wrong.push(`${text} was acknowledged, but ${after.body.data.content} is stored`);
      return true;
    });
  };
  /** Several clients edit one chunk: an acknowledged text is the current one or a revision. */
  const sharedEditor = (chunk: number) =>
    loop(async () => {
      const text = `${chunk}: text ${randomUUID()}`;
      if (!count('PATCH', await patch(world, paths[chunk] ?? '', text))) return false;
      acknowledged.texts.push({ chunk, text });
      return true;
    });
  const writer = () =>
    loop(async () => {
      const ids: string[] = [randomUUID(), randomUUID()];
      const reply = await append(world, one.ids.conversation, ...ids);
      if (!count('POST /admin/records', reply)) return false;
      if (reply.body.records !== 2) wrong.push(`POST returned ${JSON.stringify(reply.body)}`);
      acknowledged.messages.push(...ids);
      return true;
    });
  const modelReader = () =>
    loop(async () => {
      const reply = await send(serving.base, '/v1/workspaces/current/models/model-types/llm', one.keys.app);
      if (!count('GET models', reply)) return false;
      if (JSON.stringify(reply.body) !== '{"data":[]}') wrong.push(`models: ${JSON.stringify(reply.body)}`);
      return sleep(20, true);
    });
  const last = chunkCount - 1;
  const clients = [
    reader(),
    reader(),
    reader(),
    modelReader(),
    writer(),
    writer(),
    writer(),
    sharedEditor(last),
    sharedEditor(last),
  ];
  for (let chunk = 0; chunk < last; chunk += 1) clients.push(editor(chunk));
  return {
    statuses,
    faults,
    wrong,
    acknowledged,
    quiet,
    /** Resolves after some more responses with this status. */
    waitForResponses: (status: 200 | 503, times = 50) => {
      const from = statuses[status];
      return until(
        () => statuses[status] >= from + times,
        () => JSON.stringify({ statuses, faults: faults.slice(0, 5) }),
      );
    },
    stop: async () => {
      isRunning = false;
      await Promise.all(clients);
    },
  };
}

/** Seconds until every operation returns 200 again. */
async function secondsToRecover(world: Installation): Promise<number> {
  const { serving, one } = world;
  const startedAt = performance.now();
  const probes = [
    () => send(serving.base, '/health/ready', ''),
    () => read(world),
    () => patch(world, one.chunkPath, `recovered ${randomUUID()}`),
    () => append(world, one.ids.conversation, randomUUID()),
  ];
  const returns200 = async (probe: () => Promise<Reply>) => {
    await assertAlive(world);
    return (await probe()).status === 200;
  };
  await Promise.all(
    probes.map((probe) =>
      until(
        () => returns200(probe),
        () => tail(world),
      ),
    ),
  );
  return (performance.now() - startedAt) / 1000;
}

const tail = ({ serving }: Installation): string => serving.output().slice(-1_500);

async function assertAlive({ serving }: Installation): Promise<void> {
  const state = await Promise.race([serving.ended, 'alive' as const]);
  assert.equal(state, 'alive', `serve ended: ${serving.output().slice(-1_500)}`);
}

/** Acknowledged writes that are not stored. */
async function lostWrites(world: Installation, { acknowledged }: ReturnType<typeof startLoad>): Promise<string[]> {
  const headers = { authorization: `Bearer ${world.admin}` };
  // On a busy machine an export may take longer than DATABASE_TIMEOUT, which cuts it off.
  const exported = await until(async () => {
    const response = await fetch(`${world.serving.base}/admin/records`, { headers });
    return response.status === 200 && response.text().catch(() => false as const);
  });
  const records = parseLines(exported);
  const texts = new Map(world.chunkIds.map((id) => [id, new Set<unknown>()]));
  for (const { record, id, child_chunk_id, content } of records) {
    if (record === 'child_chunk') texts.get(id as string)?.add(content);
    if (record === 'child_chunk_revision') texts.get(child_chunk_id as string)?.add(content);
  }
  const messages = new Set(records.filter(({ record }) => record === 'message').map(({ id }) => id));
  const lostTexts = acknowledged.texts.filter(({ chunk, text }) => !texts.get(world.chunkIds[chunk] ?? '')?.has(text));
  return [...lostTexts.map(({ text }) => text), ...acknowledged.messages.filter((id) => !messages.has(id))];
}

/** Ends the load and checks its results. */
async function stopAndCheck(t: TestContext, world: Installation, load: ReturnType<typeof startLoad>): Promise<void> {
  const { texts, messages } = load.acknowledged;
  const hasEnoughWrites = () => texts.length > 20 && messages.length > 20;
  await until(hasEnoughWrites);
  await load.stop();
  await assertAlive(world);
  const lost = await lostWrites(world, load);
  t.diagnostic(
    `responses 200: ${load.statuses[200]}, 503: ${load.statuses[503]}, faults: ${load.faults.length}; ` +
      `acknowledged writes: ${texts.length + messages.length}, lost: ${lost.length}; ` +
      `wrong responses: ${load.wrong.length}`,
  );
  assert.deepEqual(summary(load.faults), {}, 'only 200, or 503 with Retry-After');
  assert.deepEqual(load.wrong.slice(0, 5), [], 'wrong responses');
  assert.deepEqual(lost.slice(0, 5), [], 'acknowledged writes lost');
}

/** The number of faults of each kind, without their times. */
function summary(faults: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const fault of faults) {
    const key = fault.replaceAll(/\d{4,} ms/g, 'N ms');
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

const activity = 'FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()';

describe('PostgreSQL faults', { concurrency: 2 }, () => {
  describe('a failing server', { concurrency: 1 }, () => {
    let server: FaultyPostgres;
    before(async () => {
      server = await FaultyPostgres.make();
      await server.start();
    });
    after(() => server?.remove());

    const newUrl = () => server.newDatabase();

    /** Makes sure that the server runs, whatever state a test left. */
    async function restore(): Promise<void> {
      server.signalAll('SIGCONT');
      const query = onDatabase(server.url('postgres'), (client) => client.query('SELECT 1'));
      await query.catch(() => server.start());
    }

    it('delays the start until it is available', async (t) => {
      const cwd = await newFolder(t);
      const url = await newUrl();
      t.after(restore);
      await server.end('SIGINT');
      // Instead of the server, a listener counts the connection attempts.
      let attempts = 0;
      const listener = net.createServer((socket) => {
        attempts += 1;
        socket.destroy();
      });
      await once(listener.listen(server.port, '127.0.0.1'), 'listening');
      const pending = isLong
        ? serve(t, { cwd, env: { DATABASE_URL: url } })
        : call(['migrate'], { cwd, env: { DATABASE_URL: url } });
      await Promise.race([pending, until(() => attempts >= 3)]);
      listener.close();
      await once(listener, 'close');
      await server.start();
      const started = await pending;
      if ('code' in started) assert.equal(started.code, 0, started.stderr);
    });

    it('ends the start after DATABASE_WAIT with one clear line, without the password', async (t) => {
      const cwd = await newFolder(t);
      const port = await freePort();
      const startWith = (url: string, wait: string, command = 'serve') =>
        call([command], { cwd, env: { DATABASE_URL: url, DATABASE_WAIT: wait, PORT: '0' } });
      const [waited, named, odd, parameter] = await Promise.all([
        startWith(`postgres://ann:s3cretw0rd@127.0.0.1:${port}/nothing`, '1'),
        // A host name with several addresses, a password with an @, a password as a query parameter.
        startWith(`postgres://ann:s3cretw0rd@localhost:${port}/nothing`, '0'),
        startWith(`postgres://ann:s3cret@w0rd@127.0.0.1:${port}/nothing`, '0'),
        startWith(`postgres://127.0.0.1:${port}/nothing?user=ann&password=s3cretw0rd`, '0', 'export'),
      ]);
      assert.match(waited.stderr, new RegExp(`127\\.0\\.0\\.1:${port}/nothing cannot be reached: .*ECONNREFUSED`));
      for (const { code, stdout, stderr } of [waited, named, odd, parameter]) {
        assert.equal(code, 1);
        assert.match(stderr, oneLine);
        assert.match(stderr, /cannot be reached: .*ECONNREFUSED/);
        assert.doesNotMatch(stdout + stderr, /s3cret|w0rd/);
      }
    });

    it('reports a wrong database name or password at once', async (t) => {
      const cwd = await newFolder(t);
      const fail = (url: string) =>
        call(['serve'], { cwd, env: { DATABASE_URL: url, DATABASE_WAIT: '3600', PORT: '0' } });
      const [wrong, none, without] = await Promise.all([
        fail(`postgres://postgres:s3cretw0rd@127.0.0.1:${server.port}/postgres`),
        fail(server.url('nothing')),
        fail(`postgres://postgres@127.0.0.1:${server.port}/postgres`),
      ]);
      for (const { code, stderr, stdout } of [wrong, none, without]) {
        assert.equal(code, 1);
        assert.match(stderr, oneLine);
        assert.ok(!`${stdout}${stderr}`.includes(server.password));
        assert.doesNotMatch(stderr, /s3cretw0rd/);
      }
      assert.match(wrong.stderr, /password authentication failed/);
      assert.match(without.stderr, /password/);
      assert.match(none.stderr, /"nothing" does not exist/);
    });

    // In this order: one service has to survive them.
    const scope = newScope();
    let world: Installation;
    before(async () => {
      world = await install(scope, await newUrl(), { DATABASE_TIMEOUT: '1000' });
    });
    after(() => scope.end());

    it('is killed: 503 with Retry-After, then the service recovers by itself, with each acknowledged write', async (t) => {
      t.after(restore);
      const { serving, one, paths } = world;
      const [path = ''] = paths;
      assert.equal((await patch(world, path, 'acknowledged')).status, 200);
      await server.end('SIGKILL');
      assert.equal((await send(serving.base, '/health/live', '')).status, 200);
      const replies = {
        ready: await send(serving.base, '/health/ready', ''),
        GET: await read(world),
        PATCH: await patch(world, one.chunkPath, 'rejected'),
        POST: await append(world, one.ids.conversation, randomUUID()),
      };
      for (const [what, reply] of Object.entries(replies)) {
        assert.equal(faultOf(what, reply), undefined);
        assert.equal(reply.status, 503, what);
      }
      await server.start();
      await secondsToRecover(world);
      assert.equal((await send(serving.base, path, one.keys.knowledge)).body.data.content, 'acknowledged');
    });

    itLong(
      'is stopped and killed under load: no acknowledged write is lost, and the service recovers by itself',
      async (t) => {
        t.after(restore);
        const load = startLoad(world);
        t.after(() => load.stop());
        for (const signal of ['SIGKILL', 'SIGQUIT', 'SIGINT'] as const) {
          await load.waitForResponses(200);
          await server.end(signal);
          const rejections = load.waitForResponses(503);
          for (let round = 0; round < 5; round += 1) {
            const [ready, live] = await Promise.all([
              send(world.serving.base, '/health/ready', ''),
              send(world.serving.base, '/health/live', ''),
            ]);
            await assertAlive(world);
            assert.equal(live.status, 200);
            assert.equal(ready.status, 503);
            assert.equal(faultOf('ready', ready), undefined);
          }
          await rejections;
          await server.start();
          const seconds = await secondsToRecover(world);
          t.diagnostic(`after ${signal}: recovered in ${seconds.toFixed(2)} s`);
        }
        await stopAndCheck(t, world, load);
      },
    );

    itLong(
      'is frozen under load: requests end in time, and the service recovers when the server continues',
      async (t) => {
        const load = startLoad(world);
        t.after(() => load.stop());
        t.after(async () => server.signalAll('SIGCONT'));
        await load.waitForResponses(200);
        server.signalAll('SIGSTOP');
        const { serving, one, other } = world;
        const probes = {
          ready: send(serving.base, '/health/ready', ''),
          GET: read(world),
          'GET with an uncached key': send(serving.base, '/v1/messages', other.keys.app),
          PATCH: patch(world, one.chunkPath, 'frozen'),
          POST: append(world, one.ids.conversation, randomUUID()),
        };
        assert.equal((await send(serving.base, '/health/live', '')).status, 200);
        const replies = await Promise.all(Object.values(probes));
        await load.waitForResponses(503);
        server.signalAll('SIGCONT');
        const seconds = await secondsToRecover(world);
        t.diagnostic(`recovered in ${seconds.toFixed(2)} s`);
        await stopAndCheck(t, world, load);
        for (const [at, what] of Object.keys(probes).entries()) {
          const reply = replies[at] as Reply;
          assert.equal(faultOf(what, reply), undefined);
          assert.equal(reply.status, 503, what);
        }
      },
    );

    itLong('is frozen: the service still stops on SIGTERM', async (t) => {
      t.after(async () => server.signalAll('SIGCONT'));
      await Promise.all([read(world), read(world), patch(world, world.one.chunkPath, 'before')]);
      server.signalAll('SIGSTOP');
      const pending = read(world);
      // When this response arrives, the service has received the request before it.
      assert.equal((await send(world.serving.base, '/health/live', '')).status, 200);
      world.serving.signal('SIGTERM');
      assert.deepEqual(await world.serving.ended, { code: 0, signal: null });
      server.signalAll('SIGCONT');
      assert.equal((await pending).status, 503);
    });

    itLong('terminates all connections under load, and the service recovers', async (t) => {
      const world = await install(t, await newUrl(), { DATABASE_TIMEOUT: '1500' });
      const load = startLoad(world);
      t.after(() => load.stop());
      let ended = 0;
      let slowest = 0;
      for (let round = 0; round < 8; round += 1) {
        await load.waitForResponses(200, 20);
        const { rowCount } = await onDatabase(world.url, (client) =>
          client.query(`SELECT pg_terminate_backend(pid) ${activity}`),
        );
        ended += rowCount ?? 0;
        slowest = Math.max(slowest, await secondsToRecover(world));
      }
      t.diagnostic(`${ended} connections ended; recovered in at most ${slowest.toFixed(2)} s`);
      assert.ok(ended >= 8);
      await stopAndCheck(t, world, load);
    });

    itLong('loses backends to SIGKILL, and the service recovers', async (t) => {
      // The server then ends all other backends and recovers by itself.
      const world = await install(t, await newUrl(), { DATABASE_TIMEOUT: '1500' });
      const load = startLoad(world);
      t.after(() => load.stop());
      await load.waitForResponses(200);
      const { rows } = await onDatabase(world.url, (client) => client.query(`SELECT pid ${activity}`));
      assert.ok(rows.length > 0);
      for (const { pid } of rows) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // The server has already ended this backend.
        }
      }
      const seconds = await secondsToRecover(world);
      t.diagnostic(`recovered in ${seconds.toFixed(2)} s`);
      await stopAndCheck(t, world, load);
    });
  });

  describe('a pool of two connections, and a lock held by another session', { concurrency: 1 }, () => {
    /** On a busy machine, more edits than may wait must arrive within this time. */
    const timeout = 2_400;
    const metricsToken = randomUUID();
    const scope = newScope();
    let world: Installation;
    before(async () => {
      const { url, remove } = await newMigratedUrl('postgres');
      scope.after(remove);
      const settings = { DATABASE_POOL: '2', DATABASE_TIMEOUT: String(timeout), METRICS_TOKEN: metricsToken };
      world = await install(scope, url, settings);
    });
    after(() => scope.end());

    async function lock(t: TestContext, statement: string, id: string): Promise<() => Promise<void>> {
      const client = new pg.Client(world.url);
      await client.connect();
      let isLocked = true;
      const release = async () => {
        if (isLocked) await client.end();
        isLocked = false;
      };
      t.after(release);
      await client.query('BEGIN');
      const { rowCount } = await client.query(statement, [id]);
      assert.equal(rowCount, 1);
      return release;
    }

    const backends = () =>
      onDatabase(world.url, async (client) => {
        const { rows } = await client.query(`SELECT pid ${activity} AND application_name LIKE 'backscroll %'`);
        return rows.length;
      });
    const waiting = () =>
      onDatabase(world.url, async (client) => {
        const { rows } = await client.query(`SELECT pid ${activity} AND wait_event_type = 'Lock'`);
        return rows.length;
      });

    /** Responses with 503 so far, by cause. */
    const countOutages = async (cause: string): Promise<number> => {
      const { body } = await send(world.serving.base, '/metrics', metricsToken);
      const [, count = '0'] =
        new RegExp(`^backscroll_database_unavailable_total\\{cause="${cause}",node=""\\} (\\d+)$`, 'm').exec(body) ??
        [];
      return Number(count);
    };

    it('ends an edit that other edits overtake again and again', async (t) => {
      const { url, one } = world;
      // Skips every update of a chunk, slowly, as if another edit had come first.
      await onDatabase(url, async (client) => {
        await client.query('CREATE SEQUENCE skipped');
        await client.query(`CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN PERFORM nextval('skipped'), pg_sleep(0.1); RETURN NULL; END $$`);
        await client.query('CREATE TRIGGER skip BEFORE UPDATE ON child_chunks FOR EACH ROW EXECUTE FUNCTION skip()');
      });
      t.after(() => onDatabase(url, (client) => client.query('DROP FUNCTION skip CASCADE; DROP SEQUENCE skipped')));
      const reply = await patch(world, one.chunkPath, 'overtaken');
      assert.equal(reply.status, 503);
      assert.equal(faultOf('PATCH', reply), undefined);
      const { rows } = await onDatabase(url, (client) => client.query('SELECT last_value::int AS tries FROM skipped'));
      assert.ok(rows[0].tries > 1 && rows[0].tries <= timeout / 100 + 1, `${rows[0].tries} tries`);
    });

    it('rejects excess edits at once, ends the others in time, and applies none of them later', async (t) => {
      const { serving, one } = world;
      const release = await lock(t, 'SELECT id FROM child_chunks WHERE id = $1 FOR UPDATE', one.ids.chunk);
      await Promise.all(Array.from({ length: 20 }, () => read(world)));
      const before = memoryMiB(serving.pid);
      let most = 0;
      const faults: string[] = [];
      let rejected = 0;
      // On a busy machine, edits may arrive so slowly that those before them have ended.
      for (let round = 0; round < shortOrLong(1, 3) || (rejected === 0 && round < 20); round += 1) {
        const edits = Array.from({ length: shortOrLong(140, 240) }, (_, at) =>
          patch(world, one.chunkPath, `rejected ${round} ${at}`),
        );
        let isOver = false;
        void Promise.all(edits).then(() => {
          isOver = true;
        });
        await until(async () => isOver || (await waiting()) === 2);
        const reads = Array.from({ length: 5 }, () => read(world));
        const replies = await Promise.all(edits);
        for (const reply of [...replies, ...(await Promise.all(reads))]) {
          const fault = faultOf('request', reply);
          if (fault !== undefined) faults.push(fault);
        }
        assert.ok(replies.every(({ status }) => status !== 200));
        rejected += replies.filter(({ body }) => body?.message === 'all database connections are busy').length;
        // Cancelling a timed-out statement may take a moment.
        await until(async () => (await waiting()) === 0);
        most = Math.max(most, await backends());
      }
      const grown = memoryMiB(serving.pid) - before;
      await release();
      const seconds = await secondsToRecover(world);
      t.diagnostic(
        `${rejected} edits rejected at once; ${most} connections at most; memory grew by ${grown.toFixed(0)} MiB; ` +
          `recovered in ${seconds.toFixed(2)} s`,
      );
      const { rows } = await onDatabase(world.url, (client) =>
        client.query(`SELECT content FROM child_chunk_revisions WHERE child_chunk_id = $1`, [one.ids.chunk]),
      );
      const applied = rows.filter(({ content }) => content.startsWith('rejected')).length;
      await assertAlive(world);
      const wrong = {
        faults: summary(faults),
        'connections beyond DATABASE_POOL': Math.max(0, most - 2),
        'edits applied after a 503': applied,
      };
      assert.deepEqual(wrong, { faults: {}, 'connections beyond DATABASE_POOL': 0, 'edits applied after a 503': 0 });
      assert.ok(rejected > 0, 'no edit was rejected without waiting');
      // On a busy machine, a statement that the server cancels late counts as its silence.
      const counted = async () => [
        await countOutages('busy'),
        await countOutages('timeout'),
        await countOutages('silent'),
      ];
      await until(async () => {
        const [busy = 0, ...ended] = await counted();
        return busy >= rejected && ended.some((count) => count > 0);
      });
      // In the process of the tests, others grow too.
      if (isLong) assert.ok(grown < 100, `memory grew by ${grown} MiB`);
    });

    it('applies no edit after a 503, also if the first requests to cancel it are lost', async (t) => {
      const { one } = world;
      const proxy = await startProxy(world.url, 2);
      t.after(proxy.close);
      const other = await startService('postgres', { DATABASE_TIMEOUT: '300' }, proxy.url);
      t.after(other.close);
      const release = await lock(t, 'SELECT id FROM child_chunks WHERE id = $1 FOR UPDATE', one.ids.chunk);
      const { status } = await patch({ one, serving: other }, one.chunkPath, 'rejected');
      assert.equal(status, 503);
      await until(async () => (await waiting()) === 0);
      await release();
      const { rows } = await onDatabase(world.url, (client) =>
        client.query('SELECT content FROM child_chunks WHERE id = $1', [one.ids.chunk]),
      );
      assert.notEqual(rows[0].content, 'rejected');
    });

    it('ends appends to a locked conversation in time, and serves reads meanwhile', async (t) => {
      const { one } = world;
      const statement = 'SELECT 1 FROM conversations WHERE conversation_id = $1 FOR UPDATE';
      const release = await lock(t, statement, one.ids.conversation);
      const pending = Array.from({ length: 4 }, () => append(world, one.ids.conversation, randomUUID()));
      const replies = await Promise.all(pending);
      // Every append that waited for the lock has its response by now.
      const reading = await read(world);
      await release();
      const seconds = await secondsToRecover(world);
      t.diagnostic(`recovered in ${seconds.toFixed(2)} s`);
      for (const reply of replies) {
        assert.equal(faultOf('POST', reply), undefined);
        assert.equal(reply.status, 503);
      }
      assert.equal(reading.status, 200);
    });
  });

  describe('conflicting writers', { concurrency: 1 }, () => {
    const scope = newScope();
    let world: Installation;
    let second: Service;
    let name: string;
    before(async () => {
      const { url, remove } = await newMigratedUrl('postgres');
      scope.after(remove);
      name = new URL(url).pathname.slice(1);
      world = await install(scope, url, {});
      second = await startService('postgres', {}, url);
      scope.after(second.close);
    });
    after(() => scope.end());

    const instance = (n: number): Writable => (n % 2 ? { one: world.one, serving: second } : world);
    const post = (n: number, key: string, lines: string) =>
      send(instance(n).serving.base, '/admin/records', key, { method: 'POST', lines });
    const assertAll200 = (replies: readonly Reply[]) =>
      assert.deepEqual(
        summary(replies.map(({ status, body }) => (status === 200 ? '200' : `${status} ${JSON.stringify(body)}`))),
        { 200: replies.length },
      );

    it('accepts 50 concurrent edits of one chunk through two instances', async () => {
      const { one } = world;
      const texts = Array.from({ length: 50 }, (_, n) => `edit ${n}`);
      assertAll200(await Promise.all(texts.map((text, n) => patch(instance(n), one.chunkPath, text))));
      const { rows } = await onDatabase(world.url, (client) =>
        client.query(
          `SELECT revision, content FROM child_chunk_revisions WHERE child_chunk_id = $1
           UNION ALL SELECT 1000, content FROM child_chunks WHERE id = $1 ORDER BY 1`,
          [one.ids.chunk],
        ),
      );
      assert.deepEqual(rows.map(({ content }) => content).sort(), ['chunk text', ...texts].sort());
      assert.deepEqual(
        rows.slice(0, -1).map(({ revision }) => Number(revision)),
        texts.map((_, n) => n + 1),
      );
    });

    it('accepts concurrent imports of the same new records', async () => {
      const { one, records } = makeTwoTenants();
      const imported = records.filter((record) => !('kind' in record && record.kind === 'admin'));
      const lines = ndjson([...imported, ...Array.from({ length: 50 }, (_, n) => message(one.ids.conversation, n))]);
      const replies = await Promise.all(
        Array.from({ length: shortOrLong(8, 20) }, (_, n) => post(n, world.admin, lines)),
      );
      assertAll200(replies);
      assert.ok(replies.every(({ body }) => body.records === imported.length + 50));
      const path = `/v1/messages?conversation_id=${one.ids.conversation}&limit=100`;
      assert.equal((await send(second.base, path, one.keys.app)).body.data.length, 50);
    });

    it('accepts the same new key without an id from 20 concurrent imports', async () => {
      // A record without an id updates the key with its digest, so only the first import creates the key.
      const { ids } = world.one;
      const secret = `app-${randomBytes(30).toString('hex')}`;
      const scope = { workspace_id: ids.workspace, app_id: ids.app };
      const lines = ndjson([{ record: 'api_key', kind: 'app', ...scope, name: 'new', secret }]);
      assertAll200(await Promise.all(Array.from({ length: 20 }, (_, n) => post(n, world.admin, lines))));
      const path = `/v1/messages?conversation_id=${ids.conversation}`;
      assert.equal((await send(world.serving.base, path, secret)).status, 200);
    });

    it('retries after serialization failures on a database that is always serializable', async (t) => {
      // CockroachDB always is; PostgreSQL can be configured to be.
      await onDatabase(world.url, (client) =>
        client.query(`ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`),
      );
      const { one, paths } = world;
      const serving = await startService('postgres', {}, world.url);
      scope.after(serving.close);
      const serializable = { one, serving };
      for (let round = 0; round < shortOrLong(2, 5); round += 1) {
        assertAll200(
          await Promise.all(['a', 'b', 'c'].map((text) => patch(serializable, paths[0] ?? '', `${text} ${round}`))),
        );
        assertAll200(await Promise.all([1, 2, 3].map(() => append(serializable, one.ids.conversation, randomUUID()))));
      }
      const burst = await Promise.all(
        Array.from({ length: 50 }, (_, n) => patch(serializable, paths[1] ?? '', `burst ${n}`)),
      );
      const accepted = burst.filter(({ status }) => status === 200).length;
      t.diagnostic(`of 50 concurrent edits of one chunk ${accepted} are accepted, the others get 503`);
      for (const reply of burst) assert.equal(faultOf('PATCH', reply), undefined);
      assert.ok(accepted >= 10, `${accepted} of 50`);
    });
  });
});
