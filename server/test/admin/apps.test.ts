import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { retain } from '../../src/domain/erasure/retention.ts';
import { makeSecret } from '../../src/domain/secret.ts';
import { makeTwoTenants, message, onEveryEngine, useService } from '../support/harness.ts';

onEveryEngine('creating an app', (engine) => {
  const admin = makeSecret('admin');
  const service = useService(engine, [{ record: 'api_key', kind: 'admin', name: 'a', secret: admin }]);
  const create = (body: unknown) => service.as(admin).post('/admin/apps', body);

  it('201: creates a workspace if there is none, and uses it for the next app', async () => {
    const first = await create({ name: 'Help desk' });
    assert.equal(first.status, 201);
    assert.deepEqual([first.body.name, first.body.mode, first.body.workspace_name], ['Help desk', 'chat', 'Help desk']);
    const second = await create({ name: 'Shop', mode: 'advanced-chat' });
    assert.deepEqual([second.body.workspace_id, second.body.mode], [first.body.workspace_id, 'advanced-chat']);
    const { data } = (await service.as(admin).get('/admin/apps')).body;
    assert.deepEqual(data, [first.body, second.body]);
    const { body } = await service.as(admin).get('/admin/workspaces');
    assert.equal(body.data.length, 1);
  });

  it('400: requires a name, and a workspace if there are several', async () => {
    for (const body of [{}, { name: ' \n' }, { name: 'a\0' }, { name: 'x'.repeat(1e5) }, { name: 'a', more: 1 }])
      assert.equal((await create(body)).status, 400, JSON.stringify(body).slice(0, 40));
    const id = '7d9f5c1e-8f9e-4f0e-9f43-6a2f2b6f3a10';
    await service.load([{ record: 'workspace', id, name: 'Another' }]);
    const { status, body } = await create({ name: 'a' });
    assert.deepEqual([status, body.message], [400, 'workspace_id is required: there are several workspaces']);
    assert.equal((await create({ name: 'a', workspace_id: id.replace('7', '8') })).status, 400);
    const created = await create({ name: 'a', workspace_id: id.toUpperCase() });
    assert.deepEqual([created.status, created.body.workspace_name], [201, 'Another']);
  });
});

onEveryEngine('changing an app', (engine) => {
  const { one, other, admin, records } = makeTwoTenants();
  const viewer = makeSecret('admin');
  const now = Math.floor(Date.now() / 1000);
  const service = useService(engine, [
    ...records,
    { record: 'api_key', kind: 'admin', role: 'viewer', name: 'v', secret: viewer },
    { record: 'app', id: one.ids.app, workspace_id: one.ids.workspace, name: 'a', mode: 'chat', description: 'kept' },
  ]);
  const change = (body: unknown, id: string = one.ids.app, key = admin) =>
    service.as(key).patch(`/admin/apps/${id}`, body);
  const { get: read } = service.as(admin);
  const due = async (period?: number) => {
    const query = period === undefined ? '' : `&period=${period}`;
    const { body } = await read(`/admin/retention?app_id=${one.ids.app.toUpperCase()}${query}`);
    assert.equal(body.data.length, 1);
    return [body.data[0].retention_days, body.data[0].conversations_due];
  };

  it('200: changes what is named and nothing else, and is in the audit log and the feed', async () => {
    const { cursor } = (await read('/admin/changes?after=now')).body;
    const { status, body } = await change({ name: 'Help desk' }, one.ids.app.toUpperCase());
    assert.deepEqual([status, body.name, body.retention_days], [200, 'Help desk', null]);
    assert.equal((await change({ retention_days: 90 })).body.name, 'Help desk');
    assert.deepEqual((await read(`/admin/apps/${one.ids.app}`)).body, { ...body, retention_days: 90 });
    const exported = (await service.as(admin).get('/admin/records?kinds=app')).text;
    const record = exported.split('\n').find((line) => line.includes(one.ids.app)) ?? '{}';
    assert.deepEqual(
      (({ name, description, retention_days }) => [name, description, retention_days])(JSON.parse(record)),
      ['Help desk', 'kept', 90],
    );
    const [entry] = (await read('/admin/activity?record=app&action=update')).body.data;
    assert.deepEqual([entry.count, entry.records[0].name], [1, 'Help desk']);
    const feed = (await read(`/admin/changes?after=${cursor}&wait=5&limit=1`)).body;
    assert.deepEqual(
      feed.data.map((row: { kind: string; id: string }) => [row.kind, row.id]),
      [['app', one.ids.app]],
    );
    assert.equal((await change({ retention_days: null })).body.retention_days, null);
  });

  it('counts what a period would erase: exactly what a run then erases', async () => {
    const ages = [3, 9, 10.5, 40, 40, 400];
    const conversations = ages.map((days, n) => ({
      ...{ record: 'conversation', id: randomUUID() as string, app_id: one.ids.app, user: 'ann' },
      ...{ created_at: now - Math.floor(days * 86_400), hold: n === 4, deleted: n === 3 },
    }));
    await service.load([
      ...conversations,
      ...conversations.slice(0, 3).map(({ id, created_at }) => message(id, created_at)),
    ]);
    // With the one of the fixture, from 1970; one is on hold.
    assert.deepEqual(
      [await due(), await due(0), await due(1)],
      [
        [null, 0],
        [null, 0],
        [1, 6],
      ],
    );
    assert.deepEqual(
      [await due(10), await due(30), await due(36_500)],
      [
        [10, 4],
        [30, 3],
        [36_500, 0],
      ],
    );
    await change({ retention_days: 10 });
    assert.deepEqual(
      [await due(), await due(0)],
      [
        [10, 4],
        [null, 0],
      ],
    );
    const erased: number[] = [];
    await retain(service.store, { now }, ({ conversations }) => erased.push(conversations));
    assert.deepEqual([erased, await due()], [[4], [10, 0]]);
  });

  it('rejects what is no change, no period or no app', async () => {
    for (const body of [
      {},
      { name: ' ' },
      { mode: 'chat' },
      ...[0, 36_501, 1.5, '7'].map((days) => ({ retention_days: days })),
    ])
      assert.equal((await change(body)).status, 400, JSON.stringify(body));
    assert.equal((await change({ name: 'a' }, randomUUID())).status, 404);
    assert.equal((await change({ name: 'a' }, other.ids.app, viewer)).status, 403);
    for (const query of ['period=5', `app_id=${one.ids.app}&period=36501`, `app_id=${one.ids.app}&period=x`])
      assert.equal((await read(`/admin/retention?${query}`)).status, 400, query);
    assert.equal((await read(`/admin/retention?app_id=${randomUUID()}`)).status, 404);
  });
});
