import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { limits } from '../../src/contract/limits.ts';
import { Connections } from '../../src/http/front/connections.ts';
import { listenAlso } from '../../src/http/server.ts';
import { newFolder, serveWithWorkers } from '../support/cli-helpers.ts';
import { itLong } from '../support/long.ts';
import { until } from '../support/until.ts';
import { newWorkers } from '../support/workers/state.ts';

describe('a second address', () => {
  it('is served like the first, until the server closes', async () => {
    const server = createServer((_request, response) => response.end('ok')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await listenAlso(server, { host: '127.0.0.2', port });
    const get = async (host: string) =>
      (await fetch(`http://${host}:${port}`, { headers: { connection: 'close' } })).text();
    assert.equal(await get('127.0.0.1'), 'ok');
    assert.equal(await get('127.0.0.2'), 'ok');
    server.close();
    await once(server, 'close');
    await assert.rejects(get('127.0.0.2'));
  });

  it('that is not available is left out', async (t) => {
    const server = createServer((_request, response) => response.end('ok')).listen(0, '127.0.0.1');
    t.after(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await listenAlso(server, { host: '127.0.0.1', port });
    assert.equal(await (await fetch(`http://127.0.0.1:${port}`, { headers: { connection: 'close' } })).text(), 'ok');
  });
});

describe('the connections of all workers', () => {
  /** Servers of one service, as the kernel gives them connections; `accepted` are the ends of the server, in order. */
  async function openWorkers(t: TestContext, workers: number, connectionsMax: number) {
    const { contexts } = newWorkers(workers);
    const all = await Promise.all(
      contexts.map(async (context) => {
        const connections = new Connections(context, connectionsMax);
        const held: ServerResponse[] = [];
        const server = createServer((request, response) => {
          if (request.url === '/held') held.push(response);
          else response.end('ok');
        });
        connections.track(server);
        server.listen(0, '127.0.0.1');
        await once(server, 'listening');
        t.after(() => {
          context.peers.close();
          server.close();
          server.closeAllConnections();
        });
        return { port: (server.address() as AddressInfo).port, held };
      }),
    );
    const open = async (worker: number) => {
      const { port } = all[worker] ?? assert.fail();
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      t.after(() => void socket.destroy());
      await once(socket, 'connect');
      let received = '';
      socket.on('data', (bytes) => {
        received += bytes;
      });
      const send = (path: string) => socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
      const isServed = async () => {
        send('/');
        await until(() => received.endsWith('ok') || socket.readableEnded || socket.destroyed);
        return received.endsWith('ok');
      };
      return { socket, send, isServed, isOpen: () => !socket.readableEnded && !socket.destroyed };
    };
    return { open, held: (worker: number) => all[worker]?.held.length ?? 0 };
  }
  const openOnes = (clients: readonly { isOpen: () => boolean }[]) => clients.map(({ isOpen }) => isOpen());

  it('are counted together, and the oldest idle one is closed for a new one', async (t) => {
    const { open } = await openWorkers(t, 2, 20);
    const clients: Awaited<ReturnType<typeof open>>[] = [];
    for (let at = 0; at < 19; at += 1) clients.push(await open(at % 2));
    for (const client of clients) assert.ok(await client.isServed());
    const added = await open(1);
    assert.ok(await added.isServed());
    await until(() => clients[1]?.isOpen() === false);
    assert.equal(openOnes(clients).filter((isOpen) => !isOpen).length, 1);
  });

  it('that another worker has, and are idle, are closed for a new one; never one with a request', async (t) => {
    const { open, held } = await openWorkers(t, 2, 20);
    const busy = await Promise.all(Array.from({ length: 4 }, () => open(1)));
    for (const { send } of busy) send('/held');
    await until(() => held(1) === 4);
    const idle: Awaited<ReturnType<typeof open>>[] = [];
    for (let at = 0; at < 15; at += 1) idle.push(await open(0));
    for (const client of idle) assert.ok(await client.isServed());
    const added = await open(1);
    assert.ok(await added.isServed());
    await until(() => idle[0]?.isOpen() === false);
    assert.deepEqual(openOnes(busy), [true, true, true, true]);
    assert.equal(openOnes(idle).filter((isOpen) => !isOpen).length, 1);
  });

  it('are limited if all have requests: a new one is closed at once, and served again when one has ended', async (t) => {
    const { open, held } = await openWorkers(t, 2, 20);
    const busy = [];
    for (let at = 0; at < 20; at += 1) {
      const client = await open(at % 2);
      client.send('/held');
      await until(() => held(0) + held(1) === at + 1);
      busy.push(client);
    }
    assert.equal(await (await open(0)).isServed(), false);
    assert.ok(openOnes(busy).every(Boolean));
    busy[3]?.socket.destroy();
    await until(async () => (await open(0)).isServed());
  });

  itLong('are 10,000, and new clients are served while that many idle ones are open', async (t) => {
    if (Number(execFileSync('/bin/sh', ['-c', 'ulimit -Hn'])) < 2 * limits.connectionsMax)
      return t.diagnostic('not tested: this user may not open that many files');
    const { base } = await serveWithWorkers(t, { cwd: await newFolder(t) });
    const { port } = new URL(base);
    const idle: Socket[] = [];
    for (let at = 0; at < limits.connectionsMax; at += 1) {
      const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
      t.after(() => void socket.destroy());
      await once(socket, 'connect');
      idle.push(socket);
    }
    for (let at = 0; at < 1_000; at += 1)
      assert.equal((await fetch(`${base}/health/live`, { headers: { connection: 'close' } })).status, 200);
    const left = idle.filter(({ destroyed, readableEnded }) => !destroyed && !readableEnded);
    assert.ok(left.length > limits.connectionsMax * 0.8, `${left.length} idle connections are left`);
  });
});
