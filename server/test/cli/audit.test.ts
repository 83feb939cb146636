import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { after, before, it } from 'node:test';
import pg from 'pg';
import { firstEntryId } from '../../src/domain/audit.ts';
import { LastUsed } from '../../src/domain/last-used.ts';
import type { Store } from '../../src/domain/store.ts';
import {
  newFolder,
  newScope,
  run,
  type ServerProcess,
  type Settings,
  sendRequest,
  serve,
} from '../support/cli-helpers.ts';
import { type Engine, makeTwoTenants, message, ndjson, newDatabaseUrl, onEveryEngine } from '../support/harness.ts';
import { until } from '../support/until.ts';

type Entry = { at: number; key_id: string | null; action: string; record: string; count: number; ids: string[] };

/** A service as a process, on a database that holds a world, with the command line beside it. */
async function startInstallation(engine: Engine) {
  const scope = newScope();
  const cwd = await newFolder(scope);
  const { url, remove } = await newDatabaseUrl(engine);
  scope.after(remove);
  const env: Settings = { DATABASE_URL: url };
  const world = makeTwoTenants();
  const command = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(args, { cwd, env });
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const { code, stderr } = await run(['import', '-'], { cwd, env, stdin: ndjson(world.records) });
  assert.equal(code, 0, stderr);
  let serving: ServerProcess = await serve(scope, { cwd, env });
  return {
    ...world,
    cwd,
    env,
    command,
    send: (path: string, key: string, request?: Parameters<typeof sendRequest>[3]) =>
      sendRequest(serving.base, path, key, request),
    audit: async (...args: string[]): Promise<Entry[]> =>
      (await command('audit', '--json', ...args))
        .trimEnd()
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line)),
    restart: async (more: Settings = {}) => {
      await serving.end('SIGTERM');
      serving = await serve(scope, { cwd, env: { ...env, ...more } });
    },
    end: scope.end,
  };
}

/** As somebody with access to the database itself would. */
async function inDatabase(engine: Engine, url: string, sql: string): Promise<void> {
  if (engine === 'sqlite') {
    const db = new DatabaseSync(url.replace('sqlite:', ''), { timeout: 5_000 });
    db.exec(sql);
    return db.close();
  }
  const client = new pg.Client(url);
  await client.connect();
  await client.query(sql);
  await client.end();
}

const began = Math.floor(Date.now() / 1000);
const isDuringTests = (second: number): boolean => began <= second && second <= Date.now() / 1000;

it('uses of keys are saved in batches; a batch that fails is part of the next', async () => {
  const batches: Map<string, number>[] = [];
  let isAway = false;
  const noteKeyUse = async (uses: Map<string, number>) => {
    if (isAway) throw new Error('away');
    batches.push(uses);
  };
  const store = { noteKeyUse } as unknown as Store;
  const uses = new LastUsed();
  for (const second of [1, 2, 3]) uses.add('one', second);
  uses.add('other', 3);
  await uses.save(store);
  isAway = true;
  uses.add('one', 4);
  await assert.rejects(uses.save(store), /away/);
  isAway = false;
  uses.add('other', 5);
  await uses.save(store);
  await uses.save(store);
  const expected = [
    { one: 3, other: 3 },
    { one: 4, other: 5 },
  ];
  assert.deepEqual(batches.map(Object.fromEntries), expected);
});

onEveryEngine('the audit', (engine) => {
  let it_: Awaited<ReturnType<typeof startInstallation>>;
  before(async () => {
    it_ = await startInstallation(engine);
  });
  after(async () => it_?.end());

  const newest = async (): Promise<Omit<Entry, 'at'> | undefined> => {
    const [entry] = await it_.audit('--limit', '1');
    if (entry === undefined) return undefined;
    const { at, ...rest } = entry;
    assert.ok(isDuringTests(at));
    return rest;
  };

  it('holds what the first import brought, by kind, with the command line as its author', async () => {
    const entries = await it_.audit();
    const kinds = new Map(entries.map((entry) => [entry.record, entry]));
    assert.equal(kinds.size, entries.length);
    assert.deepEqual([kinds.get('workspace')?.count, kinds.get('api_key')?.count], [2, 7]);
    assert.deepEqual(kinds.get('workspace')?.ids, [it_.one.ids.workspace, it_.other.ids.workspace]);
    for (const { key_id, action } of entries) assert.deepEqual([key_id, action], [null, 'import']);
  });

  it('holds an edit with its key and its chunk, and none where nothing was written', async () => {
    const { one, other, send } = it_;
    const patch = (path: string, content: string, headers = {}) =>
      send(path, one.keys.knowledge, { method: 'PATCH', json: { content }, ...headers });
    assert.equal((await patch(one.chunkPath, 'a text that stays out')).status, 200);
    const entry = {
      ...{ key_id: one.keyIds.knowledge, action: 'update' },
      ...{ record: 'child_chunk', count: 1, ids: [one.ids.chunk] },
    };
    assert.deepEqual(await newest(), entry);
    const before = await it_.audit();
    assert.equal((await patch(one.chunkPath, 'a text that stays out')).status, 200);
    assert.equal((await patch(other.chunkPath, 'not ours')).status, 404);
    assert.equal((await patch(one.chunkPath, ' ')).status, 400);
    assert.deepEqual(await it_.audit(), before);
  });

  it('holds records over HTTP with their key: a writer, an admin; refused ones leave nothing', async () => {
    const { one, admin, send } = it_;
    const first = message(one.ids.conversation, 5);
    const post = (key: string, records: object[]) =>
      send('/admin/records', key, { method: 'POST', lines: ndjson(records) });
    assert.equal((await post(one.keys.writer, [first])).status, 200);
    const ids = [`${one.ids.conversation}/${first.id}`];
    const entry = { key_id: one.keyIds.writer, action: 'import', record: 'message', count: 1, ids };
    assert.deepEqual(await newest(), entry);
    const before = await it_.audit();
    assert.equal((await post(one.keys.writer, [message(randomUUID(), 5)])).status, 400);
    assert.deepEqual(await it_.audit(), before);
    assert.equal((await post(admin, [{ record: 'workspace', id: randomUUID(), name: 'w' }])).status, 200);
    const listed = (await it_.command('keys', 'list', '--json')).split('\n').filter(Boolean);
    const adminId = listed.map((line) => JSON.parse(line)).find(({ kind }) => kind === 'admin').id;
    assert.equal((await newest())?.key_id, adminId);
  });

  it('names the first hundred records of an import, and counts them all', async () => {
    const { one, send } = it_;
    const records = Array.from({ length: 250 }, (_, at) => message(one.ids.conversation, 10 + at));
    const lines = ndjson(records);
    assert.equal((await send('/admin/records', one.keys.writer, { method: 'POST', lines })).status, 200);
    const entry = await newest();
    assert.deepEqual([entry?.record, entry?.count], ['message', 250]);
    assert.deepEqual(
      entry?.ids,
      records.slice(0, 100).map(({ id }) => `${one.ids.conversation}/${id}`),
    );
  });

  it('names the key that a record without an id means', async () => {
    const { admin, send, one } = it_;
    const lines = ndjson([
      {
        ...{ record: 'api_key', kind: 'app', workspace_id: one.ids.workspace, app_id: one.ids.app },
        ...{ name: 'renamed', secret: one.keys.app },
      },
    ]);
    assert.equal((await send('/admin/records', admin, { method: 'POST', lines })).status, 200);
    assert.deepEqual((await newest())?.ids, [one.keyIds.app]);
  });

  it('holds keys that are made and revoked', async () => {
    const { id } = JSON.parse(await it_.command('keys', 'create', '--kind', 'admin', '--json'));
    const entry = { key_id: null, action: 'create', record: 'api_key', count: 1, ids: [id] };
    assert.deepEqual(await newest(), entry);
    await it_.command('keys', 'revoke', id);
    assert.deepEqual(await newest(), { ...entry, action: 'revoke' });
  });

  it('holds an erasure: which conversations, how many messages, and not whose', async () => {
    const { other, command, send } = it_;
    const lines = ndjson([message(other.ids.conversation, 1), message(other.ids.conversation, 2)]);
    assert.equal((await send('/admin/records', other.keys.writer, { method: 'POST', lines })).status, 200);
    await command('purge', '--app', other.ids.app, '--user', 'ann', '--yes');
    const [messages, conversations] = await it_.audit('--limit', '2');
    const common = { key_id: null, action: 'purge' };
    assert.deepEqual(
      [messages, conversations].map((entry) => ({ ...entry, at: 0 })),
      [
        { at: 0, ...common, record: 'message', count: 2, ids: [] },
        { at: 0, ...common, record: 'conversation', count: 1, ids: [other.ids.conversation] },
      ],
    );
    const before = await it_.audit();
    await command('purge', '--app', other.ids.app, '--user', 'ann', '--yes');
    assert.deepEqual(await it_.audit(), before);
  });

  it('is read by key, by record and by time, and page by page', async () => {
    const { one, send } = it_;
    const byKey = await it_.audit('--key', one.keyIds.writer);
    assert.ok(byKey.length >= 2 && byKey.every(({ key_id }) => key_id === one.keyIds.writer));
    const byRecord = await it_.audit('--id', one.ids.chunk.toUpperCase());
    assert.ok(byRecord.length === 2 && byRecord.every(({ ids }) => ids.includes(one.ids.chunk)));
    assert.ok((await it_.audit('--id', one.ids.conversation)).some(({ record }) => record === 'message'));
    assert.deepEqual(await it_.audit('--id', '%'), []);
    assert.deepEqual(await it_.audit('--since', '1h'), await it_.audit());
    const edits = Array.from({ length: 60 }, (_, n) => n);
    for (const n of edits)
      await send(one.chunkPath, one.keys.knowledge, { method: 'PATCH', json: { content: `edit ${n}` } });
    const some = await it_.audit('--limit', '40', '--key', one.keyIds.knowledge);
    assert.equal(some.length, 40);
    const all = await it_.audit('--limit', '100000');
    assert.ok(all.length > 60);
    assert.deepEqual(
      all.map(({ at }) => at),
      all.map(({ at }) => at).toSorted((one, other) => other - one),
    );
  });

  it('never holds texts or secrets, and is no part of an export', async () => {
    const { one, admin, send, command } = it_;
    const shown = (await command('audit', '--json', '--limit', '100000')) + (await command('audit'));
    for (const hidden of ['stays out', 'chunk text', 'edit 1', 'ann', admin, ...Object.values(one.keys)])
      assert.ok(!shown.includes(hidden), hidden);
    const { text } = await send('/admin/records', admin);
    assert.ok(!text.includes('audit') && !text.includes('last_used_at'));
  });

  it('shows nothing that a terminal would obey', async () => {
    const { one, admin, send, command } = it_;
    const lines = ndjson([
      {
        ...{
          record: 'model_provider',
          workspace_id: one.ids.workspace,
          provider: '\u001b[2Jgone',
          label: { en_US: 'x' },
        },
        ...{ icon_small: { en_US: 'x' }, status: 'active', models: [] },
      },
    ]);
    const { status, text } = await send('/admin/records', admin, { method: 'POST', lines });
    assert.equal(status, 200, text);
    const shown = await command('audit', '--limit', '1');
    assert.ok(shown.includes('/\\u001b[2Jgone') && !shown.includes('\u001b'));
  });

  it('is a table for people', async () => {
    const lines = (await it_.command('audit', '--limit', '500')).trimEnd().split('\n');
    assert.match(lines[0] ?? '', /^time +key +action +records$/);
    assert.ok(lines.some((line) => /Z {2}command line +purge +1 conversation: [0-9a-f-]{36}$/.test(line)));
    assert.ok(lines.some((line) => /import +250 message: \S+ \S+ \S+ and 247 more$/.test(line)));
  });

  it('notes when a key was last used, also when the service stops', async () => {
    const { one, command, restart, send } = it_;
    await restart();
    const listed = async (): Promise<Record<string, number | null>> =>
      Object.fromEntries(
        (await command('keys', 'list', '--json'))
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line))
          .map(({ id, last_used_at }) => [id, last_used_at]),
      );
    const before = await listed();
    assert.equal(before[one.keyIds.app], null);
    assert.ok(isDuringTests(before[one.keyIds.writer] ?? 0));
    const page = `/v1/messages?conversation_id=${one.ids.conversation}`;
    assert.equal((await send(page, one.keys.app)).status, 200);
    await restart();
    const now = await listed();
    assert.ok(isDuringTests(now[one.keyIds.app] ?? 0));
    // A record that is written again does not forget it.
    const lines = ndjson(one.records);
    assert.equal((await send('/admin/records', it_.admin, { method: 'POST', lines })).status, 200);
    assert.equal((await listed())[one.keyIds.app], now[one.keyIds.app]);
  });

  it('forgets what is older than AUDIT_DAYS when the service starts, and nothing else', async () => {
    const daysAgo = (days: number) => Date.now() - days * 86_400_000;
    for (const days of [40, 31, 29]) {
      await inDatabase(
        engine,
        it_.env.DATABASE_URL ?? '',
        `
        INSERT INTO audit_entries (id, dataset_id, at, key_id, action, record, count, ids)
        VALUES ('${firstEntryId(daysAgo(days))}', 'd', 1, 'days', 'import', 'app', ${days}, '[]')`,
      );
    }
    const days = async () => (await it_.audit('--key', 'days')).map(({ count }) => count);
    assert.deepEqual(await days(), [29, 31, 40]);
    const others = (await it_.audit('--limit', '100000')).length - 3;
    await it_.restart();
    assert.deepEqual(await days(), [29, 31, 40]);
    await it_.restart({ AUDIT_DAYS: '30' });
    await until(async () => (await days()).length <= 1);
    assert.deepEqual(await days(), [29]);
    assert.equal((await it_.audit('--limit', '100000')).length, others + 1);
  });
});
