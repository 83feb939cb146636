import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { makeTwoTenants, message, type Service } from '../support/harness.ts';
import { shardCount } from './cluster.ts';
import { assertOneShard, shardsOf, startTracedService, type TracedService } from './trace.ts';

/** The reads of the console: which shards each of them uses. */
describe('the console on a cluster', () => {
  const { one, admin, records } = makeTwoTenants();
  const { ids } = one;
  const conversations = Array.from({ length: 40 }, () => randomUUID());
  const datasets = Array.from({ length: 20 }, () => randomUUID());
  const rated = message(ids.conversation, 1, { feedback: { rating: 'like' } });
  let tracedService: TracedService;
  let service: Service;

  before(async () => {
    tracedService = await startTracedService();
    ({ service } = tracedService);
    await service.load([
      ...records,
      rated,
      ...conversations.map((id, at) => ({ record: 'conversation', id, app_id: ids.app, created_at: at })),
      ...conversations.map((id, at) => message(id, at)),
      ...datasets.map((id) => ({ record: 'dataset', id, workspace_id: ids.workspace, name: 'another' })),
      ...datasets.map((dataset_id) => ({ record: 'document', id: randomUUID(), dataset_id, name: 'another' })),
    ]);
  });
  after(() => tracedService?.close());

  const trace = (path: string) => tracedService.trace(() => service.as(admin).get(path));
  const nameOf = (path: string) => path.replace(/[0-9a-f-]{36}/g, '…');

  for (const [path, oneNode] of Object.entries({ '/admin/workspaces': 0, '/admin/apps': 0, '/admin/keys': 1 }))
    it(`GET ${path} asks no shard, and one node ${oneNode} time(s)`, async () => {
      const { commands, oneNodeCount } = await trace(path);
      assert.deepEqual([commands, oneNodeCount], [[], oneNode]);
    });

  const dataset = `/admin/datasets/${ids.dataset}`;
  const document = `${dataset}/documents/${ids.document}`;
  const segment = `${document}/segments/${ids.segment}`;
  const conversation = `/admin/apps/${ids.app}/conversations/${ids.conversation}`;
  const singleShardReads: Record<string, number> = {
    [dataset]: 1,
    [`${dataset}/documents`]: 2,
    [document]: 4,
    [`${document}/segments`]: 2,
    [`${document}/segments?include=child_chunks`]: 4,
    [segment]: 1,
    [`${segment}/child_chunks`]: 2,
    [`${segment}/child_chunks/${ids.chunk}`]: 1,
    [`${segment}/child_chunks/${ids.chunk}/revisions`]: 2,
    [conversation]: 1,
    [`${conversation}/messages`]: 1,
    [`${conversation}/details?message_id=${rated.id}`]: 1,
    [`${conversation}/locate?message_id=${rated.id}`]: 2,
    [`${conversation}/locate`]: 2,
    [`/admin/conversations?id=${ids.conversation}`]: 3,
    [`/admin/activity?dataset_id=${ids.dataset}`]: 1,
  };
  for (const [path, statements] of Object.entries(singleShardReads))
    it(`GET ${nameOf(path)} asks one shard, ${statements} statement(s)`, async () => {
      const result = await trace(path);
      assertOneShard(result);
      assert.equal(result.commands.length, statements, result.commands.join('\n'));
    });

  it('GET /admin/datasets asks the shards of the datasets on the page, by one statement', async () => {
    const result = await trace('/admin/datasets?limit=100');
    assert.equal(result.commands.length, shardCount);
    assert.equal(result.subplanCount, 0);
    // The page has one row, and one more is read to see whether another page follows.
    assert.ok((await trace('/admin/datasets?limit=1')).commands.length <= 2);
  });

  it('GET /admin/conversations asks every shard for its first rows, then the shards of the page', async () => {
    const result = await trace('/admin/conversations?limit=1');
    const [lists, others] = [result.commands.slice(0, shardCount), result.commands.slice(shardCount)];
    for (const command of lists) assert.match(command, /LIMIT '2'::bigint/);
    assert.ok(others.length <= 2 * 2, result.commands.join('\n'));
    assert.equal(result.subplanCount, 0);
  });

  const allShardReads: Record<string, number> = {
    // So many that every shard has one of them.
    [`/admin/conversations?app_id=${ids.app}&limit=100`]: 3,
    '/admin/activity?action=update': 1,
    // The index has nothing to find.
    '/admin/search?q=q': 1,
    '/admin/search?q=chunk&in=knowledge': 1,
    '/admin/overview?to=86400': 6,
  };
  for (const [path, statements] of Object.entries(allShardReads))
    it(`GET ${nameOf(path)} asks every shard, ${statements} statement(s)`, async () => {
      const result = await trace(path);
      assert.equal(result.commands.length, statements * shardCount, shardsOf(result).join());
      assert.equal(result.subplanCount, 0);
    });

  describe('searches, with messages of two years', () => {
    before(async () => {
      const day = 86_400;
      const newest = Array.from({ length: 25 }, (_, at) => 700 * day + at);
      const older = Array.from({ length: 20 }, (_, at) => (700 - at * 30) * day);
      await service.load(
        [...newest, ...older].map((time, at) =>
          message(conversations[at % 10] ?? '', time, { answer: at % 11 === 0 ? 'often seldom' : 'often' }),
        ),
      );
      await service.index();
    });

    const searches: Record<string, number> = {
      '/admin/search?q=often': 2,
      '/admin/search?q=seldom': 3,
      '/admin/search/counts?q=often': 15,
    };
    for (const [path, statements] of Object.entries(searches))
      it(`GET ${path} asks every shard of the index, ${statements} statements, and reads texts by one`, async () => {
        const { commands } = await trace(path);
        const ofIndex = commands.filter((command) => command.includes('FROM public.search_messages'));
        assert.equal(ofIndex.length, statements * shardCount, ofIndex.join('\n'));
        const texts = commands.filter((command) => command.includes('FROM (public.messages'));
        assert.ok(texts.length <= shardCount, texts.join('\n'));
      });
  });
});
