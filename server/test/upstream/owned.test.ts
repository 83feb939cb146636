import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import pg from 'pg';
import { limits } from '../../src/contract/limits.ts';
import { whoResponds } from '../../src/http/upstream/who-responds.ts';
import { startProxy, summarize } from '../store/recording-proxy.ts';
import { newFolder, serveWithWorkers } from '../support/cli-helpers.ts';
import { difyId, ids, tokens } from '../support/dify-database.ts';
import { itOnOneEngine, onEveryEngine } from '../support/harness.ts';
import { itLong } from '../support/long.ts';
import { until } from '../support/until.ts';
import { connectToBothWorkers } from '../support/workers/connections.ts';
import { chunked, eventOf, FakeDify, idsIn, json, page, read, send, streamHead } from './fake-dify.ts';
import { exchange } from './scripted-upstream.ts';

const lists = '/v1/conversations';
const chunks = `/v1/datasets/${ids.dataset}/documents/${ids.document}/segments/${ids.segment}/child_chunks`;

describe('who responds when Dify owns the data', () => {
  const asked = { isRead: true, operation: 'stored', key: 'active' } as const;
  const cases = [
    ['a read', {}, 'backscroll'],
    ['a read with an unknown key', { key: 'unknown' }, 'upstream'],
    ['a read with a key that was revoked here', { key: 'ended' }, 'unauthorized'],
    ['a read with an admin key', { key: 'foreign' }, 'unauthorized'],
    ['a read with a read-only key', { key: 'read-only' }, 'backscroll'],
    ['a write', { isRead: false }, 'upstream, then stored'],
    ['a write with a read-only key', { isRead: false, key: 'read-only' }, 'forbidden'],
    ['models and settings', { operation: 'partly constant' }, 'upstream'],
    ['another operation', { operation: 'other', isRead: false }, 'upstream'],
    ['another operation with a read-only key', { operation: 'other', isRead: false, key: 'read-only' }, 'forbidden'],
    ['another operation with a revoked key', { operation: 'other', key: 'ended' }, 'unauthorized'],
  ] as const;
  for (const [name, more, responder] of cases) {
    it(`${name}: ${responder}`, () => assert.equal(whoResponds({ ...asked, ...more }, true), responder));
  }
  it('a read before everything was copied: upstream', () => assert.equal(whoResponds(asked, false), 'upstream'));
});

onEveryEngine('a Dify installation that owns the data', (engine) => {
  itOnOneEngine(engine, 'responds until everything was copied, then only for what is missing here', async (t) => {
    const dify = await FakeDify.start(t, engine);
    const service = await dify.serve();
    dify.upstream.script = (socket) => json(socket, { from: 'Dify' });
    assert.match((await read(service, page())).text, /Dify/);
    const follower = dify.follow(service);
    await dify.untilServed(service);
    await follower.stop();
    const here = await read(service, page());
    // The order of Dify's pages.
    assert.deepEqual(idsIn(here.text), [difyId(23), difyId(22), difyId(21)]);
    for (const path of [page(difyId(99)), `${page()}&first_id=${difyId(98)}`, `${lists}?last_id=${difyId(97)}`]) {
      assert.match((await read(service, path)).text, /Dify/, path);
    }
    assert.match((await read(service, page(), 'app-unknown')).text, /Dify/);
    assert.match((await read(service, '/v1/datasets', `dataset-${'x'.repeat(24)}`)).text, /Dify/);
    assert.equal(dify.upstream.requests.length, 5);
    for (const { head } of dify.upstream.requests) assert.doesNotMatch(head, /x-backscroll-/i);
    assert.equal((await read(service, lists)).status, 200);
    assert.equal((await read(service, `${chunks}/${ids.chunk}`, tokens.dataset)).status, 200);
    assert.equal(dify.upstream.requests.length, 5);
  });

  itOnOneEngine(engine, 'is not asked for what was erased here: 404, also before everything was copied', async (t) => {
    const dify = await FakeDify.start(t, engine);
    const service = await dify.serveCopied();
    const { erasure } = service.store;
    const eraser = { action: 'purge', key_id: null, now: Math.floor(Date.now() / 1000) } as const;
    const location = { app_id: ids.app, conversation_id: ids.conversation, message_id: difyId(22) };
    assert.equal(await service.store.run('deleteMessage', { location, eraser }), 'deleted');
    dify.upstream.script = (socket) => json(socket, { from: 'Dify' });
    /** The second way is not that of the fast lane. */
    const statuses = async (path: string) =>
      Promise.all(
        ['keep-alive', 'Keep-Alive'].map(async (connection) => {
          const headers = { authorization: `Bearer ${tokens.app}`, connection };
          return (await exchange(service.base, 'GET', path, { headers })).status;
        }),
      );
    assert.deepEqual(await statuses(`${page()}&first_id=${difyId(22).toUpperCase()}`), [404, 404]);
    assert.deepEqual(idsIn((await read(service, page())).text), [difyId(23), difyId(21)]);
    assert.deepEqual(await statuses(`${page()}&first_id=${difyId(98)}`), [200, 200]);
    assert.equal(dify.upstream.requests.length, 2);
    await erasure.erase({ conversation_id: ids.conversation }, eraser);
    const other = `/v1/conversations/${ids.conversation.toUpperCase()}/variables`;
    for (const path of [page(), `${page()}&first_id=${difyId(21)}`, `${lists}?last_id=${ids.conversation}`, other])
      assert.deepEqual(await statuses(path), [404, 404], path);
    assert.equal(dify.upstream.requests.length, 2);
    // A new instance does not know yet that everything was copied.
    const instance = await dify.serve();
    assert.equal((await read(instance, page())).status, 404);
    assert.equal(dify.upstream.requests.length, 2);
  });

  itOnOneEngine(engine, 'is shown to OpenAI clients, which cannot write there', async (t) => {
    const dify = await FakeDify.start(t, engine);
    const service = await dify.serveCopied();
    const writer = `writer-${'n'.repeat(24)}`;
    const reach = { workspace_id: ids.workspace, app_id: ids.app };
    await service.load([{ record: 'api_key', kind: 'writer', name: 'new', ...reach, secret: writer }]);
    const conversations = '/openai/v1/conversations';
    const items = `${conversations}/${ids.conversation}/items`;
    for (const key of [tokens.app, writer]) {
      const { body } = await service.as(key).get(items);
      assert.ok(body.data.length > 0, body.message);
      const refused = await service.as(key).delete(`${items}/${body.data[0].id}`);
      assert.deepEqual([refused.status, refused.body.error.type], [403, 'invalid_request_error']);
    }
    const added = { items: [{ role: 'user', content: 'q' }] };
    for (const [path, body] of [
      [conversations, {}],
      [items, added],
      [`${conversations}/${ids.conversation}`, { metadata: {} }],
    ] as const) {
      const { status, body: refused } = await service.as(writer).post(path, body);
      assert.deepEqual([status, refused.error.message], [403, 'Dify owns this app: its messages come from Dify']);
    }
    assert.equal(dify.upstream.requests.length, 0);
  });

  it('never gets 401 for a new key that another instance has stored, only once it is revoked', async (t) => {
    const dify = await FakeDify.start(t, engine);
    const service = await dify.serveCopied();
    const other = await dify.serve();
    await dify.untilServed(other);
    dify.upstream.script = (socket) => json(socket, { data: [] });
    const key = {
      record: 'api_key',
      id: randomUUID(),
      kind: 'app',
      name: 'new',
      workspace_id: ids.workspace,
      app_id: ids.app,
    };
    const secret = `app-${'n'.repeat(24)}`;
    // Each instance knows now that it does not know the key.
    for (const instance of [service, other]) assert.equal((await read(instance, page(), secret)).status, 200);
    await service.load([{ ...key, secret }]);
    for (const path of [page(), lists, '/v1/unknown']) {
      for (const instance of [other, service]) assert.equal((await read(instance, path, secret)).status, 200, path);
    }
    assert.equal((await send(other, 'POST', '/v1/chat-messages', {}, secret)).status, 200);
    await service.store.run('revokeKey', { id: key.id, by: null, now: Math.floor(Date.now() / 1000) });
    await until(async () => (await read(other, page(), secret)).status === 401);
  });

  itOnOneEngine(engine, 'is not asked again for a key that it has rejected 100 times in a minute', async (t) => {
    const dify = await FakeDify.start(t, engine);
    const service = await dify.serveCopied();
    service.freezeClock();
    const script = (status: string) => {
      dify.upstream.script = (socket) => json(socket, { from: 'Dify' }, status);
    };
    script('401 Unauthorized');
    const [one, other] = ['app-one', 'app-other'];
    for (let times = 0; times < limits.failedKeysPerMinuteMax; times += 1) {
      assert.equal((await read(service, times % 2 ? lists : '/v1/unknown', one)).status, 401);
    }
    assert.equal(dify.upstream.requests.length, limits.failedKeysPerMinuteMax);
    service.advanceClock(20);
    for (const path of [page(), '/v1/unknown']) {
      const { status, headers } = await read(service, path, one);
      assert.deepEqual([status, headers['retry-after']], [429, '40'], path);
    }
    assert.equal((await send(service, 'POST', '/v1/chat-messages', {}, one)).status, 429);
    assert.equal(dify.upstream.requests.length, limits.failedKeysPerMinuteMax);
    // From the same address: another unknown key, no key, an unknown key that is not passed on, and a valid key.
    assert.equal((await read(service, lists, other)).status, 401);
    assert.equal((await exchange(service.base, 'GET', lists)).status, 401);
    assert.equal(dify.upstream.requests.length, limits.failedKeysPerMinuteMax + 2);
    assert.equal((await service.as(other).get('/admin/overview')).status, 401);
    assert.equal((await read(service, page())).status, 200);
    // It may be a new key.
    script('200 OK');
    service.advanceClock(40);
    assert.equal((await read(service, lists, one)).status, 200);
  });

  itOnOneEngine(
    engine,
    'gets a limited number of requests at once, and at most half of them with unknown keys',
    async (t) => {
      const dify = await FakeDify.start(t, engine);
      const service = await dify.serveCopied();
      const waiting: { destroy(): void }[] = [];
      dify.upstream.script = (socket) => void waiting.push(socket);
      const responses: ReturnType<typeof read>[] = [];
      for (const [secret, count] of [
        ['app-unknown', 128],
        [tokens.app, 256],
      ] as const) {
        while (responses.length < count) responses.push(read(service, '/v1/unknown', secret));
        await until(() => waiting.length === count);
        const { status, headers } = await read(service, '/v1/unknown', secret);
        assert.deepEqual([status, headers['retry-after']], [503, '1']);
      }
      assert.equal((await read(service, page())).status, 200);
      for (const socket of waiting) socket.destroy();
      assert.ok((await Promise.all(responses)).every(({ status }) => status === 502));
    },
  );

  it('has a message here before the client sees its end, for all instances', async (t) => {
    const dify = await FakeDify.start(t, engine);
    const service = await dify.serveCopied();
    const other = await dify.serve();
    await dify.untilServed(other);
    assert.equal(idsIn((await read(other, page())).text).length, 3);
    // The second path is the same one to Dify.
    for (const [nth, conversation, path] of [
      [101, ids.conversation, '/v1/chat-messages'],
      [102, difyId(103), '/v1/chat%2Dmess%61ges?x'],
    ] as const) {
      const id = difyId(nth);
      dify.upstream.script = async (socket) => {
        socket.write(streamHead + chunked(eventOf('message', id, conversation, { answer: 'a' })));
        if (conversation !== ids.conversation)
          await dify.database.insert('conversations', {
            id: conversation,
            app_id: ids.app,
            from_end_user_id: ids.user,
          });
        await dify.message(id, conversation);
        socket.write(`${chunked(eventOf('message_end', id, conversation))}0\r\n\r\n`);
      };
      const { status, body } = await send(service, 'POST', path, { response_mode: 'streaming' });
      assert.equal(status, 200);
      assert.match(`${body}`, /message_end/);
      dify.upstream.script = (socket) => json(socket, { from: 'Dify' });
      for (const instance of [service, other]) {
        assert.ok(idsIn((await read(instance, page(conversation))).text).includes(id));
        assert.ok(idsIn((await read(instance, `${lists}?user=visitor-1`)).text).includes(conversation));
      }
    }
  });

  itOnOneEngine(
    engine,
    'serves pages with uploaded files, also large ones, since only it can sign their links',
    async (t) => {
      const dify = await FakeDify.start(t, engine);
      const answer = 'x'.repeat(limits.pageBytesMax / 2);
      const [first, second] = [difyId(110), difyId(111)];
      for (const id of [first, second]) await dify.message(id, ids.conversation, { answer });
      const service = await dify.serveCopied();
      dify.upstream.script = (socket) => json(socket, { from: 'Dify' });
      // The second kind is not for the fast lane.
      const readBoth = (path: string) =>
        Promise.all(
          ['keep-alive', 'Keep-Alive'].map((connection) =>
            exchange(service.base, 'GET', path, { headers: { authorization: `Bearer ${tokens.app}`, connection } }),
          ),
        );
      const large = `${page()}&limit=20`;
      for (const { body } of await readBoth(large)) assert.ok(body.length > limits.pageBytesMax);
      assert.equal(dify.upstream.requests.length, 0);
      await dify.database.insert('message_files', {
        ...{ id: difyId(112), message_id: second, type: 'document', transfer_method: 'local_file' },
        ...{ belongs_to: 'user', upload_file_id: ids.upload },
      });
      await service.store.run('addDoubts', [
        { kind: 'message', id: second, scope: ids.app, conversation_id: ids.conversation, at: Date.now() },
      ]);
      // More often than large pages may be open.
      for (let times = 0; times <= limits.largePagesMax; times += 1) {
        for (const { body } of await readBoth(large)) assert.match(`${body}`, /Dify/);
      }
      const { stop } = dify.follow(service);
      await until(async () => (await service.store.doubts.count()) === 0);
      await stop();
      for (let times = 0; times <= limits.largePagesMax; times += 1) {
        for (const path of [large, `${page()}&limit=1`])
          for (const { body } of await readBoth(path)) assert.match(`${body}`, /Dify/, path);
      }
      for (const { body } of await readBoth(`${page()}&limit=1&first_id=${second}`))
        assert.doesNotMatch(`${body}`, /Dify/);
    },
  );

  itOnOneEngine(
    engine,
    'gets renames, deletions, feedback and child chunks first, and they are here with the response',
    async (t) => {
      const dify = await FakeDify.start(t, engine);
      const service = await dify.serveCopied();
      const chunk = difyId(120);
      const [rated] = [difyId(21)];
      const changes: [method: string, path: string, sql: string, body: object][] = [
        ['POST', `/v1/conversations/${ids.conversation}/name`, `UPDATE conversations SET name = 'Renamed'`, {}],
        [
          'POST',
          `/v1/messages/${rated}/feedbacks`,
          `INSERT INTO message_feedbacks (message_id, rating, from_source) VALUES ('${rated}', 'like', 'user')`,
          {},
        ],
        [
          'POST',
          chunks,
          `INSERT INTO child_chunks (id, segment_id, position, content) VALUES ('${chunk}', '${ids.segment}', 2, 'New.')`,
          { data: { id: chunk } },
        ],
        [
          'PATCH',
          `${chunks}/${ids.chunk}`,
          `UPDATE child_chunks SET content = 'Edited.' WHERE id = '${ids.chunk}'`,
          {},
        ],
        ['DELETE', `${chunks}/${chunk}`, `DELETE FROM child_chunks WHERE id = '${chunk}'`, {}],
      ];
      let deleted = false;
      for (const [method, path, sql, body] of changes) {
        dify.upstream.script = async (socket, request) => {
          if (request.head.startsWith('GET')) return json(socket, { from: 'Dify' });
          await dify.database.run(sql);
          if (method === 'DELETE') socket.write('HTTP/1.1 204 No Content\r\n\r\n');
          else json(socket, body);
        };
        const secret = path.includes('datasets') ? tokens.dataset : tokens.app;
        const { status } = await send(service, method, path, { content: 'x', name: 'x' }, secret);
        assert.equal(status, method === 'DELETE' ? 204 : 200, path);
        deleted ||= method === 'DELETE';
        const list = await read(service, chunks, tokens.dataset);
        if (path.endsWith('/name')) assert.match((await read(service, lists)).text, /"name":"Renamed"/);
        if (path.endsWith('/feedbacks')) assert.match((await read(service, page())).text, /"rating":"like"/);
        if (path === chunks) assert.deepEqual(idsIn(list.text), [ids.chunk, chunk]);
        if (method === 'PATCH') assert.match(list.text, /Edited\./);
        if (deleted) assert.deepEqual(idsIn(list.text), [ids.chunk]);
      }
      dify.upstream.script = async (socket, { head }) => {
        if (head.startsWith('GET')) return json(socket, { code: 'not_found' }, '404 Not Found');
        await dify.database.run(`DELETE FROM conversations WHERE id = '${ids.conversation}'`);
        socket.write('HTTP/1.1 204 No Content\r\n\r\n');
      };
      assert.equal((await send(service, 'DELETE', `/v1/conversations/${ids.conversation}`, {})).status, 204);
      assert.equal((await read(service, page())).status, 404);
      assert.equal(dify.upstream.requests.at(-1)?.head.startsWith('GET /base/v1/messages'), true);
    },
  );

  it('leaves in doubt what cannot be read in time, until the follower has stored it', async (t) => {
    const dify = await FakeDify.start(t, engine);
    dify.heldMillisMax = limits.heldMillisMax;
    const quiet = difyId(131);
    await dify.database.insert('conversations', { id: quiet, app_id: ids.app, from_end_user_id: ids.user });
    await dify.message(difyId(132), quiet);
    const service = await dify.serveCopied();
    const other = await dify.serve();
    await dify.untilServed(other);
    const id = difyId(130);
    dify.upstream.script = (socket, { head }) => {
      if (head.startsWith('GET')) return json(socket, { data: [] });
      socket.write(`${streamHead}${chunked(eventOf('message_end', id, ids.conversation))}0\r\n\r\n`);
    };
    // Its row is not there yet, and the doubt cannot be written either: it is in the memory of the process.
    const unblock = await blockDoubts((await dify.settings()).DATABASE_URL);
    const { body } = await send(service, 'POST', '/v1/chat-messages', {});
    assert.match(`${body}`, /message_end/);
    for (const path of [page(), page(ids.conversation.toUpperCase()), lists]) {
      // The second way is not that of the fast lane.
      for (const connection of ['keep-alive', 'Keep-Alive']) {
        const headers = { authorization: `Bearer ${tokens.app}`, connection };
        assert.deepEqual(idsIn(`${(await exchange(service.base, 'GET', path, { headers })).body}`), [], path);
      }
    }
    assert.equal(await service.store.doubts.count(), 0);
    assert.ok(idsIn((await read(service, page(quiet))).text).length > 0);
    await unblock();
    // On a busy machine, after the response.
    await until(async () => (await service.store.doubts.count()) === 1);
    dify.upstream.requests.length = 0;
    for (const instance of [service, other]) {
      for (const path of [page(), lists]) assert.deepEqual(idsIn((await read(instance, path)).text), [], path);
    }
    assert.equal(dify.upstream.requests.length, 4);
    await dify.message(id, ids.conversation);
    dify.follow(service);
    await until(async () => (await service.store.doubts.count()) === 0);
    dify.upstream.requests.length = 0;
    for (const instance of [service, other]) {
      assert.ok(idsIn((await read(instance, page())).text).includes(id));
      assert.equal((await read(instance, lists)).status, 200);
    }
    assert.equal(dify.upstream.requests.length, 0);
  });
});

/** Lets nobody write a doubt until the returned function is called. */
async function blockDoubts(url: string): Promise<() => unknown> {
  if (url.startsWith('sqlite:')) {
    const database = new DatabaseSync(url.slice('sqlite:'.length));
    database.exec('BEGIN IMMEDIATE');
    return () => database.close();
  }
  const client = new pg.Client(url);
  await client.connect();
  await client.query('BEGIN; LOCK TABLE doubts IN EXCLUSIVE MODE');
  return () => client.end();
}

describe('a page that is served in front of a Dify installation', () => {
  it('is read with one statement, as without it', async (t) => {
    const dify = await FakeDify.start(t, 'postgres');
    await dify.serveCopied();
    const proxy = await startProxy((await dify.settings()).DATABASE_URL);
    t.after(proxy.close);
    const service = await dify.serve({}, proxy.url);
    await dify.untilServed(service);
    proxy.traffic.statements.length = 0;
    assert.equal((await read(service, page())).status, 200);
    // Not counted: what the process itself looks at from time to time.
    const ofPages = proxy.traffic.statements
      .map(({ text }) => summarize(text))
      .filter((text) => !text.includes('import'));
    assert.deepEqual(ofPages, ['SELECT conversations messages']);
    assert.equal(dify.upstream.requests.length, 0);
  });
});

describe('two instances with two workers each, in front of a Dify installation', () => {
  itLong('have a message before the client sees its end, whichever of them is read', async (t) => {
    const dify = await FakeDify.start(t, 'postgres');
    const { load } = await dify.serveCopied();
    const admin = `admin-${'a'.repeat(43)}`;
    await load([{ record: 'api_key', kind: 'admin', name: 'a', secret: admin }]);
    const started = { cwd: await newFolder(t), env: await dify.settings() };
    const instances = await Promise.all([1, 2].map(() => serveWithWorkers(t, started)));
    const connections = await Promise.all(instances.map(({ base }) => connectToBothWorkers(base, admin)));
    t.after(() => {
      for (const connection of connections.flat(2)) connection.close();
    });
    const clients = connections.flat().map(([client]) => client ?? assert.fail());
    for (const client of clients) {
      await until(async () => {
        const before = dify.upstream.requests.length;
        const { status } = await client.request('GET', page(), tokens.app);
        return status === 200 && dify.upstream.requests.length === before;
      });
    }
    for (const [nth, sender] of clients.entries()) {
      const [id, conversation] = [difyId(160 + nth), difyId(170 + nth)];
      dify.upstream.script = async (socket, { head }) => {
        // Where a busy machine has left the message in doubt.
        if (head.startsWith('GET')) return json(socket, { data: [{ id }, { id: conversation }] });
        const row = { id: conversation, app_id: ids.app, from_end_user_id: ids.user };
        await dify.database.insert('conversations', row);
        await dify.message(id, conversation);
        socket.write(`${streamHead}${chunked(eventOf('message_end', id, conversation))}0\r\n\r\n`);
      };
      dify.upstream.requests.length = 0;
      const start = performance.now();
      const { text } = await sender.request('POST', '/v1/chat-messages', tokens.app, {});
      assert.match(text, /message_end/);
      const mayBeInDoubt = performance.now() - start > limits.heldMillisMax;
      for (const reader of Array.from({ length: 3 }, () => clients).flat()) {
        assert.ok(idsIn((await reader.request('GET', page(conversation), tokens.app)).text).includes(id));
        assert.ok(idsIn((await reader.request('GET', lists, tokens.app)).text).includes(conversation));
      }
      if (!mayBeInDoubt) assert.equal(dify.upstream.requests.length, 1);
    }
  });
});
