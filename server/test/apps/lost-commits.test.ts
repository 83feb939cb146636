import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { after, before, describe, it } from 'node:test';
import { makeTwoTenants, newDatabaseUrl, type Service, startService } from '../support/harness.ts';

/** Forwards connections to PostgreSQL. It can close the next one whose COMMIT has succeeded, without the response. */
class DatabaseProxy {
  readonly #server: net.Server;
  #losesNext = false;
  losses = 0;

  constructor(port: number, host: string) {
    this.#server = net.createServer((client) => {
      const database = net.connect(port, host);
      let isLosing = false;
      client.on('data', (bytes) => {
        if (this.#losesNext && bytes.includes('COMMIT\0')) {
          isLosing = true;
          this.#losesNext = false;
        }
        database.write(bytes);
      });
      database.on('data', (bytes) => {
        if (!isLosing) return void client.write(bytes);
        this.losses += 1;
        client.destroy();
      });
      for (const [one, other] of [[client, database] as const, [database, client] as const]) {
        one.on('error', () => other.destroy()).on('close', () => other.destroy());
      }
    });
  }

  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as net.AddressInfo).port;
  }

  loseNext(): void {
    this.#losesNext = true;
  }

  close(): void {
    this.#server.close();
  }
}

describe('a write whose COMMIT succeeds, but whose response from PostgreSQL is lost', () => {
  const { one, records } = makeTwoTenants();
  const { ids, keys } = one;
  let service: Service;
  let database: Awaited<ReturnType<typeof newDatabaseUrl>>;
  let proxy: DatabaseProxy;
  before(async () => {
    database = await newDatabaseUrl('postgres');
    const url = new URL(database.url);
    proxy = new DatabaseProxy(Number(url.port || 5432), url.hostname);
    url.hostname = '127.0.0.1';
    url.port = String(await proxy.listen());
    service = await startService('postgres', {}, url.href);
    await service.load(records);
    await service.load([
      { record: 'conversation', id: ids.conversation, app_id: ids.app, user: 'u' },
      { record: 'message', id: ids.dataset, conversation_id: ids.conversation, query: 'q', answer: 'a' },
    ]);
  });
  after(async () => {
    await service.close();
    proxy.close();
    await database.remove();
  });

  async function write(method: string, path: string, key: string, body?: object): Promise<number> {
    const losses = proxy.losses;
    proxy.loseNext();
    const { status } = await service.request(method, path, { key, ...(body && { body }) });
    assert.equal(proxy.losses, losses + 1, 'a response was lost');
    return status;
  }

  it('succeeds once', async () => {
    const feedback = `/v1/messages/${ids.dataset}/feedbacks`;
    assert.equal(await write('POST', feedback, keys.app, { rating: 'like', user: 'u' }), 200);
    assert.equal(await write('POST', feedback, keys.app, { rating: null, user: 'u' }), 200);
    const path = `/v1/conversations/${ids.conversation}`;
    assert.equal(await write('POST', `${path}/name`, keys.app, { name: 'n' }), 200);
    assert.equal(await write('DELETE', path, keys.app), 204);
    assert.equal((await service.request('DELETE', path, { key: keys.app })).status, 404);
    const chunks = one.chunkPath.slice(0, one.chunkPath.lastIndexOf('/'));
    assert.equal(await write('POST', chunks, keys.knowledge, { content: 'new' }), 200);
    assert.equal((await service.request('GET', chunks, { key: keys.knowledge })).body.total, 2);
    assert.equal(await write('DELETE', one.chunkPath, keys.knowledge), 204);
  });
});
