import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { MessagePort } from 'node:worker_threads';
import pg from 'pg';
import { purge } from '../../src/domain/erasure/purge.ts';
import { lockWaits } from '../citus/cluster.ts';
import { call } from '../support/cli-helpers.ts';
import {
  itOnOneEngine,
  makeTwoTenants,
  message,
  ndjson,
  onEveryEngine,
  parseLines,
  startService,
  useService,
} from '../support/harness.ts';
import { until } from '../support/until.ts';

/** Bugs that reviews and experiments found: each stays fixed. */
onEveryEngine('fixed bugs', (engine) => {
  const { one, admin, records } = makeTwoTenants();
  const service = useService(engine, [], { DATABASE_POOL: '2' });
  before(async () => {
    const many = Array.from({ length: 3_000 }, (_, at) =>
      message(one.ids.conversation, at, { answer: 'x'.repeat(500) }),
    );
    await service.load([...records, ...many]);
  });

  const patch = (content: string) => service.as(one.keys.knowledge).patch(one.chunkPath, { content });

  it('an aborted export does not harm the service', async () => {
    for (let round = 0; round < 4; round += 1) {
      const headers = { authorization: `Bearer ${admin}` };
      const request = http.get(`${service.base}/admin/records`, { headers, agent: false });
      const [response] = (await once(request, 'response')) as [http.IncomingMessage];
      await once(response, 'data');
      response.destroy();
    }
    for (let round = 0; round < 6; round += 1) assert.equal((await patch(`text ${round}`)).status, 200);
    const response = await service.as(one.keys.knowledge).get(one.chunkPath);
    assert.equal(response.body.data.content, 'text 5');
  });

  it('an imported revision does not overwrite the text that the same import replaced', async () => {
    const { chunk, segment } = one.ids;
    await service.load([{ record: 'child_chunk', id: chunk, segment_id: segment, position: 1, content: 'replaced' }]);
    const revisionCount = (await revisions()).length;
    await service.load([
      { record: 'child_chunk', id: chunk, segment_id: segment, position: 1, content: 'other' },
      {
        record: 'child_chunk_revision',
        child_chunk_id: chunk,
        revision: revisionCount + 1,
        content: 'imported',
        replaced_at: 5,
      },
    ]);
    const texts = (await revisions()).map(({ content }) => content);
    assert.equal(texts[revisionCount], 'imported');
    assert.ok(texts.includes('replaced'), texts.join(', '));
  });

  const revisions = async (): Promise<{ child_chunk_id: string; content: string }[]> => {
    const { text } = await service.as(admin).get('/admin/records');
    const lines = parseLines(text);
    return lines.filter(
      ({ record, child_chunk_id }) => record === 'child_chunk_revision' && child_chunk_id === one.ids.chunk,
    );
  };

  itOnOneEngine(engine, 'a changed app mode takes effect immediately', async () => {
    const path = `/v1/messages?conversation_id=${one.ids.conversation}&limit=1`;
    const app = { record: 'app', id: one.ids.app, workspace_id: one.ids.workspace, name: 'app' };
    assert.equal((await service.as(one.keys.app).get(path)).status, 200);
    await service.load([{ ...app, mode: 'workflow' }]);
    assert.equal((await service.as(one.keys.app).get(path)).body.code, 'not_chat_app');
    await service.load([{ ...app, mode: 'chat' }]);
    assert.equal((await service.as(one.keys.app).get(path)).status, 200);
  });

  itOnOneEngine(engine, 'a long user is accepted', async () => {
    const user = Array.from({ length: 3_000 }, (_, at) => String.fromCodePoint(0x4e00 + at * 5)).join('');
    const conversation = { record: 'conversation', id: one.ids.conversation, app_id: one.ids.app, created_at: 1 };
    await service.load([{ ...conversation, user }]);
    await service.load([{ ...conversation, user: 'ann' }]);
  });

  itOnOneEngine(engine, 'after an invalid line the same connection accepts the next request', async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const send = async (body: string) => {
      const headers = { authorization: `Bearer ${admin}`, 'content-type': 'application/x-ndjson' };
      const request = http.request(`${service.base}/admin/records`, { method: 'POST', agent, headers });
      request.end(body);
      const [response] = (await once(request, 'response')) as [http.IncomingMessage];
      response.resume();
      await once(response, 'end');
      return [response.statusCode, request.reusedSocket];
    };
    assert.deepEqual(await send(`no JSON\n${' \n'.repeat(500_000)}`), [400, false]);
    assert.deepEqual(await send(ndjson([])), [200, true]);
    agent.destroy();
  });

  itOnOneEngine(
    engine,
    'a client that sends another 20 MB before it reads still gets the number of the invalid line',
    async () => {
      const body = Buffer.concat([Buffer.from('no JSON\n'), Buffer.alloc(20_000_000, ' \n')]);
      const socket = net.connect(service.port, '127.0.0.1');
      await once(socket, 'connect');
      const head = `POST /admin/records HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${admin}\r\n`;
      const rest = `Content-Type: application/x-ndjson\r\nContent-Length: ${body.length}\r\n\r\n`;
      socket.pause();
      await new Promise<void>((resolve, reject) => {
        socket.once('error', reject);
        socket.write(head + rest);
        socket.write(body, () => resolve());
      });
      const [response] = await once(socket.resume(), 'data');
      assert.match(String(response), /line 1: not JSON/);
      socket.destroy();
    },
  );

  if (engine === 'postgres') {
    it('an append that is in progress while its conversation is purged leaves no message', async () => {
      const tenant = makeTwoTenants().one;
      await service.load(tenant.records);
      const client = new pg.Client(service.config.database_url);
      await client.connect();
      // An append as the service does it, left uncommitted.
      await client.query('BEGIN');
      await client.query(`UPDATE conversations SET next_sequence = 2 WHERE conversation_id = $1`, [
        tenant.ids.conversation,
      ]);
      await client.query(`INSERT INTO messages VALUES ($1, 1, 1, 'm', '{}')`, [tenant.ids.conversation]);
      const purgeResult = purge(service.store, { conversation_id: tenant.ids.conversation }, { key_id: null, now: 5 });
      await until(async () => {
        const { rows } = await client.query(lockWaits);
        return rows.length > 0;
      });
      await client.query('COMMIT');
      assert.equal((await purgeResult).messages, 1);
      await client.end();
    });
  } else {
    it('a writer thread that dies is replaced', async () => {
      const { postMessage } = MessagePort.prototype;
      MessagePort.prototype.postMessage = function (this: MessagePort, message: unknown) {
        const isEdit = Array.isArray(message) && JSON.stringify(message).includes('not written');
        if (isEdit) MessagePort.prototype.postMessage = postMessage;
        // Not a list of writes: the thread fails and exits.
        postMessage.call(this, isEdit ? 5 : message);
      };
      assert.equal((await patch('not written')).status, 503);
      assert.equal((await patch('written')).status, 200);
    });

    it('a missing database file is detected: nothing is written, and the service recovers when it is back', async () => {
      const file = service.config.database_url.replace('sqlite:', '');
      await rename(file, `${file}.away`);
      assert.equal((await patch('not written either')).status, 503);
      assert.equal((await service.request('GET', '/health/ready')).status, 503);
      await rename(`${file}.away`, file);
      assert.equal((await patch('back')).status, 200);
      assert.equal((await service.request('GET', '/health/ready')).status, 200);
    });
  }
});

describe('fixed bugs at shutdown', () => {
  for (const [what, bytes] of [
    ['half a request', 'GET /v1/mess'],
    ['an invalid request', 'garbage\r\n\r\n'],
    ['half a body', 'POST /admin/records HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{}'],
  ] as const) {
    it(`a connected client that sent ${what} does not delay the shutdown`, async () => {
      const service = await startService('sqlite');
      const socket = net.connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true });
      let received = '';
      socket
        .on('error', () => undefined)
        .on('data', (chunk) => {
          received += chunk;
        });
      await once(socket, 'connect');
      socket.write(bytes);
      // The service has read the earlier bytes before it sends this response.
      assert.equal((await service.request('GET', '/health/live')).status, 200);
      await service.close();
      assert.doesNotMatch(received, / 408 /, 'the request did not time out first');
      socket.destroy();
    });
  }
});

describe('fixed bugs on the command line', () => {
  it('export follows a symbolic link instead of replacing it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'backscroll-regressions-'));
    const env = { DATABASE_URL: `sqlite:${join(folder, 'x.db')}` };
    const { records } = makeTwoTenants();
    assert.equal((await call(['import', '-'], { cwd: folder, env, stdin: ndjson(records) })).code, 0);
    await writeFile(join(folder, 'target'), '');
    await symlink(join(folder, 'target'), join(folder, 'link'));
    assert.equal((await call(['export', 'link'], { cwd: folder, env })).code, 0);
    assert.equal((await readFile(join(folder, 'target'), 'utf8')).trim().split('\n').length, records.length);
    await rm(folder, { recursive: true, force: true });
  });
});
