import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { pino } from 'pino';
import { limits } from '../../src/contract/limits.ts';
import { Connections } from '../../src/http/front/connections.ts';
import { type GateOptions, gate } from '../../src/http/front/gate.ts';
import { rejectInvalidHttp } from '../../src/http/front/socket-responses.ts';
import { Metrics } from '../../src/http/observe/metrics.ts';
import { SharedSum } from '../../src/http/workers/shared-sum.ts';
import { SlowReaders } from '../../src/http/workers/slow-readers.ts';
import { makeTwoTenants, message, onOneEngine, useService } from '../support/harness.ts';
import { until } from '../support/until.ts';
import { newWorkers, onlyWorker } from '../support/workers/state.ts';

/** Sends a request without its last byte, so that it is in flight until `finish` sends that byte. */
async function startRequest(
  port: number,
  path: string,
  key: string,
  body: string,
): Promise<{ socket: Socket; finish(): Promise<string> }> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const head = `PATCH ${path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;
  socket.write(`${head}Content-Length: ${body.length}\r\n\r\n${body.slice(0, -1)}`);
  return {
    socket,
    finish: async () => {
      socket.write(body.slice(-1));
      const [response] = (await once(socket, 'data')) as [Buffer];
      socket.destroy();
      return response.toString();
    },
  };
}

onOneEngine('more requests in flight than IN_FLIGHT_MAX', (engine) => {
  const { one, admin, records } = makeTwoTenants();
  const page = `/v1/messages?conversation_id=${one.ids.conversation}`;
  const body = JSON.stringify({ content: 'a text that comes late' });
  const service = useService(engine, [...records, message(one.ids.conversation, 1)], { IN_FLIGHT_MAX: '2' });

  /** Waits until so many requests are in flight. */
  const inFlight = (count: number) =>
    until(async () => {
      const { text } = await service.as(admin).get('/metrics');
      // The request for the metrics is in flight too.
      return text.includes(`backscroll_http_requests_in_flight ${count + 1}\n`);
    });

  it('503 with Retry-After for any path, also an unknown one; 200 again once there is room', async () => {
    const pending = [await startRequest(service.port, one.chunkPath, one.keys.knowledge, body)];
    pending.push(await startRequest(service.port, one.chunkPath, one.keys.knowledge, body));
    await inFlight(2);
    const rejected = [
      service.as(one.keys.app).get(page, { 'x-request-id': 'mine' }),
      service.request('GET', page),
      service.request('HEAD', page, { key: one.keys.app }),
      service.request('GET', '/v1/nowhere'),
      service.as(one.keys.knowledge).patch(one.chunkPath, { content: 'never written' }),
      service.request('PATCH', one.chunkPath, { headers: { connection: 'close' }, body: { content: 'never written' } }),
      service.as(admin).post('/admin/records', 'x'.repeat(3_000_000)),
    ];
    for (const { status, headers, text } of await Promise.all(rejected)) {
      assert.deepEqual([status, headers['retry-after']], [503, '1']);
      assert.ok(headers['x-request-id']);
      if (text !== '') assert.equal(JSON.parse(text).code, 'service_unavailable');
    }
    assert.equal((await rejected[0])?.headers['x-request-id'], 'mine');
    for (const path of ['/health/live', '/health/ready'])
      assert.equal((await service.request('GET', path)).status, 200);
    for (const { finish } of pending) assert.match(await finish(), /^HTTP\/1\.1 200 /);
    await inFlight(0);
    assert.equal((await service.as(one.keys.app).get(page)).status, 200);
    const { body: chunk } = await service.as(one.keys.knowledge).get(one.chunkPath);
    assert.equal(chunk.data.content, 'a text that comes late');
  });

  it('a client that disconnects makes room', async () => {
    const pending = [await startRequest(service.port, one.chunkPath, one.keys.knowledge, body)];
    pending.push(await startRequest(service.port, one.chunkPath, one.keys.knowledge, body));
    await inFlight(2);
    for (const { socket } of pending) socket.destroy();
    await inFlight(0);
    assert.equal((await service.as(one.keys.app).get(page)).status, 200);
  });

  it('is logged in one line a second, and counted', async () => {
    const lines = () => service.logs.filter((line) => line.includes('overloaded: requests were rejected'));
    const rejected = () => lines().reduce((sum, line) => sum + JSON.parse(line).rejected, 0);
    await until(() => rejected() >= 7);
    assert.equal(rejected(), 7);
    assert.ok(lines().length <= 2, lines().join(''));
    const { text } = await service.as(admin).get('/metrics');
    assert.match(text, /backscroll_http_requests_total\{method="GET",route="rejected",status="503"\} 3\n/);
  });
});

function gateOptions(now: () => number): GateOptions {
  const { shared, replace } = newWorkers(1);
  const context = replace(0);
  const inFlight = new SharedSum(shared.inFlight, 0);
  return {
    in_flight_max: 100,
    inFlight,
    slowReaders: new SlowReaders(limits.unreadBytesMax, context),
    metrics: new Metrics(
      Date.now,
      () => inFlight.total,
      () => 0,
      context,
      () => ({ used: 0, waiting: 0 }),
    ),
    logger: pino({ level: 'silent' }),
    now,
  };
}

/** A server behind a gate. Returns a function that sends so many requests that arrive in one tick, and returns their statuses. */
async function startGate(
  t: TestContext,
  now: () => number,
  next: (response: ServerResponse) => void,
): Promise<(count: number) => Promise<string[]>> {
  const handle = gate((_request, response) => next(response), gateOptions(now));
  const server = createServer(handle).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close());
  return async (count) => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    let text = '';
    socket.on('data', (bytes) => {
      text += bytes;
    });
    socket.write('GET / HTTP/1.1\r\nHost: test\r\n\r\n'.repeat(count));
    const statuses = () => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status ?? '');
    await until(() => statuses().length >= count);
    socket.destroy();
    return statuses();
  };
}

describe('requests that wait in the queue', () => {
  it('200 for a while, 503 for those that would wait too long', async (t) => {
    let now = 0;
    // Milliseconds that each request takes.
    let millis = 6;
    const send = await startGate(
      t,
      () => now,
      (response) => {
        now += millis;
        response.end();
      },
    );
    // Four at once, 24 ms; then from the queue for as long as queueMillisMax: 42 times 6 ms.
    assert.deepEqual(await send(60), [...Array(46).fill('200'), ...Array(14).fill('503')]);
    assert.deepEqual(await send(40), Array(40).fill('200'));
    // Few slow requests are no overload: one in each tick.
    millis = 1_000;
    const few = limits.queueTicksMin;
    assert.deepEqual(await send(few + 2), [...Array(few).fill('200'), '503', '503']);
  });

  it('200 for all if the process did not run for long: the load is not too high', async (t) => {
    let now = 0;
    let isFirst = true;
    const send = await startGate(
      t,
      () => now,
      (response) => {
        if (isFirst) {
          isFirst = false;
          // The others that have arrived are queued. Then the process does not run for a while.
          now += limits.tickMillisMax;
          process.nextTick(() => {
            now += 10 * limits.queueMillisMax;
          });
        }
        response.end();
      },
    );
    assert.deepEqual(await send(50), Array(50).fill('200'));
  });
});

describe('requests that a client sends without waiting for responses', () => {
  it('get their responses in order, also if some wait in the queue and others never do', async (t) => {
    let now = 0;
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => void server.close().closeAllConnections());
    const next = new Connections(onlyWorker()).inOrder((request, response) => {
      now += 25;
      setImmediate(() => response.end(`${request.url}\n`));
    });
    const options = gateOptions(() => now);
    server.on('request', gate(next, options));
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    let text = '';
    socket.on('data', (bytes) => {
      text += bytes;
    });
    const paths = ['/1', '/2', '/3', '/health/live', '/4'];
    socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: test\r\n\r\n`).join(''));
    const respondedPaths = () => [...text.matchAll(/(?<=\r\n)\/[\w/]+/g)].map(([path]) => path);
    await until(() => respondedPaths().length >= paths.length);
    assert.deepEqual(respondedPaths(), paths);
  });

  it('get one response each if the parser rejects the last of them after its headers', async (t) => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => void server.close().closeAllConnections());
    const handled: (string | undefined)[] = [];
    const handle = new Connections(onlyWorker()).inOrder((request, response) => {
      handled.push(request.url);
      if (request.url === '/1') setImmediate(() => response.end());
      else response.writeHead(501, { connection: 'close' }).end();
    });
    server.on('request', handle).on('clientError', rejectInvalidHttp);
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    let text = '';
    socket.on('data', (bytes) => {
      text += bytes;
    });
    const coding = 'Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n';
    socket.write(`GET /1 HTTP/1.1\r\nHost: test\r\n\r\nPOST /2 HTTP/1.1\r\nHost: test\r\n${coding}`);
    await once(socket, 'end');
    assert.deepEqual(
      [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status),
      ['200', '400'],
    );
    assert.deepEqual(handled, ['/1']);
  });
});
