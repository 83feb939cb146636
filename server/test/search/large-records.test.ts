import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { before, it } from 'node:test';
import { limits } from '../../src/contract/limits.ts';
import { makeTwoTenants, message, onEveryEngine, pluck, useService } from '../support/harness.ts';

/** Enough for several pages of each list, with records of a size that every list reads one by one. */
const count = 8;
const large = `needle word ${'. '.repeat(700_000)}`;

onEveryEngine('reads of large records', (engine) => {
  const { one, admin, records } = makeTwoTenants();
  const { conversation, dataset, document } = one.ids;
  const messages = Array.from({ length: count }, (_, at) =>
    message(conversation, 5_000 + at, { query: `${at}`, answer: large }),
  );
  const segments = Array.from({ length: count }, (_, at) => ({
    ...{ record: 'segment', id: randomUUID(), document_id: document, position: 1_000 + at, content: large },
  }));

  const service = useService(engine, [...records, ...messages, ...segments]);
  before(async () => {
    await service.index();
  });

  const { get } = service.as(admin);
  const pageBytesMax = (bytes: number) => bytes + Buffer.byteLength(large) + 10_000;

  /** Follows a list to its end. Every page is bounded, and none is empty. */
  async function walk(path: string, parameter: string, bytesMax: number) {
    const rows: { id?: string; message_id?: string; segment_id?: string }[] = [];
    let pages = 0;
    for (let cursor: string | null = null; ; pages += 1) {
      const { status, body, text } = await get(cursor === null ? path : `${path}&${parameter}=${cursor}`);
      assert.equal(status, 200, text.slice(0, 200));
      assert.ok(Buffer.byteLength(text) <= pageBytesMax(bytesMax), `${Buffer.byteLength(text)} bytes`);
      rows.push(...body.data);
      if (!body.has_more) return { rows, pages: pages + 1 };
      cursor = (body.next_cursor ?? body.cursor) as string;
    }
  }
  const idsOf = (list: readonly { id: string }[]) => list.map(({ id }) => id);

  it('200: a page of the change feed ends at its size, and the next one continues', async () => {
    const { rows, pages } = await walk('/admin/changes?limit=1000&kinds=message', 'after', limits.changesBytesMax);
    assert.deepEqual(pluck(rows, 'id'), idsOf(messages));
    assert.ok(pages >= 2, String(pages));
  });

  it('200: without records the change feed reads no texts', async () => {
    const { rows, pages } = await walk('/admin/changes?limit=1000&kinds=message&include=none', 'after', 0);
    assert.deepEqual([rows.length, pages], [count, 2]);
  });

  it('200: a page of a list ends at its size, and the next one continues', async () => {
    const path = `/admin/datasets/${dataset}/documents/${document}/segments?limit=100`;
    const { rows, pages } = await walk(path, 'cursor', limits.pageBytesMax);
    assert.deepEqual(
      rows.map(({ id }) => id).filter((id) => segments.some((segment) => segment.id === id)),
      idsOf(segments),
    );
    assert.ok(pages >= 2, String(pages));
  });

  it('200: a search compares large texts with a phrase, and shows where they match', async () => {
    const { rows } = await walk('/admin/search?q="needle word"&limit=5', 'cursor', limits.pageBytesMax);
    assert.deepEqual(pluck(rows, 'message_id'), idsOf(messages).reverse());
    const { rows: chunks } = await walk(
      '/admin/search?q="needle word"&in=knowledge&limit=5',
      'cursor',
      limits.pageBytesMax,
    );
    assert.deepEqual(new Set(chunks.map(({ segment_id }) => segment_id)), new Set(idsOf(segments)));
    const { body } = await get('/admin/search/counts?q="needle word"');
    assert.deepEqual([body.all, body.failed], [count, 0]);
  });

  it('200: hits are found by conversation and id, however many conversations have a message of that id', async () => {
    const id = randomUUID();
    const conversations = Array.from({ length: 300 }, () => randomUUID());
    await service.load(
      conversations.flatMap((conversation_id, at) => [
        { record: 'conversation', id: conversation_id, app_id: one.ids.app, user: 'u' },
        message(conversation_id, 9_000 + at, { id, query: 'okapi', answer: `number ${at}` }),
      ]),
    );
    await service.index();
    const { rows } = await walk('/admin/search?q="okapi"&limit=50', 'cursor', limits.pageBytesMax);
    assert.deepEqual(
      rows.map((row) => (row as { conversation_id?: string }).conversation_id),
      conversations.toReversed(),
    );
  });

  it('200: large pages of the feed have few slots, which a client that leaves gives back', async () => {
    const open = async () => {
      const path = '/admin/changes?limit=1000&kinds=message';
      const headers = { authorization: `Bearer ${admin}` };
      const request = http.get(`${service.base}${path}`, { headers, agent: false });
      request.on('error', () => undefined);
      const [response] = (await once(request, 'response')) as [http.IncomingMessage];
      response.on('error', () => undefined);
      return response;
    };
    // Each response is larger than what the sockets of a connection can buffer, so its slot is held.
    const held = await Promise.all(Array.from({ length: limits.largePagesMax }, open));
    assert.deepEqual(
      pluck(held, 'statusCode'),
      held.map(() => 200),
    );
    const next = open();
    const isFirst = await Promise.race([next.then(() => true), get('/health/ready').then(() => false)]);
    assert.equal(isFirst, false, 'a further page must wait');
    held[0]?.destroy();
    const response = await next;
    assert.equal(response.statusCode, 200);
    for (const one of [...held, response]) one.destroy();
  });

  it('200: a stream sends large records one by one', async () => {
    const { status, text } = await service
      .as(admin)
      .get('/admin/changes?kinds=message&wait=0', { accept: 'application/x-ndjson' });
    const ids = text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line).id);
    assert.equal(status, 200);
    assert.deepEqual(ids.filter((id) => messages.some((one) => one.id === id)).sort(), idsOf(messages).sort());
  });
});
