import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { listenAlso } from '../../src/http/server.ts';

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
