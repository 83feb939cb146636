import assert from 'node:assert/strict';
import { randomInt, randomUUID } from 'node:crypto';
import { it, type TestContext } from 'node:test';
import { pino } from 'pino';
import { limits } from '../../src/contract/limits.ts';
import { retain } from '../../src/domain/erasure/retention.ts';
import { retainRegularly } from '../../src/service/retention.ts';
import { call, newFolder, type Settings } from '../support/cli-helpers.ts';
import {
  type Engine,
  itOnOneEngine,
  makeTwoTenants,
  message,
  newMigratedUrl,
  onEveryEngine,
  startService,
} from '../support/harness.ts';
import { shortOrLong } from '../support/long.ts';
import { until } from '../support/until.ts';
import { findText } from './stored-texts.ts';

const secondsPerDay = 86_400;
const now = Math.floor(Date.now() / 1000);
const daysAgo = (days: number): number => now - days * secondsPerDay;

/** A service whose first app keeps conversations for 30 days, and its command line. */
async function start(t: TestContext, engine: Engine) {
  const { url, remove } = await newMigratedUrl(engine);
  const service = await startService(engine, {}, url);
  const cwd = await newFolder(t);
  t.after(async () => {
    await service.close();
    await remove();
  });
  const { one, other, admin, records } = makeTwoTenants();
  const periods = records.map((record) =>
    (record as { id?: string }).id === one.ids.app ? { ...record, retention_days: 30 } : record,
  );
  await service.load(periods);
  const conversation = (created_at: number, more: object = {}) => {
    const id = randomUUID();
    return { record: 'conversation', id, app_id: one.ids.app, user: 'ann', created_at, ...more };
  };
  const command = async (args: string[], env: Settings = {}) => {
    const { code, stdout, stderr } = await call(args, { cwd, env: { DATABASE_URL: url, ...env } });
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const get = async (path: string) => (await service.as(admin).get(path)).body;
  /** On a busy machine, the note of a read can wait for the erasure of another process for too long: 503, try again. */
  const exported = () =>
    until(async () => {
      const { status, text } = await service.as(admin).get('/admin/records');
      return status === 200 && text;
    });
  return { service, url, cwd, one, other, admin, conversation, command, get, exported };
}

onEveryEngine('retention', (engine) => {
  it('erases by the last message, for good, except what is on hold', async (t) => {
    const { service, url, one, other, conversation, command, get, exported } = await start(t, engine);
    const marker = 'themarkeroferasedtexts';
    const erased = {
      old: conversation(daysAgo(40)),
      renamed: conversation(daysAgo(40), { name: marker, renamed_at: daysAgo(1), updated_at: daysAgo(1) }),
      empty: conversation(daysAgo(31)),
      deleted: conversation(daysAgo(1), { deleted: true }),
    };
    const kept = {
      active: conversation(daysAgo(40)),
      new: conversation(daysAgo(1)),
      held: conversation(daysAgo(40), { hold: true }),
    };
    const ofOther = conversation(daysAgo(10), { app_id: other.ids.app });
    await service.load([
      ...[...Object.values(erased), ...Object.values(kept), ofOther],
      ...[erased.old, erased.renamed, erased.deleted].map(({ id }) => message(id, daysAgo(31), { query: marker })),
      ...[kept.active, kept.held].map(({ id }) => message(id, daysAgo(31))),
      message(kept.active.id, daysAgo(29)),
      message(ofOther.id, daysAgo(8)),
    ]);
    await service.index();
    // The conversations of the fixture are from 1970.
    const due = { app_id: one.ids.app, retention_days: 30, conversations_due: 5, oldest_activity: 1000 };
    const none = { app_id: other.ids.app, retention_days: null, conversations_due: 0, oldest_activity: 1000 };
    assert.deepEqual(await get('/admin/retention'), {
      data: [due, none].sort((a, b) => (a.app_id < b.app_id ? -1 : 1)),
    });
    const before = await exported();
    const line = `5 conversations with 3 messages of app (${one.ids.app}), 30 days\n`;
    assert.equal(await command(['retain', '--dry-run']), `would erase ${line}`);
    assert.equal(await exported(), before);
    assert.notDeepEqual(await findText(url, marker), []);
    assert.equal(await command(['retain']), `erased ${line}`);
    assert.deepEqual(await findText(url, marker), []);
    const after = await exported();
    for (const [name, { id }] of Object.entries(erased)) assert.ok(!after.includes(id), name);
    for (const [name, { id }] of Object.entries({ ...kept, ofOther })) assert.ok(after.includes(id), name);
    const [entry, ...more] = (await get('/admin/activity?action=retain')).data;
    assert.deepEqual(
      [entry.count, entry.messages, entry.app_id, entry.key_id, more.length],
      [5, 3, one.ids.app, null, 0],
    );
    assert.equal(await command(['retain']), 'nothing is due\n');

    const common = { RETENTION_DAYS: '7' };
    const ofOthers = `2 conversations with 1 message of app (${other.ids.app}), 7 days\n`;
    assert.equal(await command(['retain', '--dry-run'], common), `would erase ${ofOthers}`);
    const shortest = await command(['retain', '--dry-run'], { RETENTION_DAYS: '1' });
    assert.equal(shortest, `would erase ${ofOthers.replace('7 days', '1 day')}`);
    assert.equal(await command(['retain', '--dry-run']), 'nothing is due\n', 'a dry run stores no period');
    assert.equal(await command(['retain'], common), `erased ${ofOthers}`);
    // In force for processes without the setting.
    const { data } = await get('/admin/retention');
    const { retention_days } = data.find(({ app_id }: { app_id: string }) => app_id === other.ids.app);
    assert.equal(retention_days, 7);
    await command(['retain'], { RETENTION_DAYS: '0' });
    assert.equal(
      (await get('/admin/retention')).data.filter((row: typeof due) => row.retention_days === null).length,
      1,
    );
  });

  it('continues after it was interrupted, and cleans what an earlier process has left', async (t) => {
    const { service, url, one, conversation, command, get } = await start(t, engine);
    const marker = 'themarkerofaninterruptedrun';
    const all = Array.from({ length: limits.erasedConversationsMax + 50 }, () => conversation(daysAgo(40)));
    await service.load([...all, ...all.map(({ id }) => message(id, daysAgo(40), { query: marker }))]);
    const expired = { app_id: one.ids.app, inactive_before: daysAgo(30) };
    // As if the process had ended after its first transaction.
    const stop = new AbortController();
    const running = service.store.erasure.erase(expired, { action: 'retain', key_id: null, now }, stop.signal);
    stop.abort();
    const { conversations } = await running;
    assert.equal(conversations, limits.erasedConversationsMax);
    assert.equal((await service.store.erasure.count(expired)).conversations, all.length + 1 - conversations);
    assert.match(await command(['retain']), /^erased 51 conversations /);
    assert.deepEqual(await findText(url, marker), []);
    const [last, first] = (await get('/admin/activity?action=retain')).data;
    assert.deepEqual([first.count, last.count], [conversations, all.length + 1 - conversations]);
  });

  it('cleans the file after a message was erased', async (t) => {
    const { service, url, one, conversation, admin, command } = await start(t, engine);
    const marker = 'themarkerofonemessage';
    const chat = conversation(daysAgo(1));
    const [first, second] = [message(chat.id, daysAgo(1)), message(chat.id, daysAgo(1), { query: marker })];
    await service.load([chat, first, second]);
    await service.index();
    const path = `/admin/apps/${one.ids.app}/conversations/${chat.id}/messages/${second.id}`;
    assert.equal((await service.as(admin).delete(path)).status, 204);
    await command(['retain']);
    assert.deepEqual(await findText(url, marker), []);
  });

  it('loses nothing that is written beside it', async (t) => {
    const { service, one, conversation, exported } = await start(t, engine);
    const all = Array.from({ length: shortOrLong(300, 3000) }, () => conversation(daysAgo(40)));
    await service.load([...all, ...all.map(({ id }) => message(id, daysAgo(40)))]);
    const acknowledged: string[] = [];
    let isRunning = true;
    const writers = Array.from({ length: shortOrLong(8, 64) }, async () => {
      while (isRunning) {
        const chat = all[randomInt(all.length)] as (typeof all)[0];
        const added = message(chat.id, daysAgo(randomInt(29)));
        const { status } = await service.as(one.keys.writer).append(chat, added);
        if (status === 200) acknowledged.push(added.id);
        else assert.equal(status, 503);
      }
    });
    await until(() => acknowledged.length > 20);
    while ((await service.store.erasure.count({ app_id: one.ids.app, inactive_before: daysAgo(30) })).conversations > 0)
      await retain(service.store, { now }, () => undefined);
    isRunning = false;
    await Promise.all(writers);
    const text = await exported();
    assert.deepEqual(
      acknowledged.filter((id) => !text.includes(id)),
      [],
    );
  });

  it('runs by itself, after the start and then regularly', async (t) => {
    const { service, conversation } = await start(t, engine);
    const { id } = conversation(daysAgo(40));
    const load = () => service.load([{ ...conversation(daysAgo(40)), id }]);
    const isGone = async () => (await service.store.lookup('conversation', [id])).size === 0;
    await load();
    const options = { store: service.store, logger: pino({ level: 'silent' }), clock: Date.now };
    const retaining = retainRegularly({ ...options, startMillis: 20, intervalMillis: 20 });
    try {
      await until(isGone);
      // A file may create it again. It is as old as before.
      await load();
      await until(isGone);
    } finally {
      await retaining.end();
    }
    await load();
    assert.equal(await isGone(), false);
  });

  itOnOneEngine(engine, 'rejects a period that is no whole number of days from 1 to 36,500', async (t) => {
    const { service, one, admin, cwd } = await start(t, engine);
    const app = { record: 'app', id: one.ids.app, workspace_id: one.ids.workspace, name: 'app', mode: 'chat' };
    for (const retention_days of [0, -1, 36_501, 1.5, '30']) {
      const { status, body } = await service.as(admin).append({ ...app, retention_days });
      assert.equal(status, 400);
      assert.match(body.message, /retention_days/);
    }
    for (const RETENTION_DAYS of ['-1', '36501', '1.5', 'x']) {
      const { code, stderr } = await call(['retain'], { cwd, env: { RETENTION_DAYS } });
      assert.equal(code, 1);
      assert.match(stderr, /^backscroll: RETENTION_DAYS=.*: must be a whole number from 0 to 36500\n$/);
    }
  });
});
