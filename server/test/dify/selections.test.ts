import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { at, difyId, ids, tokens } from '../support/dify-database.ts';
import { onOneEngine, type Service, startService } from '../support/harness.ts';
import { exportOf, runImport, startDify } from './runs.ts';

onOneEngine('a selection of a Dify installation', (engine) => {
  const start = (t: TestContext) => startDify(t, engine);
  const idsOf = async ({ store }: Service, kind: string) =>
    (await exportOf(store)).filter(({ record }) => record === kind).map(({ id }) => id);

  it('by app has no knowledge bases; other selections have their own state', async (t) => {
    const { dify, service } = await start(t);
    const [app, conversation] = [difyId(70), difyId(71)];
    await dify.insert('apps', { id: app, tenant_id: ids.workspace, name: 'Other', mode: 'chat' });
    await dify.insert('conversations', { id: conversation, app_id: app });
    await dify.insert('api_tokens', { id: difyId(72), app_id: app, type: 'app', token: 'app-other' });
    const selection = { appIds: [app] };
    assert.equal((await runImport(dify.url, service.store, selection)).kind, 'full');
    assert.deepEqual(await idsOf(service, 'app'), [app]);
    assert.deepEqual(await idsOf(service, 'conversation'), [conversation]);
    assert.deepEqual([await idsOf(service, 'dataset'), await idsOf(service, 'api_key')], [[], [difyId(72)]]);
    assert.equal((await runImport(dify.url, service.store)).kind, 'full');
    assert.equal((await idsOf(service, 'conversation')).length, 3);
    assert.equal((await runImport(dify.url, service.store, selection)).kind, 'changes');
    assert.equal((await runImport(dify.url, service.store)).kind, 'changes');
  });

  it('by workspace, with archived ones', async (t) => {
    const { dify, service } = await start(t);
    const [other, archived] = [difyId(70), difyId(71)];
    await dify.insert('tenants', { id: other, name: 'Other' }, { id: archived, name: 'Archived', status: 'archive' });
    await dify.insert('apps', { id: difyId(72), tenant_id: other, name: 'Other', mode: 'chat' });
    await runImport(dify.url, service.store, { workspaceIds: [other] });
    assert.deepEqual([await idsOf(service, 'workspace'), await idsOf(service, 'app')], [[other], [difyId(72)]]);
    await runImport(dify.url, service.store);
    assert.ok((await idsOf(service, 'workspace')).includes(archived));
  });

  it('since a time has whole conversations', async (t) => {
    const { dify, service } = await start(t);
    const [old, updated] = [difyId(70), difyId(71)];
    const conversation = { app_id: ids.app, created_at: at(1000), updated_at: at(1000) };
    await dify.insert('conversations', { ...conversation, id: old }, { ...conversation, id: updated });
    const message = { app_id: ids.app, inputs: {}, created_at: at(1001) };
    await dify.insert(
      'messages',
      { ...message, id: difyId(72), conversation_id: old },
      { ...message, id: difyId(73), conversation_id: updated },
    );
    const since = { since: 2000 };
    await dify.run(`UPDATE conversations SET updated_at = to_timestamp(3000) WHERE id = '${updated}'`);
    await runImport(dify.url, service.store, since);
    assert.ok(!(await idsOf(service, 'conversation')).includes(old));
    assert.ok((await idsOf(service, 'message')).includes(difyId(73)));
    // It is selected from now on, with messages that have not changed.
    await dify.run(`UPDATE conversations SET updated_at = to_timestamp(3000) WHERE id = '${old}'`);
    assert.equal((await runImport(dify.url, service.store, since)).kind, 'changes');
    assert.ok((await idsOf(service, 'message')).includes(difyId(72)));
  });

  it('has no test chats of the console, unless they are wanted', async (t) => {
    const { dify, service } = await start(t);
    const chat = difyId(70);
    await dify.insert('conversations', { id: chat, app_id: ids.app, from_source: 'console' });
    await dify.insert('messages', { id: difyId(71), conversation_id: chat, app_id: ids.app, inputs: {} });
    await runImport(dify.url, service.store);
    await dify.run(`UPDATE messages SET answer = 'changed' WHERE id = '${difyId(71)}'`);
    await runImport(dify.url, service.store);
    const path = `/v1/messages?conversation_id=${chat}`;
    assert.equal((await service.as(tokens.app).get(path)).status, 404);
    await runImport(dify.url, service.store, { console: true });
    assert.equal((await service.as(tokens.app).get(path)).status, 200);
  });

  it('in a dry run is counted, and nothing is written, not even the state', async (t) => {
    const { dify, service } = await start(t);
    const { store } = service;
    const writtenKinds = ({ counts }: Awaited<ReturnType<typeof runImport>>) =>
      Object.fromEntries([...counts].map(([kind, { written }]) => [kind, written]));
    const expected = {
      workspace: 1,
      app: 1,
      dataset: 1,
      api_key: 2,
      conversation: 2,
      message: 3,
      document: 1,
      segment: 1,
      child_chunk: 1,
    };
    for (const target of [undefined, store]) {
      const dry = await runImport(dify.url, target, { isDry: true });
      assert.deepEqual(writtenKinds(dry), expected);
      assert.equal(dry.skips.length, 1);
    }
    assert.deepEqual(await exportOf(store), []);
    assert.equal((await store.imports.read(`dify ${ids.workspace}`)).size, 0);
    await runImport(dify.url, store);
    await dify.run(`UPDATE messages SET answer = 'new'; DELETE FROM conversations WHERE id = '${ids.deleted}'`);
    await dify.run(`DELETE FROM api_tokens; UPDATE conversations SET name = 'new'`);
    const [records, state] = [await exportOf(store), await store.imports.read(`dify ${ids.workspace}`)];
    const dry = await runImport(dify.url, store, { isDry: true });
    assert.equal(dry.kind, 'changes');
    const { api_key, conversation, message } = writtenKinds(dry);
    assert.deepEqual([api_key, conversation, message], [2, 1, 3]);
    assert.deepEqual(await exportOf(store), records);
    assert.deepEqual(await store.imports.read(`dify ${ids.workspace}`), state);
  });

  it('includes the model providers of a workspace, from the API of the Dify installation', async (t) => {
    const { dify, service } = await start(t);
    const there = await startService('sqlite');
    t.after(() => there.close());
    const model = {
      model: 'chat-1',
      label: { en_US: 'Chat 1' },
      model_type: 'llm',
      features: null,
      fetch_from: 'predefined-model',
      model_properties: { context_size: 8192 },
      status: 'active',
      deprecated: false,
      load_balancing_enabled: false,
      has_invalid_load_balancing_configs: false,
    };
    await there.load([
      { record: 'workspace', id: ids.workspace, name: 'Example' },
      { record: 'api_key', kind: 'knowledge', workspace_id: ids.workspace, name: 'k', secret: tokens.dataset },
      {
        record: 'model_provider',
        workspace_id: ids.workspace,
        provider: 'acme/acme/acme',
        label: { en_US: 'Acme' },
        icon_small: { en_US: 'https://acme.example/icon.png' },
        status: 'active',
        models: [model, { ...model, model: 'embed-1', model_type: 'text-embedding' }],
      },
    ]);
    const models = { url: there.base, keys: [tokens.dataset] };
    const result = await runImport(dify.url, service.store, { models });
    assert.equal(result.counts.get('model_provider')?.written, 1);
    for (const type of ['llm', 'text-embedding', 'rerank']) {
      const path = `/v1/workspaces/current/models/model-types/${type}`;
      const [theirs, ours] = await Promise.all([there, service].map((one) => one.as(tokens.dataset).get(path)));
      assert.deepEqual(ours?.body, theirs?.body);
    }
    assert.equal((await runImport(dify.url, service.store, { models })).written, 0);
    const failing = [
      [{ url: 'http://127.0.0.1:9', keys: [tokens.dataset] }, /does not respond/],
      [{ url: there.base, keys: [tokens.app] }, /not a knowledge key/],
      [{ url: `${there.base}/nowhere`, keys: [tokens.dataset] }, /status 404/],
    ] as const;
    for (const [given, message] of failing) {
      await assert.rejects(runImport(dify.url, service.store, { models: given }), (error: Error) => {
        assert.match(error.message, message);
        assert.ok(!error.message.includes(tokens.dataset));
        return true;
      });
    }
  });
});
