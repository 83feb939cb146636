import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { inspect } from 'node:util';
import { Backscroll, type BackscrollOptions, ServiceUnavailable } from '../src/index.ts';

const key = 'app-a-secret-that-must-not-be-seen';
const page = { limit: 20, has_more: false, data: [] };
const query = { conversation_id: 'c' };
const edit = { dataset_id: 'd', document_id: 'o', segment_id: 's', child_chunk_id: 'c', content: 'text' };

type Behaviour = (request: http.IncomingMessage, response: http.ServerResponse) => void;

const respond =
  (status: number, body: unknown, headers: http.OutgoingHttpHeaders = {}): Behaviour =>
  (_request, response) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    response
      .writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'request-7', ...headers })
      .end(text);
  };
const fine = respond(200, page);
const refuse = (status: number, code: string, headers: http.OutgoingHttpHeaders = {}) =>
  respond(status, { status, code, message: `it was ${code}` }, headers);
const busy = (retryAfter: string) => refuse(503, 'service_unavailable', { 'retry-after': retryAfter });
const hangUp: Behaviour = (request) => request.socket.destroy();
const halfAResponse: Behaviour = (request, response) => {
  response.writeHead(200, { 'content-length': 100 });
  response.write('{"limit"', () => request.socket.destroy());
};
const silence: Behaviour = () => undefined;
const slowBody: Behaviour = (_request, response) => void response.writeHead(200).write('{');

type Got = { method: string | undefined; ifMatch: string | undefined; body: string; at: number };
/** What the service does, request by request, and what it got. */
type Stage = { script: Behaviour[]; got: Got[] };

describe('a service that misbehaves', { concurrency: 10 }, () => {
  /** By the first part of the path: a request that was given up may still arrive when its test is over. */
  const stages: Stage[] = [];
  const server = http.createServer(async (request, response) => {
    const at = performance.now();
    const stage = stages[Number(request.url?.split('/')[1])];
    const act = stage?.script.shift() ?? respond(500, 'nothing left to do');
    let body = '';
    for await (const chunk of request) body += chunk;
    stage?.got.push({ method: request.method, ifMatch: request.headers['if-match'], body, at });
    act(request, response);
  });
  let base = '';
  before(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  function perform(...script: Behaviour[]) {
    const stage: Stage = { script, got: [] };
    const baseUrl = `${base}/${stages.push(stage) - 1}/v1`;
    const client = (options: Partial<BackscrollOptions> = {}) => new Backscroll({ baseUrl, key, ...options });
    return { ...stage, client };
  }

  const passing: [string, Behaviour][] = [
    ['503', refuse(503, 'service_unavailable')],
    ['503 with Retry-After: 0', busy('0')],
    ['429', refuse(429, 'too_many_requests')],
    ['408', refuse(408, 'request_timeout')],
    ["502 of a proxy's", respond(502, '<html>Bad Gateway</html>')],
    ["504 of a proxy's", respond(504, '')],
    ['a connection that is closed', hangUp],
    ['half a response', halfAResponse],
  ];
  for (const [name, behaviour] of passing) {
    it(`gets a retry after ${name}`, async () => {
      const { client, got } = perform(behaviour, fine);
      assert.deepEqual(await client().listMessages(query), page);
      assert.equal(got.length, 2);
    });
  }

  it('gets a retry after no response, and after a response that does not end', async () => {
    for (const behaviour of [silence, slowBody]) {
      // On a busy machine a good response may be late too.
      const patient = perform(behaviour, ...Array(9).fill(fine)).client({ timeout: 100, retries: 9 });
      assert.deepEqual(await patient.listMessages(query), page);
      const hurried = perform(behaviour).client({ timeout: 100, retries: 0 });
      await assert.rejects(hurried.listMessages(query), { name: 'Timeout' });
    }
  });

  it('gets an edit again, with and without ifMatch, unchanged', async () => {
    const changed = respond(200, { data: { id: 'c', content: 'text' } }, { etag: 'W/"2"' });
    const { client, got } = perform(hangUp, busy('0'), changed, halfAResponse, changed);
    const chunk = await client().updateChildChunk(edit, { ifMatch: '"1"' });
    // The proxy that compressed the response made the ETag weak.
    assert.deepEqual([chunk.content, chunk.etag], ['text', '"2"']);
    await client().updateChildChunk(edit);
    assert.deepEqual(
      got.map(({ method, ifMatch, body }) => [method, ifMatch, body]),
      [
        ...Array(3).fill(['PATCH', '"1"', '{"content":"text"}']),
        ...Array(2).fill(['PATCH', undefined, '{"content":"text"}']),
      ],
    );
  });

  const lasting: [string, Behaviour, object][] = [
    ['400', refuse(400, 'invalid_param'), { name: 'InvalidParam', status: 400 }],
    ['401', refuse(401, 'unauthorized'), { name: 'Unauthorized', status: 401 }],
    ['404', refuse(404, 'not_found'), { name: 'NotFound', status: 404 }],
    ['412', refuse(412, 'precondition_failed'), { name: 'PreconditionFailed', status: 412 }],
    ['500', refuse(500, 'internal_server_error'), { name: 'InternalServerError', status: 500 }],
    ['a code of a later version', refuse(409, 'brand_new'), { name: 'ApiError', status: 409, code: 'brand_new' }],
    ['a code that is a name of every object', refuse(400, 'constructor'), { name: 'ApiError', code: 'constructor' }],
    ['a page that is no JSON', respond(200, '<html>'), { name: 'UnexpectedResponse', status: 200 }],
    ['a response without a body', respond(204, ''), { name: 'UnexpectedResponse', status: 204 }],
    ['JSON that is no object', respond(200, '"hello"'), { name: 'UnexpectedResponse', code: 'unexpected_response' }],
    ["an error that is not the service's", respond(403, '{"error":"no"}'), { name: 'UnexpectedResponse', status: 403 }],
    ['a redirect', respond(302, '', { location: 'http://127.0.0.1:1/' }), { name: 'UnexpectedResponse', status: 302 }],
  ];
  for (const [name, behaviour, expected] of lasting) {
    it(`gets no retry after ${name}`, async () => {
      const { client, got } = perform(behaviour, fine);
      await assert.rejects(client().listMessages(query), { requestId: 'request-7', ...expected });
      assert.equal(got.length, 1);
    });
  }

  it('gets as many requests as retries allows, and the last error is thrown', async () => {
    const { client, got } = perform(hangUp, hangUp, busy('0'), fine);
    await assert.rejects(client().listMessages(query), { name: 'ServiceUnavailable', retryAfter: 0 });
    assert.equal(got.length, 3);
    const none = perform(hangUp, fine, hangUp);
    await assert.rejects(none.client({ retries: 0 }).listMessages(query), { name: 'Connection' });
    await none.client({ retries: 0 }).listMessages(query);
    await assert.rejects(none.client().listMessages(query, { retries: 0 }), { name: 'Connection' });
    const one = perform(busy('0'), busy('0'), fine);
    await assert.rejects(one.client({ retries: 0 }).listMessages(query, { retries: 1 }), ServiceUnavailable);
    assert.equal(one.script.length, 1);
  });

  const now = 'Sun, 15 Nov 2026 12:00:00 GMT';
  const then = 'Sun, 15 Nov 2026 12:00:01 GMT';
  const waits: [string, Behaviour][] = [
    ['in seconds', busy('1')],
    ["as a date, by the service's clock", refuse(429, 'too_many_requests', { 'retry-after': then, date: now })],
  ];
  for (const [name, behaviour] of waits) {
    it(`is left alone until the time of Retry-After, ${name}`, async () => {
      const { client, got } = perform(behaviour, fine);
      await client().listMessages(query);
      const [first, second] = got.map(({ at }) => at);
      assert.ok((second ?? 0) - (first ?? 0) >= 990);
    });
  }

  it('gets no retry after more than maxWait', async () => {
    const never = refuse(503, 'service_unavailable', { 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' });
    const { client, got } = perform(busy('31'), busy('2'), never);
    await assert.rejects(client().listMessages(query), { name: 'ServiceUnavailable', retryAfter: 31 });
    await assert.rejects(client({ maxWait: 1_999 }).listMessages(query), ServiceUnavailable);
    await assert.rejects(
      client().listMessages(query),
      (error) => ((error as ServiceUnavailable).retryAfter ?? 0) > 1e9,
    );
    assert.equal(got.length, 3);
  });

  it('an invalid Retry-After is ignored', async () => {
    const { client } = perform(busy('soon'), fine);
    assert.deepEqual(await client().listMessages(query), page);
  });

  it('Aborted: before, during a request, and while waiting', async () => {
    const aborted = { name: 'Aborted', cause: 'enough' };
    const untouched = perform(fine);
    const already = { signal: AbortSignal.abort('enough') };
    await assert.rejects(untouched.client().listMessages(query, already), aborted);
    assert.equal(untouched.got.length, 0);

    for (const behaviour of [silence, slowBody, busy('20')]) {
      const controller = new AbortController();
      const thenAbort: Behaviour = (request, response) => {
        behaviour(request, response);
        // Late enough for a response to have arrived.
        setTimeout(() => controller.abort('enough'), 50);
      };
      const { client, script } = perform(thenAbort, fine);
      await assert.rejects(client().listMessages(query, { signal: controller.signal }), aborted);
      assert.equal(script.length, 1);
    }
  });

  it('Connection: no server listens', async () => {
    const unreachable = new Backscroll({ baseUrl: 'http://127.0.0.1:1/v1', key, retries: 0 });
    await assert.rejects(unreachable.listMessages(query), { name: 'Connection', message: /could not be reached/ });
  });

  it('no error contains the key, even if a server quotes it', async () => {
    const quoting = respond(400, { status: 400, code: 'invalid_param', message: `what is Bearer ${key}?` });
    const { client } = perform(quoting, respond(200, `<p>${key}`), respond(500, { error: key }));
    const shouting = () => Promise.reject(new Error(`cannot send ${key}`, { cause: { code: key } }));
    const calls = [
      client().listMessages(query),
      client().listMessages(query),
      client().listMessages(query),
      client({ fetch: shouting, retries: 0 }).listMessages(query),
      new Backscroll({ baseUrl: 'http://127.0.0.1:1/v1', key, retries: 0 }).listMessages(query),
    ];
    for (const { reason } of (await Promise.allSettled(calls)) as PromiseRejectedResult[]) {
      assert.ok(reason instanceof Error);
      assert.ok(!inspect(reason, { depth: 9, showHidden: true }).includes(key));
    }
  });

  it('a long-lived signal collects no listeners', async () => {
    const { signal } = new AbortController();
    let listeners = 0;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...args);
    };
    const { client } = perform(busy('0'), fine, fine);
    await client().listMessages(query, { signal });
    for await (const _ of client().history(query, { signal })) assert.fail();
    assert.equal(listeners, 0);
  });
});
