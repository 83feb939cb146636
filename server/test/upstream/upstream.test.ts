import assert from 'node:assert/strict';
import dns from 'node:dns';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, afterEach, before, describe, it } from 'node:test';
import { setImmediate as nextTick } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { makeTwoTenants, message, type Service, shortOrLong, startService, useService } from '../support/harness.ts';
import { until } from '../support/until.ts';
import { exchange, headersOf, type Script, ScriptedUpstream } from './scripted-upstream.ts';

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
const respond =
  (text: string): Script =>
  (socket) =>
    void socket.write(text);

describe('an upstream', () => {
  const { one, admin, records } = makeTwoTenants();
  const readOnly = {
    record: 'api_key',
    kind: 'app',
    workspace_id: one.ids.workspace,
    app_id: one.ids.app,
    read_only: true,
  };
  const readOnlySecret = `app-${'r'.repeat(43)}`;
  const upstream = new ScriptedUpstream();
  let service: Service;
  const send = (method: string, path: string, options: Parameters<typeof exchange>[3] = {}) =>
    exchange(service.base, method, path, { ...options, headers: { ...bearer(one.keys.app), ...options.headers } });

  before(async () => {
    await upstream.listen();
    service = await startService('sqlite', { UPSTREAM_URL: upstream.url });
    await service.load([
      ...records,
      { ...readOnly, name: 'read-only', secret: readOnlySecret },
      message(one.ids.conversation, 1),
    ]);
  });
  afterEach(() => {
    upstream.requests.length = 0;
    upstream.script = respond('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
  });
  after(async () => {
    await service.close();
    await upstream.close();
  });

  it('gets requests without a route, also for other methods of a path that exists here', async () => {
    const cases = [
      ['POST', '/v1/chat-messages'],
      ['GET', '/v1/messages/x/suggested'],
      ['PUT', '/v1/messages?a=%20b&a=2'],
      ['DELETE', '/v1/files/upload'],
      ['OPTIONS', '/v1/anything'],
      ['GET', '/v1/a%/%zz?b=%'],
      ['GET', '/v1/'],
      ['TRACE', '/v1/x'],
      ['PROPFIND', '/v1/messages'],
      ['QUERY', '/v1/x'],
    ] as const;
    for (const [method, path] of cases) {
      const { status, body, headers } = await send(method, path);
      assert.deepEqual([status, `${body}`, headers.via], [200, 'ok', '1.1 backscroll'], path);
      const [request] = upstream.requests.splice(0);
      assert.equal(request?.head.split('\r\n', 1)[0], `${method} ${path.replace('/v1', '/base/v1')} HTTP/1.1`);
    }
  });

  it('gets a body of any content type', async () => {
    for (const type of ['application/json', 'application/x-ndjson', 'multipart/form-data; boundary=b', 'text/plain']) {
      const body = Buffer.from('{"query":"How?"}');
      const { status } = await send('POST', '/v1/chat-messages', { headers: { 'content-type': type }, body });
      assert.equal(status, 200, type);
      const [request] = upstream.requests.splice(0);
      assert.equal(`${request?.body}`, `${body}`, type);
      assert.equal(headersOf(request as never)['content-type'], type);
    }
  });

  it('never gets what is served here, what needs another key, or what is outside /v1', async () => {
    const page = `/v1/messages?conversation_id=${one.ids.conversation}`;
    assert.equal((await send('GET', page)).status, 200);
    assert.equal((await send('GET', '/admin/nothing')).status, 404);
    assert.equal((await send('GET', '/nothing')).status, 404);
    assert.equal((await send('GET', '/v1')).status, 404);
    const post = (secret: string) =>
      send('POST', '/v1/chat-messages', { headers: bearer(secret), body: Buffer.from('{}') });
    for (const secret of [admin, one.keys.writer, one.keys.feed, 'app-unknown']) {
      assert.equal((await post(secret)).status, 401);
    }
    assert.equal((await exchange(service.base, 'POST', '/v1/chat-messages')).status, 401);
    assert.equal((await post(readOnlySecret)).status, 403);
    assert.equal(upstream.requests.length, 0);
    assert.equal((await send('GET', '/v1/other', { headers: bearer(readOnlySecret) })).status, 200);
    assert.equal((await post(one.keys.knowledge)).status, 200);
  });

  it('rejects paths that could lead out of the base path, in any spelling', async () => {
    const paths = [
      // Rejected because it is encoded too often: the next one must not be allowed for that.
      `${'x'.repeat(40)}%25252525252e`,
      '%2e%2e',
      '..',
      '.%2E',
      '%252e%252e',
      '%25252e.',
      '..%2fx',
      'a%5c..%5cb',
      '..;a=b',
      '%2e',
      'a%00',
      'a%23b',
    ];
    for (const path of paths) {
      for (const url of [`/v1/x/${path}`, `/v1/x/${path}/admin`]) {
        const { status, body } = await send('GET', url);
        assert.equal(status, 400, url);
        assert.equal(JSON.parse(`${body}`).code, 'bad_request');
      }
    }
    // To the router, this is below /v1.
    for (const url of ['/%761/echo', '/v%31/echo', '/%76%31/']) assert.equal((await send('GET', url)).status, 404, url);
    assert.equal(upstream.requests.length, 0);
    assert.equal((await send('GET', '/v1/x/..a/...?q=../..')).status, 200);
  });

  it('is told who the caller is, and no client can pretend to be another one', async () => {
    const forged = {
      'x-backscroll-app-id': 'forged',
      X_Backscroll_Workspace_Id: 'forged',
      'X-Backscroll_Key-Id': 'forged',
      'x-backscroll-anything': 'forged',
      cookie: 'a=1; backscroll_session=secret; b=2',
      connection: 'x-private, close',
      'x-private': 'hop',
      te: 'trailers',
      'x-forwarded-for': '10.0.0.1',
      'x-request-id': 'request-1',
    };
    const { headers } = await send('POST', '/v1/x', { headers: forged, body: Buffer.from('body') });
    assert.equal(headers['x-request-id'], 'request-1');
    const [request] = upstream.requests;
    assert.ok(request);
    assert.doesNotMatch(request.head, /forged|backscroll_session|hop|trailers/);
    const received = headersOf(request);
    assert.equal(received['x-backscroll-app-id'], one.ids.app);
    assert.equal(received['x-backscroll-workspace-id'], one.ids.workspace);
    assert.equal(received['x-backscroll-key-id'], one.keyIds.app);
    assert.equal(received.cookie, 'a=1; b=2');
    assert.equal(received['x-forwarded-for'], '10.0.0.1, 127.0.0.1');
    assert.equal(received['x-forwarded-proto'], 'http');
    assert.equal(received['x-forwarded-host'], `127.0.0.1:${service.port}`);
    assert.equal(received.host, new URL(upstream.url).host);
    assert.equal(received.authorization, `Bearer ${one.keys.app}`);
    assert.equal(received.via, '1.1 backscroll');
    assert.equal(`${request.body}`, 'body');
    await send('GET', '/v1/x', { headers: bearer(one.keys.knowledge) });
    assert.equal(headersOf(upstream.requests[1] as never)['x-backscroll-app-id'], undefined);
  });

  it('gets the trace context of the client', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    await send('GET', '/v1/traced', { headers: { traceparent, tracestate: 'vendor=1' } });
    const [request = assert.fail()] = upstream.requests;
    const headers = headersOf(request);
    assert.deepEqual([headers.traceparent, headers.tracestate], [traceparent, 'vendor=1']);
    await until(() => service.logs.some((line) => line.includes('"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"')));
  });

  it('returns headers with the same bytes, also beyond ASCII', async () => {
    const name = `"Gr${Buffer.from('öße').toString('latin1')}\xe9.pdf"`;
    for (const framing of ['Content-Length: 2\r\n\r\nok', 'Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n']) {
      const head = `HTTP/1.1 200 OK\r\nContent-Disposition: attachment; filename=${name}\r\n`;
      upstream.script = (socket) => void socket.write(head + framing, 'latin1');
      const socket = connect(service.port, '127.0.0.1');
      let received = '';
      socket.on('data', (bytes) => (received += bytes.toString('latin1')));
      socket.write(`GET /v1/files/x/preview HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${one.keys.app}\r\n`);
      socket.write('Connection: close\r\n\r\n');
      await once(socket, 'close');
      assert.ok(received.startsWith('HTTP/1.1 200 OK\r\n') && received.includes('ok'), received);
      assert.ok(received.includes(`filename=${name}\r\n`), received);
    }
  });

  it('returns the same bytes, whatever the framing', async () => {
    const zipped = gzipSync('text '.repeat(1_000));
    const cases: [name: string, bytes: (string | Buffer)[], status: number, body: Buffer][] = [
      ['a length', ['HTTP/1.1 201 Made\r\nContent-Length: 3\r\n\r\na\0b'], 201, Buffer.from('a\0b')],
      [
        'chunks',
        ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nX-T: 1\r\n\r\n'],
        200,
        Buffer.from('abcde'),
      ],
      [
        'gzip',
        [`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${zipped.length}\r\n\r\n`, zipped],
        200,
        zipped,
      ],
      ['until the end', ['HTTP/1.0 200 OK\r\n\r\nuntil'], 200, Buffer.from('until')],
      ['an error', ['HTTP/1.1 422 Bad\r\nContent-Length: 2\r\n\r\n{}'], 422, Buffer.from('{}')],
      [
        '1xx before',
        ['HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx'],
        200,
        Buffer.from('x'),
      ],
      [
        'a redirect',
        ['HTTP/1.1 302 Found\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n'],
        302,
        Buffer.alloc(0),
      ],
      ['no content', ['HTTP/1.1 204 No Content\r\n\r\n'], 204, Buffer.alloc(0)],
    ];
    for (const [name, parts, status, body] of cases) {
      upstream.script = async (socket) => {
        for (const part of parts) {
          socket.write(part);
          await nextTick();
        }
        if (name === 'until the end') socket.end();
      };
      const received = await send('GET', '/v1/x');
      assert.deepEqual([received.status, received.isComplete], [status, true], name);
      assert.ok(received.body.equals(body), name);
      if (name === 'gzip') assert.equal(received.headers['content-encoding'], 'gzip');
      if (name === 'a redirect') assert.equal(received.headers.location, 'http://elsewhere/');
    }
  });

  it('keeps repeated headers, and those of CORS', async () => {
    upstream.script = respond(
      'HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nAccess-Control-Allow-Origin: *\r\nConnection: x-hop\r\nX-Hop: 1\r\nVia: 1.1 other\r\nContent-Length: 0\r\n\r\n',
    );
    const { headers } = await send('GET', '/v1/x');
    assert.deepEqual(headers['set-cookie'], ['a=1', 'b=2']);
    assert.equal(headers['access-control-allow-origin'], '*');
    assert.equal(headers['x-hop'], undefined);
    assert.equal(headers.via, '1.1 other, 1.1 backscroll');
  });

  it('gets bodies and returns them unchanged: bytes in are bytes out', async () => {
    const echo: Script = (socket, { body }) => {
      socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n`);
      for (let at = 0; at < body.length; at += 7_000) {
        const part = body.subarray(at, at + 7_000);
        socket.write(`${part.length.toString(16)}\r\n`);
        socket.write(part);
        socket.write('\r\n');
      }
      socket.write('0\r\n\r\n');
    };
    upstream.script = echo;
    const parts = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40_000 }), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(parts, fc.boolean(), async (arrays, isChunked) => {
        const chunks = arrays.map((array) => Buffer.from(array));
        const whole = Buffer.concat(chunks);
        const body = isChunked
          ? (async function* () {
              yield* chunks;
            })()
          : whole;
        const received = await send('POST', '/v1/x', { body, headers: { 'content-type': 'application/octet-stream' } });
        assert.ok(received.body.equals(whole));
      }),
      { numRuns: shortOrLong(8, 300) },
    );
  });

  it('sends each part of a stream at once', async () => {
    let continued = () => {};
    upstream.script = async (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n');
      socket.write('8\r\ndata: 1\n\r\n');
      await new Promise<void>((resolve) => (continued = resolve));
      socket.write('8\r\ndata: 2\n\r\n0\r\n\r\n');
    };
    const response = await fetch(`${service.base}/v1/x`, { headers: bearer(one.keys.app) });
    const reader = response.body?.getReader();
    assert.equal(Buffer.from((await reader?.read())?.value ?? []).toString(), 'data: 1\n');
    continued();
    assert.equal(Buffer.from((await reader?.read())?.value ?? []).toString(), 'data: 2\n');
    assert.equal((await reader?.read())?.done, true);
  });

  it('that breaks off is 502 before the response, and an aborted response after', async () => {
    const whole = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello';
    const headEnd = whole.indexOf('\r\n\r\n') + 4;
    for (let length = 0; length < whole.length; length += 1) {
      upstream.script = (socket) => void socket.end(whole.slice(0, length));
      const received = await send('POST', '/v1/x', { body: Buffer.from('x') }).catch(() => undefined);
      if (length < headEnd) assert.deepEqual([received?.status, received?.isComplete], [502, true], `${length}`);
      else assert.equal(received?.isComplete ?? false, false, `${length}`);
    }
    for (const wrong of [
      'not http\r\n\r\n',
      'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    ]) {
      upstream.script = respond(wrong);
      const { status, body } = await send('POST', '/v1/x');
      assert.deepEqual([status, JSON.parse(`${body}`).code], [502, 'bad_gateway']);
    }
    upstream.script = respond('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n');
    assert.equal((await send('GET', '/v1/x')).status, 502);
  });

  it('gets each request once, on a connection of its own, also if it closes connections', async () => {
    upstream.script = (socket, { head }) => {
      if (head.includes('/close')) socket.destroy();
      else socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    };
    for (const method of ['GET', 'POST']) {
      assert.equal((await send(method, '/v1/x')).status, 200);
      assert.equal((await send(method, '/v1/close')).status, 502);
      assert.equal((await send(method, '/v1/x')).status, 200);
    }
    assert.equal(upstream.requests.length, 6);
    for (const request of upstream.requests) assert.equal(headersOf(request).connection, 'close');
    await until(() => service.logs.some((line) => line.includes('upstream is not available: socket hang up')));
  });

  it('is no longer asked when the client disconnects', async () => {
    let isClosed = false;
    upstream.script = (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n');
      socket.once('close', () => (isClosed = true));
    };
    const socket = connect(service.port, '127.0.0.1');
    socket.write(`GET /v1/x HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${one.keys.app}\r\n\r\n`);
    await once(socket, 'data');
    socket.destroy();
    await until(() => isClosed);
  });

  it('rejects what is too large, a loop, and an ambiguous length', async () => {
    const size = { 'content-length': String(104_857_601) };
    const large = await send('POST', '/v1/x', { headers: size, body: Buffer.from('x') });
    assert.equal(large.status, 413);
    async function* endless() {
      const chunk = Buffer.alloc(1 << 20);
      for (let count = 0; count < 102; count += 1) yield chunk;
    }
    upstream.isSilent = true;
    const chunked = await send('POST', '/v1/x', { body: endless() });
    upstream.isSilent = false;
    assert.deepEqual([chunked.status, chunked.isComplete], [413, true]);
    assert.equal(JSON.parse(`${chunked.body}`).code, 'payload_too_large');
    const loop = await send('GET', '/v1/x', { headers: { via: '1.1 proxy, 1.1 backscroll' } });
    assert.deepEqual([loop.status, /UPSTREAM_URL/.test(`${loop.body}`)], [502, true]);
    upstream.requests.length = 0;
    for (const framing of [
      'Content-Length: 3\r\nTransfer-Encoding: chunked',
      'Content-Length: 3\r\nContent-Length: 4',
      'X: a\r\n b\r\nTransfer-Encoding: chunked, identity',
    ]) {
      const socket = connect(service.port, '127.0.0.1');
      const head = `POST /v1/x HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${one.keys.app}\r\n${framing}\r\n\r\n`;
      socket.write(`${head}0\r\n\r\nGET /v1/smuggled HTTP/1.1\r\nHost: a\r\n\r\n`);
      const [data] = await once(socket, 'data');
      assert.match(`${data}`, /^HTTP\/1.1 (400|501)/);
      socket.destroy();
    }
    assert.deepEqual(upstream.requests, []);
  });

  it('is 502 while it is down; what is stored here is still served', async (t) => {
    const down = await startService('sqlite', { UPSTREAM_URL: 'http://127.0.0.1:9/v1' });
    t.after(() => down.close());
    await down.load([...records, message(one.ids.conversation, 1)]);
    const page = `/v1/messages?conversation_id=${one.ids.conversation}`;
    assert.equal((await down.as(one.keys.app).get(page)).status, 200);
    const headers = bearer(one.keys.app);
    const { status, body } = await exchange(down.base, 'POST', '/v1/chat-messages', { headers });
    assert.deepEqual([status, JSON.parse(`${body}`).code], [502, 'bad_gateway']);
  });

  it('is down at all of its addresses: the log names the cause, of which Node.js has no message', async (t) => {
    t.mock.method(dns, 'lookup', (...given: unknown[]) => {
      const done = given.at(-1) as (error: null, found: object[]) => void;
      done(null, [
        { address: '127.0.0.1', family: 4 },
        { address: '127.0.0.2', family: 4 },
      ]);
    });
    const down = await startService('sqlite', { UPSTREAM_URL: 'http://upstream.test:9/v1' });
    try {
      await down.load(records);
      const { status } = await exchange(down.base, 'GET', '/v1/x', { headers: bearer(one.keys.app) });
      assert.equal(status, 502);
      await until(() => down.logs.some((line) => line.includes('upstream is not available: ECONNREFUSED')));
    } finally {
      await down.close();
    }
  });

  it('leaves no body, key or query in the log', async () => {
    await send('POST', '/v1/x?secret-query=1', { body: Buffer.from('secret-body') });
    await until(() => service.logs.some((line) => line.includes('"route":"/v1/*"')));
    assert.doesNotMatch(service.logs.join(''), new RegExp(`secret-query|secret-body|${one.keys.app}`));
  });
});

describe('without an upstream', () => {
  const { one, records } = makeTwoTenants();
  const service = useService('sqlite', records);

  it('a message that is sent gets 501, or a stream with one error event', async () => {
    const post = (body: object) => service.as(one.keys.app).post('/v1/chat-messages', body);
    const blocking = await post({ query: 'hello', user: 'ann' });
    assert.deepEqual([blocking.status, blocking.body.code], [501, 'not_implemented']);
    assert.match(blocking.body.message, /UPSTREAM_URL/);
    const streaming = await post({ query: 'hello', user: 'ann', response_mode: 'streaming' });
    assert.equal(streaming.status, 200);
    assert.match(streaming.headers['content-type'] ?? '', /^text\/event-stream/);
    const [, json] = /^data: (.*)\n\n$/.exec(streaming.text) ?? [];
    const event = JSON.parse(json ?? '');
    assert.deepEqual([event.event, event.status, event.code], ['error', 501, 'not_implemented']);
    assert.deepEqual([event.message, event.answer], [blocking.body.message, blocking.body.message]);
    const { body: _, ...noKey } = await service.request('POST', '/v1/chat-messages', { body: {} });
    assert.equal(noKey.status, 401);
    assert.equal((await service.as(one.keys.app).post('/v1/other', {})).status, 404);
  });
});
