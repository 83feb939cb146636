import assert from 'node:assert/strict';
import { once } from 'node:events';
import { METHODS } from 'node:http';
import { connect, type Socket } from 'node:net';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setImmediate as nextTick } from 'node:timers/promises';
import { makeTwoTenants, type Service, shortOrLong, startService } from '../support/harness.ts';
import { firstOrAll, isLong } from '../support/long.ts';
import { until } from '../support/until.ts';
import { sendRaw } from './raw-client.ts';
import { exchange, headersOf, type ReceivedRequest, type Script, ScriptedUpstream } from './scripted-upstream.ts';

/** The body of an attack: a request whose last header takes in what follows it on the connection. */
const smuggled = 'GET /base/v1/smuggled HTTP/1.1\r\nHost: x\r\nX-Taken: ';
const chunks = (trailers = ''): string =>
  `5;name="value"\r\n${smuggled.slice(0, 5)}\r\n${(smuggled.length - 5).toString(16)}\r\n${smuggled.slice(5)}\r\n0\r\n${trailers}\r\n`;

/** Headers and bytes that say where a request ends, and the body that it has, or undefined if it must be rejected. */
type Framing = { name: string; lines: string[]; bytes: string; body: string | undefined };
const length = `Content-Length: ${smuggled.length}`;
const chunked = 'Transfer-Encoding: chunked';
const framings: Framing[] = [
  { name: 'a length', lines: [length], bytes: smuggled, body: smuggled },
  { name: 'chunks', lines: [chunked], bytes: chunks(), body: smuggled },
  { name: 'none', lines: [], bytes: '', body: '' },
  { name: 'the length 0', lines: ['CONTENT-LENGTH: 0'], bytes: '', body: '' },
  { name: 'both', lines: [length, chunked], bytes: smuggled, body: undefined },
  { name: 'two lengths', lines: ['content-length: 0', length], bytes: smuggled, body: undefined },
  { name: 'a second coding', lines: [chunked, 'Transfer-Encoding: identity'], bytes: chunks(), body: undefined },
  { name: 'underscores', lines: [length, 'Content_Length: 0'], bytes: smuggled, body: smuggled },
  { name: 'a coding with underscores', lines: [length, 'Transfer_Encoding: chunked'], bytes: smuggled, body: smuggled },
  {
    name: 'a length behind a thousand headers',
    lines: [...Array(1_100).fill('X: 1'), length],
    bytes: smuggled,
    body: smuggled,
  },
  { name: 'a signed length', lines: [`Content-Length: +${smuggled.length}`], bytes: smuggled, body: undefined },
  { name: 'a list of lengths', lines: [`${length}, ${smuggled.length}`], bytes: smuggled, body: undefined },
  { name: 'a length with a space', lines: [`Content-Length : ${smuggled.length}`], bytes: smuggled, body: undefined },
  { name: 'chunks twice', lines: [`${chunked}, chunked`], bytes: chunks(), body: undefined },
  { name: 'chunks with a vertical tab', lines: ['Transfer-Encoding: \vchunked'], bytes: chunks(), body: undefined },
  { name: 'a line feed in a header', lines: ['X: 1\nContent-Length: 0', length], bytes: smuggled, body: undefined },
  { name: 'a line feed after a size', lines: [chunked], bytes: chunks().replace('"\r\n', '"\n'), body: undefined },
  { name: 'a folded length', lines: ['X: 1', ' Content-Length: 0', length], bytes: smuggled, body: undefined },
  { name: 'an expectation', lines: [length, 'Expect: 100-continue'], bytes: smuggled, body: smuggled },
  { name: 'an upgrade', lines: [length, 'Upgrade: h2c', 'Connection: upgrade'], bytes: smuggled, body: smuggled },
  {
    name: 'trailers',
    lines: [chunked, 'Trailer: X-Backscroll-Key-Id'],
    bytes: chunks('X-Backscroll-Key-Id: 1\r\n'),
    body: smuggled,
  },
];
const names = [
  'content-length',
  'Content-Length, Transfer-Encoding',
  'authorization',
  'host',
  'content-type, cookie',
  'x-forwarded-for, x-forwarded-proto, x-forwarded-host',
  'via, x-request-id',
  'x-backscroll-key-id, x-backscroll-app-id',
  'keep-alive',
  'transfer-encoding',
  'CONTENT-LENGTH',
  'x-a,,\tcontent-length ,x-b',
  'content_length',
  'expect, upgrade, te, trailer',
];
const commonMethods = ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'TRACE', 'PROPFIND'];
const methods = [...commonMethods, ...METHODS.filter((one) => !commonMethods.includes(one) && one !== 'CONNECT')];

/** Says in the response which request it belongs to. */
const echo: Script = (socket, request) => {
  const [method = '', path] = request.head.split(' ', 2);
  const body = JSON.stringify({ path, authorization: headersOf(request).authorization });
  const head = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`;
  socket.write(method === 'HEAD' ? head : head + body);
};

/** The headers that name, or spell with underscores, what only Backscroll may decide. */
const decided =
  /^(?:content-length|transfer-encoding|host|x-forwarded-(?:for|proto|host)|via|x-request-id|x-backscroll-.*)$/;

function problemOf({ head, body }: ReceivedRequest, framing: Framing, key: string, keyId: string): string | undefined {
  const lines = head.split('\r\n').slice(1);
  const sent = lines.map((line) => line.slice(0, line.indexOf(':')).toLowerCase());
  const received = sent.map((name) => name.replaceAll('_', '-')).filter((name) => decided.test(name));
  if (new Set(received).size < received.length) return `repeated headers: ${received}`;
  const framingHeaders = received.filter((name) => /^(?:content-length|transfer-encoding)$/.test(name));
  if (framingHeaders.length > 1 || (framing.body !== '' && framingHeaders.length === 0)) return 'framing';
  const headers = headersOf({ head, body });
  if (headers.authorization !== `Bearer ${key}`) return 'the key';
  if (headers['x-backscroll-key-id'] !== keyId) return 'the id of the key';
  for (const name of [
    'host',
    'content-type',
    'cookie',
    'x-forwarded-for',
    'x-forwarded-proto',
    'x-forwarded-host',
    'via',
    'x-request-id',
  ]) {
    if (headers[name] === undefined) return `no ${name}`;
  }
  return body.toString('latin1') === framing.body ? undefined : 'another body';
}

describe('a request that is passed on', () => {
  const { one, other, records } = makeTwoTenants();
  const attacker = { secret: `app-${'r'.repeat(43)}`, id: '2b1c7a0e-54b5-4e0c-9d6c-0d5a3f6f0001' };
  const upstream = new ScriptedUpstream();
  let service: Service;

  before(async () => {
    await upstream.listen();
    service = await startService('sqlite', { UPSTREAM_URL: upstream.url });
    const key = { record: 'api_key', kind: 'app', name: 'attacker', workspace_id: one.ids.workspace };
    await service.load([...records, { ...key, id: attacker.id, app_id: one.ids.app, secret: attacker.secret }]);
  });
  beforeEach(() => {
    upstream.requests.length = 0;
    upstream.script = echo;
    upstream.onBytes = undefined;
  });
  after(async () => {
    await service.close();
    await upstream.close();
  });

  /** What is wrong with an attack, or with the request of another client after it. */
  async function attack(method: string, framing: Framing, name: string, nth: number): Promise<string | undefined> {
    upstream.requests.length = 0;
    const path = `/v1/attack/${nth}`;
    const lines = [
      `${method} ${path} HTTP/1.1`,
      'Host: a',
      `Authorization: Bearer ${attacker.secret}`,
      'Content-Type: text/plain',
      'Cookie: a=1',
      ...framing.lines,
      `Connection: ${name}`,
      'Connection: close',
    ];
    const { status, body } = await sendRaw(service.port, `${lines.join('\r\n')}\r\n\r\n${framing.bytes}`, 1_000);
    const [request, ...more] = upstream.requests.splice(0);
    if (framing.body === undefined) {
      if (![400, 501].includes(status) || request !== undefined) return `status ${status}`;
    } else {
      if (status !== 200 || request === undefined || more.length > 0)
        return `${status}: ${(request ? 1 : 0) + more.length} requests`;
      if (!request.head.startsWith(`${method} /base${path} `)) return request.head;
      if (method !== 'HEAD' && JSON.parse(body).path !== `/base${path}`) return `the response ${body}`;
      const problem = problemOf(request, framing, attacker.secret, attacker.id);
      if (problem !== undefined) return problem;
    }
    const victim = `/v1/victim/${nth}`;
    const headers = { authorization: `Bearer ${other.keys.app}` };
    const response = exchange(service.base, 'GET', victim, { headers });
    const late = new Promise<undefined>((resolve) => setTimeout(resolve, 1_000));
    const received = await Promise.race([response, late]);
    if (received === undefined || received.status !== 200) return `the other client: ${received?.status}`;
    const expected = { path: `/base${victim}`, authorization: headers.authorization };
    if (`${received.body}` !== JSON.stringify(expected)) return `the other client: ${received.body}`;
    if (upstream.requests.length !== 1) return `the other client: ${upstream.requests.length} requests`;
    return upstream.unread > 0 ? `${upstream.unread} bytes that belong to no request` : undefined;
  }

  it('is one request there, with the same body, and leaves those of other clients alone', async () => {
    const failures: string[] = [];
    let nth = 0;
    for (const [row, method] of (isLong ? methods : commonMethods).entries()) {
      for (const [column, framing] of framings.entries()) {
        const [first, ...rest] = names as [string, ...string[]];
        const others = firstOrAll(rest.map((_, at) => rest[(row + column + at) % rest.length] as string));
        for (const name of [first, ...others]) {
          nth += 1;
          const problem = await attack(method, framing, name, nth);
          if (problem !== undefined) failures.push(`${method}, ${framing.name}, Connection: ${name}: ${problem}`);
        }
      }
    }
    assert.deepEqual(failures.slice(0, 10), [], `${failures.length} of ${nth} failed`);
  });

  const begin = (path: string, framing: string): Socket => {
    const socket = connect(service.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${attacker.secret}\r\n${framing}\r\n\r\n`);
    return socket;
  };

  it('ends there when its client leaves in the middle of the body', async () => {
    for (const framing of ['Content-Length: 100', chunked]) {
      const socket = begin('/v1/x', framing);
      socket.write('3\r\nabc\r\n');
      await until(() => upstream.unread > 0);
      socket.destroy();
      await until(() => upstream.connections === 0);
    }
    assert.deepEqual(upstream.requests, []);
  });

  it('whose response comes before the end of its body leaves no rest there', async () => {
    upstream.onBytes = (socket) => socket.write('HTTP/1.1 413 Early\r\nContent-Length: 5\r\n\r\nearly');
    const socket = begin('/v1/x', `Content-Length: ${smuggled.length + 3}`);
    socket.write('abc');
    const [early] = await once(socket, 'data');
    assert.match(`${early}`, /^HTTP\/1.1 413 Early[\s\S]*early$/);
    await until(() => upstream.connections === 0);
    upstream.onBytes = undefined;
    socket.write(`${smuggled}GET /v1/next HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${attacker.secret}\r\n\r\n`);
    const [next] = await once(socket, 'data');
    assert.match(`${next}`, /^HTTP\/1.1 200 OK[\s\S]*"path":"\/base\/v1\/next"/);
    assert.deepEqual(
      upstream.requests.map(({ head }) => head.split(' ', 2)[1]),
      ['/base/v1/next'],
    );
    socket.destroy();
  });

  const evil = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil';
  const good = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood';
  /** What the upstream sends, what it sends later, and what the client gets. */
  const responses: [name: string, sent: string, later: string, status: number, body: string][] = [
    ['a whole one after it', good + evil, '', 200, 'good'],
    ['a part of one after it', good + evil.slice(0, 20), evil.slice(20), 200, 'good'],
    ['one on the idle connection', good, evil, 200, 'good'],
    ['more than its length', `${good} and more`, '', 200, 'good'],
    ['a body of a 204', `HTTP/1.1 204 No\r\n\r\n${evil}`, '', 204, ''],
    ['a body of a 204, with a length', 'HTTP/1.1 204 No\r\nContent-Length: 4\r\n\r\nbody', '', 204, ''],
    ['chunks of a 204', 'HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n', '', 204, ''],
    ['a body of a 304', 'HTTP/1.1 304 No\r\nContent-Length: 4\r\n\r\nbody', '', 304, ''],
    ['a framing that `Connection` names', good.replace('\r\n', '\r\nConnection: content-length\r\n'), '', 200, 'good'],
    ['another protocol', 'HTTP/1.1 101 Switching\r\n\r\n', '', 502, ''],
    ['another coding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n', '', 502, ''],
  ];
  for (const [name, sent, later, status, body] of responses) {
    it(`gets its own response, and so does the next client, if the upstream sends ${name}`, async () => {
      const get = (key: string, path: string) =>
        sendRaw(
          service.port,
          `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`,
        );
      let first: Socket | undefined;
      // At another moment each time: before the next request, or while it is on its way.
      for (let ticks = 0; ticks < shortOrLong(8, 100); ticks += 1) {
        upstream.script = (socket) => {
          first = socket;
          socket.write(sent);
        };
        const response = await get(attacker.secret, '/v1/first');
        assert.equal(response.status, status);
        if (status < 500) assert.equal(response.body, body);
        assert.equal(/content-length: 4/i.test(response.head), status === 200 || status === 304);
        upstream.script = echo;
        const next = get(other.keys.app, '/v1/next');
        for (let tick = 0; tick < ticks; tick += 1) await nextTick();
        if (later !== '' && first?.writable) first.write(later);
        assert.equal(JSON.parse((await next).body).path, '/base/v1/next');
      }
    });
  }
});
