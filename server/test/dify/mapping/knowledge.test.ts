import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { limits } from '../../../src/contract/limits.ts';
import { readChildChunks, readDatasets, readDocuments, readSegments } from '../../../src/dify/rows/knowledge.ts';
import type { DifySource } from '../../../src/dify/source.ts';
import { at, createDify, type DifyDatabase, difyId, ids, type Row } from '../../support/dify-database.ts';
import { idsOf, onlyRecord, type Reading, read } from './readers.ts';

let dify: DifyDatabase;
let source: DifySource;
let nth = 3000;
const newId = () => difyId(nth++);
const [created_at, updated_at] = [at(1793600000.7), at(1793600100.7)];
const link = `/files/${ids.upload}/image-preview`;
const signed = `https://dify.example${link}?timestamp=1&nonce=2&sign=3`;

before(async () => {
  dify = await createDify();
  await dify.insert('tenants', { id: ids.workspace, name: 'Example' });
  await dify.insert('datasets', {
    id: ids.dataset,
    tenant_id: ids.workspace,
    name: 'Handbook',
    description: 'How to use it',
    provider: 'external',
    permission: 'all_team_members',
    data_source_type: 'upload_file',
    indexing_technique: 'high_quality',
    index_struct: { api_key: 'SECRET-1' },
    embedding_model: 'embed-1',
    embedding_model_provider: 'acme/acme/acme',
    retrieval_model: {
      search_method: 'hybrid_search',
      top_k: 4,
      reranking_enable: true,
      reranking_model: { reranking_provider_name: 'acme', reranking_model_name: 'rerank-1', api_key: 'SECRET-2' },
      score_threshold: null,
      secret: 'SECRET-3',
    },
    summary_index_setting: { enable: true, model_name: 'm', model_provider_name: 'p', summary_prompt: 'SECRET-prompt' },
    icon_info: { icon_type: 'emoji', icon: '📙', icon_background: '#fff', icon_url: signed },
    runtime_mode: 'rag_pipeline',
    pipeline_id: difyId(71),
    chunk_structure: 'hierarchical_model',
    maintainer: difyId(89),
    created_at,
    updated_at,
  });
  await dify.insert('documents', { id: ids.document, dataset_id: ids.dataset, name: 'guide.md' });
  source = await dify.connect();
});
after(() => dify.close());

const reasons = ({ skips }: Reading) => skips.map(({ part, reason }) => [part, reason]);
const insert = async (table: string, row: Row): Promise<string> => {
  const id = newId();
  await dify.insert(table, { id, ...row });
  return id;
};
const insertSegment = (row: Row = {}): Promise<string> =>
  insert('document_segments', {
    document_id: ids.document,
    position: 1,
    content: 'text',
    created_at,
    updated_at,
    ...row,
  });

describe('datasets of a Dify installation', () => {
  it('are mapped field by field, without secrets', async () => {
    await dify.insert(
      'tags',
      { id: difyId(81), tenant_id: ids.workspace, type: 'knowledge', name: 'Manuals' },
      { id: difyId(82), tenant_id: ids.workspace, type: 'app', name: 'of an app' },
      { id: difyId(83), tenant_id: difyId(90), type: 'knowledge', name: 'of another workspace' },
    );
    const binding = { tenant_id: ids.workspace, target_id: ids.dataset };
    await dify.insert('tag_bindings', ...[81, 81, 82, 83, 84].map((tag) => ({ ...binding, tag_id: difyId(tag) })));
    await dify.insert('dataset_metadatas', { id: difyId(85), dataset_id: ids.dataset, type: 'string', name: 'author' });
    await dify.insert('external_knowledge_apis', {
      id: difyId(86),
      tenant_id: ids.workspace,
      name: 'Elsewhere',
      settings: { endpoint: 'https://SECRET.example', api_key: 'SECRET-4' },
    });
    await dify.insert('external_knowledge_bindings', {
      tenant_id: ids.workspace,
      external_knowledge_api_id: difyId(86),
      dataset_id: ids.dataset,
      external_knowledge_id: 'kb-1',
    });
    const reading = await read(source, readDatasets);
    assert.doesNotMatch(JSON.stringify(reading), /SECRET|sign=/);
    assert.deepEqual(reading.skips, []);
    assert.deepEqual(onlyRecord(reading), {
      record: 'dataset',
      id: ids.dataset,
      workspace_id: ids.workspace,
      name: 'Handbook',
      description: 'How to use it',
      indexing_technique: 'high_quality',
      embedding_model: 'embed-1',
      embedding_model_provider: 'acme/acme/acme',
      doc_form: 'hierarchical_model',
      data_source_type: 'upload_file',
      created_at: 1793600000,
      updated_at: 1793600100,
      tags: [{ id: difyId(81), name: 'Manuals', type: 'knowledge' }],
      settings: {
        provider: 'external',
        permission: 'all_team_members',
        built_in_field_enabled: false,
        runtime_mode: 'rag_pipeline',
        pipeline_id: difyId(71),
        chunk_structure: 'hierarchical_model',
        enable_api: true,
        is_multimodal: false,
        maintainer: difyId(89),
        retrieval_model_dict: {
          search_method: 'hybrid_search',
          reranking_enable: true,
          reranking_model: { reranking_provider_name: 'acme', reranking_model_name: 'rerank-1' },
          top_k: 4,
          score_threshold: null,
        },
        summary_index_setting: { enable: true, model_name: 'm', model_provider_name: 'p' },
        icon_info: { icon_type: 'emoji', icon: '📙', icon_background: '#fff', icon_url: `https://dify.example${link}` },
        external_knowledge_info: {
          external_knowledge_id: 'kb-1',
          external_knowledge_api_id: difyId(86),
          external_knowledge_api_name: 'Elsewhere',
        },
        doc_metadata: [{ id: difyId(85), name: 'author', type: 'string' }],
      },
    });
  });

  it('have the names of a reranking model that Dify shows if none was chosen', async () => {
    const workspace = difyId(92);
    await dify.insert('tenants', { id: workspace, name: 'Plain' });
    await insert('datasets', { tenant_id: workspace, name: 'Plain' });
    const { settings } = onlyRecord(await read(source, readDatasets, { workspaceIds: [workspace] }));
    const reranking_model = { reranking_provider_name: '', reranking_model_name: '' };
    assert.deepEqual((settings as Row).retrieval_model_dict, { reranking_model });
  });

  it('are imported without a setting of the wrong type, and closed ones are marked', async () => {
    const workspace = difyId(91);
    await dify.insert('tenants', { id: workspace, name: 'Other' });
    const id = await insert('datasets', {
      tenant_id: workspace,
      name: 'Odd',
      retrieval_model: { top_k: 'many' },
      icon_info: [1],
      enable_api: false,
      description: 'x'.repeat(limits.recordBytesMax),
    });
    const reading = await read(source, readDatasets, { workspaceIds: [workspace] });
    const record = onlyRecord(reading);
    assert.deepEqual([record.id, record.description, record.doc_form], [id, null, null]);
    assert.deepEqual((record.settings as Row).enable_api, false);
    assert.deepEqual(reasons(reading), [
      ['settings.icon_info', 'not an object'],
      ['settings.retrieval_model_dict', 'wrong type'],
      ['description', 'too large'],
    ]);
  });
});

describe('documents of a Dify installation', () => {
  it('are mapped field by field, without credentials', async () => {
    const id = await insert('documents', {
      dataset_id: ids.dataset,
      name: 'page.html',
      position: 7,
      data_source_type: 'website_crawl',
      data_source_info: {
        url: signed,
        mode: 'crawl',
        credential_id: 'SECRET-1',
        nested: [{ api_key: 'SECRET-2', a: 1 }],
      },
      tokens: 12,
      created_by: difyId(89),
      disabled_at: created_at,
      enabled: false,
      archived: true,
      doc_form: 'qa_model',
      doc_language: 'English',
      doc_metadata: { author: 'Ann', uploader: 'Bo', upload_date: 1793600000.5, year: 2026 },
      created_at,
      updated_at,
    });
    await dify.insert('dataset_metadata_bindings', {
      dataset_id: ids.dataset,
      metadata_id: difyId(85),
      document_id: id,
    });
    const reading = await read(source, readDocuments, {}, [id]);
    assert.doesNotMatch(JSON.stringify(reading), /SECRET|sign=/);
    const record = onlyRecord(reading);
    const byName = (one: Row[]) => one.toSorted((a, b) => `${a.name}`.localeCompare(`${b.name}`));
    assert.deepEqual(
      { ...record, doc_metadata: byName(record.doc_metadata as Row[]) },
      {
        record: 'document',
        id,
        dataset_id: ids.dataset,
        name: 'page.html',
        position: 7,
        created_at: 1793600000,
        updated_at: 1793600100,
        created_by: difyId(89),
        disabled_at: 1793600000,
        enabled: false,
        archived: true,
        indexing_status: 'completed',
        doc_form: 'qa_model',
        doc_language: 'English',
        data_source_type: 'website_crawl',
        tokens: 12,
        data_source_info: { url: `https://dify.example${link}`, mode: 'crawl', nested: [{ a: 1 }] },
        doc_metadata: [
          { id: difyId(85), name: 'author', type: 'string', value: 'Ann' },
          { id: 'built-in', name: 'upload_date', type: 'time', value: 1793600000.5 },
          { id: 'built-in', name: 'uploader', type: 'string', value: 'Bo' },
          { name: 'year', type: 'number', value: 2026 },
        ],
      },
    );
    assert.deepEqual([reading.skips, reading.counts], [[], { 'signed links removed': 1 }]);
  });

  it('have any status, but a dataset', async () => {
    const document = { dataset_id: ids.dataset, name: 'new.md' };
    const waiting = await insert('documents', { ...document, indexing_status: 'waiting' });
    const paused = await insert('documents', { ...document, indexing_status: 'indexing', is_paused: true });
    const orphan = await insert('documents', { ...document, dataset_id: difyId(97) });
    const all = [waiting, paused, orphan];
    const { records } = await read(source, readDocuments, {}, all);
    assert.deepEqual(
      records.map(({ id, indexing_status }) => [id, indexing_status]),
      [
        [waiting, 'waiting'],
        [paused, 'paused'],
      ],
    );
    const segment = await insertSegment({ document_id: waiting });
    assert.deepEqual(idsOf(await read(source, readSegments, {}, [segment])), [segment]);
  });

  it('list bad values', async () => {
    const document = { dataset_id: ids.dataset, name: 'odd.md', data_source_info: '{oops', doc_metadata: ['a'] };
    const reading = await read(source, readDocuments, {}, [await insert('documents', document)]);
    const record = onlyRecord(reading);
    assert.deepEqual([record.data_source_info, record.doc_metadata], [null, []]);
    assert.deepEqual(reasons(reading), [
      ['data_source_info', 'malformed JSON'],
      ['doc_metadata', 'not an object'],
    ]);
  });
});

describe('segments and child chunks of a Dify installation', () => {
  it('are mapped field by field', async () => {
    const id = await insertSegment({
      position: 3,
      content: `What is it? ![](${signed})`,
      answer: 'A lid.',
      keywords: ['lid', 'open'],
      enabled: false,
      status: 'completed',
      tokens: 9,
      hit_count: 4,
      index_node_id: 'n1',
      index_node_hash: 'h1',
      created_by: difyId(89),
      disabled_at: created_at,
    });
    assert.deepEqual(onlyRecord(await read(source, readSegments, {}, [id])), {
      record: 'segment',
      id,
      document_id: ids.document,
      position: 3,
      content: `What is it? ![](https://dify.example${link})`,
      answer: 'A lid.',
      keywords: ['lid', 'open'],
      enabled: false,
      status: 'completed',
      tokens: 9,
      hit_count: 4,
      index_node_id: 'n1',
      index_node_hash: 'h1',
      created_at: 1793600000,
      updated_at: 1793600100,
      created_by: difyId(89),
      disabled_at: 1793600000,
    });
    const chunk = await insert('child_chunks', {
      segment_id: id,
      position: 2,
      content: 'It is a lid.',
      word_count: 12,
      index_node_id: 'n2',
      index_node_hash: 'h2',
      type: 'customized',
      created_at,
      updated_at,
    });
    assert.deepEqual(onlyRecord(await read(source, readChildChunks, {}, [chunk])), {
      record: 'child_chunk',
      id: chunk,
      segment_id: id,
      position: 2,
      content: 'It is a lid.',
      type: 'customized',
      created_at: 1793600000,
      updated_at: 1793600100,
      index_node_id: 'n2',
    });
  });

  it('have any status, and no orphans', async () => {
    const statuses = ['waiting', 'indexing', 'completed', 'paused', 'error', 're_segment'];
    const segments = [];
    const chunks = [];
    for (const status of statuses) {
      const segment_id = await insertSegment({ status });
      segments.push(segment_id);
      chunks.push(await insert('child_chunks', { segment_id, position: 1, content: status }));
    }
    segments.push(await insertSegment({ document_id: difyId(96) }));
    chunks.push(await insert('child_chunks', { segment_id: difyId(95), position: 1, content: 'orphan' }));
    const read1 = await read(source, readSegments, {}, segments);
    assert.deepEqual(idsOf(read1), segments.slice(0, -1));
    const read2 = await read(source, readChildChunks, {}, chunks);
    assert.deepEqual(idsOf(read2), chunks.slice(0, -1));
    assert.deepEqual(idsOf(await read(source, readChildChunks, { appIds: [difyId(2)] }, chunks)), []);
  });

  it('list bad keywords', async () => {
    for (const [keywords, expected, reason] of [
      [{ a: 1 }, null, 'not a list'],
      [['a', 2, { b: 3 }, null], ['a', '2', '{"b":3}'], undefined],
      ['null', null, undefined],
    ] as const) {
      const reading = await read(source, readSegments, {}, [await insertSegment({ keywords })]);
      assert.deepEqual(onlyRecord(reading).keywords, expected);
      assert.deepEqual(reasons(reading), reason === undefined ? [] : [['keywords', reason]]);
    }
  });

  it('are listed if they are too large, and so are the child chunks of such a segment', async () => {
    const long = await insertSegment({ content: 'x'.repeat(limits.recordBytesMax + 1) });
    const escaped = await insertSegment({ content: '"'.repeat(limits.recordBytesMax - 1000) });
    const large = await insertSegment({ content: 'x'.repeat(limits.recordBytesMax / 2) });
    const chunks = [];
    for (const segment_id of [long, escaped, large, ids.segment])
      chunks.push(await insert('child_chunks', { segment_id, position: 1, content: 'chunk' }));
    const tooLarge = await insert('child_chunks', {
      segment_id: large,
      position: 2,
      content: 'x'.repeat(limits.recordBytesMax + 1),
    });
    const segments = await read(source, readSegments, {}, [long, escaped, large]);
    assert.deepEqual(idsOf(segments), [large]);
    assert.deepEqual(
      segments.skips.map(({ kind, id, reason }) => [kind, id, reason]),
      [
        ['segment', long, 'too large'],
        ['segment', escaped, 'too large'],
      ],
    );
    const reading = await read(source, readChildChunks, {}, [...chunks, tooLarge]);
    assert.deepEqual(idsOf(reading), [chunks[2]]);
    assert.deepEqual(
      reading.skips.map(({ kind, id, reason }) => [kind, id, reason]),
      [
        ['child_chunk', tooLarge, 'too large'],
        ['child_chunk', chunks[0], 'segment too large'],
        ['child_chunk', chunks[1], 'segment too large'],
      ],
    );
  });
});
