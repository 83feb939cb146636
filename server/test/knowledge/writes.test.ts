import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import {
  itOnOneEngine,
  makeTenant,
  makeTwoTenants,
  onEveryEngine,
  parseLines,
  startService,
  useService,
} from '../support/harness.ts';

onEveryEngine('creating and deleting child chunks', (engine) => {
  const { one, admin, records } = makeTwoTenants();
  const service = useService(engine, records);

  const listPath = (tenant = one) => tenant.chunkPath.replace(/\/[^/]*$/, '');
  const key = one.keys.knowledge;
  const create = (content: unknown, path = listPath(), more = {}) =>
    service.request('POST', path, { key, body: { content }, ...more });
  const remove = (path: string, headers = {}) => service.request('DELETE', path, { key, headers });
  const exported = async () => (await service.as(admin).get('/admin/records')).text;
  const recordOf = async (id: string) =>
    parseLines(await exported()).find((record) => record.record === 'child_chunk' && record.id === id);
  const newestAuditEntry = async () => {
    const { entries } = await service.store.listAudit({ limit: 1 });
    const [{ id: _, at: __, ...entry } = assert.fail()] = entries;
    return entry;
  };

  it('200: a new chunk is at the end of its segment, customized, and in the audit log', async () => {
    const response = await create('An open-source platform.');
    assert.equal(response.status, 200, response.text);
    const { id, created_at, ...rest } = response.body.data;
    assert.match(id, /^[0-9a-f-]{36}$/);
    assert.deepEqual(rest, {
      segment_id: one.ids.segment,
      content: 'An open-source platform.',
      position: 2,
      word_count: 4,
      type: 'customized',
      updated_at: created_at,
    });
    const stored = await service.as(key).get(`${listPath()}/${id}`);
    assert.deepEqual([stored.body, stored.headers.etag], [response.body, response.headers.etag]);
    assert.equal(response.headers['cache-control'], 'private, no-cache');
    const expected = { action: 'create', record: 'child_chunk', count: 1, ids: [id] };
    assert.partialDeepStrictEqual(await newestAuditEntry(), { key_id: one.keyIds.knowledge, ...expected });
    assert.deepEqual(await recordOf(id), {
      record: 'child_chunk',
      ...response.body.data,
      deleted: false,
      index_node_id: null,
    });
  });

  it('concurrent requests get distinct positions', async () => {
    const tenant = makeTenant();
    await service.load(tenant.records);
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, at) => create(`chunk ${at}`, listPath(tenant), { key: tenant.keys.knowledge })),
    );
    assert.deepEqual(
      responses.map(({ body }) => body.data.position).sort((a, b) => a - b),
      Array.from({ length: 20 }, (_, at) => at + 2),
    );
    const { data, total } = (await service.as(tenant.keys.knowledge).get(`${listPath(tenant)}?limit=100`)).body;
    assert.deepEqual([data.length, total], [21, 21]);
  });

  it('the first chunk of a segment has position 1', async () => {
    const segment = randomUUID();
    await service.load([
      { record: 'segment', id: segment, document_id: one.ids.document, position: 5, content: 'empty' },
    ]);
    const { body } = await create('first', listPath().replace(one.ids.segment, segment));
    assert.equal(body.data.position, 1);
  });

  it('204: a deleted chunk is gone for GET, PATCH, lists and counts, and its record stays', async () => {
    const { data } = (await create('to delete')).body;
    const path = `${listPath()}/${data.id}`;
    const totalBefore = (await service.as(key).get(listPath())).body.total;
    const before = await recordOf(data.id);
    const response = await remove(path);
    assert.deepEqual([response.status, response.text], [204, '']);
    const entry = { key_id: one.keyIds.knowledge, action: 'delete', record: 'child_chunk', count: 1, ids: [data.id] };
    assert.partialDeepStrictEqual(await newestAuditEntry(), entry);
    for (const [method, body] of [['GET'], ['PATCH', { content: 'x' }], ['DELETE']] as const) {
      const gone = await service.request(method, path, { key, body });
      assert.deepEqual([gone.status, gone.body.message], [404, 'child chunk not found'], method);
    }
    const list = (await service.as(key).get(listPath())).body;
    assert.equal(list.total, totalBefore - 1);
    assert.ok(!list.data.some(({ id }: { id: string }) => id === data.id));
    const segmentPath = listPath().replace('/child_chunks', '');
    const segment = (await service.as(key).get(segmentPath)).body.data;
    assert.deepEqual(segment.child_chunks, list.data);
    const adminPath = segmentPath.replace('/v1/', '/admin/');
    const adminSegment = (await service.as(admin).get(adminPath)).body;
    assert.equal(adminSegment.child_chunk_count, list.total);
    const adminList = (await service.as(admin).get(`${adminPath}/child_chunks`)).body.data;
    assert.deepEqual(adminList, list.data);
    assert.deepEqual(await recordOf(data.id), { ...before, deleted: true });
  });

  it('importing a deleted chunk restores it, with a new ETag, and the export is the same after a round trip', async () => {
    const created = await create('to restore');
    const { id } = created.body.data;
    const path = `${listPath()}/${id}`;
    await remove(path);
    const deleted = await recordOf(id);
    const lines = await exported();
    const copy = await startService(engine);
    try {
      await copy.load(parseLines(lines));
      assert.equal((await copy.as(admin).get('/admin/records')).text, lines);
    } finally {
      await copy.close();
    }
    const restored = { ...deleted, deleted: false };
    assert.equal((await service.as(admin).append(restored)).status, 200);
    const response = await service.as(key).get(path);
    assert.deepEqual([response.status, response.body], [200, created.body]);
    assert.notEqual(response.headers.etag, created.headers.etag);
  });

  it('412: If-Match protects a newer text from being deleted', async () => {
    const created = await create('one');
    const path = `${listPath()}/${created.body.data.id}`;
    const edited = await service.as(key).patch(path, { content: 'two' });
    for (const tag of [created.headers.etag, `W/${edited.headers.etag}`, '"x"']) {
      const response = await remove(path, { 'if-match': tag });
      assert.deepEqual([response.status, response.body.code], [412, 'precondition_failed']);
    }
    assert.equal((await service.as(key).get(path)).body.data.content, 'two');
    assert.equal((await remove(path, { 'if-match': edited.headers.etag })).status, 204);
    assert.equal((await remove(path, { 'if-match': '*' })).status, 404);
  });

  itOnOneEngine(engine, '204: a body of a DELETE is accepted', async () => {
    const { data } = (await create('with body')).body;
    const response = await service.as(key).delete(`${listPath()}/${data.id}`, { user: 'x' });
    assert.equal(response.status, 204);
  });
});
