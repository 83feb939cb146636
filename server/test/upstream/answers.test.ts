import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { connect } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { limits } from '../../src/contract/limits.ts';
import { type AnswerIds, holdBackBody, holdBackEnd } from '../../src/http/upstream/hold-back.ts';
import { callRaw, resultOf } from '../mcp/clients.ts';
import { newFolder, serve } from '../support/cli-helpers.ts';
import { difyId, ids, tokens } from '../support/dify-database.ts';
import { newMigratedUrl, onOneEngine, pluck, queryOnce, type Service, shortOrLong } from '../support/harness.ts';
import { itLong } from '../support/long.ts';
import { until } from '../support/until.ts';
import { chunked, eventOf, FakeDify, idsIn, json, page, read, readSample, send, streamHead } from './fake-dify.ts';
import { exchange, headersOf } from './scripted-upstream.ts';

/** The body of a sample: the bytes of a real answer. */
function bodyOf(name: string): Buffer {
  const sample = readSample(name);
  return sample.subarray(sample.indexOf('\r\n\r\n') + 4);
}

async function* inPieces(bytes: Buffer, cuts: readonly number[]): AsyncGenerator<Buffer> {
  let start = 0;
  for (const end of [...cuts.toSorted((one, other) => one - other), bytes.length]) {
    if (end > start) yield bytes.subarray(start, end);
    start = Math.max(start, end);
  }
}

describe('the end of an answer', () => {
  const cases = [
    ['chat-streaming.http', 'message_end', '632db958-fda7-4bb1-8f51-0d935f919c68'],
    ['chat-stopped-streaming.http', 'message_end', '4a57af9c-57d4-42f1-b15f-923cea5acd1e'],
    ['chat-error-streaming.http', '"error"', '819a4f35-2267-4753-9973-01359ea54582'],
    ['completion-streaming.http', 'message_end', '0165bd43-cf29-403c-ad05-9e0e4688eb84'],
  ] as const;
  for (const [name, mark, message_id] of cases) {
    it(`is held back until the message is stored, in whatever pieces it arrives: ${name}`, async () => {
      const bytes = bodyOf(name);
      const cut = fc.array(fc.nat(bytes.length), { maxLength: 12 });
      const check = async (cuts: number[]) => {
        const sent: Buffer[] = [];
        const recorded: AnswerIds[] = [];
        const record = async (found: AnswerIds) => {
          recorded.push({ ...found });
          assert.ok(!Buffer.concat(sent).includes(mark));
        };
        for await (const piece of holdBackEnd(inPieces(bytes, cuts), record)) sent.push(piece);
        assert.ok(Buffer.concat(sent).equals(bytes));
        assert.deepEqual(pluck(recorded, 'message_id'), [message_id]);
      };
      await fc.assert(fc.asyncProperty(cut, check), { numRuns: shortOrLong(15, 1_000) });
    });
  }

  it('is the first one, also between empty lines: what follows is forwarded as it arrives', async () => {
    const [first, second] = [difyId(1), difyId(2)].map((id) => eventOf('message_end', id, difyId(3)));
    const pieces = ['\n\r\n\n', `x\n\n${first}`, `${second}data: `, 'begun\n', '\n\n'].map((text) => Buffer.from(text));
    const recorded: unknown[] = [];
    const sent: Buffer[] = [];
    const taken: number[] = [];
    const source = async function* () {
      for (const piece of pieces) {
        taken.push(Buffer.concat(sent).length);
        yield piece;
      }
    };
    for await (const piece of holdBackEnd(source(), async ({ message_id }) => void recorded.push(message_id)))
      sent.push(piece);
    assert.ok(Buffer.concat(sent).equals(Buffer.concat(pieces)));
    assert.deepEqual(recorded, [difyId(1)]);
    const before = pieces.map((_, at) => Buffer.concat(pieces.slice(0, at)).length);
    assert.deepEqual(taken, before, 'each piece is forwarded before the next one is read');
  });

  it('is that of the stream, or of the body, if nothing says so', async () => {
    const record = async ({ message_id }: AnswerIds) => void recorded.push(message_id);
    const recorded: unknown[] = [];
    const begun = Buffer.from(eventOf('message', difyId(1), difyId(2)));
    for await (const piece of holdBackEnd(inPieces(begun, []), record)) assert.ok(piece.equals(begun));
    const broken = holdBackEnd(
      (async function* () {
        yield begun;
        throw new Error('broken off');
      })(),
      record,
    );
    await assert.rejects(async () => {
      for await (const _ of broken);
    }, /broken off/);
    assert.deepEqual(recorded, [difyId(1), difyId(1)]);
    const body = bodyOf('chat-blocking.http');
    const sent: Buffer[] = [];
    let isRecorded = false;
    const recordBody = async ({ message_id }: Record<string, unknown>) => {
      assert.equal(message_id, 'fa03724a-2c0f-43ef-b0d7-e7b5ec31df6d');
      assert.ok(Buffer.concat(sent).length < body.length);
      isRecorded = true;
    };
    for await (const piece of holdBackBody(inPieces(body, [100, 500]), recordBody)) sent.push(piece);
    assert.ok(isRecorded && Buffer.concat(sent).equals(body));
  });
});

/** Begins an answer that waits until `finish`. */
function beginAnswer(dify: FakeDify, id: string): { finish: () => Promise<void> } {
  const begun = Promise.withResolvers<(text: string) => void>();
  dify.upstream.script = (socket, { head }) => {
    if (head.startsWith('GET')) return json(socket, { from: 'Dify' });
    socket.write(streamHead + chunked(eventOf('message', id, ids.conversation, { answer: 'a' })));
    begun.resolve((text) => socket.write(text));
  };
  return {
    finish: async () => {
      const write = await begun.promise;
      await dify.message(id, ids.conversation);
      write(`${chunked(eventOf('message_end', id, ids.conversation))}0\r\n\r\n`);
    },
  };
}

/** Reads the first bytes of an answer, and disconnects. */
async function leave(base: string): Promise<void> {
  const request = http.request(`${base}/v1/chat-messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tokens.app}`, 'content-type': 'application/json' },
    agent: false,
  });
  request.on('error', () => undefined).end('{}');
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  response.on('error', () => undefined);
  await once(response, 'data');
  request.destroy();
}

const untilHere = (service: Pick<Service, 'base'>, id: string) =>
  until(async () => {
    const { status, text } = await read(service, page());
    return status === 200 && text.includes(id);
  });

onOneEngine('an answer', (engine) => {
  it('is stored although its client has left', async (t) => {
    const dify = await FakeDify.start(t, engine);
    const service = await dify.serveCopied();
    const answer = beginAnswer(dify, difyId(140));
    await leave(service.base);
    await answer.finish();
    await untilHere(service, difyId(140));
  });

  it('is stored although its client does not read; that client is cut off, as for any other response', async (t) => {
    const dify = await FakeDify.start(t, engine);
    const service = await dify.serveCopied();
    const { upstreamIdleMillisMax } = limits;
    Object.assign(limits, { upstreamIdleMillisMax: 1_000 });
    t.after(() => Object.assign(limits, { upstreamIdleMillisMax }));
    const id = difyId(149);
    await dify.message(id, ids.conversation);
    const large = eventOf('message', id, ids.conversation, { answer: 'a'.repeat(33_554_432) });
    const end = `${chunked(eventOf('message_end', id, ids.conversation))}0\r\n\r\n`;
    dify.upstream.script = (socket) => void socket.write(streamHead + chunked(large) + end);
    for (const start of ['GET /v1/unknown', 'POST /v1/chat-messages']) {
      const client = connect(Number(new URL(service.base).port), '127.0.0.1');
      t.after(() => client.destroy());
      client.pause().on('error', () => undefined);
      const lines = service.logs.length;
      client.write(`${start} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${tokens.app}\r\nContent-Length: 0\r\n\r\n`);
      await until(() => service.logs.slice(lines).some((line) => line.includes('"aborted":true')));
      await until(() => dify.upstream.connections === 0);
    }
    await untilHere(service, id);
  });

  it('is forwarded without an encoding, and its message is found by its conversation', async (t) => {
    const dify = await FakeDify.start(t, engine);
    const service = await dify.serveCopied();
    const id = difyId(141);
    await dify.message(id, ids.conversation, { answer: '' });
    dify.upstream.script = (socket) => json(socket, { event: 'message', message_id: id, answer: '' });
    const { status } = await send(service, 'POST', '/v1/completion-messages', { response_mode: 'blocking' });
    assert.equal(status, 200);
    const [request] = dify.upstream.requests;
    assert.ok(request);
    assert.equal(headersOf(request)['accept-encoding'], undefined);
    // It looks unfinished, and is finished all the same.
    assert.ok(idsIn((await read(service, page())).text).includes(id));
    assert.equal(dify.upstream.requests.length, 1);
  });

  it('that failed is in doubt at once: its conversation is read from Dify, until the follower has it', async (t) => {
    const dify = await FakeDify.start(t, engine);
    const service = await dify.serveCopied();
    let code = 'invalid_param';
    dify.upstream.script = (socket, { head }) => {
      if (head.startsWith('GET')) return json(socket, { data: [] });
      json(socket, { status: 400, code, message: 'failed' }, '400 BAD REQUEST');
    };
    const post = (body: object) => send(service, 'POST', '/v1/chat-messages', { query: 'q', ...body });
    const isFromDify = async (path: string) => {
      const before = dify.upstream.requests.length;
      await read(service, path);
      return dify.upstream.requests.length > before;
    };
    const conversation_id = ids.conversation.toUpperCase();
    assert.equal((await post({ conversation_id })).status, 400);
    assert.equal(await isFromDify(page()), false, 'no message exists');
    code = 'completion_request_error';
    await dify.message(difyId(143), ids.conversation, { status: 'error', error: 'failed', answer: '' });
    assert.equal((await post({ conversation_id })).status, 400);
    assert.equal(await isFromDify(page()), true);
    const { stop } = dify.follow(service);
    await untilHere(service, difyId(143));
    await until(async () => (await service.store.doubts.count()) === 0);
    await stop();
    assert.equal(await isFromDify(page()), false);
    assert.equal((await post({})).status, 400);
    const user = `user=${ids.user}`;
    assert.equal(await isFromDify(`/v1/conversations?${user}`), true, 'a new conversation');
    assert.equal(await isFromDify(page()), false);
  });

  it('waits a second if the database of Dify is down, which the client does not notice otherwise', async (t) => {
    const dify = await FakeDify.start(t, engine);
    dify.heldMillisMax = limits.heldMillisMax;
    const service = await dify.serveCopied();
    const id = difyId(142);
    await dify.message(id, ids.conversation);
    const name = new URL(dify.database.url).pathname.slice(1);
    const allowConnections = (isAllowed: boolean) =>
      queryOnce(
        dify.database.url.replace(/[^/]*$/, 'postgres'),
        `ALTER DATABASE ${name} ALLOW_CONNECTIONS ${isAllowed}`,
      );
    await allowConnections(false);
    await dify.database.run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`);
    dify.upstream.script = (socket, { head }) => {
      if (head.startsWith('GET')) return json(socket, { data: [{ id: 'from Dify' }] });
      socket.write(`${streamHead}${chunked(eventOf('message_end', id, ids.conversation))}0\r\n\r\n`);
    };
    assert.match(`${(await send(service, 'POST', '/v1/chat-messages', {})).body}`, /message_end/);
    assert.deepEqual(idsIn((await read(service, page())).text), ['from Dify']);
    await allowConnections(true);
    dify.follow(service);
    await untilHere(service, id);
  });
});

onOneEngine('what a Dify installation owns', (engine) => {
  it('is edited there, and not here', async (t) => {
    const dify = await FakeDify.start(t, engine);
    const service = await dify.serveCopied();
    const withKey = await dify.serve({ DIFY_DATASET_KEY: tokens.dataset });
    await dify.untilServed(withKey);
    const secrets = { admin: `admin-${'a'.repeat(43)}`, writer: `writer-${'w'.repeat(43)}` };
    await service.load([
      { record: 'api_key', kind: 'admin', name: 'a', secret: secrets.admin },
      {
        record: 'api_key',
        kind: 'writer',
        name: 'w',
        secret: secrets.writer,
        workspace_id: ids.workspace,
        app_id: ids.app,
      },
    ]);
    const path = `/datasets/${ids.dataset}/documents/${ids.document}/segments/${ids.segment}/child_chunks/${ids.chunk}`;
    const edit = { key: secrets.admin, body: { content: 'Edited.' } };
    const rejected = await service.request('PATCH', `/admin${path}`, edit);
    assert.equal(rejected.status, 403);
    assert.match(rejected.body.message, /Dify owns this text/);
    dify.upstream.script = async (socket, { head, body }) => {
      assert.match(head, new RegExp(`^PATCH /base/v1${path} [\\s\\S]*Bearer ${tokens.dataset}`, 'i'));
      await dify.database.run(
        `UPDATE child_chunks SET content = '${JSON.parse(`${body}`).content}' WHERE id = '${ids.chunk}'`,
      );
      json(socket, {});
    };
    const edited = await withKey.request('PATCH', `/admin${path}`, edit);
    assert.deepEqual([edited.status, edited.body.data.content], [200, 'Edited.']);
    // The same for an agent, whose version is compared first.
    const [, , dataset_id, , document_id, , segment_id, , child_chunk_id] = path.split('/');
    const chunk = { dataset_id, document_id, segment_id, child_chunk_id };
    const callTool = async (instance: Service, name: string, given: object) =>
      resultOf((await callRaw(instance, secrets.admin, name, { ...chunk, ...given })).body.result);
    const { version } = await callTool(withKey, 'get_chunk', {});
    const update = { content: 'By an agent.', version };
    assert.equal((await callTool(service, 'update_chunk', update)).status, 403);
    assert.equal((await callTool(withKey, 'update_chunk', { ...update, version: 'older' })).status, 412);
    assert.equal((await callTool(withKey, 'update_chunk', update)).data.content, 'By an agent.');
    assert.equal(dify.upstream.requests.length, 2);
    assert.match((await read(service, `/v1${path}`, tokens.dataset)).text, /By an agent\./);
    const records = await service
      .as(secrets.writer)
      .post('/admin/records', '{}\n', { 'content-type': 'application/x-ndjson' });
    assert.equal(records.status, 403);
    // Such keys never leave this server.
    for (const secret of Object.values(secrets)) {
      const { status } = await send(service, 'POST', '/v1/chat-messages', {}, secret);
      assert.equal(status, 401);
    }
    const { text } = await withKey.as(secrets.admin).get('/metrics');
    assert.match(text, /backscroll_upstream_requests_total\{outcome="passed_on"\}/);
    assert.match(text, /backscroll_doubts 0/);
    dify.upstream.script = (socket) => json(socket, {}, '404 Not Found');
    assert.equal((await read(withKey, page(difyId(99)))).status, 404);
    const { body: traffic } = await withKey.as(secrets.admin).get('/admin/traffic');
    const { served, response_millis, last_success_at, ...counted } = traffic.upstream;
    assert.ok(Math.abs(last_success_at - Date.now() / 1000) < 600);
    for (const figure of [served, response_millis]) assert.ok(figure > 0);
    const none = { messages_lag_seconds: null, others_lag_seconds: null, last_error_at: null, last_error: null };
    assert.deepEqual(counted, { passed_on: 1, in_doubt: 0, errors: 0, server_errors: 0, doubts: 0, ...none });
    dify.upstream.script = (socket) => json(socket, {}, '500 Internal Server Error');
    assert.equal((await read(withKey, page(difyId(99)))).status, 500);
    const { body: later } = await withKey.as(secrets.admin).get('/admin/traffic');
    assert.deepEqual([later.upstream.passed_on, later.upstream.errors, later.upstream.server_errors], [2, 0, 1]);
    assert.ok(later.upstream.last_error_at >= last_success_at && later.upstream.last_error !== '');
    assert.equal(later.upstream.last_success_at, last_success_at);
  });

  it('is served here while its API is down, also what is partly constant', async (t) => {
    const dify = await FakeDify.start(t, engine);
    const service = await dify.serveCopied({ UPSTREAM_URL: 'http://127.0.0.1:9/v1' });
    assert.equal((await read(service, page())).status, 200);
    const info = await read(service, '/v1/info');
    assert.equal(JSON.parse(info.text).name, 'Help desk');
    assert.equal((await read(service, page(difyId(99)))).status, 502);
    const state = async () => (await service.request('GET', '/health/ready')).body.upstream;
    assert.equal(await state(), 'unavailable');
    // It may be up again, and nobody has asked it.
    const now = performance.now.bind(performance);
    t.mock.method(performance, 'now', () => now() + limits.upstreamStateMillis);
    assert.equal(await state(), 'unknown');
    t.mock.restoreAll();
  });
});

describe('a service that follows a Dify installation', () => {
  const start = async (t: TestContext, dify: FakeDify) => {
    const database = await newMigratedUrl('sqlite');
    t.after(() => database.remove());
    const env = { DATABASE_URL: database.url, UPSTREAM_URL: dify.upstream.url, DIFY_DATABASE_URL: dify.database.url };
    const cwd = await newFolder(t);
    return () => serve(t, { cwd, env });
  };

  // A killed process holds its lease until it ends.
  itLong('loses no message when it is killed in the middle of an answer, and one process follows', async (t) => {
    const dify = await FakeDify.start(t, 'sqlite');
    const startService = await start(t, dify);
    const first = await startService();
    await dify.untilServed(first);
    const answer = beginAnswer(dify, difyId(150));
    const left = exchange(first.base, 'POST', '/v1/chat-messages', {
      headers: { authorization: `Bearer ${tokens.app}` },
      body: Buffer.from('{}'),
    }).catch(() => undefined);
    await until(() => dify.upstream.requests.some(({ head }) => head.startsWith('POST')));
    const second = await startService();
    await until(() => second.output().includes('another process follows the Dify installation'));
    await first.end('SIGKILL');
    await left;
    await answer.finish().catch(() => undefined);
    await untilHere(second, difyId(150));
    assert.doesNotMatch(first.output() + second.output(), /postgres:\/\/|app-Ab3/);
  });
});
