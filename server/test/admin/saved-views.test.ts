import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { makeSecret } from '../../src/domain/secret.ts';
import { makeTwoTenants, onEveryEngine, useService } from '../support/harness.ts';

onEveryEngine('saved views', (engine) => {
  const { admin, records } = makeTwoTenants();
  const viewer = makeSecret('admin');
  const service = useService(engine);
  before(async () => {
    const key = { record: 'api_key', kind: 'admin', name: 'viewer', role: 'viewer', secret: viewer };
    await service.load([...records, key]);
  });

  const pathOf = (name: string) => `/admin/views/${encodeURIComponent(name)}`;
  const save = (name: string, address: unknown, key = admin) => service.as(key).put(pathOf(name), { address });
  const list = async (query = '') => (await service.as(admin).get(`/admin/views${query}`)).body;

  it('200: a name leads to an address; saving it again replaces the address', async () => {
    const address = '#/conversations?rating=dislike&q=%22a+b%22';
    assert.deepEqual((await save('b/ä 100%', '#/users')).body, { name: 'b/ä 100%', address: '#/users' });
    assert.equal((await save('b/ä 100%', address)).status, 200);
    assert.equal((await save('a', '#/keys')).status, 200);
    assert.deepEqual((await list()).data, [
      { name: 'a', address: '#/keys' },
      { name: 'b/ä 100%', address },
    ]);
    const first = await list('?limit=1');
    assert.deepEqual([first.data.length, first.has_more], [1, true]);
    const second = await list(`?limit=1&cursor=${first.next_cursor}`);
    assert.deepEqual([second.data, second.has_more], [[{ name: 'b/ä 100%', address }], false]);
  });

  it('204: deletes a name, also one that does not exist', async () => {
    for (const _ of [1, 2]) assert.equal((await service.as(admin).delete(pathOf('a'))).status, 204);
    assert.ok((await list()).data.every(({ name }: { name: string }) => name !== 'a'));
  });

  it('403: the role viewer reads them, and changes none', async () => {
    assert.equal((await service.as(viewer).get('/admin/views')).status, 200);
    assert.equal((await save('mine', '#/users', viewer)).status, 403);
    assert.equal((await service.as(viewer).delete(pathOf('mine'))).status, 403);
  });
});
