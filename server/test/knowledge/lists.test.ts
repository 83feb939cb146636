import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { makeSecret } from '../../src/domain/secret.ts';
import { itOnOneEngine, makeTenant, makeTwoTenants, onEveryEngine, useService } from '../support/harness.ts';

// The fields of companion-api.md, in their order.
const baseFields =
  'id, name, description, provider, permission, data_source_type, indexing_technique, app_count, document_count, word_count, created_by, author_name, created_at, updated_by, updated_at, embedding_model, embedding_model_provider, embedding_available, retrieval_model_dict, summary_index_setting, tags, doc_form, external_knowledge_info, external_retrieval_model, doc_metadata, built_in_field_enabled, pipeline_id, runtime_mode, chunk_structure, icon_info, is_published, total_documents, total_available_documents, enable_api, is_multimodal, maintainer';
const documentFields =
  'id, position, data_source_type, data_source_info, data_source_detail_dict, dataset_process_rule_id, name, created_from, created_by, created_at, tokens, indexing_status, error, enabled, disabled_at, disabled_by, archived, display_status, word_count, hit_count, doc_form, doc_metadata, summary_index_status, need_summary';
const singleDocumentFields =
  'id, position, data_source_type, data_source_info, dataset_process_rule_id, dataset_process_rule, document_process_rule, name, created_from, created_by, created_at, tokens, indexing_status, completed_at, updated_at, indexing_latency, error, enabled, disabled_at, disabled_by, archived, doc_type, doc_metadata, segment_count, average_segment_length, hit_count, display_status, doc_form, doc_language, summary_index_status, need_summary';
const segmentFields =
  'id, position, document_id, content, sign_content, answer, word_count, tokens, keywords, index_node_id, index_node_hash, hit_count, enabled, disabled_at, disabled_by, status, created_by, created_at, updated_at, updated_by, indexing_at, completed_at, error, stopped_at, child_chunks, attachments, summary';
const chunkFields = 'id, segment_id, content, position, word_count, type, created_at, updated_at';

const names = (value: object) => Object.keys(value).join(', ');

onEveryEngine('lists of knowledge bases', (engine) => {
  const { one, other, records } = makeTwoTenants();
  const { ids } = one;
  const datasetPath = `/v1/datasets/${ids.dataset}`;
  const documentPath = `${datasetPath}/documents/${ids.document}`;
  const segmentPath = `${documentPath}/segments/${ids.segment}`;
  const service = useService(engine, records);

  const get = (path: string, key = one.keys.knowledge) => service.as(key).get(path);
  async function read(path: string, key?: string) {
    const response = await get(path, key);
    assert.equal(response.status, 200, response.text);
    return response.body;
  }
  it('have the fields and constants of the specification, in their order', async () => {
    const list = await read('/v1/datasets');
    assert.equal(names(list), 'data, has_more, limit, total, page');
    assert.deepEqual([list.has_more, list.limit, list.total, list.page], [false, 20, 1, 1]);
    const [base] = list.data;
    assert.equal(names(base), baseFields);
    assert.deepEqual(await read(datasetPath), base);
    const { created_at, updated_at, ...rest } = base;
    assert.ok(created_at > 1_700_000_000 && updated_at === created_at);
    assert.deepEqual(rest, {
      ...Object.fromEntries(baseFields.split(', ').flatMap((name) => (name in rest ? [[name, null]] : []))),
      id: ids.dataset,
      name: 'dataset',
      provider: 'vendor',
      permission: 'all_team_members',
      app_count: 0,
      document_count: 1,
      word_count: 2,
      created_by: ids.workspace,
      embedding_available: true,
      retrieval_model_dict: {
        search_method: 'semantic_search',
        reranking_enable: false,
        reranking_mode: null,
        reranking_model: { reranking_provider_name: null, reranking_model_name: null },
        weights: null,
        top_k: 2,
        score_threshold_enabled: false,
        score_threshold: null,
      },
      summary_index_setting: { enable: false, model_name: null, model_provider_name: null, summary_prompt: null },
      tags: [],
      external_knowledge_info: {
        external_knowledge_id: null,
        external_knowledge_api_id: null,
        external_knowledge_api_name: null,
        external_knowledge_api_endpoint: null,
      },
      doc_metadata: [],
      built_in_field_enabled: false,
      icon_info: { icon_type: null, icon: null, icon_background: null, icon_url: null },
      is_published: false,
      total_documents: 1,
      total_available_documents: 1,
      enable_api: true,
      is_multimodal: false,
    });

    const documents = await read(`${datasetPath}/documents`);
    assert.equal(names(documents), 'data, has_more, limit, total, page');
    const [document] = documents.data;
    assert.equal(names(document), documentFields);
    const { created_at: documentTime, ...documentRest } = document;
    assert.ok(documentTime > 1_700_000_000);
    assert.deepEqual(documentRest, {
      ...Object.fromEntries(documentFields.split(', ').flatMap((name) => (name in documentRest ? [[name, null]] : []))),
      id: ids.document,
      position: 1,
      data_source_info: {},
      name: 'document',
      created_by: ids.workspace,
      indexing_status: 'completed',
      enabled: true,
      archived: false,
      display_status: 'available',
      word_count: 2,
      doc_metadata: [],
      need_summary: false,
    });

    const single = await read(documentPath);
    assert.equal(names(single), singleDocumentFields);
    assert.deepEqual([single.segment_count, single.average_segment_length], [1, 2]);
    assert.deepEqual(single.dataset_process_rule, { mode: null, rules: null });
    assert.deepEqual([single.document_process_rule, single.doc_type, single.doc_metadata], [null, null, []]);

    const segments = await read(`${documentPath}/segments`);
    assert.equal(names(segments), 'data, doc_form, total, has_more, limit, page');
    const [segment] = segments.data;
    assert.equal(names(segment), segmentFields);
    assert.deepEqual(
      [segment.content, segment.word_count, segment.status, segment.enabled, segment.attachments, segment.created_by],
      ['segment text', 2, 'completed', true, [], ids.workspace],
    );
    assert.deepEqual([segment.tokens, segment.hit_count, segment.keywords, segment.answer], [0, 0, null, null]);
    const one = await read(segmentPath);
    assert.equal(names(one), 'data, doc_form');
    assert.deepEqual(one.data, segment);

    const chunks = await read(`${segmentPath}/child_chunks`);
    assert.equal(names(chunks), 'data, total, total_pages, page, limit');
    assert.deepEqual([chunks.total, chunks.total_pages, chunks.page, chunks.limit], [1, 1, 1, 20]);
    assert.equal(names(chunks.data[0]), chunkFields);
    assert.deepEqual(segment.child_chunks, chunks.data);
    assert.deepEqual((await read(`${segmentPath}/child_chunks/${ids.chunk}`)).data, chunks.data[0]);
  });

  it('show the fields of the records', async () => {
    const tenant = makeTenant();
    const { dataset, document, segment, workspace } = tenant.ids;
    const tag = { id: randomUUID(), name: 'Tag', type: 'knowledge' };
    await service.load(tenant.records);
    await service.load([
      {
        record: 'dataset',
        id: dataset,
        workspace_id: workspace,
        name: 'Base',
        description: 'About',
        indexing_technique: 'economy',
        embedding_model: 'm',
        embedding_model_provider: 'p',
        doc_form: 'hierarchical_model',
        data_source_type: 'upload_file',
        tags: [tag],
        created_at: 5,
        updated_at: 6,
        settings: {
          id: 'x',
          name: 'x',
          document_count: 99,
          total_documents: 99,
          created_at: 99,
          tags: [],
          provider: 'external',
          enable_api: false,
          retrieval_model_dict: { top_k: 7, reranking_model: { reranking_model_name: 'r' } },
          unknown: 1,
        },
      },
      {
        record: 'document',
        id: document,
        dataset_id: dataset,
        name: 'Doc',
        position: 4,
        created_at: 7,
        updated_at: 8,
        enabled: false,
        indexing_status: 'completed',
        doc_form: 'qa_model',
        doc_language: 'English',
        data_source_type: 'notion',
        data_source_info: { b: 1, a: 2 },
        tokens: 9,
        doc_metadata: [{ name: 'n', value: 1 }],
      },
      {
        record: 'segment',
        id: segment,
        document_id: document,
        position: 3,
        content: 'one two three',
        answer: 'A',
        keywords: ['k'],
        enabled: false,
        status: 'indexing',
        tokens: 5,
        hit_count: 6,
        index_node_id: 'N',
        index_node_hash: 'h',
        created_at: 10,
        updated_at: 11,
      },
    ]);
    const key = tenant.keys.knowledge;
    const base = await read(`/v1/datasets/${dataset}`, key);
    assert.equal(names(base), baseFields);
    assert.deepEqual(
      [base.id, base.name, base.description, base.indexing_technique, base.embedding_model, base.doc_form],
      [dataset, 'Base', 'About', 'economy', 'm', 'hierarchical_model'],
    );
    assert.deepEqual([base.embedding_model_provider, base.data_source_type, base.tags], ['p', 'upload_file', [tag]]);
    assert.deepEqual([base.created_at, base.updated_at, base.provider, base.enable_api], [5, 6, 'external', false]);
    assert.deepEqual([base.document_count, base.total_documents, base.total_available_documents], [1, 1, 0]);
    assert.equal(base.word_count, 3);
    assert.equal(base.retrieval_model_dict.top_k, 7);
    assert.equal(base.retrieval_model_dict.search_method, 'semantic_search');
    assert.deepEqual(base.retrieval_model_dict.reranking_model, {
      reranking_provider_name: null,
      reranking_model_name: 'r',
    });

    const single = await read(`/v1/datasets/${dataset}/documents/${document}`, key);
    assert.deepEqual(
      [single.name, single.position, single.created_at, single.updated_at, single.enabled, single.display_status],
      ['Doc', 4, 7, 8, false, 'disabled'],
    );
    assert.equal(JSON.stringify(single.data_source_info), '{"b":1,"a":2}');
    assert.deepEqual(
      [single.doc_form, single.doc_language, single.data_source_type],
      ['qa_model', 'English', 'notion'],
    );
    assert.deepEqual([single.tokens, single.doc_metadata], [9, [{ name: 'n', value: 1 }]]);

    const segments = await read(`/v1/datasets/${dataset}/documents/${document}/segments`, key);
    assert.equal(segments.doc_form, 'qa_model');
    const [shown] = segments.data;
    assert.deepEqual(
      [shown.position, shown.word_count, shown.answer, shown.keywords, shown.enabled, shown.status, shown.tokens],
      [3, 3, 'A', ['k'], false, 'indexing', 5],
    );
    assert.deepEqual(
      [shown.hit_count, shown.index_node_id, shown.index_node_hash, shown.created_at, shown.updated_at],
      [6, 'N', 'h', 10, 11],
    );
  });

  itOnOneEngine(engine, 'metadata selects fields of a document, and is checked before the path', async () => {
    const all = await read(documentPath);
    assert.deepEqual(await read(`${documentPath}?metadata=all`), all);
    assert.deepEqual(await read(`${documentPath}?metadata=`), all);
    assert.equal(names(await read(`${documentPath}?metadata=only`)), 'id, doc_type, doc_metadata');
    assert.equal(
      names(await read(`${documentPath}?metadata=without`)),
      singleDocumentFields.replace(' doc_type, doc_metadata,', ''),
    );
    for (const path of [documentPath, `/v1/datasets/x/documents/${ids.document}`]) {
      const response = await get(`${path}?metadata=ALL`);
      assert.deepEqual([response.status, response.body.code], [400, 'invalid_metadata']);
    }
    const repeated = await get(`${documentPath}?metadata=all&metadata=only`);
    assert.deepEqual([repeated.status, repeated.body.code], [400, 'invalid_param']);
  });

  it('display_status follows the record, and documents can be filtered by it', async () => {
    const dataset = randomUUID();
    const states: [string, object][] = [
      ['available', {}],
      ['disabled', { enabled: false }],
      ['archived', { archived: true }],
      ['archived', { archived: true, enabled: false }],
      ['error', { indexing_status: 'error', archived: true }],
      ['queuing', { indexing_status: 'waiting' }],
      ['paused', { indexing_status: 'paused' }],
      ['indexing', { indexing_status: 'parsing' }],
      ['indexing', { indexing_status: 'splitting', enabled: false }],
    ];
    await service.load([
      { record: 'dataset', id: dataset, workspace_id: other.ids.workspace, name: 'states' },
      ...states.map(([status, fields], at) => ({
        record: 'document',
        id: randomUUID(),
        dataset_id: dataset,
        name: `${at} ${status}`,
        created_at: 1,
        ...fields,
      })),
    ]);
    const key = other.keys.knowledge;
    const list = await read(`/v1/datasets/${dataset}/documents`, key);
    // The newest position comes first.
    assert.deepEqual(
      list.data.map(({ name, display_status }: Record<string, string>) => [name, display_status]),
      states.map(([status], at) => [`${at} ${status}`, status]).toReversed(),
    );
    for (const status of ['available', 'disabled', 'archived', 'indexing', 'queuing', 'paused', 'error']) {
      const { data, total } = await read(`/v1/datasets/${dataset}/documents?status=${status}`, key);
      const expected = states.filter(([expectedStatus]) => expectedStatus === status).length;
      assert.deepEqual([data.length, total], [expected, expected], status);
      assert.ok(data.every(({ display_status }: Record<string, string>) => display_status === status));
    }
    for (const status of ['completed', 'Available', 'x']) {
      const response = await get(`/v1/datasets/${dataset}/documents?status=${status}`, key);
      assert.deepEqual([response.status, response.body.code], [400, 'invalid_param'], status);
    }
    const { total_documents, total_available_documents } = await read(`/v1/datasets/${dataset}`, key);
    assert.deepEqual([total_documents, total_available_documents], [9, 1]);
  });

  it('keyword matches A–Z in any case, other characters exactly, and % and _ literally', async () => {
    const tenant = makeTenant();
    const { workspace, document, segment, dataset } = tenant.ids;
    const key = tenant.keys.knowledge;
    const texts = ['100% Ärger', '100 x', 'a_b', 'aXb', 'ÄRGER', 'back\\slash', 'wow! [x] *'];
    await service.load(tenant.records);
    await service.load([
      ...texts.map((name) => ({ record: 'dataset', id: randomUUID(), workspace_id: workspace, name })),
      ...texts.map((name) => ({ record: 'document', id: randomUUID(), dataset_id: dataset, name })),
      ...texts.map((content, at) => ({
        record: 'segment',
        id: randomUUID(),
        document_id: document,
        position: at + 2,
        content,
      })),
      ...texts.map((content, at) => ({
        record: 'child_chunk',
        id: randomUUID(),
        segment_id: segment,
        position: at + 2,
        content,
      })),
    ]);
    const cases: Record<string, string[]> = {
      '%': ['100% Ärger'],
      _: ['a_b'],
      A_B: ['a_b'],
      axb: ['aXb'],
      ärger: [],
      Ärger: ['100% Ärger', 'ÄRGER'],
      ÄRGER: ['100% Ärger', 'ÄRGER'],
      'Ärg%': [],
      '\\': ['back\\slash'],
      '!': ['wow! [x] *'],
      '[X]': ['wow! [x] *'],
      '*': ['wow! [x] *'],
      '\0': [],
      zzz: [],
    };
    const lists: [string, string][] = [
      ['/v1/datasets', 'name'],
      [`/v1/datasets/${dataset}/documents`, 'name'],
      [`/v1/datasets/${dataset}/documents/${document}/segments`, 'content'],
      [`/v1/datasets/${dataset}/documents/${document}/segments/${segment}/child_chunks`, 'content'],
    ];
    for (const [path, field] of lists) {
      for (const [keyword, expected] of Object.entries(cases)) {
        const { data, total } = await read(`${path}?keyword=${encodeURIComponent(keyword)}`, key);
        const found = data.map((item: Record<string, string>) => item[field]);
        assert.deepEqual(found.sort(), expected, `${path} ${keyword}`);
        assert.equal(total, expected.length);
      }
      assert.equal((await read(`${path}?keyword=`, key)).total, texts.length + 1);
    }
  });

  it('tag_ids and the status of segments are lists', async () => {
    const tenant = makeTenant();
    const key = tenant.keys.knowledge;
    const { workspace, dataset, document } = tenant.ids;
    const tags = ['a', 'B', 'c"x'].map((id) => ({ id, name: `"id":"${id}z",{"id":"q",`, type: 'knowledge' }));
    await service.load(tenant.records);
    await service.load([
      { record: 'dataset', id: randomUUID(), workspace_id: workspace, name: 'one', tags: tags.slice(0, 1) },
      { record: 'dataset', id: randomUUID(), workspace_id: workspace, name: 'two', tags: tags.slice(0, 2) },
      { record: 'dataset', id: randomUUID(), workspace_id: workspace, name: 'three', tags },
      ...['completed', 'error', 'indexing'].map((status, at) => ({
        record: 'segment',
        id: randomUUID(),
        document_id: document,
        position: at + 2,
        content: status,
        status,
      })),
    ]);
    const basesWith = async (query: string) =>
      (await read(`/v1/datasets?${query}`, key)).data.map(({ name }: Record<string, string>) => name).sort();
    assert.deepEqual(await basesWith('tag_ids=a'), ['one', 'three', 'two']);
    assert.deepEqual(await basesWith('tag_ids=A&tag_ids=b'), ['three', 'two']);
    assert.deepEqual(await basesWith(`tag_ids=${encodeURIComponent('c"x')}&include_all=true`), ['three']);
    assert.deepEqual(await basesWith('tag_ids=q'), []);
    assert.deepEqual(await basesWith('&tag_ids=a'.repeat(1_200)), ['one', 'three', 'two']);
    assert.deepEqual(await basesWith('tag_ids=%00'), []);
    assert.deepEqual(await basesWith('tag_ids=&tag_ids='), ['dataset', 'one', 'three', 'two']);
    const path = `/v1/datasets/${dataset}/documents/${document}/segments`;
    const segmentsWith = async (query: string) =>
      (await read(`${path}?${query}`, key)).data.map(({ status }: Record<string, string>) => status);
    assert.deepEqual(await segmentsWith('status=completed'), ['completed', 'completed']);
    assert.deepEqual(await segmentsWith('status=error&status=indexing'), ['error', 'indexing']);
    assert.deepEqual(await segmentsWith('status=%00'), []);
  });

  itOnOneEngine(engine, 'page and limit have bounds, and a page past the end is empty', async () => {
    const lists = [
      '/v1/datasets',
      `${datasetPath}/documents`,
      `${documentPath}/segments`,
      `${segmentPath}/child_chunks`,
    ];
    for (const path of lists) {
      for (const query of [
        'limit=0',
        'limit=101',
        'limit=-1',
        'limit=x',
        'limit=1.0',
        'limit=1&limit=2',
        'page=0',
        'page=-1',
        'page=1e1',
        'page=9007199254740992',
        `page=${10n ** 30n}`,
        'keyword=a&keyword=b',
      ]) {
        const response = await get(`${path}?${query}`);
        assert.deepEqual([response.status, response.body.code], [400, 'invalid_param'], `${path}?${query}`);
      }
      for (const query of ['page=2', 'page=9007199254740991', 'limit=100&page=2']) {
        const { data, total } = await read(`${path}?${query}`);
        assert.deepEqual([data, total], [[], 1], `${path}?${query}`);
      }
      assert.equal((await read(`${path}?limit=&page=&unknown=1`)).data.length, 1);
      assert.equal((await read(`${path}?page=${'0'.repeat(20)}1`)).page, 1);
    }
  });

  it('a restricted key sees its datasets only, in lists and counts', async () => {
    const tenant = makeTenant();
    const key = makeSecret('knowledge');
    const more = Array.from({ length: 3 }, () => randomUUID());
    const workspace_id = tenant.ids.workspace;
    await service.load(tenant.records);
    await service.load([
      ...more.map((id) => ({ record: 'dataset', id, workspace_id, name: 'more' })),
      { record: 'api_key', kind: 'knowledge', workspace_id, name: 'k', secret: key, dataset_ids: more.slice(0, 2) },
    ]);
    const list = await read('/v1/datasets', key);
    assert.deepEqual(list.data.map(({ id }: { id: string }) => id).sort(), more.slice(0, 2).sort());
    assert.deepEqual([list.total, list.has_more], [2, false]);
    assert.equal((await get(`/v1/datasets/${tenant.ids.dataset}`, key)).body.message, 'dataset not found');
    assert.equal((await get(`/v1/datasets/${more[2]}/documents`, key)).body.message, 'dataset not found');
    assert.equal((await read('/v1/datasets', tenant.keys.knowledge)).total, 4);
  });

  itOnOneEngine(engine, 'require a knowledge key, and HEAD works', async () => {
    const paths = [
      '/v1/datasets',
      datasetPath,
      `${datasetPath}/documents`,
      documentPath,
      `${documentPath}/segments`,
      segmentPath,
    ];
    for (const path of [...paths, `${segmentPath}/child_chunks`]) {
      assert.equal((await get(path, one.keys.app)).status, 401);
      const { headers } = await get(path);
      const head = await service.request('HEAD', path, { key: one.keys.knowledge });
      assert.deepEqual([head.status, head.text], [200, '']);
      assert.equal(head.headers['content-length'], headers['content-length']);
      assert.equal(headers.etag, undefined);
    }
  });
});
