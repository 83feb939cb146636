import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { type ChangeKind, changeKinds } from '../../src/contract/change.ts';
import { purge } from '../../src/domain/erasure/purge.ts';
import { makeSecret } from '../../src/domain/secret.ts';
import { makeTwoTenants, message, onEveryEngine, parseLines, pluck, useService } from '../support/harness.ts';

type Entry = {
  cursor: string;
  kind: ChangeKind;
  id: string;
  gone: boolean;
  path: Record<string, string | null>;
  record: Record<string, unknown> | null;
};

onEveryEngine('the change feed', (engine) => {
  const { one, other, admin, records } = makeTwoTenants();
  const first = message(one.ids.conversation, 2000);
  const keys = { app: makeSecret('feed'), dataset: makeSecret('feed') };
  const workspace_id = one.ids.workspace;

  const service = useService(engine, [
    ...records,
    first,
    message(other.ids.conversation, 2000),
    { record: 'api_key', kind: 'feed', name: 'of an app', workspace_id, app_id: one.ids.app, secret: keys.app },
    {
      ...{ record: 'api_key', kind: 'feed', name: 'of a dataset', workspace_id },
      ...{ dataset_ids: [one.ids.dataset], secret: keys.dataset },
    },
  ]);

  const get = (query: Record<string, string | number>, key = admin) => {
    const text = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, `${value}`]));
    return service.as(key).get(`/admin/changes?${text}`);
  };
  /** Reads until there is nothing more. */
  const readAll = async (query: Record<string, string | number> = {}, key = admin) => {
    const entries: Entry[] = [];
    let cursor = query.after;
    for (;;) {
      const { status, body } = await get({ ...query, ...(cursor !== undefined && { after: cursor }) }, key);
      assert.equal(status, 200, JSON.stringify(body));
      entries.push(...body.data);
      cursor = body.cursor as string;
      if (!body.has_more) return { entries, cursor };
    }
  };
  const now = async (key = admin) => (await get({ after: 'now' }, key)).body.cursor as string;
  const identities = (entries: readonly Entry[]) => entries.map(({ kind, id }) => `${kind} ${id}`);
  const edit = (content: string, tenant = one) =>
    service.as(tenant.keys.knowledge).patch(tenant.chunkPath, { content });

  it('200: from the start all records, parents first, each as in an export', async () => {
    const { entries } = await readAll();
    const exported = parseLines((await service.as(admin).get('/admin/records')).text).filter(({ record }) =>
      changeKinds.includes(record),
    );
    assert.deepEqual(pluck(entries, 'record'), exported);
    const chunk = entries.find(({ id }) => id === one.ids.chunk);
    const { dataset: dataset_id, document: document_id, segment: segment_id } = one.ids;
    assert.deepEqual(chunk?.path, { workspace_id, dataset_id, document_id, segment_id });
    const text = entries.find(({ id }) => id === first.id);
    const { app: app_id, conversation: conversation_id } = one.ids;
    assert.deepEqual(text?.path, { workspace_id, app_id, conversation_id, user: 'ann' });
    for (const limit of [1, 2, 7]) assert.deepEqual((await readAll({ limit })).entries.length, entries.length);
  });

  it('200: several changes of a record are one entry, in the order of the last changes', async () => {
    const after = await now();
    await edit('one');
    await edit('other', other);
    await edit('two');
    const { entries, cursor } = await readAll({ after });
    assert.deepEqual(identities(entries), [`child_chunk ${other.ids.chunk}`, `child_chunk ${one.ids.chunk}`]);
    assert.equal(entries[1]?.record?.content, 'two');
    assert.deepEqual((await readAll({ after: cursor })).entries, []);
    assert.deepEqual((await readAll({ after, limit: 1 })).entries.length, 2);
  });

  it('200: messages, ratings, renames and new chunks are listed', async () => {
    const after = await now();
    const next = message(one.ids.conversation, 3000);
    const key = one.keys.app;
    await service.load([{ record: 'conversation', id: one.ids.conversation, app_id: one.ids.app }, next]);
    await service.as(key).post(`/v1/messages/${first.id}/feedbacks`, { rating: 'like', user: 'ann' });
    await service.as(key).post(`/v1/conversations/${one.ids.conversation}/name`, { name: 'named' });
    const { entries } = await readAll({ after });
    assert.deepEqual(
      new Set(identities(entries)),
      new Set([`message ${next.id}`, `message ${first.id}`, `conversation ${one.ids.conversation}`]),
    );
    assert.deepEqual(entries.find(({ id }) => id === first.id)?.record?.feedback, { rating: 'like' });
  });

  it('200: a deleted conversation is gone with its messages, and comes back with them', async () => {
    const conversation = { record: 'conversation', id: randomUUID(), app_id: one.ids.app, user: 'bob' };
    const texts = [1, 2, 3].map((time) => message(conversation.id, time));
    await service.load([conversation, ...texts]);
    const after = await now();
    await service.as(one.keys.app).delete(`/v1/conversations/${conversation.id}`);
    const deleted = await readAll({ after, kinds: 'message' });
    assert.deepEqual(
      deleted.entries.map(({ kind, id, gone, record }) => [kind, id, gone, record]),
      [['conversation', conversation.id, true, null]],
    );
    await service.load([{ ...conversation, deleted: false }]);
    const restored = await readAll({ after: deleted.cursor });
    assert.deepEqual(
      new Set(identities(restored.entries)),
      new Set([`conversation ${conversation.id}`, ...texts.map(({ id }) => `message ${id}`)]),
    );
    assert.ok(restored.entries.every(({ gone }) => !gone));
    await purge(service.store, { conversation_id: conversation.id }, { key_id: null, now: 1 });
    const purged = await readAll({ after: restored.cursor });
    assert.deepEqual(
      purged.entries.map(({ kind, id, gone, path }) => [kind, id, gone, path]),
      [['conversation', conversation.id, true, { workspace_id, app_id: one.ids.app }]],
    );
    assert.ok(!identities((await readAll()).entries).includes(`conversation ${conversation.id}`));
  });

  it('200: a deleted chunk is gone', async () => {
    const path = one.chunkPath.slice(0, one.chunkPath.lastIndexOf('/'));
    const { body } = await service.as(one.keys.knowledge).post(path, { content: 'new' });
    const after = await now();
    await service.as(one.keys.knowledge).delete(`${path}/${body.data.id}`);
    const { entries } = await readAll({ after });
    assert.deepEqual(
      entries.map(({ id, gone, record }) => [id, gone, record]),
      [[body.data.id, true, null]],
    );
  });

  it('200: a feed key sees its workspace, app or datasets only, also in the initial snapshot', async () => {
    const all = (await readAll()).entries;
    const expected = {
      [one.keys.feed]: all.filter(
        ({ kind, id, path }) => (kind === 'workspace' ? id : path.workspace_id) === workspace_id,
      ),
      [keys.app]: all.filter(({ id, path }) => id === one.ids.app || path.app_id === one.ids.app),
      [keys.dataset]: all.filter(({ id, path }) => id === one.ids.dataset || path.dataset_id === one.ids.dataset),
    };
    for (const [key, entries] of Object.entries(expected)) {
      assert.deepEqual(identities((await readAll({}, key)).entries), identities(entries));
    }
    const after = await now();
    await edit(randomUUID());
    await edit(randomUUID(), other);
    await service.load([message(one.ids.conversation, 4000), message(other.ids.conversation, 4000)]);
    const kindsOf = async (key: string) => (await readAll({ after }, key)).entries.map(({ kind }) => kind);
    assert.deepEqual(await kindsOf(one.keys.feed), ['child_chunk', 'message']);
    assert.deepEqual(await kindsOf(keys.app), ['message']);
    assert.deepEqual(await kindsOf(keys.dataset), ['child_chunk']);
    assert.deepEqual((await readAll({ after, dataset_id: other.ids.dataset }, keys.dataset)).entries, []);
    assert.deepEqual((await readAll({ after, app_id: other.ids.app }, one.keys.feed)).entries, []);
  });

  it('410: a cursor of another epoch, or beyond the head; 400: no cursor', async () => {
    const cursor = await now();
    const [epoch, position] = cursor.split('.');
    for (const gone of [`${epoch}.${Number(position) + 1}`, `x${epoch}.0`]) {
      const { status, body } = await get({ after: gone });
      assert.deepEqual([status, body.code], [410, 'cursor_gone']);
    }
    for (const invalid of ['x', '.', `${epoch}.`, `${epoch}.-1`, `${epoch}.01`, `${cursor}.W10`, `${cursor}.x`]) {
      const { status, body } = await get({ after: invalid });
      assert.deepEqual([status, body.code], [400, 'invalid_param'], invalid);
    }
    for (const query of [{ limit: 0 }, { limit: 1001 }, { wait: 61 }, { kinds: 'api_key' }, { include: 'all' }]) {
      assert.equal((await get(query as never)).status, 400, JSON.stringify(query));
    }
  });

  it('200: waits for an entry', async () => {
    const after = await now();
    const waiting = get({ after, wait: 60 });
    await edit(randomUUID());
    const { body } = await waiting;
    assert.deepEqual(identities(body.data), [`child_chunk ${one.ids.chunk}`]);
    assert.deepEqual((await get({ after: body.cursor, wait: 1 })).body.data, []);
  });

  it('200: streams entries as lines and as events', async () => {
    const after = await now();
    await edit(randomUUID());
    await edit(randomUUID(), other);
    const { entries } = await readAll({ after });
    const stream = (accept: string, headers = {}) =>
      service.as(admin).get(`/admin/changes?${new URLSearchParams(accept.includes('ndjson') ? { after } : {})}`, {
        accept,
        ...headers,
      });
    const lines = (await stream('application/x-ndjson')).text.trim().split('\n');
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)),
      entries,
    );
    const events = (await stream('text/event-stream', { 'last-event-id': after })).text;
    const expected = lines.map((line) => `id: ${JSON.parse(line).cursor}\ndata: ${line}\n\n`).join('');
    assert.equal(events.replaceAll(':\n\n', ''), expected);
    const reconnected = { accept: 'Text/Event-Stream', 'last-event-id': after };
    const missed = (await service.as(admin).get('/admin/changes?after=now', reconnected)).text;
    assert.equal(missed.replaceAll(':\n\n', ''), expected);
  });
});
