import assert from 'node:assert/strict';
import { once } from 'node:events';
import { METHODS } from 'node:http';
import net from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setImmediate as nextTick } from 'node:timers/promises';
import {
  makeTwoTenants,
  message,
  newDatabaseUrl,
  onEveryEngine,
  onOneEngine,
  pluck,
  type Service,
  startService,
  useService,
} from '../support/harness.ts';
import { until } from '../support/until.ts';

type RawResponse = { status: number; headers: Record<string, string>; body: string };

// CONNECT and QUERY have their own tests.
const plainMethods = METHODS.filter((method) => !['HEAD', 'CONNECT', 'QUERY'].includes(method));
const crlf = '\r\n';
const chunkRoute = '/v1/datasets/:d/documents/:o/segments/:s/child_chunks/:c';
const modelPath = '/v1/workspaces/current/models/model-types/llm';
const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const internals = /\bat [\w.]+ \(|node_modules|node:|\.[jt]s\b|FST_|HPE_|ERR_|SQLITE|sqlite|fastify|stack|\/work\//i;

/** Parses the responses received on a socket; `heads` are the indexes of responses to HEAD. */
function parse(bytes: Buffer, heads: readonly number[] = []): RawResponse[] {
  const responses: RawResponse[] = [];
  let rest = bytes.toString('latin1');
  while (rest !== '') {
    const end = rest.indexOf(crlf + crlf);
    assert.ok(end > 0, `incomplete response: ${rest.slice(0, 200)}`);
    const [first = '', ...lines] = rest.slice(0, end).split(crlf);
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1];
    assert.ok(status, `no status line: ${first}`);
    const headers: Record<string, string> = {};
    for (const line of lines) {
      const [, name = '', value = ''] = /^([\w-]+): *(.*)$/.exec(line) ?? assert.fail(`no header line: ${line}`);
      assert.equal(headers[name.toLowerCase()], undefined, `${name} is repeated`);
      headers[name.toLowerCase()] = value;
    }
    rest = rest.slice(end + 4);
    let body = '';
    if (!heads.includes(responses.length) && status !== '304' && !status.startsWith('1')) {
      if (headers['transfer-encoding'] === 'chunked') {
        for (;;) {
          const [line = '', size = ''] = /^([0-9a-f]+)\r\n/i.exec(rest) ?? assert.fail('no chunk size');
          const length = Number.parseInt(size, 16);
          body += rest.slice(line.length, line.length + length);
          rest = rest.slice(line.length + length + 2);
          if (length === 0) break;
        }
      } else {
        const length = Number(headers['content-length'] ?? assert.fail('a response without a length'));
        assert.ok(rest.length >= length, 'the response is truncated');
        body = rest.slice(0, length);
        rest = rest.slice(length);
      }
    }
    responses.push({ status: Number(status), headers, body: Buffer.from(body, 'latin1').toString() });
  }
  return responses;
}

/** Far more than the service needs on a busy machine. */
const silentMillisMax = 60_000;

/** Sends the parts of a request one after another and returns what is received until the service closes. */
async function exchange(port: number, parts: (string | Buffer)[]): Promise<Buffer> {
  const socket = net.connect(port, '127.0.0.1');
  socket.setNoDelay(true);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => {});
  const responds = new Promise((resolve) => socket.once('data', resolve));
  const closes = new Promise((resolve) => socket.once('close', resolve));
  let isSilent = false;
  socket.setTimeout(silentMillisMax, () => {
    isSilent = true;
    socket.destroy();
  });
  await once(socket, 'connect');
  for (const [index, part] of parts.entries()) {
    // A complete head gets a response; the service reads an incomplete one in the next tick of the event loop.
    const isComplete = parts
      .slice(0, index)
      .join('')
      .includes(crlf + crlf);
    if (isComplete) await Promise.race([responds, closes]);
    else if (index > 0) await nextTick();
    if (!socket.destroyed) socket.write(typeof part === 'string' ? Buffer.from(part, 'latin1') : part);
  }
  await closes;
  const received = Buffer.concat(chunks);
  assert.ok(!isSilent, `the service does not close the connection; it sent: ${received.toString().slice(0, 300)}`);
  return received;
}

/** Asserts that the response is exactly the error envelope, without internals. */
function assertError(response: RawResponse | undefined, status: number, code: string, request = ''): void {
  assert.ok(response, 'no response');
  assert.equal(response.status, status, `${request}${response.body}`);
  assert.match(response.headers['content-type'] ?? '', /^application\/json\b/);
  assert.ok(response.headers['x-request-id'], 'no X-Request-Id');
  const body = JSON.parse(response.body);
  assert.deepEqual(Object.keys(body).sort(), ['code', 'message', 'status']);
  assert.equal(body.status, status);
  assert.equal(body.code, code);
  assert.equal(typeof body.message, 'string');
  assert.notEqual(body.message, '');
  assert.doesNotMatch(body.message, internals);
  assert.equal('www-authenticate' in response.headers, status === 401);
  assert.equal('allow' in response.headers, status === 405);
  assert.equal('retry-after' in response.headers, status === 429 || status === 503);
  assert.deepEqual(
    Object.keys(response.headers).filter((name) => name.startsWith('access-control')),
    [],
  );
}

onOneEngine('HTTP', (engine) => {
  const { one, admin, records } = makeTwoTenants();
  const pagePath = `/v1/messages?conversation_id=${one.ids.conversation}`;

  const service = useService(engine, [...records, message(one.ids.conversation, 1), message(one.ids.conversation, 2)]);

  const host = () => `Host: 127.0.0.1:${service.port}${crlf}`;
  const head = (line: string, ...headers: string[]) =>
    `${line}${crlf}${host()}${headers.map((header) => header + crlf).join('')}${crlf}`;
  const closing = (line: string, ...headers: string[]) => head(line, ...headers, 'Connection: close');
  const raw = async (...parts: (string | Buffer)[]) => parse(await exchange(service.port, parts));
  const first = async (...parts: (string | Buffer)[]) => (await raw(...parts))[0];
  const bearer = (key: string) => `Authorization: Bearer ${key}`;
  const json = 'Content-Type: application/json';

  const gets = [
    { path: pagePath, key: one.keys.app },
    { path: one.chunkPath, key: one.keys.knowledge },
    { path: modelPath, key: one.keys.knowledge },
    { path: '/admin/records', key: admin },
    { path: '/metrics', key: admin },
    { path: '/health/live' },
    { path: '/health/ready' },
    { path: '/openapi.json' },
    { path: '/docs' },
  ];
  const allowedMethods = [
    { path: '/v1/messages', allow: 'GET, HEAD' },
    { path: one.chunkPath, allow: 'DELETE, GET, HEAD, PATCH' },
    { path: modelPath, allow: 'GET, HEAD' },
    { path: '/admin/records', allow: 'GET, HEAD, POST' },
    { path: '/metrics', allow: 'GET, HEAD' },
    { path: '/health/live', allow: 'GET, HEAD' },
    { path: '/health/ready', allow: 'GET, HEAD' },
    { path: '/openapi.json', allow: 'GET, HEAD' },
    { path: '/docs', allow: 'GET, HEAD' },
  ];

  const get = (path: string, key?: string) => closing(`GET ${path} HTTP/1.1`, ...(key ? [bearer(key)] : []));

  /** By the error, `status code: name`, the requests that get it, each as its only response. */
  function itRejects(table: Record<string, () => (string | Buffer | (string | Buffer)[])[]>): void {
    for (const [name, requests] of Object.entries(table)) {
      const [, status, code = ''] = /^(\d+) (\w+):/.exec(name) ?? assert.fail(name);
      it(name, async () => {
        for (const request of requests()) {
          const responses = await raw(...[request].flat());
          assert.equal(responses.length, 1, `${request}`.slice(0, 200));
          assertError(responses[0], Number(status), code, `${request}`.slice(0, 200));
        }
      });
    }
  }

  describe('unknown routes', () => {
    const unknownPaths = [
      '/v1',
      '/v1/',
      '/v2/messages',
      '/messages',
      '/V1/messages',
      '/v1/Messages',
      '/v1/messages/x',
      '/v1/messages;x=1',
      '/v1/messages.json',
      '/health',
      '/admin',
      '/favicon.ico',
      '/docs/../package.json',
      '/docs/..%2f..%2fpackage.json',
      '/docs/index.html.map',
      '/%00',
      '/%2e%2e/%2e%2e/etc/passwd',
      `${one.chunkPath}/x`,
    ];
    const slashes = ({ path, key }: (typeof gets)[number]) => {
      const [bare = '', query = ''] = path.split('?');
      const more = query && `?${query}`;
      const variants = [`${bare}/${more}`, `/${bare}${more}`, `${bare.replace(/\/(?=[^/]+$)/, '//')}${more}`];
      // The other ones lead to their pages.
      return variants.filter((path) => path !== '/docs/').map((path) => get(path, key));
    };
    const withEmptyPart = [
      ...Object.values(one.ids).map((id) => one.chunkPath.replace(id, '')),
      modelPath.replace('llm', ''),
    ].filter((path) => path !== one.chunkPath);
    itRejects({
      '404 not_found: without and with a key': () =>
        unknownPaths.flatMap((path) => [
          get(path),
          get(path, admin),
          closing(`GET ${path} HTTP/1.1`, bearer('nonsense')),
        ]),
      '404 not_found: any method': () => plainMethods.map((method) => closing(`${method} /unknown HTTP/1.1`)),
      '404 not_found: POST with a body of any type': () =>
        ['application/json', 'text/plain', 'multipart/form-data', 'nonsense'].map(
          (type) => `${closing('POST /unknown HTTP/1.1', `Content-Type: ${type}`, 'Content-Length: 5')}{"a":`,
        ),
      '404 not_found: trailing and double slashes': () => gets.flatMap(slashes),
      '404 not_found: an empty part of the path': () =>
        withEmptyPart.flatMap((path) => [get(path), get(path, one.keys.knowledge)]),
    });
  });

  describe('wrong methods', () => {
    for (const { path, allow } of allowedMethods) {
      it(`405 method_not_allowed: ${path.replace(one.chunkPath, chunkRoute)} allows ${allow}`, async () => {
        for (const method of plainMethods) {
          if (allow.split(', ').includes(method)) continue;
          for (const target of method === 'PUT' ? [path, `${path}?a=b`] : [path]) {
            const response = await first(closing(`${method} ${target} HTTP/1.1`));
            assert.equal(response?.status, 405, `${method}: ${response?.body}`);
            assertError(response, 405, 'method_not_allowed');
            assert.deepEqual(response.headers.allow?.split(/ *, */).sort(), allow.split(', '), method);
          }
        }
      });
    }

    it('405 and 404: QUERY, with and without a content type', async () => {
      for (const headers of [[], [json], ['Content-Type: text/plain']]) {
        for (const { path, allow } of allowedMethods) {
          const response = await first(closing(`QUERY ${path} HTTP/1.1`, ...headers));
          assertError(response, 405, 'method_not_allowed');
          assert.deepEqual(response?.headers.allow?.split(/ *, */).sort(), allow.split(', '));
        }
        assertError(await first(closing('QUERY /unknown HTTP/1.1', ...headers)), 404, 'not_found');
      }
    });

    const preflight = ['Origin: https://example.com', 'Access-Control-Request-Method: GET'];
    itRejects({
      '405 method_not_allowed: the method is checked before the key and the body': () => [
        `${closing('PUT /v1/messages HTTP/1.1', bearer('nonsense'), json, 'Content-Length: 3')}{{{`,
      ],
      '405 method_not_allowed: a CORS preflight, without CORS headers': () => [
        closing('OPTIONS /v1/messages HTTP/1.1', ...preflight, 'Access-Control-Request-Headers: authorization'),
      ],
      '400 bad_request: a method that does not exist': () =>
        ['FOO', 'get', 'GETT', '{}'].map((method) => closing(`${method} /v1/messages HTTP/1.1`)),
    });

    it('4xx: CONNECT gets the error envelope and the connection closes', async () => {
      for (const target of ['example.com:443', '127.0.0.1:22', '/v1/messages']) {
        const responses = await raw(head(`CONNECT ${target} HTTP/1.1`));
        assert.equal(responses.length, 1);
        const { status } = responses[0] ?? assert.fail();
        assert.ok(status === 405 || status === 400, `${target}: ${status}`);
        assertError(responses[0], status, status === 405 ? 'method_not_allowed' : 'bad_request');
      }
    });

    it('4xx: OPTIONS * gets the error envelope', async () => {
      const response = await first(closing('OPTIONS * HTTP/1.1'));
      assert.ok(response && [400, 404, 405].includes(response.status), `${response?.status}`);
      assertError(
        response,
        response.status,
        { 400: 'bad_request', 404: 'not_found', 405: 'method_not_allowed' }[response.status] ?? '',
      );
    });
  });

  describe('requests that the HTTP parser rejects', () => {
    const invalidRequests: Record<string, () => (string | Buffer)[]> = {
      'no request line': () => ['hello\r\n\r\n'],
      'another protocol name': () => [closing('GET /health/live HTTQ/1.1')],
      'a version that does not exist': () => [closing('GET /health/live HTTP/9.9')],
      'a space in the target': () => [closing('GET /health /live HTTP/1.1')],
      'a NUL in the path': () => [closing('GET /health/li\0ve HTTP/1.1')],
      'a NUL in a header': () => [closing('GET /health/live HTTP/1.1', 'X-A: a\0b')],
      'a header without a colon': () => [closing('GET /health/live HTTP/1.1', 'nonsense')],
      'a space before the colon': () => [closing('GET /health/live HTTP/1.1', 'X-A : b')],
      'a bare CR in a header': () => [closing('GET /health/live HTTP/1.1', 'X-A: a\rb')],
      'a TLS hello': () => [Buffer.from('16030100c8010000c403035f5e', 'hex'), Buffer.alloc(200, 7)],
      'an HTTP/2 preface': () => ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
      'random bytes': () => [Buffer.from(Array.from({ length: 300 }, (_, index) => (index * 73 + 5) % 256))],
      'zero bytes': () => [Buffer.alloc(64)],
      'a negative Content-Length': () => [closing('GET /health/live HTTP/1.1', 'Content-Length: -1')],
      'a garbled Content-Length': () => [closing('GET /health/live HTTP/1.1', 'Content-Length: 5x')],
      'a Content-Length that is too large': () => [
        closing('GET /health/live HTTP/1.1', 'Content-Length: 99999999999999999999999'),
      ],
      'two Content-Lengths': () => [
        `${closing('GET /health/live HTTP/1.1', 'Content-Length: 1', 'Content-Length: 2')}ab`,
      ],
      'Content-Length and Transfer-Encoding': () => [
        `${closing('POST /admin/records HTTP/1.1', 'Content-Length: 5', 'Transfer-Encoding: chunked')}0\r\n\r\n`,
      ],
      'an unknown Transfer-Encoding': () => [
        `${closing('POST /admin/records HTTP/1.1', 'Transfer-Encoding: chunked, nonsense')}0\r\n\r\n`,
      ],
    };
    for (const [name, makeParts] of Object.entries(invalidRequests)) {
      it(`400 bad_request: ${name}`, async () => {
        const responses = await raw(...makeParts());
        assert.equal(responses.length, 1);
        assertError(responses[0], 400, 'bad_request');
        assert.match(responses[0]?.headers['x-request-id'] ?? '', uuidPattern);
      });
    }

    const chunked = 'Transfer-Encoding: chunked';
    const edit = (...headers: string[]) => closing(`PATCH ${one.chunkPath} HTTP/1.1`, ...headers);
    const withKey = (...headers: string[]) => edit(bearer(one.keys.knowledge), json, ...headers);
    const text = '2\r\n{}\r\n0\r\n\r\n';
    itRejects({
      '400 bad_request: invalid chunks': () => [
        ...['zz\r\nab\r\n0\r\n\r\n', '-1\r\nab\r\n', 'fffffffffffffffff\r\nab', '2\r\nabXX0\r\n\r\n'].map(
          (chunk) => head(`PATCH ${one.chunkPath} HTTP/1.1`, bearer(one.keys.knowledge), json, chunked) + chunk,
        ),
        ...['zz\r\nab\r\n0\r\n\r\n', '2\r\n{}XX0\r\n\r\n'].map(
          (chunk) =>
            head('POST /admin/records HTTP/1.1', bearer(admin), 'Content-Type: application/x-ndjson', chunked) + chunk,
        ),
      ],
      '431 headers_too_large: headers and request lines over the limit': () =>
        [20, 200].flatMap((kilobytes) => {
          const long = 'a'.repeat(kilobytes * 1024);
          return [
            closing('GET /health/live HTTP/1.1', `X-A: ${long}`),
            get(`/v1/messages?user=${long}`),
            get(`/${long}`),
          ];
        }),
      '431 headers_too_large: thousands of small headers': () => [
        closing('GET /health/live HTTP/1.1', ...Array.from({ length: 3000 }, (_, index) => `X-${index}: ${index}`)),
      ],
      '400 bad_request: an HTTP/1.1 request without Host': () =>
        ['/health/live', '/unknown', '/v1/messages'].map((path) => `GET ${path} HTTP/1.1\r\nConnection: close\r\n\r\n`),
      '400 bad_request: two Host headers (RFC 9112, 3.2)': () => [
        closing('GET /health/live HTTP/1.1', 'Host: other.example'),
      ],
      '401 unauthorized: the key is checked before two Content-Type headers, and before an unknown transfer coding':
        () => [edit(bearer('x'), json, json), edit(bearer('x'), json, 'Transfer-Encoding: gzip, chunked')],
      '501 not_implemented: a transfer coding other than chunked': () =>
        ['gzip, chunked', 'gzip,chunked', 'identity, chunked'].map(
          (coding) => withKey(`Transfer-Encoding: ${coding}`) + text,
        ),
      '400 invalid_param: chunked in another case is chunked': () => [withKey('Transfer-Encoding: Chunked') + text],
    });

    it('400 bad_request: two Authorization or two Content-Type headers, whatever they say', async () => {
      const twice = [
        [`GET ${pagePath} HTTP/1.1`, bearer(one.keys.app), bearer(one.keys.app)],
        [`GET ${pagePath} HTTP/1.1`, bearer(one.keys.app), bearer('x')],
        [`GET ${pagePath} HTTP/1.1`, bearer(one.keys.app), 'Content-Type: a/b', 'content-type: a/b'],
        [`GET ${pagePath} HTTP/1.1`, bearer(one.keys.app), 'Connection: x', 'Content-Type: a/b', 'content-type: a/b'],
        [`GET ${one.chunkPath} HTTP/1.1`, bearer(one.keys.knowledge), bearer(one.keys.knowledge)],
        [`PATCH ${one.chunkPath} HTTP/1.1`, bearer(one.keys.knowledge), 'Content-Type: text/plain', json],
      ] as const;
      for (const [line, ...headers] of twice) {
        const response = await first(closing(line, ...headers));
        assertError(response, 400, 'bad_request');
        assert.match(response?.body ?? '', /must have one (Authorization|Content-Type) header/);
      }
      const once = await first(closing(`GET ${pagePath} HTTP/1.1`, bearer(one.keys.app), 'Content-Type: a/b'));
      assert.equal(once?.status, 200);
    });

    it('200: the service still works after invalid requests', async () => {
      await exchange(service.port, ['\0\0\0\0']);
      assert.equal((await service.request('GET', '/health/live')).status, 200);
    });
  });

  describe('unusual but valid requests', () => {
    it('200: HTTP/1.0, also without Host, and then the connection closes', async () => {
      assert.equal((await first(`GET /health/live HTTP/1.0${crlf}${crlf}`))?.status, 200);
      assert.equal((await first(head('GET /health/live HTTP/1.0')))?.status, 200);
      assertError(await first(`GET /unknown HTTP/1.0${crlf}${crlf}`), 404, 'not_found');
    });

    it('200: an absolute-form target', async () => {
      for (const origin of [`http://127.0.0.1:${service.port}`, 'http://other.example', 'HTTP://x.example:80']) {
        assert.equal((await first(closing(`GET ${origin}/health/live HTTP/1.1`)))?.status, 200, origin);
        const page = await first(closing(`GET ${origin}${pagePath} HTTP/1.1`, bearer(one.keys.app)));
        assert.equal(page?.status, 200);
        assert.equal(JSON.parse(page.body).data.length, 2);
      }
      for (const target of ['http://other.example', 'http://other.example?a=b']) {
        const response = await first(closing(`GET ${target} HTTP/1.1`));
        assert.equal(response?.status, 302);
        assert.equal(response?.headers.location, '/console');
      }
      assertError(await first(closing('PUT http://other.example/v1/messages HTTP/1.1')), 405, 'method_not_allowed');
    });

    it('200: a request that arrives in small parts', async () => {
      const text = closing(`GET ${pagePath} HTTP/1.1`, bearer(one.keys.app));
      const third = Math.ceil(text.length / 3);
      const response = await first(text.slice(0, third), text.slice(third, 2 * third), text.slice(2 * third));
      assert.equal(response?.status, 200);
    });

    it('200: empty lines before the request line', async () => {
      assert.equal((await first(`${crlf}${crlf}${closing('GET /health/live HTTP/1.1')}`))?.status, 200);
    });

    it('200: an unknown Expect is ignored', async () => {
      const response = await first(closing('GET /health/live HTTP/1.1', 'Expect: tea'));
      assert.equal(response?.status, 200, `${response?.body}`);
      assertError(await first(closing('GET /unknown HTTP/1.1', 'Expect: tea')), 404, 'not_found');
      assertError(await first(closing('GET /v1/messages HTTP/1.1', 'Expect: tea')), 401, 'unauthorized');
    });

    it('200: Expect: 100-continue gets 100 Continue', async () => {
      const body = JSON.stringify({ content: 'sent after 100' });
      const headers = [bearer(one.keys.knowledge), json, `Content-Length: ${body.length}`, 'Expect: 100-continue'];
      const responses = await raw(closing(`PATCH ${one.chunkPath} HTTP/1.1`, ...headers), body);
      assert.deepEqual(pluck(responses, 'status'), [100, 200]);
      assert.equal(JSON.parse(responses[1]?.body ?? '').data.content, 'sent after 100');
    });

    it('401: Expect: 100-continue with a bad key gets its response without the body', async () => {
      const headers = [bearer('app-nonsense'), json, 'Content-Length: 500000', 'Expect: 100-continue'];
      const socket = net.connect(service.port, '127.0.0.1');
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk;
      });
      socket.write(closing(`PATCH ${one.chunkPath} HTTP/1.1`, ...headers));
      await until(() => text.includes('"unauthorized"'));
      socket.destroy();
      assert.match(text, /HTTP\/1\.1 401 /);
    });

    it('200: GET with a body of any type', async () => {
      for (const { path, key } of gets) {
        for (const type of [[json], ['Content-Type: text/plain'], ['Content-Type: nonsense'], []]) {
          const auth = key ? [bearer(key)] : [];
          const response = await first(`${closing(`GET ${path} HTTP/1.1`, ...auth, ...type, 'Content-Length: 4')}{"a"`);
          assert.equal(response?.status, 200, `${path} ${type}: ${response?.body}`);
        }
      }
    });

    it('200: GET with Content-Type: application/json and no body', async () => {
      for (const { path, key } of gets) {
        const response = await service.as(key).get(path, { 'content-type': 'application/json' });
        assert.equal(response.status, 200, path);
      }
    });

    it('200: pipelined requests get their responses in order', async () => {
      const lines = ['/health/live', pagePath, '/unknown', '/health/ready', modelPath, '/health/live'];
      const text = lines.map((path, index) =>
        head(`GET ${path} HTTP/1.1`, `X-Request-Id: n${index}`, bearer(one.keys.app)),
      );
      const responses = await raw(text.join('') + closing('GET /health/live HTTP/1.1', 'X-Request-Id: last'));
      assert.deepEqual(
        responses.map(({ status, headers }) => `${status} ${headers['x-request-id']}`),
        ['200 n0', '200 n1', '404 n2', '200 n3', '200 n4', '200 n5', '200 last'],
      );
    });

    it('200: pipelined requests with Expect: 100-continue get 100 Continue in order', async () => {
      const body = JSON.stringify({ content: 'continued' });
      const headers = [bearer(one.keys.knowledge), json, 'Expect: 100-continue', `Content-Length: ${body.length}`];
      const text = [
        head(`GET ${pagePath} HTTP/1.1`, 'X-Request-Id: n0', bearer(one.keys.app)),
        head(`GET ${pagePath} HTTP/1.1`, 'X-Request-Id: n1', 'Expect: 100-continue', bearer(one.keys.app)),
        head(`PATCH ${one.chunkPath} HTTP/1.1`, 'X-Request-Id: n2', ...headers) + body,
        closing('GET /health/live HTTP/1.1', 'X-Request-Id: last'),
      ];
      const responses = await raw(text.join(''));
      assert.deepEqual(
        responses.map(({ status, headers }) => `${status} ${headers['x-request-id'] ?? ''}`),
        ['200 n0', '100 ', '200 n1', '100 ', '200 n2', '200 last'],
      );
    });

    it('200: a request for an upgrade gets the last response of its connection', async () => {
      const upgrade = [
        'X-Request-Id: n0',
        'Connection: Upgrade, HTTP2-Settings',
        'Upgrade: h2c',
        'HTTP2-Settings: AAMAAABk',
      ];
      const responses = await raw(head('GET /health/live HTTP/1.1', ...upgrade) + head('GET /health/live HTTP/1.1'));
      assert.deepEqual(
        responses.map(({ status, headers }) => `${status} ${headers['x-request-id']} ${headers.connection}`),
        ['200 n0 close'],
      );
    });

    it('400 bad_request: a body that is not JSON does not close the connection', async () => {
      const headers = [bearer(one.keys.knowledge), json, 'Content-Length: 3'];
      const patch = `${head(`PATCH ${one.chunkPath} HTTP/1.1`, ...headers)}{{{`;
      const responses = await raw(patch + patch + closing('GET /health/live HTTP/1.1'));
      assert.deepEqual(pluck(responses, 'status'), [400, 400, 200]);
    });

    it('405: a pipelined CONNECT waits for the response before it', async () => {
      const body = JSON.stringify({ content: `then CONNECT ${Date.now()}` });
      const headers = [bearer(one.keys.knowledge), json, `Content-Length: ${body.length}`];
      const responses = await raw(
        `${head(`PATCH ${one.chunkPath} HTTP/1.1`, ...headers)}${body}${head('CONNECT x:1 HTTP/1.1')}`,
      );
      assert.deepEqual(pluck(responses, 'status'), [200, 405]);
    });

    it('a reset CONNECT connection does no harm', async () => {
      const uncaught: Error[] = [];
      const recordError = (error: Error) => void uncaught.push(error);
      process.on('uncaughtExceptionMonitor', recordError);
      for (let times = 0; times < 20; times += 1) {
        const socket = net.connect(service.port, '127.0.0.1').on('error', () => {});
        await once(socket, 'connect');
        await new Promise((resolve) => socket.write(head('CONNECT x:1 HTTP/1.1'), resolve));
        // Alternately before and after the response.
        if (times % 2 === 0) await once(socket, 'data');
        socket.resetAndDestroy();
        await once(socket, 'close');
      }
      await first(closing('GET /health/live HTTP/1.1'));
      process.off('uncaughtExceptionMonitor', recordError);
      assert.deepEqual(uncaught, [], 'an uncaught exception would end the process');
    });

    it('200: pipelined edits are applied in order, and each read sees the edit before it', async () => {
      const edits = Array.from({ length: 20 }, (_, n) => JSON.stringify({ content: `edit ${n}` }));
      const headers = [bearer(one.keys.knowledge), json];
      const requests = edits.map(
        (body) =>
          `${head(`PATCH ${one.chunkPath} HTTP/1.1`, ...headers, `Content-Length: ${body.length}`)}${body}` +
          head(`GET ${one.chunkPath} HTTP/1.1`, bearer(one.keys.knowledge)),
      );
      const responses = await raw(requests.join('') + closing('GET /health/live HTTP/1.1'));
      const texts = responses.slice(0, -1).map(({ body }) => JSON.parse(body).data.content);
      assert.deepEqual(
        texts,
        edits.flatMap((_, n) => [`edit ${n}`, `edit ${n}`]),
      );
    });

    it('400 bad_request: an invalid second request; the first one got its response', async () => {
      const good = head(`GET ${pagePath} HTTP/1.1`, bearer(one.keys.app));
      const responses = await raw(good, 'nonsense\r\n\r\n');
      assert.equal(responses.length, 2);
      assert.equal(responses[0]?.status, 200);
      assertError(responses[1], 400, 'bad_request');
    });

    it('400 bad_request: an invalid second request in the same packet does not replace the first response', async () => {
      for (const path of [pagePath, '/health/live', '/openapi.json']) {
        const good = head(`GET ${path} HTTP/1.1`, bearer(one.keys.app));
        const [response, next] = await raw(`${good}nonsense\r\n\r\n`);
        assert.equal(response?.status, 200, `${path}: ${response?.body}`);
        if (next !== undefined) assertError(next, 400, 'bad_request');
      }
    });

    it('400 bad_request: an invalid second request after a PATCH; the PATCH gets its own response', async () => {
      const body = JSON.stringify({ content: `pipelined ${Date.now()}` });
      const headers = [bearer(one.keys.knowledge), json, `Content-Length: ${body.length}`];
      const responses = await raw(`${head(`PATCH ${one.chunkPath} HTTP/1.1`, ...headers)}${body}nonsense\r\n\r\n`);
      // The service closes the connection after it has processed the first request.
      const storedText = (await service.as(one.keys.knowledge).get(one.chunkPath)).body.data.content;
      assert.equal(
        responses[0]?.status === 200,
        storedText === JSON.parse(body).content,
        `${responses[0]?.body}: ${storedText}`,
      );
    });

    it('a connection that ends in the middle of a body does no harm', async () => {
      const headers = [bearer(one.keys.knowledge), json, 'Content-Length: 1000'];
      for (const method of ['end', 'destroy'] as const) {
        const socket = net.connect(service.port, '127.0.0.1');
        socket.on('error', () => {}).resume();
        const closed = new Promise((resolve) => socket.once('close', resolve));
        await new Promise((resolve) =>
          socket.write(`${head(`PATCH ${one.chunkPath} HTTP/1.1`, ...headers)}{"content":`, resolve),
        );
        socket[method]();
        await closed;
      }
      assert.equal((await service.as(one.keys.knowledge).get(one.chunkPath)).status, 200);
    });
  });

  describe('paths', () => {
    const { knowledge, app } = one.keys;
    const chunkIds = [one.ids.dataset, one.ids.document, one.ids.segment, one.ids.chunk];
    const malformed = ['%', '%z', '%zz', '%4', '%ff', '%c3%28', '%E0%A4%A', '%ED%A0%80'];
    const lengths = [101, 300, 3000, 12_000].map((length) => 'a'.repeat(length));
    const inChunkPath = (part: string) => one.chunkPath.replace(one.ids.chunk, part);
    const inEachPart = (part: string) => chunkIds.map((id) => get(one.chunkPath.replace(id, part), knowledge));
    const body = '{"content":"text"}';
    itRejects({
      '401 unauthorized: invalid percent-encoding, after the key': () =>
        malformed.flatMap((bad) => [get(inChunkPath(bad), 'nonsense'), get(modelPath.replace('llm', bad), 'nonsense')]),
      '404 not_found: invalid percent-encoding names nothing': () => [
        ...malformed.flatMap((bad) => [get(inChunkPath(bad), knowledge), get(`/v1/${bad}`, app)]),
        closing(`PATCH ${one.chunkPath}%zz HTTP/1.1`, bearer(knowledge), json, `Content-Length: ${body.length}`) + body,
      ],
      '400 invalid_param: invalid percent-encoding names no type of models': () =>
        malformed.map((bad) => get(modelPath.replace('llm', bad), app)),
      '405 method_not_allowed: invalid percent-encoding, before the method': () =>
        malformed.map((bad) => closing(`PUT ${inChunkPath(bad)} HTTP/1.1`, bearer(knowledge))),
      '404 not_found: an encoded NUL in the path': () => inEachPart('%00'),
      '404 not_found: path parameters of 3,000 characters and more': () =>
        lengths.flatMap((long) => [
          ...inEachPart(long),
          get(`/v1/messages?conversation_id=${long}`, app),
          get(`/${long}`),
        ]),
      '400 invalid_param: a type of models with NUL, or of 3,000 characters': () =>
        ['%00', ...lengths].map((end) => get(`${modelPath}${end}`, app)),
      '404 not_found: an encoded slash does not separate parts of the path': () => [
        get(one.chunkPath.replace(`/${one.ids.chunk}`, `%2f${one.ids.chunk}`), knowledge),
      ],
    });

    it('400 or 404: invalid percent-encoding in a query is a client error', async () => {
      for (const bad of ['%', '%zz', '%ff', '%00']) {
        for (const query of [`conversation_id=${bad}`, `${pagePath.split('?')[1]}&user=${bad}`]) {
          const response = await first(closing(`GET /v1/messages?${query} HTTP/1.1`, bearer(one.keys.app)));
          assert.ok(response?.status === 404 || response?.status === 400, `${query}: ${response?.status}`);
        }
      }
    });

    it('404 or 400: non-ASCII bytes in a path', async () => {
      for (const path of ['/h\xc3\xa4lth', '/%F0%9F%98%80', one.chunkPath.replace(one.ids.chunk, '%F0%9F%98%80')]) {
        const response = await first(closing(`GET ${path} HTTP/1.1`, bearer(one.keys.knowledge)));
        assert.ok(response?.status === 404 || response?.status === 400, `${path}: ${response?.status}`);
        assertError(response, response.status, response.status === 404 ? 'not_found' : 'bad_request');
      }
    });
  });

  describe('large bodies', () => {
    /** Sends the whole body before it reads, as simple clients do. */
    async function sendThenRead(start: string, blocks: Iterable<Buffer>): Promise<RawResponse | undefined> {
      const socket = net.connect(service.port, '127.0.0.1');
      socket.on('error', () => {});
      socket.pause();
      await once(socket, 'connect');
      const send = (bytes: string | Buffer) =>
        new Promise<void>((resolve, reject) => socket.write(bytes, (error) => (error ? reject(error) : resolve())));
      await send(start);
      for (const block of blocks) await send(block);
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk;
      });
      socket.resume();
      await until(() => text.includes('}'));
      socket.destroy();
      return parse(Buffer.from(text, 'latin1'))[0];
    }
    function* megabytes(count: number) {
      for (let index = 0; index < count; index += 1) yield Buffer.alloc(1_048_576, 'x');
    }
    function* chunked(count: number) {
      for (const block of megabytes(count)) yield Buffer.concat([Buffer.from('100000\r\n'), block, Buffer.from(crlf)]);
      yield Buffer.from('0\r\n\r\n');
    }
    const patch = (...headers: string[]) => head(`PATCH ${one.chunkPath} HTTP/1.1`, ...headers);
    const sixMegabytes = `Content-Length: ${6 * 1_048_576}`;

    it('401: a client that sends 6 MiB before it reads gets the response', async () => {
      assertError(await sendThenRead(patch(json, sixMegabytes), megabytes(6)), 401, 'unauthorized');
      assertError(await sendThenRead(patch(json, 'Transfer-Encoding: chunked'), chunked(6)), 401, 'unauthorized');
    });

    it('413 payload_too_large: a client with a key that sends 6 MiB before it reads gets the response', async () => {
      const auth = bearer(one.keys.knowledge);
      assertError(await sendThenRead(patch(auth, json, sixMegabytes), megabytes(6)), 413, 'payload_too_large');
      const response = await sendThenRead(patch(auth, json, 'Transfer-Encoding: chunked'), chunked(6));
      assertError(response, 413, 'payload_too_large');
    });

    it('404, 405 and 415: a client that sends 6 MiB where no body is read gets the response', async () => {
      const auth = bearer(one.keys.knowledge);
      const unknownRoute = await sendThenRead(head('POST /unknown HTTP/1.1', json, sixMegabytes), megabytes(6));
      assertError(unknownRoute, 404, 'not_found');
      const wrongMethod = await sendThenRead(head('PUT /v1/messages HTTP/1.1', json, sixMegabytes), megabytes(6));
      assertError(wrongMethod, 405, 'method_not_allowed');
      const wrongType = await sendThenRead(patch(auth, 'Content-Type: text/plain', sixMegabytes), megabytes(6));
      assertError(wrongType, 415, 'unsupported_media_type');
    });

    it('200: exactly 1 MiB is accepted, by length and chunked', async () => {
      const auth = bearer(one.keys.knowledge);
      const body = Buffer.from(`{"content":"a","b":"${'x'.repeat(1_048_554)}"}`);
      assert.equal(body.length, 1_048_576);
      const byLength = await sendThenRead(patch(auth, json, `Content-Length: ${body.length}`), [body]);
      assert.equal(byLength?.status, 200);
      const blocks = [Buffer.from('100000\r\n'), body, Buffer.from('\r\n0\r\n\r\n')];
      assert.equal((await sendThenRead(patch(auth, json, 'Transfer-Encoding: chunked'), blocks))?.status, 200);
    });

    it('401: a client that keeps sending is disconnected in the end', async () => {
      const socket = net.connect(service.port, '127.0.0.1');
      let received = '';
      let sent = 0;
      socket
        .on('error', () => {})
        .on('data', (chunk) => {
          received += chunk;
        });
      await once(socket, 'connect');
      socket.write(patch(json, `Content-Length: ${2 ** 31}`));
      const block = Buffer.alloc(262_144, 'x');
      // The service stops reading before it closes; then the callback of a write runs when the connection ends.
      while (!socket.destroyed && sent < 2 ** 28) {
        sent += block.length;
        await new Promise((resolve) => socket.write(block, resolve));
      }
      const isDisconnected = socket.destroyed;
      socket.destroy();
      assert.ok(isDisconnected, `still open after ${sent} bytes`);
      assert.ok(sent > 8 * 1_048_576 && sent < 40 * 1_048_576, `disconnected after ${sent} bytes`);
      if (received !== '') assert.match(received, /^HTTP\/1\.1 401 /);
    });
  });

  describe('HEAD', () => {
    const ignoredHeaders = ['date', 'x-request-id', 'transfer-encoding', 'connection', 'keep-alive', 'content-length'];
    const comparedHeaders = ({ headers }: RawResponse) =>
      Object.fromEntries(Object.entries(headers).filter(([name]) => !ignoredHeaders.includes(name)));
    for (const { path, key } of gets) {
      it(`200: ${path.replace(one.chunkPath, chunkRoute).split('?')[0]} responds as GET does, without a body`, async () => {
        const auth = key ? [bearer(key)] : [];
        const [get] = await raw(closing(`GET ${path} HTTP/1.1`, ...auth));
        const bytes = await exchange(service.port, [closing(`HEAD ${path} HTTP/1.1`, ...auth)]);
        const [response] = parse(bytes, [0]);
        assert.ok(get && response);
        assert.equal(get.status, 200);
        assert.equal(response.status, 200);
        assert.ok(bytes.toString('latin1').endsWith(crlf + crlf), 'a body');
        assert.deepEqual(comparedHeaders(response), comparedHeaders(get));
        // A HEAD may omit Content-Length, but must not have a different one (RFC 9110, 8.6).
        if (path !== '/metrics' && response.headers['content-length'] !== undefined) {
          assert.equal(response.headers['content-length'], String(Buffer.byteLength(get.body)));
        }
      });
    }

    it('4xx: errors have their status and headers, but no body', async () => {
      const requests: [string, number][] = [
        ['/unknown', 404],
        ['/v1/messages', 401],
        ['/metrics', 401],
      ];
      for (const [path, status] of requests) {
        const bytes = await exchange(service.port, [closing(`HEAD ${path} HTTP/1.1`)]);
        const [response] = parse(bytes, [0]);
        assert.equal(response?.status, status);
        assert.match(response.headers['content-type'] ?? '', /^application\/json/);
        assert.ok(response.headers['x-request-id']);
        assert.equal('www-authenticate' in response.headers, status === 401);
        assert.ok(bytes.toString('latin1').endsWith(crlf + crlf), 'a body');
      }
    });
  });

  describe('304', () => {
    for (const { path, key } of [gets[0], gets[1]].filter((get) => get !== undefined)) {
      it(`304: ${path.startsWith('/v1/messages') ? 'a page' : 'a chunk'} has no body, for GET and HEAD`, async () => {
        const get = await service.as(key).get(path);
        const etag = get.headers.etag ?? assert.fail('no ETag');
        for (const method of ['GET', 'HEAD']) {
          const lines = [bearer(key ?? ''), `If-None-Match: ${etag}`];
          const bytes = await exchange(service.port, [closing(`${method} ${path} HTTP/1.1`, ...lines)]);
          const [response] = parse(bytes);
          assert.equal(response?.status, 304);
          assert.equal(response.headers.etag, etag);
          assert.ok(response.headers['x-request-id']);
          assert.ok(['0', undefined, get.headers['content-length']].includes(response.headers['content-length']));
          assert.equal(response.headers['transfer-encoding'], undefined);
          assert.ok(bytes.toString('latin1').endsWith(crlf + crlf), 'a body');
        }
      });
    }

    it('304: the connection stays open', async () => {
      const etag = (await service.as(one.keys.app).get(pagePath)).headers.etag;
      const auth = bearer(one.keys.app);
      const conditional = head(`GET ${pagePath} HTTP/1.1`, auth, `If-None-Match: ${etag}`);
      const responses = await raw(conditional + conditional + closing(`GET ${pagePath} HTTP/1.1`, auth));
      assert.deepEqual(pluck(responses, 'status'), [304, 304, 200]);
    });
  });

  describe('X-Request-Id', () => {
    const idOf = async (path: string, ...headers: string[]) =>
      (await first(closing(`GET ${path} HTTP/1.1`, ...headers)))?.headers['x-request-id'];

    it("is the caller's valid id, on responses of every kind", async () => {
      for (const id of ['a', '42', 'req-1_2.3', '3fa85f64-5717-4562-b3fc-2c963f66afa6', 'A'.repeat(64)]) {
        for (const path of ['/health/live', '/unknown', '/v1/messages', '/docs', `${modelPath}%zz`]) {
          assert.equal(await idOf(path, `X-Request-Id: ${id}`), id, path);
        }
      }
    });

    it("is the caller's valid id, also for CONNECT and for chunks that are not valid", async () => {
      const connect = closing('CONNECT a:443 HTTP/1.1', 'X-Request-Id: a');
      assert.equal((await first(connect))?.headers['x-request-id'], 'a');
      const headers = ['X-Request-Id: a', bearer(one.keys.knowledge), json, 'Transfer-Encoding: chunked'];
      const response = await first(`${closing(`PATCH ${one.chunkPath} HTTP/1.1`, ...headers)}nonsense`);
      assertError(response, 400, 'bad_request');
      assert.equal(response?.headers['x-request-id'], 'a');
    });

    it('is a new id if the caller sent an invalid one', async () => {
      const invalidIds = ['', 'a b', 'a\tb', '"quoted"', "it's", 'a,b', '<b>', 'é', '\xff', 'a\\b', 'x'.repeat(1000)];
      for (const id of invalidIds) {
        for (const path of ['/health/live', '/unknown', `${modelPath}%zz`]) {
          assert.match((await idOf(path, `X-Request-Id: ${id}`)) ?? '', uuidPattern, `${path} ${id}`);
        }
      }
      assert.match((await idOf('/health/live', 'X-Request-Id: a', 'X-Request-Id: b')) ?? '', uuidPattern);
    });

    it('is a new id if the caller sent a control character', async () => {
      for (const id of ['a\x01b', 'a\x7fb', 'a\x1b[31m']) {
        const returnedId = await idOf('/health/live', `X-Request-Id: ${id}`);
        assert.match(returnedId ?? '', uuidPattern);
      }
    });

    it('differs from request to request', async () => {
      const ids = await Promise.all(Array.from({ length: 20 }, () => idOf('/health/live')));
      assert.equal(new Set(ids).size, 20);
    });
  });

  it('no response has CORS headers', async () => {
    for (const { path, key } of [...gets, { path: '/unknown' }, { path: '/v1/messages' }]) {
      for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST']) {
        const { headers } = await service.request(method, path, { key, headers: { origin: 'https://example.com' } });
        const cors = Object.keys(headers).filter((name) => name.startsWith('access-control'));
        assert.deepEqual(cors, [], `${method} ${path}`);
      }
    }
  });

  describe('without a key', () => {
    it('200: health, the OpenAPI document and the reference page, with any key or none', async () => {
      for (const path of ['/health/live', '/health/ready', '/openapi.json', '/docs']) {
        for (const key of [undefined, 'nonsense', one.keys.app]) {
          assert.equal((await service.as(key).get(path)).status, 200, path);
        }
      }
    });

    it('200: the reference page loads from its own origin only', async () => {
      const page = await service.request('GET', '/docs');
      assert.match(page.headers['content-type'] ?? '', /^text\/html/);
      const links = [...page.text.matchAll(/\b(?:src|href|action|data|poster|srcset)\s*=\s*["']?([^"'\s>]+)/gi)];
      const parts = links.map(([, link]) => link ?? '');
      assert.ok(parts.length > 0, 'the page loads files');
      for (const part of parts) {
        const url = new URL(part, `${service.base}/docs`);
        assert.ok(url.protocol === 'data:' || url.origin === service.base, part);
        if (url.protocol === 'data:') continue;
        const response = await service.request('GET', url.pathname);
        assert.equal(response.status, 200, part);
        const type = response.headers['content-type'] ?? '';
        if (part.endsWith('.css')) assert.match(type, /^text\/css/);
        if (part.endsWith('.js')) assert.match(type, /^(text|application)\/javascript/);
        if (!part.endsWith('.css')) continue;
        for (const [, target = ''] of response.text.matchAll(/(?:url\(|@import\s+)\s*["']?([^"')\s]+)/g)) {
          assert.match(target, /^(data:|#|\/(?!\/)|\.{0,2}\/|[\w-]+\.)(?!.*:\/\/)/, target.slice(0, 60));
        }
      }
    });

    it('200: the content security policy of the reference page allows its own origin only', async () => {
      const policy = (await service.request('GET', '/docs')).headers['content-security-policy'];
      assert.equal(typeof policy, 'string');
      const directives = new Map(
        String(policy)
          .split(';')
          .map((directive) => directive.trim().split(/\s+/))
          .map(([name = '', ...sources]) => [name, sources] as const),
      );
      assert.ok(directives.has('default-src'));
      const allowedSources = ["'self'", "'none'", 'data:'];
      for (const [name, sources] of directives) {
        // This directive names guarded sinks, not sources.
        if (name === 'require-trusted-types-for') continue;
        for (const source of sources)
          assert.ok(allowedSources.includes(source) || /^'(nonce|sha\d+)-/.test(source), `${name} ${source}`);
      }
      const scripts = directives.get('script-src') ?? directives.get('default-src') ?? [];
      assert.ok(!scripts.includes('data:'), 'no scripts from data: URLs');
    });

    it('200: /openapi.json is JSON', async () => {
      const response = await service.request('GET', '/openapi.json');
      assert.match(response.headers['content-type'] ?? '', /^application\/json/);
      assert.equal(response.body.info.version, '1.0.0');
    });
  });
});

onEveryEngine('HTTP without a database', (engine) => {
  let service: Service;
  let database: Awaited<ReturnType<typeof newDatabaseUrl>>;
  const { one, admin, records } = makeTwoTenants();
  before(async () => {
    database = await newDatabaseUrl(engine);
    service = await startService(engine, {}, database.url);
    await service.load(records);
    assert.equal((await service.request('GET', '/health/ready')).status, 200);
    await service.store.close();
  });
  after(async () => {
    // The store is already closed; the rest must still be closed.
    await service.close().catch(() => {});
    await database.remove();
  });

  it('503: /health/ready fails, while /health/live stays 200', async () => {
    const ready = await service.request('GET', '/health/ready');
    assert.equal(ready.status, 503);
    assert.deepEqual(Object.keys(ready.body).sort(), ['code', 'message', 'status']);
    assert.equal(ready.body.code, 'service_unavailable');
    assert.match(ready.headers['retry-after'] ?? '', /^\d+$/);
    assert.doesNotMatch(ready.body.message, internals);
    assert.equal((await service.request('HEAD', '/health/ready')).status, 503);
    assert.equal((await service.request('GET', '/health/live')).status, 200);
    assert.equal((await service.request('GET', '/openapi.json')).status, 200);
    assert.equal((await service.request('GET', '/unknown')).status, 404);
  });

  it('503 service_unavailable: every operation that needs the database fails, without internals in the message', async () => {
    const requests = [
      ['GET', `/v1/messages?conversation_id=${one.ids.conversation}`, one.keys.app, undefined],
      ['GET', modelPath, one.keys.app, undefined],
      ['GET', one.chunkPath, one.keys.knowledge, undefined],
      ['PATCH', one.chunkPath, one.keys.knowledge, { content: 'a' }],
      ['GET', '/admin/records', admin, undefined],
    ] as const;
    for (const [method, path, key, body] of requests) {
      const response = await service.request(method, path, { key, body });
      assert.doesNotMatch(response.text, internals);
      assert.equal(response.status, 503, `${method} ${path}: ${response.text}`);
      assert.equal(response.body.code, 'service_unavailable');
    }
  });
});
