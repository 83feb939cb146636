import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { makeTwoTenants, onEveryEngine, type TestResponse, useService } from '../support/harness.ts';

onEveryEngine('child chunks in the console API', (engine) => {
  const { one, admin, records } = makeTwoTenants();
  const path = one.chunkPath.replace('/v1/', '/admin/');
  let adminId: string;
  const service = useService(engine, records);
  before(async () => {
    adminId = (await service.store.listKeys()).find(({ kind }) => kind === 'admin')?.id ?? '';
  });

  const get = (headers = {}) => service.as(admin).get(path, headers);
  const patch = (content: unknown, headers = {}, at = path) => service.as(admin).patch(at, { content }, headers);
  const revisions = async () => (await service.as(admin).get(`${path}/revisions`)).body.data;
  const newestAuditEntry = async () => {
    const { entries } = await service.store.listAudit({ limit: 1 });
    const [{ id: _, at: __, ...entry } = assert.fail()] = entries;
    return entry;
  };
  const comparedParts = ({ status, body, headers }: TestResponse) => ({ status, body, etag: headers.etag });

  it('200: the chunk is the same as for a knowledge key, with the same tag', async () => {
    const response = await get();
    assert.equal(response.status, 200);
    assert.deepEqual(comparedParts(response), comparedParts(await service.as(one.keys.knowledge).get(one.chunkPath)));
    assert.equal(response.headers['cache-control'], 'private, no-cache');
    assert.equal((await get({ 'if-none-match': response.headers.etag })).status, 304);
    const upper = path.replaceAll(/[0-9a-f-]{36}/g, (id) => id.toUpperCase());
    assert.equal((await service.as(admin).get(upper)).status, 200);
  });

  it('200: an edit stores the earlier text as a revision with the key, and is in the audit log', async () => {
    const before = (await get()).body.data.content;
    const response = await patch('An admin wrote this.', { 'if-match': (await get()).headers.etag });
    assert.equal(response.status, 200, response.text);
    const { content, word_count, type } = response.body.data;
    assert.deepEqual([content, word_count, type], ['An admin wrote this.', 4, 'customized']);
    assert.deepEqual(comparedParts(response), comparedParts(await get()));
    const [{ replaced_at, ...revision }] = await revisions();
    assert.ok(Math.abs(replaced_at - Date.now() / 1000) < 60);
    const author = { key_id: adminId, key_name: 'admin', person_id: null, person_name: null, review_message_id: null };
    assert.deepEqual(revision, { revision: 1, content: before, ...author });
    const ids = [one.ids.chunk];
    assert.partialDeepStrictEqual(await newestAuditEntry(), {
      key_id: adminId,
      action: 'update',
      record: 'child_chunk',
      count: 1,
      ids,
    });
  });

  it('412: an edit after another edit is a conflict, and nothing is overwritten', async () => {
    const staleTag = (await get()).headers.etag;
    const otherEdit = { key: one.keys.knowledge, body: { content: 'Other edit.' } };
    assert.equal((await service.request('PATCH', one.chunkPath, otherEdit)).status, 200);
    const revisionsBefore = await revisions();
    for (const tag of [staleTag, `W/${(await get()).headers.etag}`, '"x"']) {
      const response = await patch('Own edit.', { 'if-match': tag });
      assert.deepEqual([response.status, response.body.code], [412, 'precondition_failed']);
    }
    assert.equal((await get()).body.data.content, 'Other edit.');
    assert.deepEqual(await revisions(), revisionsBefore);
    // An edit with the stored text succeeds.
    assert.equal((await patch('Other edit.', { 'if-match': staleTag })).status, 200);
    assert.equal((await patch('Own edit.', { 'if-match': (await get()).headers.etag })).status, 200);
    assert.deepEqual(
      (await revisions()).map(({ content, key_name }: { content: string; key_name: string }) => [content, key_name]),
      [
        ['Other edit.', 'admin'],
        ['An admin wrote this.', 'knowledge'],
        [revisionsBefore.at(-1).content, 'admin'],
      ],
    );
  });
});
