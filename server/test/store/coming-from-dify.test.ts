import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import pg from 'pg';
import { recordKinds } from '../../src/contract/record.ts';
import { repository } from '../support/cli-helpers.ts';
import { difyRows, difyTables, ids, tokens } from '../support/dify-database.ts';
import { newDatabaseUrl, onEveryEngine, type Service, startService } from '../support/harness.ts';

const page = readFileSync(join(repository, 'docs', 'coming-from-dify.md'), 'utf8');
const sql = readFileSync(join(repository, 'docs', 'from-dify', 'records.sql'), 'utf8');
const linesOf = (text: string): object[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

describe('docs/coming-from-dify.md', () => {
  it('shows a valid record of each kind that the scripts produce', async () => {
    const records = linesOf(/```json\n(.*?)```/s.exec(page)?.[1] ?? '') as { record: string }[];
    const kinds = recordKinds.filter((kind) => kind !== 'child_chunk_revision');
    assert.deepEqual(records.map(({ record }) => record).sort(), kinds.toSorted());
    const service = await startService('sqlite');
    try {
      assert.equal(await service.load(records), records.length);
    } finally {
      await service.close();
    }
  });
});

onEveryEngine('records from a Dify database', (engine) => {
  let service: Service;
  let lines: object[];
  before(async () => {
    const { url, remove } = await newDatabaseUrl('postgres');
    const client = new pg.Client(url);
    await client.connect();
    try {
      await client.query(difyTables);
      await client.query(difyRows);
      const results = (await client.query(sql)) as unknown as pg.QueryResult<{ jsonb_build_object: object }>[];
      lines = results.flatMap(({ rows }) => rows.map((row) => row.jsonb_build_object));
    } finally {
      await client.end();
      await remove();
    }
    service = await startService(engine);
    await service.load(lines);
    // An import is an upsert: importing the records again is harmless.
    await service.load(lines);
  });
  after(() => service.close());

  it('returns messages in their order, with the key from Dify', async () => {
    const path = `/v1/messages?conversation_id=${ids.conversation}&user=visitor-1`;
    const { status, body } = await service.request('GET', path, { key: tokens.app });
    assert.equal(status, 200);
    assert.deepEqual(
      body.data.map(({ query }: { query: string }) => query),
      ['third', 'second', 'first'],
    );
    const [third, second, first] = body.data;
    assert.equal(second.created_at, first.created_at);
    assert.deepEqual([third.status, third.error], ['error', 'the model did not answer']);
    assert.deepEqual([second.status, second.feedback], ['normal', { rating: 'dislike' }]);
    assert.deepEqual(
      [first.inputs, first.total_price, first.currency, first.total_tokens, first.provider_response_latency],
      [{ city: 'Oslo\n' }, '0.0000210', 'USD', 16, 1.25],
    );
  });

  it('returns files, citations and agent thoughts', async () => {
    const path = `/v1/messages?conversation_id=${ids.conversation}`;
    const first = (await service.request('GET', path, { key: tokens.app })).body.data.at(-1);
    const files = first.message_files.map((file: Record<string, unknown>) => [file.filename, file.url, file.size]);
    assert.deepEqual(files, [
      ['plan.pdf', null, 1234],
      ['cat.png', 'https://pictures.example/cats/cat.png?width=9', null],
    ]);
    const [citation] = first.retriever_resources;
    assert.equal(first.retriever_resources.length, 1, 'a citation without a segment is left out');
    assert.deepEqual(
      [citation.message_id, citation.position, citation.dataset_name, citation.score, citation.hit_count],
      [first.id, 1, 'Handbook', 0.75, 0],
    );
    const [thought] = first.agent_thoughts;
    assert.deepEqual(
      [thought.thought, thought.tool, thought.tool_labels, thought.files],
      ['', 'search', { search: { en_US: 'Search' } }, [ids.upload]],
    );
  });

  it('returns 404 for a deleted conversation, and for a conversation of another user', async () => {
    const deleted = `/v1/messages?conversation_id=${ids.deleted}`;
    assert.equal((await service.request('GET', deleted, { key: tokens.app })).status, 404);
    const other = `/v1/messages?conversation_id=${ids.conversation}&user=visitor-2`;
    assert.equal((await service.request('GET', other, { key: tokens.app })).status, 404);
  });

  it('returns a child chunk, with the key from Dify', async () => {
    const document = `/v1/datasets/${ids.dataset}/documents/${ids.document}`;
    const path = `${document}/segments/${ids.segment}/child_chunks/${ids.chunk}`;
    const { body } = await service.request('GET', path, { key: tokens.dataset });
    assert.deepEqual([body.data.content, body.data.word_count, body.data.type], ['Unplug it first.', 3, 'customized']);
    assert.deepEqual([body.data.created_at, body.data.updated_at], [1793600002, 1793600003]);
  });

  it('contains no secret', () => {
    const text = JSON.stringify(lines);
    for (const token of Object.values(tokens)) assert.ok(!text.includes(token));
  });
});

describe('docs/from-dify/models.js', () => {
  const script = join(repository, 'docs', 'from-dify', 'models.js');

  it('reports in one line what is missing or which status was returned', async () => {
    const service = await startService('sqlite');
    try {
      for (const [args, words] of [
        [[], /^usage: .*BASE_URL KEY.*\n$/],
        [[service.base], /^usage: .*\n$/],
        [[service.base, 'k'], /^http.*: status 404; usage: .*\n$/],
        [[`${service.base}/v1`, 'k'], /^http.*: status 401; usage: .*\n$/],
        [['nowhere', 'k'], /^nowhere.*\n$/],
      ] as const)
        await assert.rejects(promisify(execFile)(process.execPath, [script, ...args]), { code: 1, stderr: words });
    } finally {
      await service.close();
    }
  });

  it('prints the providers with the models of every type as records', async () => {
    const service = await startService('sqlite');
    const copy = await startService('sqlite');
    try {
      const records = linesOf(/```json\n(.*?)```/s.exec(page)?.[1] ?? '') as Record<string, never>[];
      const provider = records.find(({ record }) => record === 'model_provider') as unknown as { models: object[] };
      const key = {
        record: 'api_key',
        kind: 'knowledge',
        workspace_id: records[0]?.id,
        name: 'k',
        secret: tokens.dataset,
      };
      const chat = { ...provider.models[0], model: 'chat-1', model_type: 'llm' };
      await service.load([records[0] ?? {}, key, { ...provider, models: [chat, ...provider.models] }]);
      const { stdout } = await promisify(execFile)(process.execPath, [script, `${service.base}/v1`, tokens.dataset]);
      await copy.load([records[0] ?? {}, key, ...linesOf(stdout)]);
      for (const type of ['llm', 'text-embedding', 'rerank']) {
        const path = `/v1/workspaces/current/models/model-types/${type}`;
        const [theirs, ours] = await Promise.all(
          [service, copy].map((one) => one.request('GET', path, { key: tokens.dataset })),
        );
        assert.deepEqual(ours?.body, theirs?.body);
        assert.equal(theirs?.body.data.length, type === 'rerank' ? 0 : 1);
      }
    } finally {
      await service.close();
      await copy.close();
    }
  });
});
