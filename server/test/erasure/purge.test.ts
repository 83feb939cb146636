import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { limits } from '../../src/contract/limits.ts';
import { exportedChunks, makeTwoTenants, message, onEveryEngine, useService } from '../support/harness.ts';
import { until } from '../support/until.ts';
import { findText } from './stored-texts.ts';

onEveryEngine('POST /admin/purge', (engine) => {
  const { one, admin, records } = makeTwoTenants();
  const post = (body: object, key = admin) => service.as(key).post('/admin/purge', body);
  const conversation = (user: string, more: object = {}) => {
    const id = randomUUID();
    return { record: 'conversation', id, app_id: one.ids.app, user, created_at: 1000, ...more };
  };
  const service = useService(engine, records);

  it('200: erases the conversations of a user, deleted and held ones too, after a dry run that erases nothing', async () => {
    const own = [conversation('eve'), conversation('eve', { deleted: true }), conversation('eve', { hold: true })];
    const kept = conversation('eve!');
    await service.load([...own, kept, ...own.map(({ id }) => message(id, 5)), message(kept.id, 6)]);
    const selection = { app_id: one.ids.app.toUpperCase(), user: 'eve' };
    const counts = { conversations: 3, messages: 3, held: 1 };
    const reader = `admin-${'r'.repeat(43)}`;
    await service.load([{ record: 'api_key', kind: 'admin', name: 'reader', secret: reader, read_only: true }]);
    for (const key of [admin, reader]) {
      const { body } = await post({ ...selection, dry_run: true }, key);
      assert.deepEqual(body, { ...counts, audit_id: null, copies: [] });
    }
    for (const more of [{}, { dry_run: false }])
      assert.equal((await post({ ...selection, ...more }, reader)).status, 403);
    const { status, body } = await post(selection);
    assert.deepEqual([status, { ...body, audit_id: null }], [200, { ...counts, audit_id: null, copies: [] }]);
    assert.deepEqual((await post(selection)).body, {
      ...{ conversations: 0, messages: 0, held: 0, audit_id: null, copies: [] },
    });
    const exported = (await service.as(admin).get('/admin/records')).text;
    for (const { id } of own) assert.ok(!exported.includes(id));
    assert.ok(exported.includes(kept.id));
    const { text, body: log } = await service.as(admin).get('/admin/activity?action=purge');
    const [entry] = log.data;
    assert.deepEqual(
      [entry.id, entry.count, entry.messages, entry.app_id, entry.app_name, entry.key_name],
      [body.audit_id, 3, 3, one.ids.app, 'app', 'admin'],
    );
    assert.deepEqual(entry.records.map(({ id }: { id: string }) => id).sort(), own.map(({ id }) => id).sort());
    assert.ok(!text.includes('eve'));
  });

  it('200: an import of an old export says how much of it was erased, and when; an append does not', async () => {
    const [own, kept] = [conversation('gil'), conversation('gil!')];
    const [ownMessage, keptMessage] = [message(own.id, 5), message(kept.id, 5)];
    const old = [own, kept, ownMessage, message(own.id, 6), keptMessage, message(kept.id, 6)];
    await service.load(old);
    const send = async (lines: readonly object[], key: string) => {
      return (await service.as(key).append(...lines)).body;
    };
    assert.deepEqual(await send(old, admin), { records: 6 });
    const erasedAt = Math.floor(Date.now() / 1000);
    service.advanceClock(-60);
    await post({ conversation_id: own.id });
    service.advanceClock(60);
    const path = `/admin/apps/${one.ids.app}/conversations/${kept.id}/messages/${keptMessage.id}`;
    assert.equal((await service.as(admin).delete(path)).status, 204);
    assert.deepEqual(await send([own, ownMessage], one.keys.writer), { records: 2 });
    const { records, erased } = await send(old, admin);
    assert.equal(records, 6);
    assert.equal(erased.records, 4);
    assert.ok(erased.last_at >= erasedAt && erased.last_at <= Date.now() / 1000);
  });

  it('200: the totals of a user are those of the conversations that are left, counted or not', async () => {
    const [own, moved] = [conversation('dan'), conversation('dan')];
    await service.load([own, moved, message(own.id, 5), message(moved.id, 6)]);
    type Listed = { user: string; messages: number; first_at: number };
    const users = async (q: string) =>
      (await service.as(admin).get(`/admin/users?q=${q}`)).body.data.map(({ user, messages, first_at }: Listed) => [
        user,
        messages,
        first_at,
      ]);
    assert.deepEqual(await users('dan'), [['dan', 2, 1000]]);
    await service.load([{ ...moved, user: 'dana' }]);
    assert.equal((await post({ conversation_id: own.id })).status, 200);
    assert.deepEqual(await users('dan'), [['dana', 1, 1000]]);

    const [kept, counted] = [conversation('fay'), conversation('fay', { created_at: 500 })];
    await service.load([kept, counted]);
    assert.deepEqual(await users('fay'), [['fay', 0, 500]]);
    const uncounted = conversation('fay', { created_at: 70 });
    await service.load([uncounted]);
    await post({ conversation_id: counted.id });
    await post({ conversation_id: uncounted.id });
    assert.deepEqual(await users('fay'), [['fay', 0, 1000]]);
  });

  it('200: a reader of the feed who comes back removes it, even if it was created again', async () => {
    for (const isSequenced of [false, true]) {
      const own = conversation('ann');
      const [erased, kept, later] = [message(own.id, 5), message(own.id, 6), message(own.id, 7)];
      await service.load([own, erased, kept]);
      const { cursor } = (await service.as(admin).get('/admin/changes?after=now')).body;
      const changes = async () =>
        (await service.as(one.keys.feed).get(`/admin/changes?after=${cursor}&include=none`)).body.data;
      await post({ conversation_id: own.id });
      if (isSequenced) assert.equal((await changes()).length, 1);
      await service.load([own, kept]);
      if (isSequenced) await changes();
      await service.load([own, later]);
      const shown = (await changes()).map(({ id, gone }: { id: string; gone: boolean }) => [id, gone]);
      assert.deepEqual(shown[0], [own.id, true]);
      const ids = [own.id, kept.id, later.id].sort();
      assert.deepEqual(
        shown.slice(1).sort(),
        ids.map((id) => [id, false]),
      );
    }
  });

  it('200: erases one conversation, and the feed lists it as gone', async () => {
    const { id } = conversation('ann');
    await service.load([{ ...conversation('ann'), id }, message(id, 5)]);
    const { cursor } = (await service.as(admin).get('/admin/changes?after=now')).body;
    const { body } = await post({ conversation_id: id.toUpperCase() });
    assert.deepEqual([body.conversations, body.messages, body.held], [1, 1, 0]);
    const page = await service.as(one.keys.app).get(`/v1/messages?conversation_id=${id}`);
    assert.deepEqual([page.status, page.body.message], [404, 'conversation not exists']);
    const { body: feed } = await service.as(admin).get(`/admin/changes?after=${cursor}`);
    const [gone] = feed.data;
    assert.deepEqual([feed.data.length, gone.kind, gone.id, gone.gone], [1, 'conversation', id, true]);
    assert.equal((await post({ conversation_id: id })).status, 404);
  });

  it('200: erases more conversations than a transaction may, with one audit entry', async () => {
    const user = 'many';
    const all = Array.from({ length: limits.erasedConversationsMax + 30 }, () => conversation(user));
    await service.load([...all, ...all.slice(0, 40).map(({ id }) => message(id, 5))]);
    const { body } = await post({ app_id: one.ids.app, user });
    assert.deepEqual([body.conversations, body.messages], [all.length, 40]);
    const { body: log } = await service.as(admin).get('/admin/activity?action=purge&limit=2');
    const [entry, earlier] = log.data;
    assert.deepEqual([entry.id, entry.count, entry.messages], [body.audit_id, all.length, 40]);
    assert.notEqual(earlier.count, 30);
  });

  if (engine === 'sqlite')
    it('200: other writes pass while it waits for a reader of the file', async () => {
      const own = conversation('ann');
      const text = 'thetextthatiserased';
      await service.load([own, message(own.id, 5, { query: text })]);
      const slowReader = exportedChunks(service.store)[Symbol.asyncIterator]();
      await slowReader.next();
      let isPurging = true;
      const purging = post({ conversation_id: own.id }).finally(() => {
        isPurging = false;
      });
      const page = () => service.as(one.keys.app).get(`/v1/messages?conversation_id=${own.id}`);
      await until(async () => (await page()).status === 404);
      await service.load([conversation('ann')]);
      assert.ok(isPurging);
      await slowReader.return?.(undefined);
      assert.equal((await purging).status, 200);
      assert.deepEqual(await findText(service.config.database_url, text), []);
    });
});
