import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { before, it } from 'node:test';
import { makeSecret } from '../../src/domain/secret.ts';
import { makeTwoTenants, message, onOneEngine, startService, useService } from '../support/harness.ts';
import { until } from '../support/until.ts';
import { callRaw, connect, resultOf, rpc, send, versions } from './clients.ts';

/** The parameters of a request in the version without `initialize`, and its headers. */
const newer = (method: string, version: string = versions[0]) => ({
  params: {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': version,
      'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
  headers: { 'mcp-protocol-version': version, 'mcp-method': method },
});
const initialize = (protocolVersion: string) =>
  rpc('initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'raw', version: '1' } });

onOneEngine('the endpoint of agents', (engine) => {
  const { one, admin, records } = makeTwoTenants();
  const { keys, ids } = one;
  const service = useService(engine, [...records, message(ids.conversation, 5)], {
    PUBLIC_URL: 'https://chats.example.com/',
  });

  const codeOf = (body: { error?: { code: number } }) => body.error?.code;

  it('405: only POST is allowed, whatever the key', async () => {
    for (const method of ['GET', 'HEAD', 'DELETE', 'PUT', 'PATCH']) {
      const { status, headers } = await service.request(method, '/mcp');
      assert.deepEqual([status, headers.allow], [405, 'POST'], method);
    }
  });

  it('401: keys of other kinds and invalid keys, in the form of all errors, before the body is read', async () => {
    for (const key of [undefined, 'x', makeSecret('admin'), keys.writer, keys.feed]) {
      const { status, body } = await send(service, key, '{', { origin: 'https://evil.example' });
      assert.deepEqual([status, body.code], [401, 'unauthorized']);
    }
  });

  it('403: foreign origins; no origin, loopback names with this port and PUBLIC_URL are allowed', async () => {
    const { port } = service;
    const allowed = [
      ...['127.0.0.1', 'localhost', '[::1]', '127.0.0.2'].map((host) => `http://${host}:${port}`),
      'https://chats.example.com',
    ];
    for (const origin of allowed)
      assert.equal((await send(service, admin, rpc('ping'), { origin })).status, 200, origin);
    const foreign = [
      ...['null', '', 'https://evil.example', `http://evil.example:${port}`, `http://localhost.evil.example:${port}`],
      ...[`http://localhost:${port + 1}`, 'http://localhost', `http://localhost:${port}/`, `ftp://localhost:${port}`],
      ...['http://chats.example.com', 'https://chats.example.com:8443', 'https://x.chats.example.com'],
      ...[`http://user@localhost:${port}`, `http://127.0.0.1.:${port}`, `http://LOCALHOST:${port}`],
    ];
    for (const origin of foreign) {
      const host = URL.parse(origin)?.host;
      const headers = { origin, ...(host && { host }) };
      const { status, body } = await send(service, admin, rpc('ping'), headers);
      assert.deepEqual([status, body.code], [403, 'forbidden'], origin);
    }
  });

  it('400: what is not one JSON-RPC message', async () => {
    const parseError = -32_700;
    const invalidRequest = -32_600;
    const ping = rpc('ping');
    const cases: [unknown, number][] = [
      ['', parseError],
      ['{', parseError],
      ['{"jsonrpc":"2.0","id":1,"method":"ping"} x', parseError],
      ['\u{feff}{"a":1', parseError],
      [[], invalidRequest],
      [[ping, ping], invalidRequest],
      ['null', invalidRequest],
      ['5', invalidRequest],
      ['"ping"', invalidRequest],
      [{}, invalidRequest],
      [{ ...ping, jsonrpc: '1.0' }, invalidRequest],
      [{ ...ping, method: 5 }, invalidRequest],
      [{ ...ping, id: {} }, invalidRequest],
      [{ ...ping, id: null }, invalidRequest],
      [{ ...ping, params: 'x' }, invalidRequest],
    ];
    for (const [given, code] of cases) {
      const { status, body } = await send(service, admin, given);
      assert.deepEqual([status, codeOf(body), body.id, body.jsonrpc], [400, code, null, '2.0'], JSON.stringify(given));
    }
  });

  it('413 and 415: a body that is too large or of another type has the form of all errors', async () => {
    const large = await send(service, admin, rpc('ping', { text: 'x'.repeat(1_048_576) }));
    assert.deepEqual([large.status, large.body.code], [413, 'payload_too_large']);
    for (const type of ['text/plain', 'application/json-rpc', 'application/json; charset=latin1']) {
      const { status, body } = await send(service, admin, rpc('ping'), { 'content-type': type });
      assert.deepEqual([status, body.code], [415, 'unsupported_media_type'], type);
    }
  });

  it('200: initialize negotiates the older versions; ping works; nothing needs a session', async () => {
    for (const version of versions.slice(1)) {
      const { status, body, headers } = await send(service, keys.app, initialize(version));
      assert.deepEqual([status, body.result.protocolVersion], [200, version]);
      assert.equal(headers['mcp-session-id'], undefined);
      assert.equal(headers['content-type'], 'application/json; charset=utf-8');
      assert.deepEqual(body.result.capabilities, { tools: {} });
      const ping = await send(service, keys.app, rpc('ping'), { 'mcp-protocol-version': version });
      assert.deepEqual([ping.status, ping.body.result], [200, {}]);
    }
    const unknown = await send(service, keys.app, initialize('2020-01-01'));
    assert.equal(unknown.body.result.protocolVersion, versions[1], 'the newest of them is offered');
  });

  it('200: the newest version is discovered without initialize', async () => {
    const { params, headers } = newer('server/discover');
    const { status, body } = await send(service, keys.app, rpc('server/discover', params), headers);
    assert.equal(status, 200, JSON.stringify(body));
    assert.ok(body.result.supportedVersions.includes(versions[0]));
    const client = await connect(service, keys.app, versions[0]);
    assert.equal(client.getServerVersion()?.name, 'backscroll');
    await client.close();
  });

  it('400: an unknown version', async () => {
    for (const version of ['2024-11-05', '2025-03-26', '2030-01-01', 'x']) {
      const { status, body } = await send(service, keys.app, rpc('tools/list'), { 'mcp-protocol-version': version });
      assert.equal(status, 400, version);
      assert.equal(typeof codeOf(body), 'number');
    }
    const { params, headers } = newer('tools/list', '2030-01-01');
    const { status, body } = await send(service, keys.app, rpc('tools/list', params), headers);
    assert.equal(status, 400);
    assert.deepEqual(body.error.data.supported, [versions[0]]);
  });

  it('202: notifications, also of a cancellation', async () => {
    for (const method of ['notifications/initialized', 'notifications/cancelled', 'notifications/of-no-one']) {
      const params = method.endsWith('cancelled') ? { requestId: 1 } : {};
      const { status, text } = await send(service, keys.app, { jsonrpc: '2.0', method, params });
      assert.deepEqual([status, text], [202, ''], method);
    }
  });

  it('-32601: other methods, in every version', async () => {
    const methods = ['resources/list', 'prompts/list', 'logging/setLevel', 'completion/complete', 'tools/drop', ''];
    for (const method of methods) {
      const { status, body } = await send(service, admin, rpc(method));
      assert.deepEqual([status, codeOf(body)], [200, -32_601], method);
    }
    for (const method of ['resources/list', 'tools/drop', 'subscriptions/listen']) {
      const { params, headers } = newer(method);
      const { body } = await send(service, admin, rpc(method, params), headers);
      assert.equal(codeOf(body), -32_601, method);
    }
    assert.equal(codeOf((await send(service, admin, rpc('subscriptions/listen'))).body), -32_601);
  });

  it('-32602: a tool that the key does not allow is an unknown tool', async () => {
    const unknown = async (key: string, name: string) => {
      const { status, body } = await callRaw(service, key, name);
      assert.deepEqual([status, codeOf(body)], [200, -32_602], name);
      return body.error.message.replace(name, '');
    };
    const messages = new Set<string>();
    for (const name of ['overview', 'update_chunk', 'list_changes', 'nothing', '', '__proto__', 'constructor'])
      messages.add(await unknown(keys.app, name));
    messages.add(await unknown(keys.knowledge, 'get_messages'));
    assert.equal(messages.size, 1);
  });

  it('-32602: parameters of the wrong type, in every method', async () => {
    const { params } = initialize(versions[1]) as { params: object };
    const cases: [string, object | undefined][] = [
      ['initialize', undefined],
      ['initialize', {}],
      ['initialize', { ...params, protocolVersion: 5 }],
      ['initialize', { ...params, capabilities: 'all' }],
      ['initialize', { ...params, clientInfo: { name: 'raw' } }],
      ['tools/list', { cursor: 5 }],
      ['tools/call', {}],
      ['tools/call', { name: 5 }],
      ['tools/call', { name: 'get_messages', arguments: [] }],
      ['tools/call', { name: 'get_messages', arguments: 'x' }],
    ];
    for (const [method, given] of cases) {
      const { status, body } = await send(service, keys.app, { ...rpc(method, given), id: 'a' });
      assert.match(body.error.message, /^params/);
      assert.deepEqual([status, codeOf(body), body.id], [200, -32_602, 'a'], `${method} ${JSON.stringify(given)}`);
    }
  });

  it('the id of a message is returned as it was sent', async () => {
    for (const id of ['', 'x'.repeat(1_000), 0, -1, Number.MAX_SAFE_INTEGER]) {
      const { body } = await send(service, admin, { ...rpc('ping'), id });
      assert.strictEqual(body.id, id);
    }
  });

  it('a client that disconnects ends its search, and the service goes on', async () => {
    const body = JSON.stringify(rpc('tools/call', { name: 'search_messages', arguments: { q: 'a' } }));
    const lines = ['POST /mcp HTTP/1.1', 'Host: localhost', `Authorization: Bearer ${admin}`];
    const head = [...lines, 'Content-Type: application/json', `Content-Length: ${body.length}`, '', ''].join('\r\n');
    const before = service.logs.length;
    const socket = net.connect(service.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.end(head + body);
    socket.destroy();
    // The request may not even have been read.
    await until(async () => (await send(service, admin, rpc('ping'))).status === 200);
    for (const line of service.logs.slice(before)) assert.doesNotMatch(line, /"level":50/);
  });
});

onOneEngine('limits and observation of agents', (engine) => {
  const { one, admin, records } = makeTwoTenants();
  const { keys, keyIds, ids } = one;
  const path = {
    dataset_id: ids.dataset,
    document_id: ids.document,
    segment_id: ids.segment,
    child_chunk_id: ids.chunk,
  };
  const service = useService(engine, records, { RATE_LIMIT: '20', WRITE_LIMIT: '1' });
  before(async () => {
    service.freezeClock();
  });

  it('reads count as requests, and calls that write as writes, too', async () => {
    service.advanceClock(2);
    const edit = async () => {
      const { status, body, headers } = await callRaw(service, keys.knowledge, 'update_chunk', {
        ...path,
        content: 'text',
        version: 'x',
      });
      assert.equal(status, 200);
      return [resultOf(body.result).status, headers['ratelimit-policy']];
    };
    for (let calls = 0; calls < 3; calls += 1)
      assert.equal((await callRaw(service, keys.knowledge, 'list_datasets')).body.result.isError, undefined);
    assert.deepEqual(await edit(), [412, '"writes";q=1;w=1']);
    assert.deepEqual(await edit(), [429, '"writes";q=1;w=1']);
    service.advanceClock(2);
    assert.equal((await edit())[0], 412);
    for (let requests = 1; requests < 20; requests += 1)
      assert.equal((await send(service, keys.knowledge, rpc('ping'))).status, 200);
    const { status, body } = await send(service, keys.knowledge, rpc('ping'));
    assert.deepEqual([status, body.code], [429, 'too_many_requests']);
  });

  it('metrics and the log name the tool, never what it was asked', async () => {
    service.advanceClock(2);
    await callRaw(service, keys.app, 'search_messages', { q: 'a very private question' });
    await callRaw(service, keys.app, 'no_such_tool');
    await callRaw(service, keys.app, 'get_messages', { conversation_id: 'nothing' });
    const { text } = await service.as(admin).get('/metrics');
    assert.match(text, /^backscroll_tool_calls_total\{tool="search_messages",status="200"\} 1$/m);
    assert.match(text, /^backscroll_tool_calls_total\{tool="get_messages",status="404"\} 1$/m);
    assert.match(text, /^backscroll_http_requests_total\{method="POST",route="\/mcp",status="200"\} \d+$/m);
    assert.ok(!text.includes('no_such_tool'));
    await until(() => service.logs.filter((line) => line.includes('"tool":"get_messages"')).length === 1);
    const line = service.logs.find((one) => one.includes('"tool":"search_messages"')) ?? '';
    const { route, status, key_id, tool } = JSON.parse(line);
    assert.deepEqual([route, status, key_id, tool], ['/mcp', 200, keyIds.app, 'search_messages']);
    assert.ok(!service.logs.some((one) => /private question|no_such_tool/.test(one)));
  });

  it('404: a search that is off is a result; other tools go on', async (t) => {
    const off = await startService(engine, { SEARCH: 'off' }, service.config.database_url);
    t.after(() => off.close());
    const { body } = await callRaw(off, admin, 'search_messages', { q: 'x' });
    assert.deepEqual([body.result.isError, resultOf(body.result).status], [true, 404]);
    const chunk = await callRaw(off, admin, 'get_chunk', path);
    assert.equal(chunk.body.result.structuredContent.cited_by, null);
  });
});
