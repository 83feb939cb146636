import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { readKeys } from '../../../src/dify/rows/keys.ts';
import { readDatasets } from '../../../src/dify/rows/knowledge.ts';
import { readApps, readWorkspaces } from '../../../src/dify/rows/workspaces.ts';
import type { DifySource, ImportOptions } from '../../../src/dify/source.ts';
import { at, createDify, type DifyDatabase, difyId, type Row } from '../../support/dify-database.ts';
import { onEveryEngine, startService } from '../../support/harness.ts';
import { idsOf, onlyRecord, read } from './readers.ts';

const [open, closed, mixed, archived] = [difyId(1), difyId(2), difyId(3), difyId(4)];
const [chat, disabled, abnormal] = [difyId(11), difyId(12), difyId(13)];
const [ofArchived, orphan, flow] = [difyId(14), difyId(15), difyId(16)];
const revokedAt = 1793700000;
const digestOf = (token: string) => createHash('sha256').update(token).digest('hex');

let dify: DifyDatabase;
let source: DifySource;

before(async () => {
  dify = await createDify();
  await dify.insert(
    'tenants',
    { id: open, name: 'Open', encrypt_public_key: 'SECRET-public-key' },
    { id: closed, name: 'Closed' },
    { id: mixed, name: 'Mixed' },
    { id: archived, name: 'Archived', status: 'archive' },
  );
  await dify.run('INSERT INTO tenant_account_joins (tenant_id) SELECT id FROM tenants');
  const app = { tenant_id: open, mode: 'chat' };
  await dify.insert(
    'apps',
    {
      ...app,
      id: chat,
      name: 'Chat',
      description: 'Answers.',
      app_model_config_id: difyId(21),
      tracing: 'SECRET-trace',
    },
    { ...app, id: disabled, name: 'No API', enable_api: false },
    { ...app, id: abnormal, name: 'Abnormal', status: 'banned' },
    { ...app, id: ofArchived, name: 'Archived', tenant_id: archived },
    { ...app, id: orphan, name: 'Orphan', tenant_id: difyId(98) },
    { ...app, id: flow, name: 'Flow', mode: 'advanced-chat', workflow_id: difyId(22) },
  );
  source = await dify.connect();
});
after(() => dify.close());

describe('workspaces and apps of a Dify installation', () => {
  it('have any status', async () => {
    assert.deepEqual(idsOf(await read(source, readWorkspaces)), [open, closed, mixed, archived]);
    assert.deepEqual(idsOf(await read(source, readApps)), [chat, disabled, abnormal, ofArchived, flow]);
  });

  it('are those of the selection', async () => {
    const ofWorkspaces = { workspaceIds: [closed, mixed] };
    assert.deepEqual(idsOf(await read(source, readWorkspaces, ofWorkspaces)), [closed, mixed]);
    assert.deepEqual(idsOf(await read(source, readApps, ofWorkspaces)), []);
    assert.deepEqual(idsOf(await read(source, readWorkspaces, { appIds: [chat] })), [open]);
    assert.deepEqual(idsOf(await read(source, readApps, { appIds: [chat] })), [chat]);
  });

  it('have the parameters of the app, but no prompts, models and credentials', async () => {
    await dify.insert('app_model_configs', {
      id: difyId(21),
      app_id: chat,
      provider: 'SECRET-provider',
      configs: { api_key: 'SECRET-1' },
      opening_statement: 'How can I help?',
      suggested_questions: ['Where?', 'When?'],
      suggested_questions_after_answer: { enabled: true, prompt: 'SECRET-prompt-1', model: { name: 'SECRET-model' } },
      speech_to_text: { enabled: true, key: 'SECRET-2' },
      text_to_speech: { enabled: true, voice: 'ann', language: 'en', autoPlay: 'enabled', api_key: 'SECRET-3' },
      more_like_this: { enabled: false },
      model: { name: 'SECRET-model', completion_params: {} },
      user_input_form: [
        {
          'text-input': {
            label: 'City',
            variable: 'city',
            required: true,
            max_length: 48,
            default: '',
            secret: 'SECRET-4',
          },
        },
        { select: { label: 'Size', variable: 'size', options: ['S', 'L'] } },
        { external_data_tool: { variable: 'x', type: 'api', config: { api_key: 'SECRET-5' } } },
      ],
      pre_prompt: 'SECRET-prompt-2',
      agent_mode: { tools: [{ tool_parameters: { key: 'SECRET-6' } }], prompt: 'SECRET-prompt-3' },
      sensitive_word_avoidance: {
        enabled: true,
        type: 'keywords',
        config: { keywords: 'SECRET-word', inputs_config: { enabled: true, preset_response: 'No.', more: 'SECRET-8' } },
      },
      retriever_resource: { enabled: false },
      chat_prompt_config: { prompt: [{ text: 'SECRET-prompt-4' }] },
      completion_prompt_config: { prompt: { text: 'SECRET-prompt-5' } },
      dataset_configs: { datasets: 'SECRET-7' },
      external_data_tools: [{ config: { api_key: 'SECRET-8' } }],
      file_upload: {
        image: { enabled: true, number_limits: 3, detail: 'high', transfer_methods: ['local_file'], token: 'SECRET-9' },
        enabled: true,
        allowed_file_types: ['image'],
        bucket: 'SECRET-10',
      },
    });
    await dify.insert('sites', {
      id: difyId(31),
      app_id: chat,
      title: 'Help',
      icon_type: 'emoji',
      icon: '🤖',
      icon_background: '#fff',
      chat_color_theme: '#146c5f',
      copyright: '© Example',
      input_placeholder: 'Type here',
      custom_disclaimer: 'No advice.',
      default_language: 'de-DE',
      code: 'SECRET-code',
      customize_domain: 'SECRET-domain',
    });
    await dify.insert('app_annotation_settings', { id: difyId(41), app_id: chat });
    const reading = await read(source, readApps, { appIds: [chat] });
    assert.doesNotMatch(JSON.stringify(reading), /SECRET/);
    assert.deepEqual(reading.skips, []);
    assert.deepEqual(onlyRecord(reading), {
      record: 'app',
      id: chat,
      workspace_id: open,
      name: 'Chat',
      mode: 'chat',
      description: 'Answers.',
      parameters: {
        opening_statement: 'How can I help?',
        suggested_questions: ['Where?', 'When?'],
        suggested_questions_after_answer: { enabled: true },
        speech_to_text: { enabled: true },
        text_to_speech: { enabled: true, voice: 'ann', language: 'en', autoPlay: 'enabled' },
        annotation_reply: { enabled: true },
        more_like_this: { enabled: false },
        retriever_resource: { enabled: false },
        user_input_form: [
          { 'text-input': { label: 'City', variable: 'city', required: true, max_length: 48, default: '' } },
          { select: { label: 'Size', variable: 'size', options: ['S', 'L'] } },
          { external_data_tool: { variable: 'x', type: 'api' } },
        ],
        sensitive_word_avoidance: {
          ...{ enabled: true, type: 'keywords' },
          config: { inputs_config: { enabled: true, preset_response: 'No.' } },
        },
        file_upload: {
          image: { enabled: true, number_limits: 3, detail: 'high', transfer_methods: ['local_file'] },
          enabled: true,
          allowed_file_types: ['image'],
        },
      },
      site: {
        title: 'Help',
        chat_color_theme: '#146c5f',
        chat_color_theme_inverted: false,
        icon_type: 'emoji',
        icon: '🤖',
        icon_background: '#fff',
        description: null,
        copyright: '© Example',
        privacy_policy: null,
        input_placeholder: 'Type here',
        custom_disclaimer: 'No advice.',
        default_language: 'de-DE',
        show_workflow_steps: true,
        use_icon_as_answer_icon: false,
      },
    });
  });

  it('have empty settings of moderation as Dify shows them', async () => {
    const id = difyId(17);
    await dify.insert('apps', { id, tenant_id: open, name: 'Plain', mode: 'chat', app_model_config_id: difyId(27) });
    await dify.insert('app_model_configs', { id: difyId(27), app_id: id });
    const { parameters } = onlyRecord(await read(source, readApps, { appIds: [id] }));
    const sensitive_word_avoidance = { enabled: false, type: '', config: {} };
    assert.deepEqual(parameters, { annotation_reply: { enabled: false }, sensitive_word_avoidance });
    await dify.run(`DELETE FROM apps WHERE id = '${id}'`);
  });

  it('have the features and the form of the workflow, but nothing else of it', async () => {
    await dify.insert('workflows', {
      id: difyId(22),
      tenant_id: open,
      app_id: flow,
      graph: {
        nodes: [
          {
            data: { type: 'llm', prompt_template: 'SECRET-prompt', variables: [{ type: 'select', label: 'SECRET-7' }] },
          },
          { id: 'SECRET-8' },
          {
            data: {
              type: 'start',
              title: 'SECRET-9',
              variables: [
                {
                  type: 'text-input',
                  label: 'City',
                  variable: 'city',
                  required: true,
                  max_length: 48,
                  key: 'SECRET-10',
                },
                { label: 'without a type' },
                { type: 'file', label: 'Plan', variable: 'plan', allowed_file_types: ['document'] },
              ],
            },
          },
        ],
        edges: [{ source: 'SECRET-11' }],
      },
      features: {
        opening_statement: 'Hello!',
        suggested_questions: [],
        api_key: 'SECRET-1',
        pre_prompt: 'SECRET-2',
        agent_mode: { tools: [{ credentials: 'SECRET-3' }] },
        sensitive_word_avoidance: { enabled: true, type: 'api', config: { api_based_extension_id: 'SECRET-4' } },
        speech_to_text: { enabled: false },
        more_like_this: 'yes',
      },
      environment_variables: { token: 'SECRET-5' },
      conversation_variables: { token: 'SECRET-6' },
    });
    const reading = await read(source, readApps, { appIds: [flow] });
    assert.doesNotMatch(JSON.stringify(reading), /SECRET/);
    assert.deepEqual(onlyRecord(reading).parameters, {
      annotation_reply: { enabled: false },
      opening_statement: 'Hello!',
      suggested_questions: [],
      speech_to_text: { enabled: false },
      retriever_resource: { enabled: false },
      sensitive_word_avoidance: { enabled: true, type: 'api', config: {} },
      user_input_form: [
        { 'text-input': { type: 'text-input', label: 'City', variable: 'city', required: true, max_length: 48 } },
        { file: { type: 'file', label: 'Plan', variable: 'plan', allowed_file_types: ['document'] } },
      ],
    });
    assert.deepEqual(reading.skips, [
      { kind: 'app', id: flow, part: 'parameters.user_input_form[1]', reason: 'wrong type' },
      { kind: 'app', id: flow, part: 'parameters.more_like_this', reason: 'wrong type' },
    ]);
    const part = 'parameters.user_input_form';
    const badGraphs: [graph: string, reason: string | undefined, form: unknown][] = [
      ['{"nodes": SECRET', 'malformed JSON', undefined],
      ['["SECRET"]', 'not an object', undefined],
      ['{"nodes": "SECRET"}', 'not a list', undefined],
      ['{"nodes": [{"data": {"type": "start", "variables": {"a": "SECRET"}}}]}', 'not a list', undefined],
      ['{"nodes": [null, {"data": {"type": "start"}}]}', undefined, []],
      ['{}', undefined, undefined],
    ];
    for (const [graph, reason, form] of badGraphs) {
      await dify.run(`UPDATE workflows SET features = '{"opening_statement": "Hi"}', graph = '${graph}'`);
      const bad = await read(source, readApps, { appIds: [flow] });
      const { parameters } = onlyRecord(bad) as { parameters: Record<string, unknown> };
      assert.deepEqual([parameters.opening_statement, parameters.user_input_form], ['Hi', form]);
      assert.deepEqual(bad.skips, reason === undefined ? [] : [{ kind: 'app', id: flow, part, reason }]);
    }
    await dify.run(`UPDATE workflows SET features = '{"a": SECRET' WHERE app_id = '${flow}'`);
    const malformed = await read(source, readApps, { appIds: [flow] });
    assert.equal(onlyRecord(malformed).parameters, null);
    assert.deepEqual(malformed.skips, [{ kind: 'app', id: flow, part: 'parameters', reason: 'malformed JSON' }]);
  });

  it('are more than one batch', async () => {
    const tenant_id = difyId(5);
    await dify.insert('tenants', { id: tenant_id, name: 'Large' });
    await dify.run(`INSERT INTO apps (id, tenant_id, name, mode)
      SELECT gen_random_uuid(), '${tenant_id}', 'app ' || n, 'chat' FROM generate_series(1, 450) n`);
    const { records } = await read(source, readApps, { workspaceIds: [tenant_id] });
    assert.equal(new Set(records.map(({ id }) => id)).size, 450);
    await dify.run(`DELETE FROM apps WHERE tenant_id = '${tenant_id}'; DELETE FROM tenants WHERE id = '${tenant_id}'`);
  });
});

describe('keys of a Dify installation', () => {
  const key = (nth: number, row: Row): Row => ({
    id: difyId(100 + nth),
    token: `${row.type}-token-${nth}`,
    created_at: at(1793600000 + nth),
    ...row,
  });
  const dataset = (nth: number, row: Row): Row => ({ id: difyId(200 + nth), name: `Dataset ${nth}`, ...row });

  before(async () => {
    await dify.insert(
      'datasets',
      dataset(1, { tenant_id: open }),
      dataset(2, { tenant_id: closed, enable_api: false }),
      dataset(3, { tenant_id: mixed }),
      dataset(4, { tenant_id: mixed, enable_api: false }),
      dataset(5, { tenant_id: mixed }),
    );
    await dify.insert(
      'api_tokens',
      key(1, { type: 'app', app_id: chat }),
      key(2, { type: 'app', app_id: disabled }),
      key(3, { type: 'app', app_id: abnormal }),
      key(4, { type: 'app', app_id: ofArchived }),
      key(5, { type: 'app', app_id: orphan }),
      key(6, { type: 'app', app_id: difyId(99), tenant_id: open }),
      key(7, { type: 'dataset', tenant_id: open }),
      key(8, { type: 'dataset', tenant_id: closed }),
      key(9, { type: 'dataset', tenant_id: mixed }),
      key(10, { type: 'dataset', tenant_id: archived }),
      key(11, { type: 'dataset' }),
      key(12, { type: 'other', tenant_id: open }),
      // Equal tokens: the newest row counts, also if its app is disabled.
      key(13, { type: 'app', app_id: chat, token: 'app-twice' }),
      key(14, { type: 'app', app_id: disabled, token: 'app-twice' }),
      key(15, { type: 'app', app_id: disabled, token: 'app-again', created_at: at(1793600015.2) }),
      key(16, { type: 'app', app_id: chat, token: 'app-again', created_at: at(1793600015.9) }),
      key(17, { type: 'app', app_id: chat, token: '' }),
    );
  });

  const readAll = async (options: Partial<ImportOptions> = {}) => {
    const { records: datasets } = await read(source, readDatasets, options);
    return read(source, readKeys, options, revokedAt, datasets);
  };

  it('are active only if the source would accept them', async () => {
    const { records, skips } = await readAll();
    const rows = records.map((one) => [one.id, one.workspace_id, one.app_id, one.dataset_ids, one.revoked_at]);
    assert.deepEqual(rows, [
      [difyId(101), open, chat, null, null],
      [difyId(102), open, disabled, null, revokedAt],
      [difyId(103), open, abnormal, null, revokedAt],
      [difyId(104), archived, ofArchived, null, revokedAt],
      [difyId(107), open, null, null, null],
      [difyId(108), closed, null, [], null],
      [difyId(109), mixed, null, [difyId(203), difyId(205)], null],
      [difyId(110), archived, null, null, revokedAt],
      [difyId(114), open, disabled, null, revokedAt],
      [difyId(116), open, chat, null, null],
    ]);
    assert.deepEqual(
      skips.map(({ kind, id, reason }) => [kind, id, reason]),
      [
        ['api_key', difyId(105), 'workspace missing'],
        ['api_key', difyId(106), 'app missing'],
        ['api_key', difyId(111), 'workspace missing'],
        ['api_key', difyId(112), 'unknown type'],
        ['api_key', difyId(113), 'equal to a newer key'],
        ['api_key', difyId(115), 'equal to a newer key'],
        ['api_key', difyId(117), 'empty token'],
      ],
    );
    assert.deepEqual(records[0], {
      record: 'api_key',
      id: difyId(101),
      kind: 'app',
      workspace_id: open,
      app_id: chat,
      dataset_ids: null,
      name: 'from Dify',
      digest: digestOf('app-token-1'),
      created_at: 1793600001,
      revoked_at: null,
    });
    assert.doesNotMatch(JSON.stringify([records, skips]), /-token-|app-twice|app-again/);
  });

  it('are those of the selection', async () => {
    assert.deepEqual(idsOf(await readAll({ workspaceIds: [mixed] })), [difyId(109)]);
    const ofApp = await readAll({ appIds: [chat] });
    assert.deepEqual(idsOf(ofApp), [difyId(101), difyId(116)]);
    assert.deepEqual(idsOf(await read(source, readDatasets, { appIds: [chat] })), []);
  });

  it('do not reach a dataset that was closed, or created, after the datasets were read', async () => {
    const { records: datasets } = await read(source, readDatasets, {});
    await dify.run(`UPDATE datasets SET enable_api = false WHERE id = '${difyId(201)}'`);
    await dify.insert('datasets', dataset(6, { tenant_id: mixed }));
    try {
      const { records } = await read(source, readKeys, {}, revokedAt, datasets);
      const reach = Object.fromEntries(records.map((one) => [one.id as string, one.dataset_ids]));
      assert.deepEqual(reach[difyId(107)], []);
      assert.deepEqual(reach[difyId(109)], [difyId(203), difyId(205)]);
    } finally {
      await dify.run(`UPDATE datasets SET enable_api = true WHERE id = '${difyId(201)}';
        DELETE FROM datasets WHERE id = '${difyId(206)}'`);
    }
  });

  onEveryEngine('imported', (engine) => {
    it('reach what they reached in the source, and nothing else', async () => {
      const { records: datasets } = await read(source, readDatasets);
      const service = await startService(engine);
      try {
        await service.load([
          ...(await read(source, readWorkspaces)).records,
          ...(await read(source, readApps)).records,
          ...datasets,
          ...(await readAll()).records,
        ]);
        const status = async (path: string, secret: string) =>
          (await service.request('GET', path, { key: secret })).status;
        assert.equal(await status('/v1/info', 'app-token-1'), 200);
        for (const secret of ['app-token-2', 'app-token-3', 'app-token-4', 'app-token-5', 'app-token-6', 'app-twice'])
          assert.equal(await status('/v1/info', secret), 401, secret);
        assert.equal(await status('/v1/info', 'app-again'), 200);
        const names = async (secret: string) => {
          const { body } = await service.request('GET', '/v1/datasets', { key: secret });
          return body.data.map(({ name }: { name: string }) => name).sort();
        };
        assert.deepEqual(await names('dataset-token-7'), ['Dataset 1']);
        assert.deepEqual(await names('dataset-token-8'), []);
        assert.deepEqual(await names('dataset-token-9'), ['Dataset 3', 'Dataset 5']);
        assert.equal(await status(`/v1/datasets/${difyId(202)}`, 'dataset-token-8'), 404);
        assert.equal(await status(`/v1/datasets/${difyId(204)}`, 'dataset-token-9'), 404);
        assert.equal(await status('/v1/datasets', 'dataset-token-10'), 401);
        const { body } = await service.request('GET', '/v1/parameters', { key: 'app-token-1' });
        assert.equal(body.opening_statement, 'How can I help?');
      } finally {
        await service.close();
      }
    });
  });
});
