import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import {
  makeTwoTenants,
  message,
  newMigratedUrl,
  pluck,
  type Service,
  shortOrLong,
  startService,
} from '../support/harness.ts';

/** A proxy that passes on what the server sends in pieces of these sizes, again and again. */
async function startProxy(url: string, sizes: readonly number[]): Promise<{ url: string; close(): void }> {
  const { port, hostname } = new URL(url);
  async function* pieces(source: AsyncIterable<Buffer>) {
    let turn = 0;
    for await (const chunk of source) {
      for (let at = 0; at < chunk.length; ) {
        const size = sizes[turn++ % sizes.length] as number;
        yield chunk.subarray(at, at + size);
        at += size;
        // Otherwise the operating system joins them again.
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  }
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect(Number(port), hostname);
    const end = () => {
      client.destroy();
      upstream.destroy();
    };
    client.on('error', end).on('close', end).pipe(upstream);
    Readable.from(pieces(upstream)).on('error', end).pipe(client);
    upstream.on('error', end);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: url.replace(`:${port}/`, `:${(server.address() as AddressInfo).port}/`), close: () => server.close() };
}

describe('rows from PostgreSQL', () => {
  it('are the same in whatever pieces they arrive', async () => {
    const database = await newMigratedUrl('postgres');
    const { records, one } = makeTwoTenants();
    // The newest five are small: in small pieces a large one takes many ticks of two event loops.
    const answers = ['漢'.repeat(90_000), '', 'ASCII', 'ünïcödé 漢字 🙂', 'a\nb\t"c"', 'x'.repeat(3_000)];
    const messages = answers.map((answer, n) => message(one.ids.conversation, 2_000_000_000 + n, { answer }));
    const path = `/v1/messages?conversation_id=${one.ids.conversation}&limit=`;
    const direct = await startService('postgres', {}, database.url);
    const read = async (service: Service, limit: number) => (await service.as(one.keys.app).get(path + limit)).text;
    try {
      await direct.load([...records, ...messages]);
      const expected = new Map([5, 6].map((limit) => [limit, read(direct, limit)]));
      const all: { data: { answer: string }[] } = JSON.parse((await expected.get(6)) ?? '');
      assert.deepEqual(pluck(all.data, 'answer'), answers.toReversed());
      for (const [sizes, limit] of [
        [[13, 1, 2, 31, 3], 5],
        [[700, 1, 4_096], 6],
        [[65_536, 1], 6],
      ] as const) {
        const proxy = await startProxy(database.url, sizes);
        const service = await startService('postgres', { PAGE_CACHE: '0', DATABASE_POOL: '2' }, proxy.url);
        // Several times, because the memory of rows is released after a page.
        const pages = await Promise.all(Array.from({ length: shortOrLong(2, 4) }, () => read(service, limit)));
        for (const page of pages) assert.equal(page, await expected.get(limit), `pieces of ${sizes} bytes`);
        await service.close();
        proxy.close();
      }
    } finally {
      await direct.close();
      await database.remove();
    }
  });
});
