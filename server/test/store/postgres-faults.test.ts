import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { Readable } from 'node:stream';
import { after, before, describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { readConfig } from '../../src/config.ts';
import { commandLine } from '../../src/domain/check-references.ts';
import { overloaded } from '../../src/domain/errors.ts';
import { importRecords } from '../../src/domain/import-records.ts';
import { databaseOf } from '../../src/store/open.ts';
import {
  freePort,
  newFolder,
  newScope,
  oneLine,
  run,
  type Scope,
  type ServerProcess,
  serve,
} from '../support/cli-helpers.ts';
import { FaultyPostgres, onDatabase } from '../support/faulty-postgres.ts';
import { chunkPath, makeTwoTenants, message, ndjson, newDatabaseUrl } from '../support/harness.ts';
import { until } from '../support/until.ts';

function memoryMiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

type Reply = {
  status: number;
  retryAfter: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  body: any;
};
type Asked = { method?: string; json?: unknown; lines?: string | undefined };

/** One request. Without a response within a minute its status is 0, and its body says why. */
async function ask(
  base: string,
  path: string,
  key: string,
  { method = 'GET', json, lines }: Asked = {},
): Promise<Reply> {
  const type = json !== undefined ? 'application/json' : lines !== undefined ? 'application/x-ndjson' : undefined;
  const body = json !== undefined ? JSON.stringify(json) : lines;
  try {
    const response = await fetch(`${base}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(type && { 'content-type': type }) },
      ...(body !== undefined && { body }),
      signal: AbortSignal.timeout(60_000),
    });
    const text = await response.text();
    // A busy machine may be too slow for the gate.
    if (text.includes(overloaded.message)) return ask(base, path, key, { method, json, lines });
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    const retryAfter = response.headers.get('retry-after');
    return { status: response.status, retryAfter, body: isJson ? JSON.parse(text) : text };
  } catch (error) {
    return { status: 0, retryAfter: null, body: String((error as Error).cause ?? error) };
  }
}

/** What is wrong with an answer while the database may be away, if anything. */
function faultOf(what: string, { status, retryAfter, body }: Reply): string | undefined {
  if (status === 200) return undefined;
  const isError = status === 503 && body?.code === 'service_unavailable' && Object.keys(body).length === 3;
  if (!isError) return `${what}: ${status} ${JSON.stringify(body)}`;
  if (!/^[1-9]\d*$/.test(retryAfter ?? '')) return `${what}: 503 with Retry-After ${retryAfter}`;
  if (/postgres|ECONN|sql|127\.0\.0\.1|timeout/i.test(body.message)) return `${what}: internals: ${body.message}`;
  return undefined;
}

type Installation = Awaited<ReturnType<typeof install>>;

const chunkCount = 5;
const standing = 25;

/** One tenant, some chunks and a conversation that nobody writes to, in a new database; served. */
async function install(scope: Scope, url: string, settings: Record<string, string>) {
  const cwd = await newFolder(scope);
  const { one, other, admin, records } = makeTwoTenants();
  const chunkIds = Array.from({ length: chunkCount }, (): string => randomUUID());
  const quiet = randomUUID();
  const messages = Array.from({ length: standing }, (_, at) => message(quiet, 1_000 + at, { query: `query ${at}` }));
  const lines = ndjson([
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
  ]);
  const env = { DATABASE_URL: url, LOG_LEVEL: 'info', ...settings };
  const database = databaseOf(readConfig(env));
  await database.migrate(1);
  const store = await database.open();
  await importRecords(store, commandLine, [{ bytes: Readable.from([Buffer.from(lines)]) }], 1);
  await store.close();
  const serving = await serve(scope, { cwd, env });
  const paths = chunkIds.map((chunk) => chunkPath({ ...one.ids, chunk }));
  const page = messages.toReversed().slice(0, 20);
  return { url, cwd, env, serving, one, other, admin, chunkIds, paths, quiet, page, messages };
}

const patch = ({ serving, one }: Installation, path: string, content: string) =>
  ask(serving.base, path, one.keys.knowledge, { method: 'PATCH', json: { content } });
const read = ({ serving, one, quiet }: Installation) =>
  ask(serving.base, `/v1/messages?conversation_id=${quiet}`, one.keys.app);
const append = ({ serving, one }: Installation, conversation_id: string, ...ids: string[]) =>
  ask(serving.base, '/admin/records', one.keys.writer, {
    method: 'POST',
    lines: ndjson(ids.map((id) => message(conversation_id, 5, { id }))),
  });

/** Readers, editors and writers that go on until they are stopped, and what they met. */
function startLoad(world: Installation) {
  const { serving, one, paths, quiet, page } = world;
  const seen = { 200: 0, 503: 0 };
  const faults: string[] = [];
  const wrong: string[] = [];
  const acknowledged = { texts: [] as { chunk: number; text: string }[], messages: [] as string[] };
  let running = true;

  const take = (what: string, reply: Reply): boolean => {
    const fault = faultOf(what, reply);
    if (fault !== undefined) faults.push(fault);
    if (reply.status === 200 || reply.status === 503) seen[reply.status] += 1;
    return reply.status === 200;
  };
  const loop = async (turn: () => Promise<boolean>) => {
    while (running) if (!(await turn())) await sleep(20);
  };
  const reader = () =>
    loop(async () => {
      const reply = await read(world);
      if (!take('GET /messages', reply)) return false;
      const got = reply.body.data.map((one: { id: string; query: string }) => `${one.id} ${one.query}`);
      const expected = page.map(({ id, ...rest }) => `${id} ${(rest as unknown as { query: string }).query}`);
      if (got.join() !== expected.join() || reply.body.has_more !== true) wrong.push(`page: ${got.join()}`);
      return true;
    });
  /** The only one to edit its chunk: what it was told is done stands. */
  const editor = (chunk: number) => {
    let count = 0;
    return loop(async () => {
      count += 1;
      const text = `${chunk}: text ${count}`;
      const path = paths[chunk] ?? '';
      const reply = await patch(world, path, text);
      if (!take('PATCH', reply)) return false;
      acknowledged.texts.push({ chunk, text });
      if (reply.body.data.content !== text) wrong.push(`PATCH ${text} answered ${reply.body.data.content}`);
      const after = await ask(serving.base, path, one.keys.knowledge);
      if (!take('GET chunk', after)) return false;
      if (after.body.data.content !== text)
        wrong.push(`${text} was acknowledged, but ${after.body.data.content} stands`);
      return true;
    });
  };
  /** Several edit one chunk: whoever is told 200 finds the text there or in a revision. */
  const rival = (chunk: number) =>
    loop(async () => {
      const text = `${chunk}: text ${randomUUID()}`;
      if (!take('PATCH', await patch(world, paths[chunk] ?? '', text))) return false;
      acknowledged.texts.push({ chunk, text });
      return true;
    });
  const writer = () =>
    loop(async () => {
      const ids: string[] = [randomUUID(), randomUUID()];
      const reply = await append(world, one.ids.conversation, ...ids);
      if (!take('POST /admin/records', reply)) return false;
      if (reply.body.records !== 2) wrong.push(`POST answered ${JSON.stringify(reply.body)}`);
      acknowledged.messages.push(...ids);
      return true;
    });
  const modelReader = () =>
    loop(async () => {
      const reply = await ask(serving.base, '/v1/workspaces/current/models/model-types/llm', one.keys.app);
      if (!take('GET models', reply)) return false;
      if (JSON.stringify(reply.body) !== '{"data":[]}') wrong.push(`models: ${JSON.stringify(reply.body)}`);
      return sleep(20, true);
    });
  const last = chunkCount - 1;
  const clients = [reader(), reader(), reader(), modelReader(), writer(), writer(), writer(), rival(last), rival(last)];
  for (let chunk = 0; chunk < last; chunk += 1) clients.push(editor(chunk));
  return {
    seen,
    faults,
    wrong,
    acknowledged,
    quiet,
    /** Resolves after some more requests of this status. */
    sees: (status: 200 | 503, times = 50) => {
      const from = seen[status];
      return until(
        () => seen[status] >= from + times,
        () => JSON.stringify({ seen, faults: faults.slice(0, 5) }),
      );
    },
    stop: async () => {
      running = false;
      await Promise.all(clients);
    },
  };
}

/** Until every operation answers 200 again, in seconds. */
async function secondsToHeal(world: Installation): Promise<number> {
  const { serving, one } = world;
  const began = performance.now();
  const probes = [
    () => ask(serving.base, '/health/ready', ''),
    () => read(world),
    () => patch(world, one.chunkPath, `healed ${randomUUID()}`),
    () => append(world, one.ids.conversation, randomUUID()),
  ];
  const heals = async (probe: () => Promise<Reply>) => {
    await assertAlive(world);
    return (await probe()).status === 200;
  };
  await Promise.all(
    probes.map((probe) =>
      until(
        () => heals(probe),
        () => tail(world),
      ),
    ),
  );
  return (performance.now() - began) / 1000;
}

const tail = ({ serving }: Installation): string => serving.output().slice(-1_500);

async function assertAlive({ serving }: Installation): Promise<void> {
  const state = await Promise.race([serving.ended, 'alive' as const]);
  assert.equal(state, 'alive', `serve ended: ${serving.output().slice(-1_500)}`);
}

/** What was acknowledged and is not there. */
async function lostWrites(world: Installation, { acknowledged }: ReturnType<typeof startLoad>): Promise<string[]> {
  const exported = await fetch(`${world.serving.base}/admin/records`, {
    headers: { authorization: `Bearer ${world.admin}` },
  });
  const records = (await exported.text())
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const texts = new Map(world.chunkIds.map((id) => [id, new Set<unknown>()]));
  for (const { record, id, child_chunk_id, content } of records) {
    if (record === 'child_chunk') texts.get(id as string)?.add(content);
    if (record === 'child_chunk_revision') texts.get(child_chunk_id as string)?.add(content);
  }
  const messages = new Set(records.filter(({ record }) => record === 'message').map(({ id }) => id));
  const lostTexts = acknowledged.texts.filter(({ chunk, text }) => !texts.get(world.chunkIds[chunk] ?? '')?.has(text));
  return [...lostTexts.map(({ text }) => text), ...acknowledged.messages.filter((id) => !messages.has(id))];
}

/** Ends the load and holds what it met against what is allowed. */
async function settle(t: TestContext, world: Installation, load: ReturnType<typeof startLoad>): Promise<void> {
  const { texts, messages } = load.acknowledged;
  const wasLoad = () => texts.length > 20 && messages.length > 20;
  await until(wasLoad);
  await load.stop();
  await assertAlive(world);
  const lost = await lostWrites(world, load);
  t.diagnostic(
    `answers 200: ${load.seen[200]}, 503: ${load.seen[503]}, faulty: ${load.faults.length}; ` +
      `acknowledged writes: ${texts.length + messages.length}, lost: ${lost.length}; ` +
      `wrong answers: ${load.wrong.length}`,
  );
  assert.deepEqual(summary(load.faults), {}, 'only 200, or 503 with Retry-After');
  assert.deepEqual(load.wrong.slice(0, 5), [], 'wrong answers');
  assert.deepEqual(lost.slice(0, 5), [], 'acknowledged writes lost');
}

/** How often each fault came, times and texts left out. */
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
  describe('a server that fails', { concurrency: 1 }, () => {
    let server: FaultyPostgres;
    before(async () => {
      server = await FaultyPostgres.make();
      await server.start();
    });
    after(() => server?.remove());

    const newUrl = () => server.newDatabase();

    /** Whatever a test left: a server that runs. */
    async function restore(): Promise<void> {
      server.signalAll('SIGCONT');
      const query = onDatabase(server.url('postgres'), (client) => client.query('SELECT 1'));
      await query.catch(() => server.start());
    }

    it('is waited for at the start', async (t) => {
      const cwd = await newFolder(t);
      const url = await newUrl();
      t.after(restore);
      await server.end('SIGINT');
      // In its place, a listener that counts the attempts to connect.
      let attempts = 0;
      const listener = net.createServer((socket) => {
        attempts += 1;
        socket.destroy();
      });
      await once(listener.listen(server.port, '127.0.0.1'), 'listening');
      const pending = serve(t, { cwd, env: { DATABASE_URL: url } });
      await Promise.race([pending, until(() => attempts >= 3)]);
      listener.close();
      await once(listener, 'close');
      await server.start();
      await pending;
    });

    it('is not waited for without end: one clear line, without the password', async (t) => {
      const cwd = await newFolder(t);
      const port = await freePort();
      const refused = async (url: string, wait: string, command = 'serve') => {
        const env = { DATABASE_URL: url, DATABASE_WAIT: wait, PORT: '0' };
        return run([command], { cwd, env });
      };
      const [waited, named, odd, parameter] = await Promise.all([
        refused(`postgres://ann:s3cretw0rd@127.0.0.1:${port}/nothing`, '1'),
        // A name with several addresses, a password that holds an @, one that is a parameter.
        refused(`postgres://ann:s3cretw0rd@localhost:${port}/nothing`, '0'),
        refused(`postgres://ann:s3cret@w0rd@127.0.0.1:${port}/nothing`, '0'),
        refused(`postgres://127.0.0.1:${port}/nothing?user=ann&password=s3cretw0rd`, '0', 'export'),
      ]);
      assert.match(waited.stderr, new RegExp(`127\\.0\\.0\\.1:${port}/nothing cannot be reached: .*ECONNREFUSED`));
      for (const { code, stdout, stderr } of [waited, named, odd, parameter]) {
        assert.equal(code, 1);
        assert.match(stderr, oneLine);
        assert.match(stderr, /cannot be reached: .*ECONNREFUSED/);
        assert.doesNotMatch(stdout + stderr, /s3cret|w0rd/);
      }
    });

    it('says what is wrong with a name or password', async (t) => {
      const cwd = await newFolder(t);
      const fail = (url: string) => run(['serve'], { cwd, env: { DATABASE_URL: url, DATABASE_WAIT: '0', PORT: '0' } });
      const [wrong, none] = await Promise.all([
        fail(`postgres://postgres:s3cretw0rd@127.0.0.1:${server.port}/postgres`),
        fail(server.url('nothing')),
      ]);
      for (const { code, stderr, stdout } of [wrong, none]) {
        assert.equal(code, 1);
        assert.match(stderr, oneLine);
        assert.ok(!`${stdout}${stderr}`.includes(server.password));
        assert.doesNotMatch(stderr, /s3cretw0rd/);
      }
      assert.match(wrong.stderr, /password authentication failed/);
      assert.match(none.stderr, /"nothing" does not exist/);
    });

    it('stopped and killed under load: nothing is lost, and it heals by itself', async (t) => {
      const world = await install(t, await newUrl(), { DATABASE_TIMEOUT: '1500' });
      t.after(restore);
      const load = startLoad(world);
      t.after(() => load.stop());
      for (const signal of ['SIGQUIT', 'SIGKILL', 'SIGINT'] as const) {
        await load.sees(200);
        await server.end(signal);
        const noticed = load.sees(503);
        for (let round = 0; round < 5; round += 1) {
          const [ready, live] = await Promise.all([
            ask(world.serving.base, '/health/ready', ''),
            ask(world.serving.base, '/health/live', ''),
          ]);
          await assertAlive(world);
          assert.equal(live.status, 200);
          assert.equal(ready.status, 503);
          assert.equal(faultOf('ready', ready), undefined);
        }
        await noticed;
        await server.start();
        const seconds = await secondsToHeal(world);
        t.diagnostic(`after ${signal}: healed in ${seconds.toFixed(2)} s`);
      }
      await settle(t, world, load);
    });

    it('frozen under load: requests end in time, and it heals when the server goes on', async (t) => {
      const world = await install(t, await newUrl(), { DATABASE_TIMEOUT: '1000' });
      const load = startLoad(world);
      t.after(() => load.stop());
      t.after(async () => server.signalAll('SIGCONT'));
      await load.sees(200);
      server.signalAll('SIGSTOP');
      const { serving, one, other } = world;
      const probes = {
        ready: ask(serving.base, '/health/ready', ''),
        GET: read(world),
        'GET with a key not seen before': ask(serving.base, '/v1/messages', other.keys.app),
        PATCH: patch(world, one.chunkPath, 'frozen'),
        POST: append(world, one.ids.conversation, randomUUID()),
      };
      assert.equal((await ask(serving.base, '/health/live', '')).status, 200);
      const replies = await Promise.all(Object.values(probes));
      await load.sees(503);
      server.signalAll('SIGCONT');
      const seconds = await secondsToHeal(world);
      t.diagnostic(`healed in ${seconds.toFixed(2)} s`);
      await settle(t, world, load);
      for (const [at, what] of Object.keys(probes).entries()) {
        const reply = replies[at] as Reply;
        assert.equal(faultOf(what, reply), undefined);
        assert.equal(reply.status, 503, what);
      }
    });

    it('frozen: the service still stops on SIGTERM', async (t) => {
      const world = await install(t, await newUrl(), { DATABASE_TIMEOUT: '1000' });
      t.after(async () => server.signalAll('SIGCONT'));
      await Promise.all([read(world), read(world), patch(world, world.one.chunkPath, 'before')]);
      server.signalAll('SIGSTOP');
      const pending = read(world);
      // Its response comes after what was sent before it has been taken up.
      assert.equal((await ask(world.serving.base, '/health/live', '')).status, 200);
      world.serving.signal('SIGTERM');
      assert.deepEqual(await world.serving.ended, { code: 0, signal: null });
      server.signalAll('SIGCONT');
      assert.equal((await pending).status, 503);
    });

    it('goes on when all its connections are ended under load', async (t) => {
      const world = await install(t, await newUrl(), { DATABASE_TIMEOUT: '1500' });
      const load = startLoad(world);
      t.after(() => load.stop());
      let ended = 0;
      let slowest = 0;
      for (let round = 0; round < 8; round += 1) {
        await load.sees(200, 20);
        const { rowCount } = await onDatabase(world.url, (client) =>
          client.query(`SELECT pg_terminate_backend(pid) ${activity}`),
        );
        ended += rowCount ?? 0;
        slowest = Math.max(slowest, await secondsToHeal(world));
      }
      t.diagnostic(`${ended} connections ended; healed in at most ${slowest.toFixed(2)} s`);
      assert.ok(ended >= 8);
      await settle(t, world, load);
    });

    it('goes on when backends die without a word', async (t) => {
      // The server ends all others then, and recovers by itself.
      const world = await install(t, await newUrl(), { DATABASE_TIMEOUT: '1500' });
      const load = startLoad(world);
      t.after(() => load.stop());
      await load.sees(200);
      const { rows } = await onDatabase(world.url, (client) => client.query(`SELECT pid ${activity}`));
      assert.ok(rows.length > 0);
      for (const { pid } of rows) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // Ended by the server meanwhile.
        }
      }
      const seconds = await secondsToHeal(world);
      t.diagnostic(`healed in ${seconds.toFixed(2)} s`);
      await settle(t, world, load);
    });
  });

  describe('two connections, and a lock that another session holds', { concurrency: 1 }, () => {
    const timeout = 1_200;
    const scope = newScope();
    let world: Installation;
    before(async () => {
      const { url, remove } = await newDatabaseUrl('postgres');
      scope.after(remove);
      world = await install(scope, url, { DATABASE_POOL: '2', DATABASE_TIMEOUT: String(timeout) });
    });
    after(() => scope.end());

    async function lock(t: TestContext, statement: string, id: string): Promise<() => Promise<void>> {
      const client = new pg.Client(world.url);
      await client.connect();
      let held = true;
      const release = async () => {
        if (held) await client.end();
        held = false;
      };
      t.after(release);
      await client.query('BEGIN');
      const { rowCount } = await client.query(statement, [id]);
      assert.equal(rowCount, 1);
      return release;
    }

    const backends = () =>
      onDatabase(world.url, async (client) => {
        const { rows } = await client.query(`SELECT pid ${activity} AND application_name = 'backscroll'`);
        return rows.length;
      });
    const waiting = () =>
      onDatabase(world.url, async (client) => {
        const { rows } = await client.query(`SELECT pid ${activity} AND wait_event_type = 'Lock'`);
        return rows.length;
      });

    it('sheds what is too much, ends the rest in time, and does nothing of it later', async (t) => {
      const { serving, one } = world;
      const release = await lock(t, 'SELECT id FROM child_chunks WHERE id = $1 FOR UPDATE', one.ids.chunk);
      await Promise.all(Array.from({ length: 20 }, () => read(world)));
      const before = memoryMiB(serving.pid);
      let most = 0;
      const faults: string[] = [];
      for (let round = 0; round < 3; round += 1) {
        const edits = Array.from({ length: 240 }, (_, at) => patch(world, one.chunkPath, `refused ${round} ${at}`));
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
        // A statement that was given up may take a moment to be cancelled.
        await until(async () => (await waiting()) === 0);
        most = Math.max(most, await backends());
      }
      const grown = memoryMiB(serving.pid) - before;
      // By the service's own clock. What waits for the lock is answered after the timeout, never before.
      const shed = serving
        .output()
        .split('\n')
        .filter((line) => line.includes('"PATCH"') && line.includes('"status":503'))
        .filter((line) => Number(/"ms":([\d.]+)/.exec(line)?.[1]) < timeout).length;
      await release();
      const seconds = await secondsToHeal(world);
      t.diagnostic(
        `of 720 edits ${shed} shed at once; ${most} connections at most; memory grew by ${grown.toFixed(0)} MiB; ` +
          `healed in ${seconds.toFixed(2)} s`,
      );
      const { rows } = await onDatabase(world.url, (client) =>
        client.query(`SELECT content FROM child_chunk_revisions WHERE child_chunk_id = $1`, [one.ids.chunk]),
      );
      const done = rows.filter(({ content }) => content.startsWith('refused')).length;
      await assertAlive(world);
      const wrong = {
        faults: summary(faults),
        'connections beyond DATABASE_POOL': Math.max(0, most - 2),
        'edits done after a 503': done,
      };
      assert.deepEqual(wrong, { faults: {}, 'connections beyond DATABASE_POOL': 0, 'edits done after a 503': 0 });
      assert.ok(shed >= 300, `${shed} of 720 were shed at once`);
      assert.ok(grown < 100, `memory grew by ${grown} MiB`);
    });

    it('ends appends to a locked conversation in time, and readers go on', async (t) => {
      const { one } = world;
      const statement = 'SELECT 1 FROM conversations WHERE conversation_id = $1 FOR UPDATE';
      const release = await lock(t, statement, one.ids.conversation);
      const pending = Array.from({ length: 4 }, () => append(world, one.ids.conversation, randomUUID()));
      const replies = await Promise.all(pending);
      // Whoever waited for the lock has been told by now.
      const reading = await read(world);
      await release();
      const seconds = await secondsToHeal(world);
      t.diagnostic(`healed in ${seconds.toFixed(2)} s`);
      for (const reply of replies) {
        assert.equal(faultOf('POST', reply), undefined);
        assert.equal(reply.status, 503);
      }
      assert.equal(reading.status, 200);
    });
  });

  describe('writers in conflict', { concurrency: 1 }, () => {
    const scope = newScope();
    let world: Installation;
    let second: ServerProcess;
    let name: string;
    before(async () => {
      const { url, remove } = await newDatabaseUrl('postgres');
      scope.after(remove);
      name = new URL(url).pathname.slice(1);
      world = await install(scope, url, {});
      second = await serve(scope, { cwd: world.cwd, env: world.env });
    });
    after(() => scope.end());

    const at = (n: number): Installation => (n % 2 ? { ...world, serving: second } : world);
    const post = (n: number, key: string, lines: string) =>
      ask(at(n).serving.base, '/admin/records', key, { method: 'POST', lines });
    const all200 = (replies: readonly Reply[]) =>
      assert.deepEqual(
        summary(replies.map(({ status, body }) => (status === 200 ? '200' : `${status} ${JSON.stringify(body)}`))),
        { 200: replies.length },
      );

    it('takes 50 edits of one chunk at once, through two instances', async () => {
      const { one } = world;
      const texts = Array.from({ length: 50 }, (_, n) => `rival ${n}`);
      all200(await Promise.all(texts.map((text, n) => patch(at(n), one.chunkPath, text))));
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

    it('takes 20 imports of the same new records at once', async () => {
      const { one, records } = makeTwoTenants();
      const named = records.filter((record) => !('kind' in record && record.kind === 'admin'));
      const lines = ndjson([...named, ...Array.from({ length: 50 }, (_, n) => message(one.ids.conversation, n))]);
      const replies = await Promise.all(Array.from({ length: 20 }, (_, n) => post(n, world.admin, lines)));
      all200(replies);
      assert.ok(replies.every(({ body }) => body.records === named.length + 50));
      const path = `/v1/messages?conversation_id=${one.ids.conversation}&limit=100`;
      assert.equal((await ask(second.base, path, one.keys.app)).body.data.length, 50);
    });

    it('takes the same new key without an id from 20 imports at once', async () => {
      // "A known digest without id updates that key": whoever comes second does that.
      const { ids } = world.one;
      const secret = `app-${randomBytes(30).toString('hex')}`;
      const reach = { workspace_id: ids.workspace, app_id: ids.app };
      const lines = ndjson([{ record: 'api_key', kind: 'app', ...reach, name: 'new', secret }]);
      all200(await Promise.all(Array.from({ length: 20 }, (_, n) => post(n, world.admin, lines))));
      const path = `/v1/messages?conversation_id=${ids.conversation}`;
      assert.equal((await ask(world.serving.base, path, secret)).status, 200);
    });

    it('tries serialization failures again, on a database that is always serializable', async (t) => {
      // As CockroachDB is, and as PostgreSQL can be told to be.
      await onDatabase(world.url, (client) =>
        client.query(`ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`),
      );
      const there = { ...world, serving: await serve(scope, { cwd: world.cwd, env: world.env }) };
      const { one, paths } = world;
      for (let round = 0; round < 5; round += 1) {
        all200(await Promise.all(['a', 'b', 'c'].map((text) => patch(there, paths[0] ?? '', `${text} ${round}`))));
        all200(await Promise.all([1, 2, 3].map(() => append(there, one.ids.conversation, randomUUID()))));
      }
      const crowd = await Promise.all(Array.from({ length: 50 }, (_, n) => patch(there, paths[1] ?? '', `crowd ${n}`)));
      const taken = crowd.filter(({ status }) => status === 200).length;
      t.diagnostic(`of 50 edits of one chunk at once ${taken} are taken, the others answered 503`);
      for (const reply of crowd) assert.equal(faultOf('PATCH', reply), undefined);
      assert.ok(taken >= 10, `${taken} of 50`);
    });
  });
});
