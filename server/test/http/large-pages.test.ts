import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import { it } from 'node:test';
import { limits } from '../../src/contract/limits.ts';
import { engines, itOnOneEngine, makeTwoTenants, message, onEveryEngine, useService } from '../support/harness.ts';
import { isLong } from '../support/long.ts';

const mebibyte = 2 ** 20;

onEveryEngine('large pages', (engine) => {
  const isWhole = isLong || engine === engines[0];
  /** Enough for a page that is streamed. */
  const streamedCount = limits.pageBytesMax / mebibyte + 1;
  /** More than the sockets of one connection can buffer, on the first engine. */
  const messageCount = isWhole ? 24 : 12;
  const { one, admin, records } = makeTwoTenants();
  const conversation_id = one.ids.conversation;
  const path = `/v1/messages?conversation_id=${conversation_id}&limit=100`;
  const streamedPath = `/v1/messages?conversation_id=${conversation_id}&limit=${streamedCount}`;
  const headers = { authorization: `Bearer ${one.keys.app}` };
  const messages = Array.from({ length: messageCount }, (_, n) =>
    message(conversation_id, 1_000 + n, { answer: `${n} ${'é'.repeat(mebibyte / 2)}` }),
  );
  const newestFirst = messages.map(({ id }) => id).reverse();

  const service = useService(engine, [...records, ...messages]);

  /** A request whose response is not read yet. */
  async function begin(target = path): Promise<http.IncomingMessage> {
    const request = http.get(`${service.base}${target}`, { headers, agent: false });
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    return response;
  }

  async function read(response: http.IncomingMessage): Promise<string> {
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  }

  const idsOf = (page: { data: { id: string }[] }) => page.data.map(({ id }) => id);

  it('200: a large page is complete, with its length, in both orders', async () => {
    for (const order of ['newest_first', 'oldest_first']) {
      const { status, headers, text, body } = await service.as(one.keys.app).get(`${streamedPath}&page_order=${order}`);
      assert.equal(status, 200);
      assert.equal(Number(headers['content-length']), Buffer.byteLength(text));
      assert.equal(body.has_more, true);
      const expected = messages.slice(-streamedCount);
      if (order === 'newest_first') expected.reverse();
      assert.deepEqual(
        body.data.map((one: { id: string; answer: string }) => [one.id, one.answer]),
        expected.map(({ id, answer }) => [id, answer]),
      );
    }
  });

  it('200: paging back through large pages visits every message once', async () => {
    const visited: string[] = [];
    for (let target: string | undefined = streamedPath; target !== undefined; ) {
      const { headers, body } = await service.as(one.keys.app).get(target);
      visited.push(...idsOf(body));
      const link = /^<([^>]+)>; rel="next"$/.exec(headers.link as string)?.[1];
      assert.equal(link !== undefined, body.has_more);
      target = link;
    }
    assert.deepEqual(visited, newestFirst);
  });

  itOnOneEngine(engine, '304: a large page has an ETag like any other', async () => {
    const first = await begin();
    const etag = first.headers.etag as string;
    first.destroy();
    const { status, text } = await service.as(one.keys.app).get(path, { 'if-none-match': etag });
    assert.equal(status, 304);
    assert.equal(text, '');
  });

  itOnOneEngine(engine, '200: HEAD returns the headers of a large page, and occupies no slot', async () => {
    for (let count = 0; count < limits.largePagesMax + 2; count += 1) {
      const response = await service.request('HEAD', streamedPath, { key: one.keys.app });
      assert.equal(response.status, 200);
      assert.equal(response.text, '');
      assert.ok(Number(response.headers['content-length']) > streamedCount * mebibyte);
    }
  });

  itOnOneEngine(engine, '200: the transcript of the console streams large pages too', async () => {
    const target = `/admin/apps/${one.ids.app}/conversations/${conversation_id}/messages?limit=${streamedCount}`;
    const { status, body } = await service.as(admin).get(target);
    assert.equal(status, 200);
    assert.deepEqual(idsOf(body), newestFirst.slice(0, streamedCount));
  });

  itOnOneEngine(
    engine,
    '200: other requests are served while clients do not read large pages; a slot is free once one disconnects',
    async () => {
      const unread = await Promise.all(Array.from({ length: limits.largePagesMax }, () => begin()));
      for (const response of unread) assert.equal(response.statusCode, 200);

      const small = await service.as(one.keys.app).get(`/v1/messages?conversation_id=${randomUUID()}`);
      assert.equal(small.status, 404);
      assert.equal((await service.request('GET', '/health/live')).status, 200);

      const waiting = begin();
      unread[0]?.destroy();
      const response = await waiting;
      assert.equal(response.statusCode, 200);
      const page = await read(response);
      const { data, has_more } = JSON.parse(page);
      assert.deepEqual([data.length, has_more], [messageCount, false]);
      for (const one of unread.slice(1)) assert.ok((await read(one)) === page, 'the same page');
    },
  );

  it('200: a large page is a snapshot: writes while it is read do not change it', async () => {
    const target = path.replace('limit=100', 'limit=10');
    const response = await begin(target);
    const [newest] = newestFirst;
    await service.load([
      message(conversation_id, 9_000, { query: 'appended' }),
      { ...messages.at(-1), id: newest, answer: 'replaced' },
    ]);
    const page = JSON.parse(await read(response));
    assert.deepEqual(idsOf(page), newestFirst.slice(0, 10));
    assert.equal(page.data[0].answer, messages.at(-1)?.answer);

    const next = await service.as(one.keys.app).get(target);
    assert.notEqual(next.headers.etag, response.headers.etag);
    assert.equal(next.body.data[0].query, 'appended');
    assert.equal(next.body.data[1].answer, 'replaced');
  });

  it('a page with one large message beside small ones is complete', async () => {
    const conversation = randomUUID();
    const sizes = [10, 100_000, 20, 4_000_000, 30];
    const mixed = sizes.map((size, n) => message(conversation, n, { answer: 'x'.repeat(size) }));
    await service.load([{ record: 'conversation', id: conversation, app_id: one.ids.app }, ...mixed]);
    for (const limit of [1, 2, 3, 4, 5]) {
      for (const order of ['newest_first', 'oldest_first']) {
        const target = `/v1/messages?conversation_id=${conversation}&limit=${limit}&page_order=${order}`;
        const { body } = await service.as(one.keys.app).get(target);
        const expected = mixed.slice(-limit).reverse();
        if (order === 'oldest_first') expected.reverse();
        assert.deepEqual(
          body.data.map((one: { id: string; answer: string }) => [one.id, one.answer.length]),
          expected.map(({ id, answer }) => [id, answer.length]),
        );
        assert.equal(body.has_more, limit < sizes.length);
      }
    }
  });

  /** Otherwise a page is read as a whole to find out that it is too large. */
  if (engine === 'sqlite')
    it('a conversation is marked by its first large message, in whatever way it is stored', async () => {
      const [small, imported, appended, replaced] = Array.from({ length: 4 }, () => randomUUID()) as [
        string,
        ...string[],
      ];
      const large = { answer: 'x'.repeat(limits.joinedDocBytesMax) };
      const first = (id: string) => message(id, 0);
      const stored = [small, appended, replaced].map((id) => first(id as string));
      const conversations = [small, imported, appended, replaced].map((id) => ({
        ...{ record: 'conversation', id, app_id: one.ids.app },
      }));
      await service.load([...conversations, ...stored, message(imported as string, 0, large)]);
      const db = new DatabaseSync(service.config.database_url.slice('sqlite:'.length), { readOnly: true });
      try {
        const marked = () =>
          db.prepare('SELECT conversation_id AS id FROM conversations WHERE has_large_messages = 1').all();
        const isMarked = (id: string | undefined) => marked().some((row) => row.id === id);
        assert.deepEqual([small, imported, appended, replaced].map(isMarked), [false, true, false, false]);
        await service.load([message(appended as string, 1, large)]);
        await service.load([{ ...stored[2], ...large }]);
        assert.deepEqual([small, imported, appended, replaced].map(isMarked), [false, true, true, true]);
      } finally {
        db.close();
      }
    });
});
