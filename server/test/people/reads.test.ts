import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, it } from 'node:test';
import { pino } from 'pino';
import { makeSecret } from '../../src/domain/secret.ts';
import { trimRegularly } from '../../src/service/maintenance.ts';
import {
  itOnOneEngine,
  makeTwoTenants,
  message,
  newMigratedUrl,
  onEveryEngine,
  parseLines,
  startService,
  useService,
} from '../support/harness.ts';
import { until, untilEqual } from '../support/until.ts';

type Read = Record<string, string | null>;

onEveryEngine('the audit of reads', (engine) => {
  const { one, admin, records } = makeTwoTenants();
  const { app, conversation } = one.ids;
  let adminId: string;
  const service = useService(engine, records);
  before(async () => {
    await service.index();
    adminId = (await service.store.listKeys()).find(({ kind }) => kind === 'admin')?.id ?? '';
  });

  const get = (path: string, key = admin, on = service) => on.as(key).get(path);
  const list = async (query = '', on = service): Promise<Read[]> =>
    (await on.as(admin).get(`/admin/reads${query}`)).body.data;
  const untilNoted = (count: number, query = '') =>
    until(
      async () => (await list(query)).length === count,
      () => `${count} reads of ${query}`,
    );
  const transcript = `/admin/apps/${app}/conversations/${conversation}/messages`;

  it('a transcript, a user page, a search, a copy: one entry for each object in an hour, with the author', async () => {
    assert.deepEqual(await list(), []);
    for (const path of [
      ...[
        transcript,
        `${transcript}?limit=1`,
        `/admin/conversations?user=ann`,
        '/admin/search?q=hello',
        '/admin/records',
      ],
      ...[`/admin/messages.csv?app_id=${app}&user=ann`, '/admin/changes', '/admin/evals.jsonl'],
      // Not what an end user said, or not shown.
      ...[
        '/admin/conversations',
        '/admin/users',
        '/admin/search?in=knowledge&q=hello',
        '/admin/search',
        '/admin/overview',
      ],
      ...[`/admin/apps/${app}/conversations/${randomUUID()}/messages`, '/admin/conversations?user=ann&limit=0'],
    ])
      await get(path);
    await untilNoted(7);
    const byOperation = new Map((await list()).map((read) => [read.operation, read]));
    const none = { app_id: null, app_name: null, conversation_id: null, user: null, words: null };
    const { id: _, at, ...opened } = byOperation.get('getTranscript') ?? {};
    assert.ok(Math.abs(Number(at) - Date.now() / 1000) < 60);
    const author = { key_id: adminId, key_name: 'admin', person_id: null, person_name: null };
    assert.deepEqual(opened, {
      ...author,
      ...{
        operation: 'getTranscript',
        app_id: app,
        app_name: 'app',
        conversation_id: conversation,
        user: 'ann',
        words: null,
      },
    });
    const part = (operation: string) => {
      const { app_id, app_name, conversation_id, user, words } = byOperation.get(operation) ?? {};
      return { app_id, app_name, conversation_id, user, words };
    };
    assert.deepEqual(part('listAllConversations'), { ...none, user: 'ann' });
    assert.deepEqual(part('search'), { ...none, words: 'hello' });
    assert.deepEqual(part('exportRecords'), none);
    assert.deepEqual(part('exportMessages'), { ...none, app_id: app, app_name: 'app', user: 'ann' });
    assert.deepEqual(part('listChanges'), none);
    assert.deepEqual(part('exportEvals'), none);
  });

  it('200: filters, pages, and the reads of a user', async () => {
    assert.equal((await list(`?key_id=${adminId}`)).length, 7);
    assert.equal((await list(`?key_id=${randomUUID()}`)).length, 0);
    assert.deepEqual((await list('?user=ann')).map(({ operation }) => operation).sort(), [
      ...['exportMessages', 'getTranscript', 'listAllConversations'],
    ]);
    assert.equal((await list(`?conversation_id=${conversation.toUpperCase()}`)).length, 1);
    assert.equal((await list(`?app_id=${app}`)).length, 2);
    const first = await get('/admin/reads?limit=4');
    assert.equal(first.body.data.length, 4);
    assert.equal((await list(`?limit=4&cursor=${first.body.next_cursor}`)).length, 3);
  });

  it('200: the copy for a user has who has read it, if asked; it is no import', async () => {
    const expected = await list('?user=ann');
    const { status, text } = await get('/admin/records?user=ann&reads=1');
    assert.equal(status, 200, text);
    const lines: object[] = parseLines(text);
    assert.deepEqual(
      lines.flatMap((line) => ('read' in line ? [line.read] : [])),
      expected,
    );
    assert.deepEqual(
      lines.slice(-expected.length).map(Object.keys),
      expected.map(() => ['read']),
    );
    assert.equal((await get('/admin/records?reads=1')).status, 400);
    const headers = { 'content-type': 'application/x-ndjson' };
    assert.equal((await service.as(admin).post('/admin/records', text, headers)).status, 400);
  });

  it('what belongs to a transcript is noted as the transcript, once', async () => {
    const details = `/admin/apps/${app}/conversations/${conversation}/details?message_id=${randomUUID()}`;
    assert.equal((await get(details)).status, 200);
    await get(`${transcript}?limit=2`);
    await get('/admin/search?q=later');
    await until(async () => (await list()).some(({ words }) => words === 'later'));
    assert.equal((await list(`?conversation_id=${conversation}`)).length, 1);
  });

  it('another hour is another entry', async () => {
    service.advanceClock(3_600);
    await get(transcript);
    await untilNoted(2, `?conversation_id=${conversation}`);
  });

  it('a tool of an agent is noted as what it does', async () => {
    const key = makeSecret('admin');
    const id = randomUUID();
    await service.load([{ record: 'api_key', id, kind: 'admin', name: 'agent', secret: key, role: 'viewer' }]);
    const call = (name: string, args: object) =>
      service
        .as(key)
        .post(
          '/mcp',
          { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } },
          { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' },
        );
    await call('get_messages', { conversation_id: conversation });
    await call('list_datasets', {});
    await untilNoted(1, `?key_id=${id}`);
    assert.partialDeepStrictEqual((await list(`?key_id=${id}`))[0], {
      operation: 'getTranscript',
      user: 'ann',
      app_id: app,
    });
  });

  it('403: only admins see it', async () => {
    const key = makeSecret('admin');
    await service.load([{ record: 'api_key', kind: 'admin', name: 'editor', secret: key, role: 'editor' }]);
    assert.equal((await get('/admin/reads', key)).status, 403);
  });

  it('a purge blanks the name, and words that have it; the fact stays', async () => {
    const id = randomUUID();
    await service.load([{ record: 'conversation', id, app_id: app, user: 'Ian' }, message(id, 1)]);
    await get(`/admin/apps/${app}/conversations/${id}/messages`);
    await get('/admin/conversations?user=Ian');
    await get('/admin/search?q=refund%20of%20IAN');
    await untilNoted(2, '?user=Ian');
    const before = (await list('?limit=100')).length;
    const purge = { app_id: app, user: 'Ian' };
    const { status } = await service.as(admin).post('/admin/purge', purge);
    assert.equal(status, 200);
    const reads = await list('?limit=100');
    assert.equal(reads.length, before);
    assert.ok(!JSON.stringify(reads).toLowerCase().includes('ian"'), 'neither as a user nor in words');
    assert.equal((await list(`?conversation_id=${id}`)).length, 1);
    await get(`/admin/apps/${app}/conversations/${id}/messages`);
  });

  it('a purge also blanks what was noted just before it, such as the copy for the user', async () => {
    const id = randomUUID();
    await service.load([{ record: 'conversation', id, app_id: app, user: 'Zoe' }, message(id, 1)]);
    const before = (await list('?limit=100')).length;
    await get('/admin/records?user=Zoe');
    await service.as(admin).post('/admin/purge', { app_id: app, user: 'Zoe' });
    await until(async () => (await list('?limit=100')).length > before);
    await until(async () => !JSON.stringify(await list('?limit=100')).includes('Zoe'));
  });

  it('old entries are deleted with those of the audit log', async () => {
    const logger = pino({ level: 'silent' });
    assert.ok((await list()).length > 0);
    // In this service, an hour has passed for the newest entries, but not for the database.
    const trimming = trimRegularly(-1, { store: service.store, logger });
    await untilEqual(async () => (await list()).length, 0);
    await trimming.end();
  });

  itOnOneEngine(engine, 'AUDIT_READS: off notes nothing, all also notes front ends', async () => {
    for (const [audit, operations] of [
      ['off', []],
      ['all', ['getConversationHistory', 'getTranscript']],
    ] as const) {
      const database = await newMigratedUrl(engine);
      const first = await startService(engine, { AUDIT_READS: audit }, database.url);
      await first.load(records);
      const page = `/v1/messages?conversation_id=${conversation}`;
      assert.equal((await first.as(one.keys.app).get(page)).status, 200);
      assert.equal((await first.as(admin).get(transcript)).status, 200);
      // What was noted is stored before the end.
      await first.close();
      const second = await startService(engine, {}, database.url);
      assert.deepEqual((await list('', second)).map(({ operation }) => operation).sort(), [...operations]);
      await second.close();
      await database.remove();
    }
  });
});
