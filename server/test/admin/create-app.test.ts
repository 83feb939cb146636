import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { makeSecret } from '../../src/domain/secret.ts';
import { onEveryEngine, type Service, startService } from '../support/harness.ts';

onEveryEngine('creating an app', (engine) => {
  const admin = makeSecret('admin');
  let service: Service;
  before(async () => {
    service = await startService(engine);
    await service.load([{ record: 'api_key', kind: 'admin', name: 'a', secret: admin }]);
  });
  after(() => service.close());
  const create = (body: unknown) => service.request('POST', '/admin/apps', { key: admin, body });

  it('201: creates a workspace if there is none, and uses it for the next app', async () => {
    const first = await create({ name: 'Help desk' });
    assert.equal(first.status, 201);
    assert.deepEqual([first.body.name, first.body.mode, first.body.workspace_name], ['Help desk', 'chat', 'Help desk']);
    const second = await create({ name: 'Shop', mode: 'advanced-chat' });
    assert.deepEqual([second.body.workspace_id, second.body.mode], [first.body.workspace_id, 'advanced-chat']);
    const { data } = (await service.request('GET', '/admin/apps', { key: admin })).body;
    assert.deepEqual(data, [first.body, second.body]);
    const { body } = await service.request('GET', '/admin/workspaces', { key: admin });
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
