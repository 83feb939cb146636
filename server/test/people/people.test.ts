import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { personId } from '../../src/domain/author.ts';
import { makeTwoTenants, onEveryEngine, useService } from '../support/harness.ts';

const issuer = 'https://id.example';
const idOf = (subject: string) => personId({ issuer, subject });
const person = (subject: string, more: object = {}) => {
  return { record: 'person', issuer, subject, name: `Person ${subject}`, role: 'viewer', ...more };
};

onEveryEngine('people', (engine) => {
  const { admin, records } = makeTwoTenants();
  let adminId: string;
  const service = useService(engine, [
    ...records,
    person('b'),
    person('a', { email: 'a@example.com', role: 'editor' }),
  ]);
  before(async () => {
    adminId = (await service.store.listKeys()).find(({ kind }) => kind === 'admin')?.id ?? '';
  });

  const { get } = service.as(admin);
  const newest = async () => (await get('/admin/activity?limit=1')).body.data[0];

  it('200: lists them by name, in pages', async () => {
    const first = await get('/admin/people?limit=1');
    assert.equal(first.status, 200, first.text);
    assert.deepEqual(first.body.data, [
      {
        id: idOf('a'),
        issuer,
        subject: 'a',
        name: 'Person a',
        email: 'a@example.com',
        role: 'editor',
        role_source: null,
        blocked: false,
        last_seen_at: null,
        sessions: 0,
      },
    ]);
    const second = await get(`/admin/people?limit=1&cursor=${first.body.next_cursor}`);
    assert.deepEqual([second.body.data[0].id, second.body.has_more], [idOf('b'), false]);
  });

  it('200: an admin blocks a person and allows one again, and the audit log names both', async () => {
    for (const blocked of [true, false]) {
      const changed = await service.as(admin).patch(`/admin/people/${idOf('b').toUpperCase()}`, { blocked });
      assert.deepEqual([changed.status, changed.body.blocked], [200, blocked], changed.text);
      const entry = await newest();
      assert.partialDeepStrictEqual(entry, { key_id: adminId, key_name: 'admin', action: 'update', record: 'person' });
      assert.deepEqual(entry.changes, [{ field: 'blocked', before: `${!blocked}`, after: `${blocked}` }]);
      assert.deepEqual(entry.records, [{ id: idOf('b'), name: 'Person b', path: [idOf('b')] }]);
    }
    assert.equal((await service.as(admin).delete(`/admin/people/${idOf('b')}/sessions`)).status, 200);
    assert.equal((await newest()).action, 'revoke');
  });

  it('a whole export contains them, a filtered one and the change feed do not', async () => {
    const kindsIn = async (path: string) =>
      new Set([...(await get(path)).text.matchAll(/"record":"(\w+)"/g)].map(([, kind]) => kind));
    assert.ok((await kindsIn('/admin/records')).has('person'));
    assert.ok(!(await kindsIn('/admin/records?user=ann')).has('person'));
    assert.ok(!(await kindsIn('/admin/changes')).has('person'));
    assert.equal((await get('/admin/records?user=ann&kinds=person')).status, 400);
  });

  it('400: an id of another person, and a key that looks like a person', async () => {
    const post = async (record: object) =>
      (
        await service
          .as(admin)
          .post('/admin/records', JSON.stringify(record), { 'content-type': 'application/x-ndjson' })
      ).body;
    assert.match(
      (await post(person('c', { id: idOf('a') }))).message,
      /^line 1: person: id is not that of issuer and s/,
    );
    const key = { record: 'api_key', kind: 'admin', name: 'x', secret: 'admin-x', id: `person:${idOf('a')}` };
    assert.match((await post(key)).message, /^line 1: api_key: id must not begin with person:/);
  });
});
