import assert from 'node:assert/strict';
import { randomInt, randomUUID } from 'node:crypto';
import { it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../../src/contract/limits.ts';
import { indexDifferences } from '../search/index-differences.ts';
import { newFolder, type Settings, sendRequest, serve, start } from '../support/cli-helpers.ts';
import {
  type Engine,
  makeTwoTenants,
  message,
  newMigratedUrl,
  onOneEngine,
  parseLines,
  startService,
} from '../support/harness.ts';
import { firstOrAll, shortOrLong } from '../support/long.ts';
import { until, untilEqual } from '../support/until.ts';
import { findText } from './stored-texts.ts';

const marker = 'themarkeroferasedtexts';
const user = 'ann';

/** A service and conversations of one user that are due, enough for several transactions. */
async function newErasure(t: TestContext, engine: Engine) {
  const { url, remove } = await newMigratedUrl(engine);
  const service = await startService(engine, {}, url);
  t.after(async () => {
    await service.close();
    await remove();
  });
  const { one, admin, records } = makeTwoTenants();
  const app_id = randomUUID();
  const { workspace: workspace_id } = one.ids;
  const app = { record: 'app', id: app_id, workspace_id, name: 'app', mode: 'chat', retention_days: 30 };
  const chats = Array.from({ length: shortOrLong(2, 4) * limits.erasedConversationsMax + 7 }, () => ({
    ...{ record: 'conversation', id: randomUUID(), app_id, user, created_at: 2000 },
  }));
  const messages = chats.flatMap(({ id }) => [3000, 3001].map((at) => message(id, at, { query: marker })));
  await service.load([...records, app, ...chats, ...messages]);
  await service.index();
  const { cursor } = (await service.as(admin).get('/admin/changes?after=now')).body;
  const get = async (path: string) => (await service.as(admin).get(path)).body;

  const countLeft = async () => (await service.store.erasure.count({ app_id, user })).conversations;
  /** Resolves when some conversations are erased and some are not. */
  const untilSomeAreErased = () => until(async () => (await countLeft()) < chats.length);

  /** Whether each conversation is stored as a whole or erased as a whole, by whatever one looks. Returns how many are stored. */
  const check = async (action: 'purge' | 'retain') => {
    const { text } = await service.as(admin).get('/admin/records?kinds=conversation,message');
    const lines = parseLines(text);
    const sent = new Set(chats.map(({ id }) => id));
    const left = lines.filter(({ record, id }) => record === 'conversation' && sent.has(id)).map(({ id }) => id);
    const stored = new Set(left);
    assert.deepEqual(
      lines
        .filter(({ record, conversation_id }) => record === 'message' && sent.has(conversation_id))
        .map(({ id }) => id)
        .sort(),
      messages
        .filter(({ conversation_id }) => stored.has(conversation_id))
        .map(({ id }) => id)
        .sort(),
    );
    const gone = chats.map(({ id }) => id).filter((id) => !stored.has(id));
    const entries: { count: number; messages: number; app_id: string }[] = (
      await get(`/admin/activity?action=${action}`)
    ).data;
    const ofThisApp = entries.filter((entry) => entry.app_id === app_id);
    const sum = (field: 'count' | 'messages') => ofThisApp.reduce((total, entry) => total + entry[field], 0);
    assert.deepEqual([sum('count'), sum('messages')], [gone.length, 2 * gone.length]);
    const feed = await get(
      `/admin/changes?limit=1000&include=none&app_id=${app_id}&after=${encodeURIComponent(cursor)}`,
    );
    const listed = feed.data.filter((entry: { gone: boolean }) => entry.gone).map(({ id }: { id: string }) => id);
    assert.deepEqual(listed.sort(), [...gone].sort());
    const tombstones = await service.store.erasure.findTombstones([...sent]);
    assert.deepEqual(tombstones.map(({ conversation_id }) => conversation_id).sort(), [...gone].sort());
    // Totals of users follow within a moment: a list spends limited time on counting.
    await untilEqual(async () => {
      const [totals] = (await get(`/admin/users?app_id=${app_id}&q=${user}`)).data;
      return [totals?.conversations ?? 0, totals?.messages ?? 0];
    }, [left.length, 2 * left.length]);
    await service.index();
    const reindex = async () => {
      await service.store.search.reset('other rules');
      await service.index();
    };
    assert.deepEqual(await indexDifferences(engine, url, reindex), []);
    return left.length;
  };
  return { service, url, cwd: await newFolder(t), app_id, admin, chats, untilSomeAreErased, check };
}

type Erasing = Awaited<ReturnType<typeof newErasure>>;
type Victim = {
  action: 'purge' | 'retain';
  run: (t: TestContext, erasing: Erasing, env: Settings) => Promise<Running>;
};
/** `code` is null if it was killed. */
type Running = { kill: () => Promise<number | null> };

const runCommand = async (args: string[], { cwd }: Erasing, env: Settings): Promise<Running> => {
  const child = start(args, { cwd, env });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  return {
    kill: () => {
      child.kill('SIGKILL');
      return ended;
    },
  };
};

const victims: Record<string, Victim> = {
  'a service that purges': {
    action: 'purge',
    run: async (t, { cwd, app_id, admin }, env) => {
      const service = await serve(t, { cwd, env });
      const sent = sendRequest(service.base, '/admin/purge', admin, { method: 'POST', json: { app_id, user } });
      const outcome = sent.then(
        ({ status }) => status,
        () => null,
      );
      return {
        kill: async () => {
          await service.end('SIGKILL');
          return outcome;
        },
      };
    },
  },
  'backscroll purge': {
    action: 'purge',
    run: (_, erasing, env) => runCommand(['purge', '--app', erasing.app_id, '--user', user, '--yes'], erasing, env),
  },
  // The next one waits until the lease of a killed one has ended.
  'backscroll retain': { action: 'retain', run: (_, erasing, env) => runCommand(['retain'], erasing, env) },
};

onOneEngine('kill -9 during an erasure', (engine) => {
  for (const [name, { action, run }] of firstOrAll(Object.entries(victims)))
    it(`${name}: nothing is half done, and the next one goes on`, async (t) => {
      const killsMin = shortOrLong(1, 6);
      let kills = 0;
      // On a busy machine one may have finished before it is killed: that is no kill in the middle.
      for (let attempts = 0; kills < killsMin && attempts < 10 * killsMin; attempts += 1) {
        const erasing = await newErasure(t, engine);
        const { service, url, cwd, app_id, admin, chats, check } = erasing;
        const env = { DATABASE_URL: url };
        const victim = await run(t, erasing, env);
        await erasing.untilSomeAreErased();
        // A later kill may come while the file is rebuilt.
        await sleep(shortOrLong(0, randomInt(150)));
        const outcome = await victim.kill();
        const left = await check(action);
        t.diagnostic(`killed with ${left} of ${chats.length} conversations left, outcome ${outcome}`);
        if (outcome === null && left < chats.length) kills += 1;

        if (action === 'retain') {
          const next = start(['retain'], { cwd, env });
          assert.equal(await new Promise((resolve) => next.once('exit', resolve)), 0);
        } else {
          const next = await service.as(admin).post('/admin/purge', { app_id, user });
          assert.deepEqual([next.status, next.body.conversations], [200, left]);
        }
        assert.equal(await check(action), 0);
        assert.deepEqual(await findText(url, marker), []);
      }
      assert.equal(kills, killsMin);
    });
});
