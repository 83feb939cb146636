import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { makeTwoTenants, message, type Service, startService } from '../support/harness.ts';
import { onNode, shardCount } from './cluster.ts';
import { assertOneShard, shardsOf, startTracedService, type Trace, type TracedService, tables } from './trace.ts';

/** Lists of conversations and knowledge bases, and the writes of app and knowledge keys: which shards each of them uses. */
describe('companion operations on a cluster', () => {
  const { one, records } = makeTwoTenants();
  const { ids, keys } = one;
  const [app, knowledge] = [{ key: keys.app }, { key: keys.knowledge }];
  const dataset = `/v1/datasets/${ids.dataset}`;
  const document = `${dataset}/documents/${ids.document}`;
  const segment = `${document}/segments/${ids.segment}`;
  const conversations = Array.from({ length: 40 }, () => randomUUID());
  const datasets = Array.from({ length: 20 }, () => randomUUID());
  const rated = message(ids.conversation, 1);
  let tracedService: TracedService;
  let service: Service;

  before(async () => {
    tracedService = await startTracedService();
    ({ service } = tracedService);
    const workspace_id = ids.workspace;
    await service.load([
      ...records,
      rated,
      ...conversations.map((id, at) => ({ record: 'conversation', id, app_id: ids.app, user: 'bob', created_at: at })),
      ...datasets.map((id) => ({ record: 'dataset', id, workspace_id, name: 'another' })),
      ...datasets.map((dataset_id) => ({ record: 'document', id: randomUUID(), dataset_id, name: 'another' })),
    ]);
  });
  after(() => tracedService?.close());

  const trace: TracedService['trace'] = (request) => tracedService.trace(request);
  const get = (path: string, options: { key: string }) => () => service.request('GET', path, options);
  const commits = ({ commands }: Trace) => commands.filter((command) => command === 'COMMIT').length;

  const datasetReads: Record<string, string[]> = {
    [dataset]: ['documents'],
    [`${dataset}/documents`]: ['documents'],
    [`${dataset}/documents?keyword=a&status=available&page=2`]: ['documents'],
    [document]: ['documents'],
    [`${document}/segments`]: ['segments', 'child_chunks', 'child_chunks'],
    // A filter reads every row of a document: only of one that exists.
    [`${document}/segments?keyword=text&status=completed`]: ['documents', 'segments', 'child_chunks', 'child_chunks'],
    [segment]: ['segments', 'child_chunks', 'child_chunks'],
    [`${segment}/child_chunks`]: ['child_chunks'],
    [`${segment}/child_chunks?keyword=text&limit=1&page=2`]: ['segments', 'child_chunks'],
  };
  for (const [path, expected] of Object.entries(datasetReads)) {
    const name = path.replace(/[0-9a-f-]{36}/g, '…');
    it(`GET ${name} asks one shard, ${expected.length} statement(s)`, async () => {
      const result = await trace(get(path, knowledge));
      assertOneShard(result);
      assert.equal(result.commands.length, expected.length, result.commands.join('\n'));
      for (const [index, table] of expected.entries()) assert.match(result.commands[index] ?? '', new RegExp(table));
    });
  }

  it('GET /v1/datasets asks the shards of the datasets on the page, by one statement', async () => {
    const result = await trace(get('/v1/datasets?limit=100', knowledge));
    const shards = shardsOf(result);
    assert.ok(shards.length > 1 && shards.length <= shardCount, shards.join());
    assert.equal(result.commands.length, shards.length);
    assert.deepEqual(new Set(tables(result)), new Set(['documents']));
    assert.equal(result.subplanCount, 0);
    const single = await trace(get('/v1/datasets?limit=1', knowledge));
    assertOneShard(single);
  });

  for (const query of ['', '&user=bob', '&sort_by=created_at', '&sort_by=-created_at&user=bob'])
    it(`GET /v1/conversations?limit=2${query} asks every shard once, for its first rows`, async () => {
      const result = await trace(get(`/v1/conversations?limit=2${query}`, app));
      assert.equal(shardsOf(result).length, shardCount);
      assert.equal(result.commands.length, shardCount);
      for (const command of result.commands) assert.match(command, /LIMIT '3'::bigint/);
      assert.equal(result.subplanCount, 0);
    });

  it('GET /v1/conversations with last_id asks the shard of that conversation first', async () => {
    const result = await trace(get(`/v1/conversations?limit=2&last_id=${conversations[20]}`, app));
    assert.equal(shardsOf(result).length, shardCount);
    assert.equal(result.commands.length, 1 + shardCount);
    for (const command of result.commands.slice(1)) assert.match(command, /LIMIT '3'::bigint/);
    assert.equal(result.subplanCount, 0);
  });

  it('a rename and a deletion use one shard and no two-phase commit', async () => {
    const path = `/v1/conversations/${ids.conversation}/name`;
    const renamed = await trace(() => service.request('POST', path, { ...app, body: { name: randomUUID() } }));
    const unused = [...conversations];
    const deleted = await trace(() => service.request('DELETE', `/v1/conversations/${unused.pop()}`, app));
    for (const result of [renamed, deleted]) {
      assertOneShard(result);
      assert.deepEqual(tables(result), ['conversations', 'audit_entries', 'change_outbox']);
      assert.equal(commits(result), 1);
    }
  });

  it('feedback asks every shard for the message, then writes on one, without two-phase commit', async () => {
    const body = { rating: 'like', user: 'ann' };
    const result = await trace(() => service.request('POST', `/v1/messages/${rated.id}/feedbacks`, { ...app, body }));
    const begin = result.commands.findIndex((command) => command.startsWith('BEGIN'));
    assert.equal(begin, shardCount, result.commands.join('\n'));
    const [search, write] = [result.commands.slice(0, begin), result.commands.slice(begin)];
    for (const command of search) assert.match(command, /messages_\d+ m JOIN public\.conversations_\d+ c/);
    assertOneShard({ ...result, commands: write, nodes: new Set(['of the conversation']) });
    assert.deepEqual(tables({ ...result, commands: write }), [
      'conversations',
      'messages',
      'messages',
      'audit_entries',
      'change_outbox',
    ]);
    assert.equal(commits(result), 1);
  });

  it('creating and deleting a child chunk use one shard and no two-phase commit', async () => {
    const created: string[] = [];
    const creation = await trace(async () => {
      const reply = await service.request('POST', `${segment}/child_chunks`, { ...knowledge, body: { content: 'x' } });
      created.push(reply.body.data.id);
      return reply;
    });
    const deletion = await trace(() =>
      service.request('DELETE', `${segment}/child_chunks/${created.pop()}`, knowledge),
    );
    for (const result of [creation, deletion]) {
      assertOneShard(result);
      assert.equal(commits(result), 1);
    }
    assert.deepEqual(tables(creation).slice(1), [
      'segments',
      'child_chunks',
      'child_chunks',
      'audit_entries',
      'change_outbox',
    ]);
    assert.deepEqual(tables(deletion).slice(1), ['child_chunks', 'audit_entries', 'change_outbox']);
  });
});

describe('large data on a cluster', () => {
  const { one, records } = makeTwoTenants();
  const conversations = Array.from({ length: 60 }, () => randomUUID());
  let service: Service;

  before(async () => {
    service = await startService('postgres');
    const introduction = 'i'.repeat(100_000);
    await service.load([
      ...records,
      ...conversations.map((id, at) => ({
        record: 'conversation',
        id,
        app_id: one.ids.app,
        name: 'before',
        introduction,
        created_at: at,
      })),
    ]);
  });
  after(() => service?.close());

  it('a large import updates the statistics of the planner on every node', async () => {
    const { rows } = await onNode(service.config.database_url, (client) =>
      client.query(
        `SELECT result FROM run_command_on_shards('conversations', $$SELECT reltuples::int FROM pg_class WHERE oid = '%s'::regclass$$)`,
      ),
    );
    const counts = rows.map(({ result }) => Number(result));
    // Without statistics each is -1.
    assert.ok(
      counts.every((count) => count >= 0),
      counts.join(),
    );
    assert.equal(
      counts.reduce((sum, count) => sum + count),
      conversations.length + 2,
    );
  });

  it('a streamed list of conversations is of one moment on each node, whatever is renamed meanwhile', async () => {
    const query = {
      app_id: one.ids.app,
      user: undefined,
      after: undefined,
      order: '-created_at',
      limit: 100,
    } as const;
    for (let round = 0; round < 5; round += 1) {
      const { body: before } = await service.request('GET', '/v1/conversations?limit=100', { key: one.keys.app });
      const names = new Map(before.data.map((row: { id: string; name: string }) => [row.id, row.name]));
      assert.ok(names.size > conversations.length);
      const { apps, close } = await service.store.openReads(new AbortController().signal);
      const { items } = (await apps.listConversations(query)) ?? assert.fail();
      for (const [at, { readLarge }] of items.entries()) {
        const id = conversations[(at * 7) % conversations.length];
        const body = { name: `renamed ${'x'.repeat(round + (at % 50))}` };
        if (at % 5 === 0) await service.as(one.keys.app).post(`/v1/conversations/${id}/name`, body);
        const { id: read = '', name } = (await readLarge()) ?? {};
        assert.equal(name ?? 'New conversation', names.get(read));
      }
      close();
    }
  });
});
