import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import {
  makeTwoTenants,
  message,
  newDatabaseUrl,
  type Service,
  startService,
} from '../../server/test/support/harness.ts';
import { Aborted, Backscroll, type ChangePage, type ChangesQuery, CursorGone, type Fetch } from '../src/index.ts';

const { one, admin, records } = makeTwoTenants();
const openapi = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'));
const path = {
  dataset_id: one.ids.dataset,
  document_id: one.ids.document,
  segment_id: one.ids.segment,
  child_chunk_id: one.ids.chunk,
};

/** Announces each request that the service may hold, and each response. */
function watch() {
  const events = new EventTarget();
  const queries: URLSearchParams[] = [];
  const watched: Fetch = async (url, init) => {
    const query = new URL(url).searchParams;
    queries.push(query);
    const response = fetch(url, init);
    if (query.get('wait') !== '0') events.dispatchEvent(new Event('waiting'));
    return response;
  };
  return { fetch: watched, queries, waiting: () => once(events, 'waiting') };
}

describe('changes', () => {
  let service: Service;
  let database: Awaited<ReturnType<typeof newDatabaseUrl>>;
  before(async () => {
    database = await newDatabaseUrl('sqlite');
    service = await startService('sqlite', {}, database.url);
    await service.load([...records, message(one.ids.conversation, 1)]);
  });
  after(async () => {
    await service.close();
    await database.remove();
  });

  const withKey = (key: string, more: object = {}) => new Backscroll({ baseUrl: `${service.base}/v1`, key, ...more });
  const feed = (more?: object) => withKey(one.keys.feed, more);
  const edit = (content: string = randomUUID()) => withKey(one.keys.knowledge).updateChildChunk({ ...path, content });
  const readAll = async (query: ChangesQuery) => {
    const pages: ChangePage[] = [];
    for await (const page of feed().changePages({ ...query, wait: 0 })) pages.push(page);
    return { pages, changes: pages.flatMap(({ data }) => data), cursor: pages.at(-1)?.cursor };
  };
  const now = async () => (await readAll({ after: 'now' })).cursor as string;

  it('returns all records, then each change as it comes', async () => {
    const { waiting, fetch } = watch();
    const isWaiting = waiting();
    const loop = feed({ fetch }).changes({ kinds: ['document', 'child_chunk'], limit: 1 });
    const [document, chunk] = [(await loop.next()).value, (await loop.next()).value];
    assert.deepEqual([document?.kind, document?.id], ['document', one.ids.document]);
    // The kind decides the type of the record: a document has no text.
    assert.ok(chunk?.kind === 'child_chunk');
    assert.deepEqual([chunk.id, chunk.record?.content], [one.ids.chunk, 'chunk text']);
    const next = loop.next();
    await isWaiting;
    await edit('edited');
    const { value: edited } = await next;
    assert.ok(edited?.kind === 'child_chunk');
    assert.deepEqual([edited.id, edited.gone, edited.record?.content], [one.ids.chunk, false, 'edited']);
    await loop.return();
  });

  it('returns records with all fields of their type, by kind', async () => {
    for await (const { record } of feed().changes({ kinds: ['message'], wait: 0 }))
      assert.deepEqual([record?.query, record?.total_tokens], ['q', 0]);
    const schemas: { kind: string; schema: { properties: object }; example: object }[] = openapi['x-records'];
    const provider = schemas.find(({ kind }) => kind === 'model_provider')?.example;
    await service.load([{ ...provider, workspace_id: one.ids.workspace }]);
    const { changes } = await readAll({});
    assert.equal(new Set(changes.map(({ kind }) => kind)).size, 9);
    for (const { kind, record } of changes) {
      const { schema } = schemas.find((one) => one.kind === kind) ?? assert.fail(kind);
      assert.deepEqual(Object.keys(record ?? {}).sort(), Object.keys(schema.properties).sort(), kind);
    }
  });

  it('continues after the cursor of any change, with any limit', async () => {
    const { changes } = await readAll({});
    const ids = changes.map(({ id }) => id);
    assert.ok(ids.length > 5);
    for (const limit of [1, 2, 1000])
      assert.deepEqual(
        (await readAll({ limit })).changes.map(({ id }) => id),
        ids,
      );
    for (const [at, { cursor }] of changes.entries()) {
      const rest = (await readAll({ after: cursor })).changes.map(({ id }) => id);
      assert.deepEqual(rest, ids.slice(at + 1));
    }
  });

  it('returns a deletion', async () => {
    const { child_chunk_id: _, ...segment } = path;
    const knowledge = withKey(one.keys.knowledge);
    const { id } = await knowledge.createChildChunk({ ...segment, content: 'new' });
    const cursor = await now();
    await knowledge.deleteChildChunk({ ...segment, child_chunk_id: id });
    const { changes } = await readAll({ after: cursor });
    assert.deepEqual(
      changes.map((change) => [change.id, change.gone, change.record, change.path.dataset_id]),
      [[id, true, null, path.dataset_id]],
    );
  });

  it('returns empty pages with a cursor behind the changes of other kinds', async () => {
    const start = await now();
    await edit();
    const { pages, cursor } = await readAll({ after: start, kinds: ['message'] });
    assert.deepEqual(
      pages.map(({ data, has_more }) => [data, has_more]),
      [[[], false]],
    );
    assert.notEqual(cursor, start);
    assert.deepEqual((await readAll({ after: cursor })).changes, []);
    assert.equal((await readAll({ after: start })).changes.length, 1);
    const { waiting, fetch, queries } = watch();
    const isWaiting = waiting();
    const loop = feed({ fetch }).changePages({ after: cursor, kinds: ['message'], wait: 1 });
    assert.equal((await loop.next()).value?.cursor, cursor);
    const page = loop.next();
    await isWaiting;
    await edit();
    const held = (await page).value;
    assert.deepEqual([held?.data, held?.has_more], [[], false]);
    await loop.return();
    assert.deepEqual(
      queries.map((query) => query.get('wait')),
      ['0', '1'],
    );
  });

  it('continues after the service was restarted', async () => {
    const port = String(service.port);
    const cursor = await now();
    const { waiting, fetch, queries } = watch();
    const isWaiting = waiting();
    // The call retries without end, whatever the client's own limit is.
    const loop = feed({ fetch, retries: 0 }).changes({ after: cursor, wait: 60, kinds: ['child_chunk'] });
    const next = loop.next();
    await isWaiting;
    const failed = waiting();
    await service.close();
    await failed;
    service = await startService('sqlite', { PORT: port }, database.url);
    const content = randomUUID();
    await edit(content);
    const { value } = await next;
    assert.equal(value?.record?.content, content);
    assert.ok(queries.every((query) => query.get('after') === cursor));
    const again = loop.next();
    await edit('after the restart');
    assert.equal((await again).value?.record?.content, 'after the restart');
    await loop.return();
  });

  it('retries temporary failures, not before Retry-After, also if that is longer than maxWait', async () => {
    const start = await now();
    await edit();
    const times: number[] = [];
    const failures = [503, 429, 502, 'lost'] as const;
    const failing: Fetch = async (url, init) => {
      const failure = failures[times.push(performance.now()) - 1];
      if (failure === 'lost') throw new TypeError('the connection was lost');
      if (failure === undefined) return fetch(url, init);
      const code = failure === 429 ? 'too_many_requests' : 'service_unavailable';
      const body = { status: failure, code, message: 'it was busy' };
      return Response.json(body, { status: failure, headers: failure === 503 ? { 'retry-after': '1' } : {} });
    };
    const loop = feed({ fetch: failing, retries: 0, maxWait: 10 }).changes({ after: start });
    assert.equal((await loop.next()).value?.id, one.ids.chunk);
    await loop.return();
    assert.equal(times.length, failures.length + 1);
    assert.ok((times[1] ?? 0) - (times[0] ?? 0) >= 1000);
    times.length = 0;
    const limited = feed({ fetch: failing }).changes({ after: start }, { retries: 1 });
    await assert.rejects(limited.next(), { name: 'TooManyRequests' });
  });

  it('CursorGone: a cursor of other data', async () => {
    const [epoch, position] = (await now()).split('.');
    for (const gone of [`x${epoch}.0`, `${epoch}.${Number(position) + 1}`]) {
      await assert.rejects(feed().changes({ after: gone }).next(), (error) => {
        assert.ok(error instanceof CursorGone);
        assert.deepEqual([error.status, error.code], [410, 'cursor_gone']);
        return true;
      });
    }
    const loop = feed().changes({ limit: 1 });
    await loop.next();
    // As after a restore, while the loop runs.
    await service.store.changes.startEpoch();
    await assert.rejects(loop.next(), CursorGone);
  });

  it('InvalidParam, Unauthorized: thrown when the loop begins', async () => {
    await assert.rejects(feed().changes({ after: 'x' }).next(), { name: 'InvalidParam' });
    await assert.rejects(feed().changes({ limit: 0 }).next(), { name: 'InvalidParam' });
    await assert.rejects(withKey(one.keys.app).changes().next(), { name: 'Unauthorized' });
    assert.ok((await withKey(admin).changes().next()).value);
  });

  it('Aborted: while it waits, before a retry, between two changes', async () => {
    const cursor = await now();
    const waits = watch();
    const isWaiting = waits.waiting();
    const abort = new AbortController();
    const next = feed(waits).changes({ after: cursor }, { signal: abort.signal }).next();
    await isWaiting;
    const reason = new Error('enough');
    abort.abort(reason);
    await assert.rejects(next, (error) => error instanceof Aborted && error.cause === reason);

    const beforeRetry = new AbortController();
    const busy: Fetch = async () => {
      queueMicrotask(() => setImmediate(() => beforeRetry.abort()));
      return Response.json({}, { status: 503, headers: { 'retry-after': '3600' } });
    };
    await assert.rejects(feed({ fetch: busy }).changes({}, { signal: beforeRetry.signal }).next(), Aborted);

    const between = new AbortController();
    const seen: string[] = [];
    await assert.rejects(async () => {
      for await (const { id } of feed().changes({}, { signal: between.signal })) {
        seen.push(id);
        if (seen.length === 2) between.abort();
      }
    }, Aborted);
    assert.equal(seen.length, 2);
  });
});
