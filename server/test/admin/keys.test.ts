import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, it } from 'node:test';
import type { KeyWithRequests } from '../../src/contract/admin.ts';
import { makeTwoTenants, onEveryEngine, useService } from '../support/harness.ts';
import { until } from '../support/until.ts';

onEveryEngine('keys in the console API', (engine) => {
  const { one, admin, records } = makeTwoTenants();
  const { app, workspace, dataset } = one.ids;
  let adminId: string;
  const service = useService(engine, records);
  before(async () => {
    adminId = (await service.store.listKeys()).find(({ kind }) => kind === 'admin')?.id ?? '';
  });

  const create = (body: unknown, headers = {}) => service.as(admin).post('/admin/keys', body, headers);
  const revoke = (id: string) => service.as(admin).delete(`/admin/keys/${id}`);
  const listKeys = async () => (await service.as(admin).get('/admin/keys?limit=100')).body.data;
  const newestAuditEntry = async () => {
    const { entries } = await service.store.listAudit({ limit: 1 });
    const [{ id: _, at: __, ...entry } = assert.fail()] = entries;
    return entry;
  };

  it('201: a key of each kind allows what its kind allows, and is listed without its secret', async () => {
    const page = `/v1/messages?conversation_id=${one.ids.conversation}`;
    const expires_at = Math.floor(Date.now() / 1000) + 600;
    const noScope = { workspace_id: null, app_id: null, dataset_ids: null, role: null };
    const newKeys: [object, object, string][] = [
      [{ kind: 'app', app_id: app, name: 'reader' }, { app_id: app, workspace_id: workspace }, page],
      [{ kind: 'app', app_id: app.toUpperCase(), workspace_id: null }, { app_id: app, workspace_id: workspace }, page],
      [{ kind: 'writer', app_id: app, dataset_ids: null }, { app_id: app, workspace_id: workspace }, ''],
      [{ kind: 'knowledge', workspace_id: workspace, expires_at }, { workspace_id: workspace }, one.chunkPath],
      [
        { kind: 'knowledge', workspace_id: workspace, dataset_ids: [dataset] },
        { workspace_id: workspace, dataset_ids: [dataset] },
        one.chunkPath,
      ],
      [{ kind: 'admin', name: 'Zoë', expires_at: null }, { role: 'admin' }, '/admin/keys'],
      [{ kind: 'admin', role: 'viewer' }, { role: 'viewer' }, '/admin/users'],
    ];
    for (const [body, scope, path] of newKeys) {
      const { kind, name = '', expires_at = null } = body as { kind: string; name?: string; expires_at?: number };
      const response = await create(body);
      assert.equal(response.status, 201, response.text);
      assert.equal(response.headers['cache-control'], 'no-store');
      const { id, secret, ...more } = response.body;
      assert.deepEqual(more, {});
      if (path !== '') assert.equal((await service.as(secret).get(path)).status, 200, kind);
      const { created_at, last_used_at, requests, errors, ...key } = (await listKeys()).find(
        (key: { id: string }) => key.id === id,
      );
      assert.deepEqual(key, { ...noScope, id, kind, name, ...scope, expires_at, revoked_at: null, read_only: false });
      assert.ok(Math.abs(created_at - Date.now() / 1000) < 60);
      assert.ok(!JSON.stringify(await listKeys()).includes(secret));
      const entry = { key_id: adminId, action: 'create', record: 'api_key', count: 1, ids: [id] };
      assert.partialDeepStrictEqual(await newestAuditEntry(), entry);
      assert.ok(!service.logs.join('').includes(secret));
    }
  });

  it('200: renames a key; 201: rotates it: the new secret works at once, and the old one for a day', async () => {
    const page = `/v1/messages?conversation_id=${one.ids.conversation}`;
    const status = async (secret: string) => (await service.as(secret).get(page)).status;
    const patch = (id: string, body: object) => service.as(admin).patch(`/admin/keys/${id}`, body);
    const rotate = (id: string) => service.as(admin).post(`/admin/keys/${id}/rotate`);
    const old = (await create({ kind: 'app', app_id: app, name: 'web', read_only: true })).body;
    const renamed = await patch(old.id, { name: 'web 2027' });
    assert.deepEqual([renamed.status, renamed.body.name, renamed.body.read_only], [200, 'web 2027', true]);
    for (const body of [{}, { name: 'a\0' }, { name: '\ud800' }]) assert.equal((await patch(old.id, body)).status, 400);
    const now = Math.floor(Date.now() / 1000);
    const rotated = await rotate(old.id.toUpperCase());
    assert.equal(rotated.status, 201, rotated.text);
    assert.deepEqual([await status(old.secret), await status(rotated.body.secret)], [200, 200]);
    const find = async (id: string) => (await listKeys()).find((key: { id: string }) => key.id === id);
    const [before, after] = [await find(old.id), await find(rotated.body.id)];
    const { id, created_at, expires_at, last_used_at, requests, errors, ...same } = after;
    assert.partialDeepStrictEqual(before, same);
    assert.deepEqual([after.expires_at, Math.abs(before.expires_at - now - 86_400) < 60], [null, true]);
    const actions = (await service.store.listAudit({ limit: 2 })).entries.map(({ action, ids }) => [action, ids[0]]);
    assert.deepEqual(
      new Map(actions as [string, string][]),
      new Map([
        ['create', id],
        ['update', old.id],
      ]),
    );
    // One that ends earlier does so, and the new one lasts as long as the old one was made for.
    const short = (await create({ kind: 'app', app_id: app, expires_at: now + 600 })).body;
    const again = await rotate(short.id);
    assert.equal((await find(short.id)).expires_at, now + 600);
    assert.ok(Math.abs((await find(again.body.id)).expires_at - now - 600) < 60);
    const longest = {
      record: 'api_key',
      id: randomUUID(),
      kind: 'admin',
      name: 'longest',
      secret: `admin-${'l'.repeat(43)}`,
    };
    await service.load([{ ...longest, created_at: 0, expires_at: Number.MAX_SAFE_INTEGER }]);
    const { id: longId } = (await rotate(longest.id)).body;
    assert.equal((await find(longId)).expires_at, Number.MAX_SAFE_INTEGER);
    await revoke(short.id);
    assert.deepEqual([(await rotate(short.id)).status, (await rotate(randomUUID())).status], [400, 404]);
  });

  it('200: lists the requests of each key and the failed ones, without those of the console', async () => {
    const { id, secret } = (await create({ kind: 'app', app_id: app, name: 'counted' })).body;
    const lines = service.logs.length;
    for (const path of ['', `?conversation_id=${one.ids.conversation}`, '?conversation_id=x'])
      await service.as(secret).get(`/v1/messages${path}`);
    await until(() => service.logs.slice(lines).filter((line) => line.includes(id)).length === 3);
    await service.saveUses();
    const { requests, errors } = (await listKeys()).find((key: { id: string }) => key.id === id);
    assert.deepEqual([requests, errors], [3, 2]);
  });

  it('201: a key may have 1,000 knowledge bases, each listed once', async () => {
    const datasetIds = Array.from({ length: 1_000 }, () => randomUUID());
    const datasetRecord = (id: string) => ({ record: 'dataset', id, workspace_id: workspace, name: 'one of many' });
    await service.load(datasetIds.map(datasetRecord));
    const response = await create({ kind: 'knowledge', workspace_id: workspace, dataset_ids: datasetIds });
    assert.equal(response.status, 201, response.text);
    const repeated = {
      kind: 'knowledge',
      workspace_id: workspace,
      dataset_ids: [dataset, dataset.toUpperCase(), datasetIds[0]],
    };
    const { id } = (await create(repeated)).body;
    const { dataset_ids } = (await listKeys()).find((key: { id: string }) => key.id === id);
    assert.deepEqual(dataset_ids, [dataset, datasetIds[0]]);
  });

  it('200: lists the same keys as the command line, newest first', async () => {
    const keys = await service.store.listKeys();
    const listed = (await listKeys()).map(({ requests, errors, ...key }: KeyWithRequests) => key);
    assert.deepEqual(listed, keys.toReversed());
  });

  it('200: a revoked key allows nothing; revoking again changes nothing; the audit log has the key that revoked it', async () => {
    const { id, secret } = (await create({ kind: 'app', app_id: app })).body;
    const models = '/v1/workspaces/current/models/model-types/llm';
    assert.equal((await service.as(secret).get(models)).status, 200);
    const response = await revoke(id.toUpperCase());
    assert.equal(response.status, 200);
    assert.partialDeepStrictEqual(
      (await listKeys()).find((key: { id: string }) => key.id === id),
      response.body,
    );
    assert.ok(Math.abs(response.body.revoked_at - Date.now() / 1000) < 60);
    const entry = { key_id: adminId, action: 'revoke', record: 'api_key', count: 1, ids: [id] };
    assert.partialDeepStrictEqual(await newestAuditEntry(), entry);
    assert.equal((await service.as(secret).get(models)).status, 401);
    service.advanceClock(100);
    assert.deepEqual((await revoke(id)).body, response.body);
  });

  it('200: a change of a key returns the key; other fields of the body change nothing', async () => {
    const key = (await create({ kind: 'app', app_id: app, name: 'reader' })).body;
    const body = { read_only: true, kind: 'admin', text: 'x' };
    const response = await service.as(admin).patch(`/admin/keys/${key.id}`, body);
    assert.equal(response.status, 200);
    const listed = (await listKeys()).find(({ id }: { id: string }) => id === key.id);
    assert.partialDeepStrictEqual(listed, response.body);
    assert.deepEqual([listed.kind, listed.name, listed.read_only], ['app', 'reader', true]);
  });

  it('200: an admin key gets another role at once; 403 and 400: not from itself, and not another kind', async () => {
    const change = (id: string, key: string, body: object) => service.as(key).patch(`/admin/keys/${id}`, body);
    const { id, secret } = (await create({ kind: 'admin' })).body;
    const own = await change(id, secret, { role: 'viewer' });
    assert.deepEqual([own.status, own.body.message], [403, 'a key cannot change its own role']);
    const { status, body } = await change(id, admin, { role: 'editor' });
    assert.deepEqual([status, body.role, body.read_only], [200, 'editor', false]);
    const refused = await service.as(secret).get('/admin/keys');
    assert.deepEqual([refused.status, refused.body.message], [403, 'this operation needs the role admin']);
    assert.equal((await change(id, admin, { read_only: true })).body.role, 'editor');
    // Both must allow: the role allows edits, the key is read-only.
    const edit = { key: secret, body: { content: 'x' } };
    const edited = await service.request('PATCH', one.chunkPath.replace('/v1/', '/admin/'), edit);
    assert.deepEqual([edited.status, edited.body.message], [403, 'this key is read-only']);
    const reader = (await create({ kind: 'app', app_id: app })).body.id;
    for (const [target, given, message] of [
      [reader, { role: 'viewer' }, 'role is not allowed for kind app'],
      [id, { role: 'root' }, 'role must be one of viewer, editor, admin'],
      [id, {}, 'name, read_only or role is required'],
    ] as const) {
      const response = await change(target, admin, given);
      assert.deepEqual([response.status, response.body.message], [400, message]);
    }
  });

  it('403 and 200: a purge needs the role admin; a read-only admin key may try it', async () => {
    const purge = async (key: object, dry_run: boolean) => {
      const { secret } = (await create({ kind: 'admin', ...key })).body;
      const body = { conversation_id: one.ids.conversation, dry_run };
      return (await service.as(secret).post('/admin/purge', body)).status;
    };
    assert.equal(await purge({ role: 'editor' }, true), 403);
    assert.equal(await purge({ read_only: true }, false), 403);
    assert.equal(await purge({ read_only: true }, true), 200);
  });

  it('200: the body of a revocation is ignored, whatever it is', async () => {
    const { id } = (await create({ kind: 'admin' })).body;
    for (const type of ['application/json', 'text/html', undefined]) {
      const options = { key: admin, body: '{"x', headers: type === undefined ? {} : { 'content-type': type } };
      assert.equal((await service.request('DELETE', `/admin/keys/${id}`, options)).status, 200, String(type));
    }
  });

  it('200 and 401: a key can revoke itself', async () => {
    const { id, secret } = (await create({ kind: 'admin' })).body;
    assert.equal((await service.as(secret).delete(`/admin/keys/${id}`)).status, 200);
    assert.equal((await service.as(secret).get('/admin/keys')).status, 401);
  });
});
