import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { after, before, it } from 'node:test';
import pg from 'pg';
import { KeyUses } from '../../src/domain/keys/key-uses.ts';
import { firstEntryId } from '../../src/domain/store/audit.ts';
import type { Store } from '../../src/domain/store/store.ts';
import { call, newFolder, newScope, type Settings, sendRequest, serve } from '../support/cli-helpers.ts';
import {
  type Engine,
  makeTwoTenants,
  message,
  ndjson,
  newMigratedUrl,
  onOneEngine,
  parseLines,
  pluck,
  startService,
} from '../support/harness.ts';
import { until } from '../support/until.ts';

type Written = { key_id: string | null; action: string; record: string; count: number; ids: string[] };
type Entry = Written & { at: number; key_name: string | null; names: (string | null)[]; cleaned_at?: number | null };

/** Starts a service on a database with the test records; commands run on the same database. */
async function startInstallation(engine: Engine) {
  const scope = newScope();
  const cwd = await newFolder(scope);
  const { url, remove } = await newMigratedUrl(engine);
  scope.after(remove);
  const env: Settings = { DATABASE_URL: url };
  const world = makeTwoTenants();
  const command = async (...args: string[]) => {
    const { code, stdout, stderr } = await call(args, { cwd, env });
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const { code, stderr } = await call(['import', '-'], { cwd, env, stdin: ndjson(world.records) });
  assert.equal(code, 0, stderr);
  const service = await startService(engine, {}, url);
  scope.after(service.close);
  return {
    ...world,
    cwd,
    env,
    command,
    send: (path: string, key: string, request?: Parameters<typeof sendRequest>[3]) =>
      sendRequest(service.base, path, key, request),
    audit: async (...args: string[]): Promise<Entry[]> => parseLines(await command('audit', '--json', ...args)),
    /** Starts a process of its own, which does what a service does at its start and at its end. */
    serveAlone: (more: Settings = {}) => serve(scope, { cwd, env: { ...env, ...more } }),
    end: scope.end,
  };
}

/** Runs SQL directly in the database. */
async function executeSql(engine: Engine, url: string, sql: string): Promise<void> {
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

const startedAt = Math.floor(Date.now() / 1000);
const isDuringTests = (second: number): boolean => startedAt <= second && second <= Date.now() / 1000;

it('key uses are stored in batches; a failed batch is part of the next', async () => {
  const batches: [string, number][][] = [];
  let isUnavailable = false;
  const run = async (_name: 'noteKeyUse', uses: [string, number][]) => {
    if (isUnavailable) throw new Error('unavailable');
    batches.push(uses);
  };
  const store = { run } as unknown as Store;
  const uses = new KeyUses();
  for (const second of [1, 2, 3]) uses.add('one', second);
  uses.add('other', 3);
  await uses.save(store);
  isUnavailable = true;
  uses.add('one', 4);
  await assert.rejects(uses.save(store), /unavailable/);
  isUnavailable = false;
  uses.add('other', 5);
  await uses.save(store);
  await uses.save(store);
  const expected = [
    { one: 3, other: 3 },
    { one: 4, other: 5 },
  ];
  assert.deepEqual(
    batches.map((uses) => Object.fromEntries(uses)),
    expected,
  );
});

onOneEngine('the audit log', (engine) => {
  let installation: Awaited<ReturnType<typeof startInstallation>>;
  before(async () => {
    installation = await startInstallation(engine);
  });
  after(async () => installation?.end());

  const newest = async (): Promise<Written | undefined> => {
    const [entry] = await installation.audit('--limit', '1');
    if (entry === undefined) return undefined;
    const { at, key_name: _, names: __, ...rest } = entry;
    assert.ok(isDuringTests(at));
    return rest;
  };

  it('has an entry for each kind of record of the first import, with the command line as its author', async () => {
    const entries = await installation.audit();
    const kinds = new Map(entries.map((entry) => [entry.record, entry]));
    assert.equal(kinds.size, entries.length);
    assert.deepEqual([kinds.get('workspace')?.count, kinds.get('api_key')?.count], [2, 9]);
    assert.deepEqual(kinds.get('workspace')?.ids, [installation.one.ids.workspace, installation.other.ids.workspace]);
    for (const { key_id, action } of entries) assert.deepEqual([key_id, action], [null, 'import']);
  });

  it('has an entry for an edit with its key and its chunk, and none if nothing was written', async () => {
    const { one, other, send } = installation;
    const patch = (path: string, content: string, headers = {}) =>
      send(path, one.keys.knowledge, { method: 'PATCH', json: { content }, ...headers });
    assert.equal((await patch(one.chunkPath, 'a text that is not logged')).status, 200);
    const entry = {
      ...{ key_id: one.keyIds.knowledge, action: 'update' },
      ...{ record: 'child_chunk', count: 1, ids: [one.ids.chunk] },
    };
    assert.deepEqual(await newest(), entry);
    const before = await installation.audit();
    assert.equal((await patch(one.chunkPath, 'a text that is not logged')).status, 200);
    assert.equal((await patch(other.chunkPath, 'not accessible')).status, 404);
    assert.equal((await patch(one.chunkPath, ' ')).status, 400);
    assert.deepEqual(await installation.audit(), before);
  });

  it('has entries for records over HTTP with the key of the writer or admin, and none for rejected ones', async () => {
    const { one, admin, send } = installation;
    const first = message(one.ids.conversation, 5);
    const post = (key: string, records: object[]) =>
      send('/admin/records', key, { method: 'POST', lines: ndjson(records) });
    assert.equal((await post(one.keys.writer, [first])).status, 200);
    const ids = [`${one.ids.conversation}/${first.id}`];
    const entry = { key_id: one.keyIds.writer, action: 'import', record: 'message', count: 1, ids };
    assert.deepEqual(await newest(), entry);
    const before = await installation.audit();
    assert.equal((await post(one.keys.writer, [message(randomUUID(), 5)])).status, 400);
    assert.deepEqual(await installation.audit(), before);
    assert.equal((await post(admin, [{ record: 'workspace', id: randomUUID(), name: 'w' }])).status, 200);
    const listed = (await installation.command('keys', 'list', '--json')).split('\n').filter(Boolean);
    const adminId = listed.map((line) => JSON.parse(line)).find(({ kind }) => kind === 'admin').id;
    assert.equal((await newest())?.key_id, adminId);
  });

  it('names the first hundred records of an import and counts all of them', async () => {
    const { one, send } = installation;
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

  it('names the key that a record without an id refers to', async () => {
    const { admin, send, one } = installation;
    const lines = ndjson([
      {
        ...{ record: 'api_key', kind: 'app', workspace_id: one.ids.workspace, app_id: one.ids.app },
        ...{ name: 'renamed', secret: one.keys.app },
      },
    ]);
    assert.equal((await send('/admin/records', admin, { method: 'POST', lines })).status, 200);
    assert.deepEqual((await newest())?.ids, [one.keyIds.app]);
  });

  it('has entries for created and revoked keys', async () => {
    const { id } = JSON.parse(await installation.command('keys', 'create', '--kind', 'admin', '--json'));
    const entry = { key_id: null, action: 'create', record: 'api_key', count: 1, ids: [id] };
    assert.deepEqual(await newest(), entry);
    await installation.command('keys', 'revoke', id);
    assert.deepEqual(await newest(), { ...entry, action: 'revoke' });
  });

  it('has an entry for a purge with the conversations and the number of messages, but without the user', async () => {
    const { other, command, send } = installation;
    const lines = ndjson([message(other.ids.conversation, 1), message(other.ids.conversation, 2)]);
    assert.equal((await send('/admin/records', other.keys.writer, { method: 'POST', lines })).status, 200);
    await command('purge', '--app', other.ids.app, '--user', 'ann', '--yes');
    const [entry] = await installation.audit('--limit', '1');
    // Only the embedded engine has files to clean.
    const isClean = entry?.cleaned_at === null || Number(entry?.cleaned_at) >= Number(entry?.at);
    assert.ok(isClean);
    assert.deepEqual(
      { ...entry, at: 0, cleaned_at: null },
      {
        ...{ at: 0, cleaned_at: null, key_id: null, key_name: null, action: 'purge', record: 'conversation', count: 1 },
        ...{ app_id: other.ids.app, app_name: 'app', messages: 2, ids: [other.ids.conversation], names: [null] },
      },
    );
    const before = await installation.audit();
    await command('purge', '--app', other.ids.app, '--user', 'ann', '--yes');
    assert.deepEqual(await installation.audit(), before);
  });

  it('can be filtered by key, record and time, and read in pages', async () => {
    const { one, send } = installation;
    const byKey = await installation.audit('--key', one.keyIds.writer);
    assert.ok(byKey.length >= 2 && byKey.every(({ key_id }) => key_id === one.keyIds.writer));
    const byRecord = await installation.audit('--id', one.ids.chunk.toUpperCase());
    assert.ok(byRecord.length === 2 && byRecord.every(({ ids }) => ids.includes(one.ids.chunk)));
    assert.ok((await installation.audit('--id', one.ids.conversation)).some(({ record }) => record === 'message'));
    assert.deepEqual(await installation.audit('--id', '%'), []);
    assert.deepEqual(await installation.audit('--since', '1h'), await installation.audit());
    const edits = Array.from({ length: 60 }, (_, n) => n);
    for (const n of edits)
      await send(one.chunkPath, one.keys.knowledge, { method: 'PATCH', json: { content: `edit ${n}` } });
    const some = await installation.audit('--limit', '40', '--key', one.keyIds.knowledge);
    assert.equal(some.length, 40);
    const all = await installation.audit('--limit', '100000');
    assert.ok(all.length > 60);
    assert.deepEqual(
      pluck(all, 'at'),
      all.map(({ at }) => at).toSorted((one, other) => other - one),
    );
  });

  it('never contains texts or secrets, and is not exported', async () => {
    const { one, admin, send, command } = installation;
    const output = (await command('audit', '--json', '--limit', '100000')) + (await command('audit'));
    for (const text of ['is not logged', 'chunk text', 'edit 1', 'ann', admin, ...Object.values(one.keys)])
      assert.ok(!output.includes(text), text);
    const { text: exported } = await send('/admin/records', admin);
    assert.ok(!exported.includes('audit') && !exported.includes('last_used_at'));
  });

  it('escapes control characters for the terminal', async () => {
    const { one, admin, send, command } = installation;
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
    const output = await command('audit', '--limit', '1');
    assert.ok(output.includes('/\\u001b[2Jgone)') && !output.includes('\u001b'));
  });

  it('prints a readable table', async () => {
    const lines = (await installation.command('audit', '--limit', '500')).trimEnd().split('\n');
    assert.match(lines[0] ?? '', /^time +key +action +records$/);
    assert.ok(
      lines.some((line) => /Z {2}command line +purge +1 conversation with 2 message of .+: [0-9a-f-]{36}$/.test(line)),
    );
    assert.ok(lines.some((line) => /import +250 message: .+ \(\S+\) .+ \(\S+\) .+ \(\S+\) and 247 more$/.test(line)));
  });

  it('prints the current names of keys and records', async () => {
    const { one, audit, command } = installation;
    const [entry] = await audit('--key', one.keyIds.knowledge, '--limit', '1');
    assert.deepEqual([entry?.key_name, entry?.names], ['knowledge', ['document, segment 1, chunk 1']]);
    const line = (await command('audit', '--key', one.keyIds.knowledge, '--limit', '1')).trimEnd().split('\n')[1] ?? '';
    const chunk = `1 child_chunk: document, segment 1, chunk 1 (${one.ids.chunk})`;
    assert.ok(line.includes(`knowledge (${one.keyIds.knowledge})  update`) && line.endsWith(chunk), line);
  });

  it('finds an entry behind very many others that do not match', async () => {
    const id = (at: string) => `'${firstEntryId(Date.now() - 86_400_000)}' || ${at} || '-x'`;
    const numbers = 'WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < 45000)';
    await executeSql(
      engine,
      installation.env.DATABASE_URL ?? '',
      `${numbers} INSERT INTO audit_entries (id, scope, at, key_id, action, record, count, ids)
       SELECT ${id('(i + 100000)')}, 'd', 1, 'many', 'import', 'app', 1, CASE WHEN i = 2 THEN '["needle"]' ELSE '[]' END
       FROM numbers`,
    );
    const entries = await installation.audit('--id', 'needle', '--limit', '1');
    assert.deepEqual([entries.length, entries[0]?.ids], [1, ['needle']]);
    await executeSql(engine, installation.env.DATABASE_URL ?? '', `DELETE FROM audit_entries WHERE key_id = 'many'`);
  });

  it('stores when a key was last used, and at a start deletes only entries older than AUDIT_DAYS', async () => {
    const { one, admin, command, serveAlone } = installation;
    const lastUses = async (): Promise<Record<string, number | null>> =>
      Object.fromEntries(
        parseLines(await command('keys', 'list', '--json')).map(({ id, last_used_at }) => [id, last_used_at]),
      );
    for (const days of [40, 31, 29]) {
      await executeSql(
        engine,
        installation.env.DATABASE_URL ?? '',
        `
        INSERT INTO audit_entries (id, scope, at, key_id, action, record, count, ids)
        VALUES ('${firstEntryId(Date.now() - days * 86_400_000)}', 'd', 1, 'days', 'import', 'app', ${days}, '[]')`,
      );
    }
    const days = async () => (await installation.audit('--key', 'days')).map(({ count }) => count);
    const others = (await installation.audit('--limit', '100000')).length - 3;

    const first = await serveAlone();
    assert.equal((await lastUses())[one.keyIds.app], null);
    const page = `/v1/messages?conversation_id=${one.ids.conversation}`;
    assert.equal((await sendRequest(first.base, page, one.keys.app)).status, 200);
    await first.end('SIGTERM');
    const now = await lastUses();
    assert.ok(isDuringTests(now[one.keyIds.app] ?? 0));
    assert.deepEqual(await days(), [29, 31, 40]);

    const second = await serveAlone({ AUDIT_DAYS: '30' });
    await until(async () => (await days()).length <= 1);
    assert.deepEqual(await days(), [29]);
    assert.equal((await installation.audit('--limit', '100000')).length, others + 1);
    // Importing the key again keeps the time.
    const lines = ndjson(one.records);
    assert.equal((await sendRequest(second.base, '/admin/records', admin, { method: 'POST', lines })).status, 200);
    assert.equal((await lastUses())[one.keyIds.app], now[one.keyIds.app]);
  });
});
