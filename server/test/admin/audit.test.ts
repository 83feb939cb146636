import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { makeTwoTenants, message, onEveryEngine, useService } from '../support/harness.ts';
import { provider } from '../support/isolation-fixture.ts';

type NamedRecord = { id: string; name: string | null; path: string[] | null };
type Entry = { id: string; at: number; key_id: string | null; key_name: string | null; action: string } & {
  record: string;
  count: number;
  records: NamedRecord[];
  tool: string | null;
  changes: { field: string; before: string | null; after: string | null }[];
};

onEveryEngine('activity in the console API', (engine) => {
  const { one, other, admin, records } = makeTwoTenants();
  const { app, conversation, dataset, document, segment, chunk } = one.ids;
  const service = useService(engine, records);

  const list = async (query: Record<string, string> = {}): Promise<Entry[]> => {
    const { status, body, text } = await service.as(admin).get(`/admin/activity?${new URLSearchParams(query)}`);
    assert.equal(status, 200, text);
    return body.data;
  };
  const newest = async (query?: Record<string, string>): Promise<Entry> => (await list(query))[0] ?? assert.fail();
  const write = async (method: string, path: string, key: string, body: unknown) => {
    const { status, text } = await service.request(method, path, { key, body });
    assert.ok(status < 300, text);
  };

  it('200: an edit with the name of its key, and the place of the chunk', async () => {
    await write('PATCH', one.chunkPath, one.keys.knowledge, { content: 'edited' });
    const { id: _, at, ...entry } = await newest();
    assert.ok(Math.abs(at - Date.now() / 1000) < 60);
    assert.deepEqual(entry, {
      ...{ key_id: one.keyIds.knowledge, key_name: 'knowledge', action: 'update', record: 'child_chunk', count: 1 },
      records: [{ id: chunk, name: 'document, segment 1, chunk 1', path: [dataset, document, segment, chunk] }],
      ...{ person_id: null, person_name: null },
      ...{ app_id: null, app_name: null, messages: null, cleaned_at: null, tool: null, changes: [] },
    });
  });

  it('200: appends are left out if that is asked for', async () => {
    await service.load([message(conversation, 9)]);
    const kinds = (entries: Entry[]) => new Set(entries.map(({ action, record }) => `${action} ${record}`));
    const all = kinds(await list());
    for (const kind of ['import message', 'import conversation', 'import dataset', 'update child_chunk'])
      assert.ok(all.has(kind), kind);
    const shown = kinds(await list({ appends: 'hidden' }));
    assert.deepEqual(shown, new Set([...all].filter((kind) => !/^import (message|conversation)$/.test(kind))));
  });

  it('200: records of every kind are named', async () => {
    const added = message(conversation, 1, { query: 'How do I descale it?' });
    await service.load([added, provider(one.ids.workspace, 'acme/models', 'active')]);
    const named = async (record: string) => (await newest({ record })).records[0];
    const first = (await list({ record: 'workspace' })).at(-1)?.records;
    assert.deepEqual(first?.[0]?.path, [one.ids.workspace]);
    const path = [app, conversation];
    const name = 'How do I descale it?';
    assert.deepEqual(await named('message'), {
      id: `${conversation}/${added.id}`,
      name,
      path: [...path, added.id],
    });
    assert.deepEqual(
      (await newest({ record: 'conversation' })).records.find(({ id }) => id === conversation),
      {
        ...{ id: conversation, name, path },
      },
    );
    const providerPath = [one.ids.workspace, 'acme/models'];
    assert.deepEqual(await named('model_provider'), {
      ...{ id: providerPath.join('/'), name: 'acme/models', path: providerPath },
    });
    for (const record of ['app', 'dataset', 'document', 'segment', 'api_key', 'child_chunk']) {
      const { records } = await newest({ record });
      assert.ok(records.length > 0 && records.every(({ name, path }) => name && path), record);
    }
    const keys = (await newest({ record: 'api_key' })).records.map(({ name }) => name);
    assert.ok(keys.includes('writer'));
  });

  it('200: a record or key that does not exist any more has no name', async () => {
    await write('DELETE', `/v1/conversations/${other.ids.conversation}`, other.keys.app, { user: 'ann' });
    const { records, action } = await newest({ record: 'conversation' });
    assert.deepEqual([action, records], ['delete', [{ id: other.ids.conversation, name: null, path: null }]]);
    const before = await newest();
    assert.notEqual(before.key_name, null);
  });

  it('200: what a name, a role, a period or an access was before; never what an end user wrote', async () => {
    const changed = async (path: string, body: object, filter: Record<string, string>) => {
      await write('PATCH', path, admin, body);
      return (await newest(filter)).changes.map(({ field, before, after }) => [field, before, after]);
    };
    const keys = { record: 'api_key', action: 'update' };
    const key = `/admin/keys/${one.keyIds.knowledge}`;
    assert.deepEqual(await changed(key, { name: 'bot', read_only: true }, keys), [
      ['name', 'knowledge', 'bot'],
      ['read_only', 'false', 'true'],
    ]);
    assert.deepEqual(await changed(key, { name: 'knowledge', read_only: true }, keys), [['name', 'bot', 'knowledge']]);
    const { body } = await service.request('POST', '/admin/keys', {
      key: admin,
      body: { kind: 'admin', role: 'viewer' },
    });
    assert.deepEqual(await changed(`/admin/keys/${body.id}`, { role: 'editor' }, keys), [['role', 'viewer', 'editor']]);
    const apps = { record: 'app', action: 'update' };
    assert.deepEqual(await changed(`/admin/apps/${app}`, { retention_days: 90 }, apps), [
      ['retention_days', null, '90'],
    ]);
    assert.deepEqual(await changed(`/admin/apps/${app}`, { retention_days: 90 }, apps), []);
    assert.deepEqual(await changed(`/admin/apps/${app}`, { retention_days: null }, apps), [
      ['retention_days', '90', null],
    ]);
    await write('POST', `/v1/conversations/${conversation}/name`, one.keys.app, { user: 'ann', name: 'my illness' });
    assert.deepEqual((await newest({ record: 'conversation', action: 'update' })).changes, []);
  });

  it('200: filters by key, action, kind, part of an id, dataset, document and time', async () => {
    const all = await list({ limit: '100' });
    const equal = async (query: Record<string, string>, expected: (entry: Entry) => boolean) => {
      const found = await list({ limit: '100', ...query });
      assert.ok(found.length > 0, JSON.stringify(query));
      assert.deepEqual(found, all.filter(expected), JSON.stringify(query));
    };
    await equal({ key_id: one.keyIds.knowledge.toUpperCase() }, ({ key_id }) => key_id === one.keyIds.knowledge);
    for (const action of ['update', 'delete', 'import']) await equal({ action }, ({ action: its }) => its === action);
    await equal({ record: 'child_chunk' }, ({ record }) => record === 'child_chunk');
    await equal(
      { record: 'child_chunk', action: 'update' },
      (entry) => entry.action === 'update' && entry.record === 'child_chunk',
    );
    await equal({ record_id: chunk.toUpperCase() }, ({ records }) => records.some(({ id }) => id === chunk));
    await equal({ record_id: conversation }, ({ records }) => records.some(({ id }) => id.includes(conversation)));
    for (const query of [{ dataset_id: dataset }, { dataset_id: dataset, document_id: document }])
      await equal(query, ({ action, record }) => action === 'update' && record === 'child_chunk');
    const now = Math.floor(Date.now() / 1000);
    await equal({ from: `${now - 600}`, to: `${now + 600}` }, () => true);
    for (const query of [
      { to: `${now - 600}` },
      { from: `${now + 600}` },
      { record_id: '%' },
      { record_id: 'x\0' },
      { key_id: 'x\0' },
      { key_id: randomUUID() },
      { dataset_id: other.ids.dataset },
      { dataset_id: dataset, document_id: other.ids.document },
    ])
      assert.deepEqual(await list(query), [], JSON.stringify(query));
  });

  it('200: every entry once, page by page', async () => {
    const all = await list({ limit: '100' });
    for (const query of [{}, { action: 'import' }, { record: 'message' }]) {
      const walked: Entry[] = await service
        .as(admin)
        .rows(`/admin/activity?${new URLSearchParams({ ...query, limit: '3' })}`);
      const fits = (entry: Entry) => Object.entries(query).every(([name, value]) => entry[name as 'action'] === value);
      assert.deepEqual(walked, all.filter(fits));
    }
  });
});
