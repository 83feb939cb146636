import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { readDatasets } from '../../src/dify/rows/datasets.ts';
import { readKeys } from '../../src/dify/rows/keys.ts';
import { allRows, silentReport } from '../../src/dify/source.ts';
import { difyId, ids, tokens } from '../support/dify-database.ts';
import { onOneEngine, type Service } from '../support/harness.ts';
import { firstOrAll } from '../support/long.ts';
import { runImport, startDify } from './runs.ts';

onOneEngine('keys from Dify', (engine) => {
  const start = async (t: TestContext) => {
    const { dify, service } = await startDify(t, engine);
    return {
      dify,
      service,
      sync: (options?: Parameters<typeof runImport>[2]) => runImport(dify.url, service.store, options),
    };
  };
  const appKey = difyId(31);
  const knowledgeKey = difyId(32);
  const keyOf = async ({ store }: Service, id: string) => (await store.listKeys()).find((key) => key.id === id);
  const appStatus = async (service: Service) =>
    (await service.as(tokens.app).get(`/v1/messages?conversation_id=${ids.conversation}`)).status;
  const datasets = async (service: Service): Promise<string[]> => {
    const { body } = await service.as(tokens.dataset).get('/v1/datasets');
    return body.data.map(({ id }: { id: string }) => id).sort();
  };

  const disablers: Record<string, [disable: string, enable: string]> = {
    'the API of its app is switched off': ['UPDATE apps SET enable_api = false', 'UPDATE apps SET enable_api = true'],
    'its app is not normal': [`UPDATE apps SET status = 'archived'`, `UPDATE apps SET status = 'normal'`],
    'its workspace has no owner': [
      `UPDATE tenant_account_joins SET role = 'admin'`,
      `UPDATE tenant_account_joins SET role = 'owner'`,
    ],
    'its workspace is archived': [`UPDATE tenants SET status = 'archive'`, `UPDATE tenants SET status = 'normal'`],
  };
  for (const [why, [disable, enable]] of firstOrAll(Object.entries(disablers), 2)) {
    it(`are never active while ${why}`, async (t) => {
      const { dify, service, sync } = await start(t);
      await dify.run(disable);
      await sync();
      assert.notEqual((await keyOf(service, appKey))?.revoked_at, null);
      assert.equal(await appStatus(service), 401);
      await dify.run(enable);
      await sync();
      assert.equal(await appStatus(service), 200);
      await dify.run(disable);
      await sync();
      assert.equal(await appStatus(service), 401);
    });
  }

  for (const options of firstOrAll([{ keys: false }, {}, { appIds: [ids.app] }, { workspaceIds: [ids.workspace] }])) {
    it(`are revoked when they are deleted there: ${JSON.stringify(options)}`, async (t) => {
      const { dify, service, sync } = await start(t);
      await sync();
      assert.equal(await appStatus(service), 200);
      await dify.run(`DELETE FROM api_tokens WHERE id = '${appKey}'`);
      await sync(options);
      assert.equal(await appStatus(service), 401);
    });
  }

  it('are not revoked by a run that does not read their app', async (t) => {
    const { dify, service, sync } = await start(t);
    await dify.insert('apps', { id: difyId(70), tenant_id: ids.workspace, name: 'Other', mode: 'chat' });
    await sync();
    await dify.run('DELETE FROM api_tokens');
    await sync({ appIds: [difyId(70)] });
    assert.equal(await appStatus(service), 200);
    assert.equal((await keyOf(service, knowledgeKey))?.revoked_at, null);
  });

  it('stay revoked if they were revoked here, and keep what was set here, whatever the options', async (t) => {
    const { dify, service, sync } = await start(t);
    await sync();
    await service.store.run('revokeKey', { id: appKey, by: null, now: 1793700000 });
    await service.store.run('updateKey', { id: knowledgeKey, change: { read_only: true }, by: null, now: 1793700000 });
    for (const options of [{}, { isForced: true }, { isForced: true, console: true }]) {
      await dify.run('UPDATE api_tokens SET id = id; UPDATE apps SET enable_api = false');
      await sync(options);
      await dify.run('UPDATE apps SET enable_api = true');
      await sync(options);
      assert.equal((await keyOf(service, appKey))?.revoked_at, 1793700000);
      assert.equal((await keyOf(service, knowledgeKey))?.read_only, true);
    }
    assert.equal(await appStatus(service), 401);
  });

  it('are not created with --no-keys', async (t) => {
    const { service, sync } = await start(t);
    await sync({ keys: false });
    assert.deepEqual(await service.store.listKeys(), []);
    await sync();
    assert.equal((await service.store.listKeys()).length, 2);
  });

  it('never reach a dataset that is closed to the API', async (t) => {
    const { dify, service, sync } = await start(t);
    const other = difyId(80);
    await dify.insert('datasets', { id: other, tenant_id: ids.workspace, name: 'Closed', enable_api: false });
    await sync();
    assert.deepEqual(await datasets(service), [ids.dataset]);
    await dify.run('UPDATE datasets SET enable_api = true');
    await sync();
    assert.deepEqual(await datasets(service), [ids.dataset, other].sort());
    await dify.run('UPDATE datasets SET enable_api = false');
    await sync();
    assert.deepEqual(await datasets(service), []);
    const { status } = await service.as(tokens.dataset).get(`/v1/datasets/${ids.dataset}`);
    assert.equal(status, 404);
  });

  it('never reach a dataset that was closed, or created, after the datasets were read', async (t) => {
    const { dify } = await start(t);
    const reading = { source: await dify.connect(), options: allRows, report: silentReport };
    const reach = async (read: Awaited<ReturnType<typeof readDatasets>>) =>
      (await readKeys(reading, 1793700000, read)).find(({ id }) => id === knowledgeKey)?.dataset_ids;
    await dify.insert('datasets', { id: difyId(80), tenant_id: ids.workspace, name: 'Closed', enable_api: false });
    const before = await readDatasets(reading);
    await dify.insert('datasets', { id: difyId(81), tenant_id: ids.workspace, name: 'Created' });
    assert.deepEqual(await reach(before), [ids.dataset]);
    await dify.run('UPDATE datasets SET enable_api = false');
    assert.deepEqual(await reach(before), []);
  });

  it('never reach a dataset that was closed when it was deleted there', async (t) => {
    const { dify, service, sync } = await start(t);
    const other = difyId(80);
    await dify.insert('datasets', { id: other, tenant_id: ids.workspace, name: 'Closed', enable_api: false });
    await sync();
    await dify.run(`DELETE FROM datasets WHERE id = '${other}'`);
    for (const options of [{}, { isForced: true }, {}]) {
      await sync(options);
      assert.deepEqual(await datasets(service), [ids.dataset]);
    }
  });

  it('are revoked if a newer one of another app has their token', async (t) => {
    const { dify, service, sync } = await start(t);
    await sync();
    await dify.insert('apps', { id: difyId(70), tenant_id: ids.workspace, name: 'Other', mode: 'chat' });
    await dify.insert('api_tokens', { id: difyId(34), app_id: difyId(70), type: 'app', token: tokens.app });
    const { skips } = (await sync()) as { skips: { id: string; reason: string }[] };
    assert.ok(skips.some(({ id, reason }) => id === difyId(34) && reason === 'token of a stored key of another app'));
    assert.equal(await appStatus(service), 401);
  });

  it('are revoked when they are deleted there, also if an older one of another app has their token', async (t) => {
    const { dify, service, sync } = await start(t);
    const [app, newer] = [difyId(70), difyId(34)];
    await dify.insert('apps', { id: app, tenant_id: ids.workspace, name: 'Other', mode: 'chat' });
    await dify.insert('api_tokens', { id: newer, app_id: app, type: 'app', token: tokens.app });
    const skipsOf = (result: unknown) =>
      (result as { skips: { id: string; reason: string }[] }).skips.filter(({ id }) => id === appKey);
    assert.deepEqual(
      skipsOf(await sync()).map(({ reason }) => reason),
      ['equal to a newer key'],
    );
    const info = () => service.as(tokens.app).get('/v1/info');
    assert.equal((await info()).body.name, 'Other');
    await dify.run(`DELETE FROM api_tokens WHERE id = '${newer}'`);
    for (const options of [{}, { keys: false }, { isForced: true }, {}]) {
      const skips = skipsOf(await sync(options));
      assert.equal((await info()).status, 401);
      assert.equal((await keyOf(service, appKey))?.id, undefined);
      assert.deepEqual(
        skips.map(({ reason }) => reason),
        ['token of a stored key of another app'],
      );
    }
  });

  it('with an equal token continue to work when the older one goes', async (t) => {
    const { dify, service, sync } = await start(t);
    await sync();
    await dify.insert('api_tokens', { id: difyId(34), app_id: ids.app, type: 'app', token: tokens.app });
    await sync();
    assert.equal(await appStatus(service), 200);
    await dify.run(`DELETE FROM api_tokens WHERE id = '${appKey}'`);
    await sync();
    assert.equal(await appStatus(service), 200);
    await dify.run(`DELETE FROM api_tokens WHERE token = '${tokens.app}'`);
    await sync();
    assert.equal(await appStatus(service), 401);
  });
});
