import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { readConversations } from '../../../src/dify/rows/conversations.ts';
import { readKeys } from '../../../src/dify/rows/keys.ts';
import { readChildChunks, readDatasets, readDocuments, readSegments } from '../../../src/dify/rows/knowledge.ts';
import { readMessages } from '../../../src/dify/rows/messages.ts';
import { readApps, readWorkspaces } from '../../../src/dify/rows/workspaces.ts';
import type { DifySource, RecordInput } from '../../../src/dify/source.ts';
import { createDify, type DifyDatabase, difyId, difyRows, ids, tokens } from '../../support/dify-database.ts';
import { onEveryEngine, startService } from '../../support/harness.ts';
import { onlyRecord, read } from './readers.ts';

const digestOf = (token: string) => createHash('sha256').update(token).digest('hex');

describe('records of a small Dify', () => {
  let dify: DifyDatabase;
  let source: DifySource;
  before(async () => {
    dify = await createDify();
    await dify.run(difyRows);
    source = await dify.connect();
  });
  after(() => dify.close());

  it('has workspaces and apps', async () => {
    assert.deepEqual((await read(source, readWorkspaces)).records, [
      { record: 'workspace', id: ids.workspace, name: 'Example' },
    ]);
    assert.deepEqual((await read(source, readApps)).records, [
      {
        record: 'app',
        id: ids.app,
        workspace_id: ids.workspace,
        name: 'Help desk',
        mode: 'advanced-chat',
        description: '',
        parameters: null,
        site: null,
      },
    ]);
  });

  it('has keys with digests', async () => {
    const { records: datasets } = await read(source, readDatasets);
    const { records, skips } = await read(source, readKeys, {}, 1793700000, datasets);
    const key = { record: 'api_key', workspace_id: ids.workspace, dataset_ids: null, name: 'from Dify' };
    const times = { created_at: 1793600000, revoked_at: null };
    assert.deepEqual(records, [
      { ...key, id: difyId(32), kind: 'knowledge', app_id: null, digest: digestOf(tokens.dataset), ...times },
      { ...key, id: difyId(31), kind: 'app', app_id: ids.app, digest: digestOf(tokens.app), ...times },
    ]);
    assert.deepEqual(skips, [{ kind: 'api_key', id: difyId(33), reason: 'app missing' }]);
  });

  it('has knowledge down to child chunks', async () => {
    const dataset = onlyRecord(await read(source, readDatasets));
    const { updated_at, ...fields } = dataset;
    assert.ok(Number.isInteger(updated_at));
    assert.deepEqual(fields, {
      record: 'dataset',
      id: ids.dataset,
      workspace_id: ids.workspace,
      name: 'Handbook',
      description: null,
      indexing_technique: null,
      embedding_model: null,
      embedding_model_provider: null,
      doc_form: 'text_model',
      data_source_type: null,
      created_at: 1793600000,
      tags: [],
      settings: {
        provider: 'vendor',
        permission: 'only_me',
        built_in_field_enabled: false,
        runtime_mode: 'general',
        enable_api: true,
        is_multimodal: false,
        retrieval_model_dict: { reranking_model: { reranking_provider_name: '', reranking_model_name: '' } },
      },
    });
    const document = onlyRecord(await read(source, readDocuments, {}, [ids.document]));
    assert.deepEqual(
      [document.id, document.dataset_id, document.name, document.position, document.indexing_status],
      [ids.document, ids.dataset, 'guide.md', 1, 'completed'],
    );
    const segment = onlyRecord(await read(source, readSegments, {}, [ids.segment]));
    assert.deepEqual(
      [segment.id, segment.document_id, segment.position, segment.content],
      [ids.segment, ids.document, 1, 'Unplug it first. Then open the lid.'],
    );
    assert.deepEqual(onlyRecord(await read(source, readChildChunks, {}, [ids.chunk])), {
      record: 'child_chunk',
      id: ids.chunk,
      segment_id: ids.segment,
      position: 1,
      content: 'Unplug it first.',
      type: 'customized',
      created_at: 1793600002,
      updated_at: 1793600003,
      index_node_id: null,
    });
  });

  onEveryEngine('imported', (engine) => {
    it('is served with the keys of the source', async () => {
      const { records: datasets } = await read(source, readDatasets);
      const records: RecordInput[] = [
        ...(await read(source, readWorkspaces)).records,
        ...(await read(source, readApps)).records,
        ...datasets,
        ...(await read(source, readKeys, {}, 1793700000, datasets)).records,
        ...(await read(source, readConversations, {}, [ids.conversation, ids.deleted])).records,
        ...(await read(source, readMessages, {}, { conversationIds: [ids.conversation] })).records,
        ...(await read(source, readDocuments, {}, [ids.document])).records,
        ...(await read(source, readSegments, {}, [ids.segment])).records,
        ...(await read(source, readChildChunks, {}, [ids.chunk])).records,
      ];
      const service = await startService(engine);
      try {
        assert.equal(await service.load(records), records.length);
        const path = `/v1/messages?conversation_id=${ids.conversation}&user=visitor-1`;
        const { body } = await service.request('GET', path, { key: tokens.app });
        assert.deepEqual(
          body.data.map(({ query }: { query: string }) => query),
          ['third', 'second', 'first'],
        );
        assert.equal(body.data[2].retriever_resources.length, 2);
        const deleted = `/v1/messages?conversation_id=${ids.deleted}`;
        assert.equal((await service.request('GET', deleted, { key: tokens.app })).status, 404);
        const base = await service.request('GET', `/v1/datasets/${ids.dataset}`, { key: tokens.dataset });
        assert.deepEqual([base.body.name, base.body.permission, base.body.document_count], ['Handbook', 'only_me', 1]);
      } finally {
        await service.close();
      }
    });
  });
});
