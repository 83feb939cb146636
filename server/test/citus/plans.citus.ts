import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { exportedChunks, makeTwoTenants, message, type Service, startService } from '../support/harness.ts';
import { shardCount } from './cluster.ts';
import { assertOneShard, startTracedService, type TracedService, tables } from './trace.ts';

describe('on a cluster', () => {
  const { one, admin, records } = makeTwoTenants();
  const conversation = one.ids.conversation;
  let tracedService: TracedService;
  let service: Service;

  before(async () => {
    tracedService = await startTracedService();
    ({ service } = tracedService);
    const messages = Array.from({ length: 30 }, (_, at) => message(conversation, at));
    await service.load([...records, ...messages]);
  });
  after(() => tracedService?.close());

  const trace: TracedService['trace'] = (request) => tracedService.trace(request);
  const page = (more = '') => `/v1/messages?conversation_id=${conversation}&limit=10${more}`;

  it('a page is read on one shard, by statements on the fast path', async () => {
    let count = 0;
    // A new message each time, so that the page is not cached.
    const read = async () => {
      count += 1;
      await service.load([{ ...message(conversation, 100 + count) }]);
      tracedService.reset();
      return service.as(one.keys.app).get(page());
    };
    const result = await trace(read);
    assertOneShard(result);
    assert.deepEqual(tables(result), ['conversations', 'messages', 'conversations']);
    assert.equal(result.planCount, result.fastCount);
  });

  it('an older page is read on one shard, by statements on the fast path', async () => {
    const read = async () => {
      await service.load([message(conversation, 1)]);
      const newest = await service.as(one.keys.app).get(page());
      tracedService.reset();
      return service.as(one.keys.app).get(page(`&first_id=${newest.body.data.at(-1).id}`));
    };
    const result = await trace(read);
    assertOneShard(result);
    assert.deepEqual(tables(result), ['conversations', 'messages', 'messages', 'conversations']);
    assert.equal(result.planCount, result.fastCount);
  });

  it('a page that has not changed is checked by one statement on the fast path', async () => {
    const { headers } = await service.as(one.keys.app).get(page());
    const conditional = { key: one.keys.app, headers: { 'if-none-match': headers.etag } };
    const result = await trace(() => service.request('GET', page(), conditional));
    assertOneShard(result);
    assert.deepEqual(tables(result), ['conversations']);
    assert.equal(result.planCount, result.fastCount);
  });

  it('an edit uses one shard and no two-phase commit', async () => {
    const edit = () => service.as(one.keys.knowledge).patch(one.chunkPath, { content: randomUUID() });
    const result = await trace(edit);
    assertOneShard(result);
    assert.deepEqual(tables(result).slice(1), [
      'child_chunks',
      'child_chunk_revisions',
      'child_chunk_revisions',
      'audit_entries',
      'change_outbox',
    ]);
    assert.equal(result.commands.filter((command) => command === 'COMMIT').length, 1);
    // Only the look-up of the path is a join.
    assert.equal(result.planCount - result.fastCount, 1);
  });

  it('an edit that changes nothing is one read', async () => {
    const edit = () => service.as(one.keys.knowledge).patch(one.chunkPath, { content: 'the same' });
    const result = await trace(edit);
    assertOneShard(result);
    assert.equal(result.commands.length, 1);
  });

  const append = (...lines: object[]) => service.as(one.keys.writer).append(...lines);
  const conversationRecord = { record: 'conversation', id: conversation, app_id: one.ids.app };

  it('an append uses one shard and no two-phase commit', async () => {
    const result = await trace(() => append(conversationRecord, message(conversation, 500)));
    assertOneShard(result);
    assert.deepEqual(tables(result), [
      'conversations',
      'conversations',
      'conversations',
      'messages',
      'messages',
      'conversation_days',
      'audit_entries',
      'audit_entries',
      'change_outbox',
    ]);
    assert.equal(result.commands.filter((command) => command === 'COMMIT').length, 1);
  });

  it('a message that moves to another time updates the activity of its conversation on one shard', async () => {
    const moved = message(conversation, 1_000);
    let time = 1_000;
    const result = await trace(() => append({ ...moved, created_at: ++time }));
    assertOneShard(result);
    assert.ok(result.commands.some((command) => /max\(created_at\)/i.test(command)));
  });

  it('the number of statements that index messages depends on the shards, not on the messages', async () => {
    const conversations = Array.from({ length: 12 }, () => randomUUID());
    let time = 10_000;
    const indexNext = async () => {
      await service.load([
        ...conversations.map((id) => ({ record: 'conversation', id, app_id: one.ids.app, created_at: 1 })),
        ...conversations.flatMap((id) => [0, 1, 1, 2].map((seconds) => message(id, (time += seconds)))),
      ]);
      tracedService.reset();
      await service.index();
      return { status: 200 };
    };
    const { commands, subplanCount } = await trace(indexNext);
    const countOf = (pattern: RegExp) => commands.filter((command) => pattern.test(command)).length;
    const lists = {
      'messages and their entries': countOf(/FROM .*public\.messages_\d+/),
      'free positions': countOf(/unnest.*public\.search_messages_\d+/),
      'new entries': countOf(/^COPY public\.search_messages_\d+/),
    };
    for (const [name, count] of Object.entries(lists)) assert.ok(count > 0 && count <= shardCount, `${name}: ${count}`);
    const outdated = countOf(/DISTINCT/);
    const others = countOf(/search_messages/) - Object.values(lists).reduce((sum, count) => sum + count) - outdated;
    assert.deepEqual([others, subplanCount], [0, 0], commands.join('\n'));
  });

  it('models and keys are read on the coordinator', async () => {
    const result = await trace(() => service.as(one.keys.app).get('/v1/workspaces/current/models/model-types/llm'));
    assert.deepEqual(
      result.commands.filter((command) => !/_\d+/.test(command)),
      [],
    );
    assert.equal(result.nodes.size, 0);
    assert.equal((await service.as(admin).get('/admin/keys')).status, 200);
  });

  it('24 editors of one chunk do not fail, and every text is stored', async (t) => {
    const busy = await startService('postgres', {}, service.config.database_url.split('?')[0]);
    t.after(() => busy.close());
    const texts = Array.from({ length: 24 }, () => randomUUID());
    const replies = await Promise.all(
      texts.map((content) => busy.as(one.keys.knowledge).patch(one.chunkPath, { content })),
    );
    assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]));
    const chunks: Uint8Array[] = [];
    for await (const chunk of exportedChunks(busy.store)) chunks.push(chunk);
    const exported = Buffer.concat(chunks).toString();
    for (const text of texts) assert.ok(exported.includes(text));
    const revisions = [...exported.matchAll(/"revision":(\d+)/g)].map(([, number]) => Number(number));
    assert.equal(new Set(revisions).size, revisions.length);
    assert.equal(Math.max(...revisions), revisions.length);
  });
});
