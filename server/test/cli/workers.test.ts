import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Installation, install } from '../../../experiments/support/installation.ts';
import { limits } from '../../src/contract/limits.ts';
import { call, newFolder, newScope, run, type ServerProcess } from '../support/cli-helpers.ts';
import { message, ndjson, newDatabaseUrl, onOneEngine } from '../support/harness.ts';
import { itLong, shortOrLong } from '../support/long.ts';
import { until } from '../support/until.ts';
import { type Connection, connectToBothWorkers } from '../support/workers/connections.ts';

/** Resolves when both workers listen. */
const untilBothListen = ({ output }: ServerProcess, times = 2) =>
  until(
    () => (output().match(/listening at/g)?.length ?? 0) >= times,
    () => output(),
  );

function closeAll(connections: readonly Connection[]): void {
  for (const connection of connections) connection.close();
}

/** The value of a metric without labels, or with the labels given in it. */
const metric = (text: string, name: string): number =>
  Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.slice(name.length),
  );

const faults = `--import=${new URL('../support/workers/thread-faults.ts', import.meta.url).href}`;

onOneEngine('two workers', (engine) => {
  const scope = newScope();
  let installation: Installation;
  let serving: ServerProcess;
  let holdFile: string;
  let workers: [Connection[], Connection[]];
  let all: Connection[];
  before(async () => {
    const { url, remove } = await newDatabaseUrl(engine);
    scope.after(remove);
    holdFile = join(await newFolder(scope), 'hold');
    const settings = { IN_FLIGHT_MAX: '8', NODE_OPTIONS: faults, TEST_HOLD_FILE: holdFile };
    installation = await install(scope, { chunks: 4, url, settings });
    serving = await installation.start();
    await untilBothListen(serving);
    workers = await connectToBothWorkers(serving.base, installation.admin);
    // Few, since some tests send requests of each for each: a minute allows a hundred failed keys.
    all = workers.flatMap((connections) => connections.slice(0, 2));
  });
  after(async () => {
    closeAll(workers?.flat() ?? []);
    await scope.end();
  });

  it('200: every worker shows a write that another has acknowledged', async () => {
    const { one, chunks, admin } = installation;
    const page = `/v1/messages?conversation_id=${one.ids.conversation}&user=ann&limit=100`;
    for (let round = 0; round < shortOrLong(6, 20); round += 1) {
      const writer = all[round % all.length] as Connection;
      const path = chunks[round % chunks.length]?.path ?? assert.fail();
      const edit = await writer.request('PATCH', path, one.keys.knowledge, { content: `round ${round}` });
      assert.equal(edit.status, 200);
      const added = message(one.ids.conversation, 100 + round, { answer: `round ${round}` });
      assert.equal((await writer.request('POST', '/admin/records', admin, ndjson([added]))).status, 200);
      for (const reader of all) {
        const chunk = await reader.request('GET', path, one.keys.knowledge);
        assert.equal(chunk.body.data.content, `round ${round}`);
        const messages = await reader.request('GET', page, one.keys.app);
        assert.equal(messages.body.data.at(0).answer, `round ${round}`);
      }
    }
  });

  it('401: a key that one worker has revoked is rejected by all at once', async () => {
    const { admin, one } = installation;
    for (const revoker of all) {
      const created = await revoker.request('POST', '/admin/keys', admin, {
        kind: 'app',
        app_id: one.ids.app,
        name: 'short',
      });
      assert.equal(created.status, 201, created.text);
      const page = `/v1/messages?conversation_id=${one.ids.conversation}&user=ann`;
      const statuses = async () => {
        const received: number[] = [];
        for (const connection of all) {
          received.push((await connection.request('GET', page, created.body.secret)).status);
        }
        return received;
      };
      assert.deepEqual(
        await statuses(),
        all.map(() => 200),
      );
      assert.equal((await revoker.request('DELETE', `/admin/keys/${created.body.id}`, admin)).status, 200);
      assert.deepEqual(
        await statuses(),
        all.map(() => 401),
      );
    }
  });

  it('metrics and traffic are those of the process, whichever worker responds', async () => {
    const { admin, one } = installation;
    const requests = 'backscroll_http_requests_total{method="GET",route="/v1/messages",status="404"}';
    const missing = `/v1/messages?conversation_id=${one.ids.chunk}&user=ann`;
    for (const connection of all) await connection.request('GET', missing, one.keys.app);
    const texts = async () =>
      Promise.all(all.map(async (connection) => (await connection.request('GET', '/metrics', admin)).text));
    await until(async () => (await texts()).every((text) => metric(text, requests) === all.length));
    for (const text of await texts()) {
      assert.ok(metric(text, 'backscroll_worker_requests_total{worker="0"}') > 0);
      assert.ok(metric(text, 'backscroll_worker_requests_total{worker="1"}') > 0);
      // The heap of one thread is smaller than that of all together.
      assert.ok(metric(text, 'nodejs_heap_size_used_bytes') > 0);
      assert.ok(metric(text, 'process_cpu_seconds_total') > 0);
      assert.equal(text.match(/^# TYPE backscroll_http_requests_total /gm)?.length, 1);
    }
    const reports = await Promise.all(
      all.map(async (connection) => (await connection.request('GET', '/admin/traffic', admin)).body),
    );
    for (const report of reports) assert.deepEqual(report, reports[0]);
  });

  it('401, then 429: failed keys of an address are counted over all workers', async () => {
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 120; attempt += 1) {
      const connection = all[attempt % all.length] as Connection;
      statuses.push((await connection.request('GET', '/v1/messages', `app-${'x'.repeat(40)}`)).status);
    }
    const counted = statuses.indexOf(429);
    // The revoked keys of another test count too.
    assert.ok(counted > 0 && counted <= 100, `${counted}`);
    assert.ok(statuses.slice(0, counted).every((status) => status === 401));
    assert.ok(statuses.slice(counted).every((status) => status === 429));
  });

  it('503: the limit of requests in flight is that of the process', async () => {
    const { admin, one, chunks } = installation;
    const path = chunks[0]?.path ?? assert.fail();
    const body = JSON.stringify({ content: 'held' });
    const head = `PATCH ${path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${one.keys.knowledge}\r\n`;
    const held = new Set<Socket>();
    /** Sends a request without its last byte. */
    const hold = () => {
      const socket = connect(Number(new URL(serving.base).port), '127.0.0.1');
      held.add(socket);
      socket.write(
        `${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, -1)}`,
      );
      // Rejected, because a request for the metrics was in flight too.
      socket.once('data', () => held.delete(socket));
    };
    const inFlight = async (connection: Connection) =>
      metric((await connection.request('GET', '/metrics', admin)).text, 'backscroll_http_requests_in_flight');
    await until(async () => {
      while (held.size < 8) hold();
      await sleep(50);
      return held.size === 8 && (await inFlight(all[0] as Connection)) === 9;
    });
    for (const connection of all) {
      assert.equal((await connection.request('GET', path, one.keys.knowledge)).status, 503);
    }
    for (const socket of held) {
      socket.write(body.slice(-1));
      const [response] = (await once(socket, 'data')) as [Buffer];
      assert.match(response.toString(), /^HTTP\/1\.1 200 /);
      socket.destroy();
    }
    for (const connection of all) {
      await until(async () => (await connection.request('GET', path, one.keys.knowledge)).status === 200);
      assert.equal(await inFlight(connection), 1);
    }
  });

  // Only SQLite has a thread that writes.
  if (engine === 'sqlite') {
    const edit = (connection: Connection | undefined, at: number, content: string) => {
      const { one, chunks } = installation;
      assert.ok(connection);
      return connection.request('PATCH', chunks[at]?.path ?? '', one.keys.knowledge, { content });
    };

    it('503 for edits of one worker after a while, during a long write of another; 200 if they change nothing', async () => {
      const { one, admin, chunks } = installation;
      const [importer] = workers[0] as [Connection];
      const [editor, other] = workers[1] as [Connection, Connection];
      assert.equal((await edit(editor, 0, 'unchanged')).status, 200);

      await writeFile(holdFile, '');
      // Large enough to be a long write.
      const answer = 'x'.repeat(limits.spoolBytesMin / 4);
      const messages = Array.from({ length: 5 }, (_, at) => message(one.ids.conversation, at, { answer }));
      const dataset = { record: 'dataset', id: randomUUID(), workspace_id: one.ids.workspace, name: 'hold the writer' };
      const importing = importer.request('POST', '/admin/records', admin, ndjson([dataset, ...messages]));
      await until(() => existsSync(`${holdFile}-paused`));
      const rejected = await edit(editor, 1, 'never');
      assert.deepEqual(
        [rejected.status, rejected.body.message],
        [503, 'the database is busy with a long write, try again'],
      );
      assert.equal((await edit(editor, 0, 'unchanged')).status, 200);
      assert.equal((await other.request('GET', chunks[0]?.path ?? '', one.keys.knowledge)).status, 200);
      const waiting = edit(other, 1, 'waited');
      await rm(holdFile);
      assert.equal((await waiting).status, 200);
      assert.equal((await importing).status, 200);
      const { body } = await editor.request('GET', chunks[1]?.path ?? '', one.keys.knowledge);
      assert.equal(body.data.content, 'waited');
      const { text } = await editor.request('GET', '/admin/records', admin);
      assert.ok(!text.includes('"never"'));
    });

    it('503 for edits of a writer thread that dies; later edits of all workers succeed', async () => {
      for (const [connection] of workers) {
        assert.equal((await edit(connection, 0, 'crash the writer')).status, 503);
        for (const other of workers.flat())
          await until(async () => (await edit(other, 0, 'after the crash')).status === 200);
      }
      assert.match(serving.output(), /"cause":"the writer thread has ended"/);
    });

    it('a worker that dies is replaced; the others go on, and counters do not decrease', async () => {
      const { one, admin } = installation;
      const page = `/v1/messages?conversation_id=${one.ids.conversation}&user=ann&limit=1`;
      const [main, survivor] = workers[0] as [Connection, Connection];
      const [victim, witness] = workers[1] as [Connection, Connection];
      const requests = 'backscroll_worker_requests_total{worker="1"}';
      const before = metric((await main.request('GET', '/metrics', admin)).text, requests);
      const dying = victim.request('GET', '/metrics?crash=worker', admin);
      await assert.rejects(dying, /socket hang up|ECONNRESET/);
      assert.equal((await survivor.request('GET', page, one.keys.app)).status, 200);
      await untilBothListen(serving, 3);
      assert.match(serving.output(), /"worker":1.*"msg":"a worker has died"/);
      for (const connection of [main, survivor, witness]) {
        assert.equal((await connection.request('GET', page, one.keys.app)).status, 200);
      }
      const [, replaced] = await connectToBothWorkers(serving.base, admin);
      const { text } = await (replaced[0] as Connection).request('GET', '/metrics', admin);
      assert.ok(metric(text, requests) > before);
      assert.equal(metric(text, 'backscroll_http_requests_in_flight'), 1);
      closeAll(replaced);
    });

    itLong('a port that another service shares between its workers is in use', async (t) => {
      const PORT = new URL(serving.base).port;
      const { code, stderr } = await run(['serve'], { cwd: await newFolder(t), env: { PORT, WORKERS: '2' } });
      assert.equal(code, 1);
      assert.match(stderr, new RegExp(`PORT=${PORT}: already in use`));
    });
  }

  it('exits with 0 after SIGTERM', async () => {
    serving.signal('SIGTERM');
    assert.deepEqual(await serving.ended, { code: 0, signal: null });
    assert.match(serving.output(), /"msg":"stopped"/);
  });
});

describe('the number of workers', () => {
  itLong('one, with a line in the log, if the operating system cannot share a port', async (t) => {
    const installation = await install(t, { chunks: 1, settings: { NODE_OPTIONS: faults, TEST_NO_REUSE_PORT: '1' } });
    const serving = await installation.start();
    assert.match(serving.output(), /there is one worker: this operating system cannot share a port between threads/);
    const { chunks, one } = installation;
    const response = await fetch(`${serving.base}${chunks[0]?.path}`, {
      headers: { authorization: `Bearer ${one.keys.knowledge}` },
    });
    assert.equal(response.status, 200);
  });

  it('is rejected if it is larger than DATABASE_POOL', async (t) => {
    const cwd = await newFolder(t);
    const env = { DATABASE_URL: 'postgres://localhost:1/none', DATABASE_POOL: '2', WORKERS: '3' };
    const { code, stderr } = await call(['serve'], { cwd, env });
    assert.equal(code, 1);
    assert.equal(stderr, 'backscroll: WORKERS=3: must be at most DATABASE_POOL, which is 2\n');
  });
});
