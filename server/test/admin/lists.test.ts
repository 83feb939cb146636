import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, it } from 'node:test';
import { personId } from '../../src/domain/author.ts';
import { makeSecret } from '../../src/domain/secret.ts';
import { itOnOneEngine, onEveryEngine, useService } from '../support/harness.ts';
import { provider } from '../support/isolation-fixture.ts';
import { operations } from '../support/isolation-matrix.ts';

// biome-ignore lint/suspicious/noExplicitAny: rows of any list
type Row = any;
type List = { path: string; rows: Row[] };

/** Compares by bytes, as both engines do. */
const compare = (one: string | number, other: string | number): number =>
  typeof one === 'number' ? one - (other as number) : Buffer.compare(Buffer.from(one), Buffer.from(String(other)));
const by =
  (...keys: ((row: Row) => string | number)[]) =>
  (one: Row, other: Row): number =>
    keys.map((key) => compare(key(one), key(other))).find((order) => order !== 0) ?? 0;
/** The order of lists by name: by the first 200 characters, then by id. */
const byName = by(
  ({ name }) =>
    Array.from(name as string)
      .slice(0, 200)
      .join(''),
  ({ id }) => id,
);
const byPosition = by(
  ({ position }) => position,
  ({ id }) => id,
);

const cat = '\u{1f408}';
/** Equal names, names that differ only in their bytes, and names that share their first 200 characters. */
const names = [
  ...['b', 'b', 'b', 'a', 'B', 'é', 'e\u0301', '', ' ', cat, '\uffff', '"quoted" \\ \u0001', '%_'],
  ...['y', 'x', 'z'].map((end) => cat.repeat(200) + end),
  ...['y', 'x'].map((end) => 'n'.repeat(199) + end),
  'n'.repeat(5_000),
];
const positions = [3, 3, 3, 1, 0, -5, -5, 2 ** 53 - 1, 7, 7];

/** Fields of lists that only answers and edits change. */
const uncited = { changed_by: null, cited: 0, disliked: 0 };

onEveryEngine('lists of the console API', (engine) => {
  const admin = makeSecret('admin');
  const workspaces = names.map((name) => ({ id: randomUUID(), name }));
  const home = workspaces[3] ?? assert.fail();
  const inHome = { workspace_id: home.id, workspace_name: home.name };
  const apps = names.map((name, n) => ({
    ...{ id: randomUUID(), ...inHome, name, mode: 'chat' },
    retention_days: n === 0 ? 30 : null,
  }));
  const words = positions.length * 2;
  const datasets = names.map((name, at) => ({
    ...{
      id: randomUUID(),
      ...inHome,
      name,
      document_count: at === 0 ? names.length : 0,
      segment_count: at === 0 ? positions.length : 0,
      word_count: at === 0 ? words : 0,
    },
    ...{ changed_at: at === 0 ? 8 : 7, ...uncited },
  }));
  const dataset = datasets[0] ?? assert.fail();
  const documents = names.map((name, at) => ({
    ...{ id: randomUUID(), name, segment_count: at === 0 ? positions.length : 0, word_count: at === 0 ? words : 0 },
    ...{ changed_at: 9, ...uncited },
  }));
  const document = documents[0] ?? assert.fail();
  const segmentRows = positions.map((position, at) => ({
    ...{ id: randomUUID(), position, content: `segment ${at}`, word_count: 2 },
  }));
  const segment = segmentRows[0] ?? assert.fail();
  const chunks = positions.map((position, at) => ({
    ...{ id: randomUUID(), segment_id: segment.id, content: `chunk ${at}`, position, word_count: 2, type: 'automatic' },
    ...{ created_at: 5, updated_at: 6 },
  }));
  const segments = segmentRows.map((row) => ({ ...row, child_chunk_count: row === segment ? chunks.length : 0 }));
  const editorKey = { id: randomUUID(), name: 'editor' };
  const ann = { issuer: 'https://id.example', subject: 'ann' };
  const noPerson = { person_id: null, person_name: null };
  const revisions = Array.from({ length: 12 }, (_, at) => ({
    ...{ revision: at + 1, content: `text ${at}`, replaced_at: 100 + at, review_message_id: null },
    ...[
      { key_id: editorKey.id, key_name: editorKey.name, ...noPerson },
      { key_id: null, key_name: null, person_id: personId(ann), person_name: 'Ann' },
      { key_id: randomUUID(), key_name: null, ...noPerson },
    ][at % 3],
  }));
  const chunk = chunks[0] ?? assert.fail();
  const providers = ['z', 'a', 'm', 'b'].map((name, at) => provider(home.id, name, at % 2 ? 'active' : 'no-configure'));
  const unused = { last_used_at: null, requests: 0, errors: 0 };
  const keys = [1, 5, 5, 5, 3].map((created_at, at) => ({
    ...{ id: at === 0 ? editorKey.id : randomUUID(), kind: 'knowledge', name: at === 0 ? editorKey.name : 'k' },
    ...{ workspace_id: home.id, app_id: null, dataset_ids: at === 4 ? [dataset.id] : null, created_at },
    ...{ expires_at: null, revoked_at: at === 3 ? 9 : null, read_only: false, role: null, ...unused },
  }));
  const adminKey = { id: randomUUID(), kind: 'admin', name: 'admin', created_at: 2 };
  const listedAdminKey = {
    ...adminKey,
    workspace_id: null,
    app_id: null,
    dataset_ids: null,
    read_only: false,
    role: 'admin',
  };
  const listedKeys = [...keys, { ...listedAdminKey, expires_at: null, revoked_at: null, ...unused }];
  const otherPath = { dataset: randomUUID(), document: randomUUID(), segment: randomUUID() };

  const inDataset = `/admin/datasets/${dataset.id}`;
  const inDocument = `${inDataset}/documents/${document.id}`;
  const inSegment = `${inDocument}/segments/${segment.id}`;
  const lists: Record<string, List> = {
    workspaces: { path: '/admin/workspaces', rows: workspaces.toSorted(byName) },
    apps: { path: '/admin/apps', rows: apps.toSorted(byName) },
    providers: {
      path: `/admin/workspaces/${home.id}/model-providers`,
      rows: providers.map(({ record: _, workspace_id, models, ...rest }) => ({
        ...{ ...rest, icon_small_dark: null, tenant_id: workspace_id },
        models: models.map((model) => ({ ...model, features: null })),
      })),
    },
    datasets: {
      path: '/admin/datasets',
      rows: [
        ...datasets,
        {
          ...{ id: otherPath.dataset, ...inHome, name: 'elsewhere' },
          ...{ document_count: 1, segment_count: 1, word_count: 1, changed_at: 8, ...uncited },
        },
      ].toSorted(byName),
    },
    documents: { path: `${inDataset}/documents`, rows: documents.toSorted(byName) },
    segments: { path: `${inDocument}/segments`, rows: segments.toSorted(byPosition) },
    'child chunks': { path: `${inSegment}/child_chunks`, rows: chunks.toSorted(byPosition) },
    revisions: { path: `${inSegment}/child_chunks/${chunk.id}/revisions`, rows: revisions.toReversed() },
    keys: {
      path: '/admin/keys',
      rows: listedKeys
        .toSorted(
          by(
            ({ created_at }) => created_at,
            ({ id }) => id,
          ),
        )
        .toReversed()
        .map((key) => ({ ...key, requests: 0, errors: 0 })),
    },
  };

  const service = useService(engine);
  before(async () => {
    /** Fields that lists add to the records. */
    const added = ['workspace_name', 'key_name', 'person_name', 'last_used_at', 'requests', 'errors'];
    const totals = ['child_chunk_count', 'document_count', 'segment_count', 'changed_at', ...Object.keys(uncited)];
    const record = (kind: string, rows: readonly object[], more: object = {}) =>
      rows.map((row) => {
        const isAdded = (name: string) =>
          [...added, ...totals].includes(name) || (name === 'word_count' && kind !== 'child_chunk');
        return { record: kind, ...more, ...Object.fromEntries(Object.entries(row).filter(([name]) => !isAdded(name))) };
      });
    await service.load([
      ...record('workspace', workspaces),
      ...record('app', apps),
      ...record('dataset', datasets, { created_at: 5, updated_at: 7 }),
      ...record('document', documents, { dataset_id: dataset.id, created_at: 8, updated_at: 9 }),
      ...record('segment', segmentRows, { document_id: document.id }),
      ...record('child_chunk', chunks),
      ...record('child_chunk_revision', revisions, { child_chunk_id: chunk.id }),
      ...providers,
      ...keys.map((key) => ({ ...record('api_key', [key])[0], secret: makeSecret('knowledge') })),
      { record: 'api_key', ...adminKey, secret: admin },
      { record: 'person', ...ann, name: 'Ann', role: 'viewer' },
      {
        record: 'dataset',
        id: otherPath.dataset,
        workspace_id: home.id,
        name: 'elsewhere',
        created_at: 5,
        updated_at: 7,
      },
      { record: 'document', id: otherPath.document, dataset_id: otherPath.dataset, name: 'a', created_at: 8 },
      { record: 'segment', id: otherPath.segment, document_id: otherPath.document, position: 3, content: 's' },
    ]);
  });
  const { get } = service.as(admin);

  /** Reads the whole list page by page. */
  async function walk(path: string, limit: number | undefined, between?: () => Promise<unknown>): Promise<Row[][]> {
    const pages: Row[][] = [];
    for (let cursor: string | null = null; ; ) {
      const query = new URLSearchParams({ ...(limit && { limit: `${limit}` }), ...(cursor !== null && { cursor }) });
      const { status, text, body } = await get(`${path}?${query}`);
      assert.equal(status, 200, text);
      assert.deepEqual(Object.keys(body), ['limit', 'has_more', 'data', 'next_cursor']);
      assert.equal(body.limit, limit ?? 20);
      assert.equal(body.has_more, body.next_cursor !== null);
      pages.push(body.data);
      if (body.next_cursor === null) return pages;
      assert.match(body.next_cursor, /^[\w-]+$/);
      cursor = body.next_cursor;
      await between?.();
    }
  }

  for (const [name, { path, rows }] of Object.entries(lists)) {
    it(`${name}: 200: every row once and in order, whatever the limit; has_more is exact`, async () => {
      for (const limit of [1, 2, 3, 5, rows.length - 1, rows.length, rows.length + 1, 100, undefined]) {
        // When a key was last used may be written at any time.
        const pages = await walk(path, limit);
        const data = pages.flat().map((row) => ('last_used_at' in row ? { ...row, last_used_at: null } : row));
        assert.deepEqual(data, rows, `limit ${limit}`);
        assert.equal(pages.length, Math.max(1, Math.ceil(rows.length / (limit ?? 20))));
      }
    });

    itOnOneEngine(engine, `${name}: 400: an invalid cursor or limit is rejected`, async () => {
      const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
      const cursor = (await get(`${path}?limit=1`)).body.next_cursor;
      const key = JSON.parse(Buffer.from(cursor, 'base64url').toString());
      const invalidCursors = [
        ...[
          'x',
          'null',
          '%00',
          encode(null),
          encode({}),
          encode([]),
          encode('x'),
          encode([null]),
          encode([null, null]),
        ],
        ...[
          encode([...key, 1]),
          encode([...key, 'x']),
          encode(key.slice(1)),
          `${cursor}=`,
          `${cursor}%20`,
          `${cursor}A`,
        ],
        ...key.map((_: unknown, at: number) => encode(key.with(at, 'x\0'))),
        ...key.map((_: unknown, at: number) => encode(key.with(at, 1.5))),
        ...key.map((_: unknown, at: number) => encode(key.with(at, [key[at]]))),
        ...key.map((_: unknown, at: number) => encode(key.with(at, typeof key[at] === 'string' ? 1 : 'x'))),
        Buffer.from('["\\ud800","\\ud800"]').toString('base64url'),
        Buffer.from('[1e400,"x"]').toString('base64url'),
        Buffer.from(` ${JSON.stringify(key)}`).toString('base64url'),
      ];
      for (const invalidCursor of invalidCursors) {
        const { status, body } = await get(`${path}?cursor=${invalidCursor}`);
        assert.deepEqual(body, {
          ...{ status, code: 'invalid_param' },
          message: 'cursor must be a cursor of an earlier page',
        });
        assert.equal(status, 400);
      }
      for (const limit of ['0', '101', '-1', '1.5', 'x', '1e1', '+1']) {
        const { status, body } = await get(`${path}?limit=${limit}`);
        assert.equal(status, 400, limit);
        assert.match(body.message, /^limit /);
      }
      for (const name of ['limit', 'cursor'])
        assert.equal((await get(`${path}?${name}=1&${name}=1`)).status, 400, 'repeated');
      assert.deepEqual((await get(`${path}?cursor=&limit=`)).body.data.length, Math.min(20, rows.length));
      // A valid cursor that no page returned.
      assert.equal(
        (await get(`${path}?cursor=${encode(key.map((one: unknown) => (typeof one === 'string' ? '~' : 4)))}`)).status,
        200,
      );
    });

    itOnOneEngine(engine, `${name}: 200: HEAD works, and the response may not be stored`, async () => {
      const { status, headers } = await service.request('HEAD', path, { key: admin });
      assert.deepEqual([status, headers['cache-control']], [200, 'no-store']);
    });
  }

  it('200: a single row is the same as in its list, with ids in any letter case', async () => {
    for (const name of ['workspaces', 'apps', 'datasets', 'documents', 'segments']) {
      const { path, rows } = lists[name] ?? assert.fail();
      for (const row of rows) {
        for (const id of [row.id, row.id.toUpperCase()]) {
          const { status, headers, body } = await get(`${path}/${id}`);
          assert.deepEqual([status, headers['cache-control']], [200, 'no-store']);
          const { previous: _, next: __, ...own } = body;
          // Only lists count the answers that cite it.
          const { cited: ___, disliked: ____, ...listed } = row as Record<string, unknown>;
          assert.deepEqual(own, listed);
        }
      }
    }
  });

  it('200: a document has its neighbours in the list', async () => {
    const { path, rows } = lists.documents ?? assert.fail();
    const neighbour = (row: Row) => (row === undefined ? null : { id: row.id, name: row.name });
    for (const [at, { id }] of rows.entries()) {
      const { body } = await get(`${path}/${id.toUpperCase()}`);
      assert.deepEqual([body.previous, body.next], [neighbour(rows[at - 1]), neighbour(rows[at + 1])]);
    }
  });

  it('200: segments from any of them on, forward and backward, with their child chunks', async () => {
    const { path, rows } = lists.segments ?? assert.fail();
    const own = chunks.toSorted(byPosition);
    for (const [at, { id }] of rows.entries()) {
      const forward = (await get(`${path}?start_id=${id.toUpperCase()}&limit=3&include=child_chunks`)).body;
      const expected = rows
        .slice(at, at + 3)
        .map((row) => ({ ...row, child_chunks: row.id === segment.id ? own : [] }));
      assert.deepEqual(forward.data, expected);
      assert.equal(forward.has_more, at + 3 < rows.length);
      const backward = (await get(`${path}?start_id=${id}&order=desc&limit=3`)).body;
      const before = rows.slice(0, at + 1).toReversed();
      assert.deepEqual(backward.data, before.slice(0, 3));
      if (!backward.has_more) continue;
      const next = (await get(`${path}?start_id=${id}&order=desc&limit=3&cursor=${backward.next_cursor}`)).body;
      assert.deepEqual(next.data, before.slice(3, 6));
    }
    const { status, body } = await get(`${path}?start_id=${otherPath.segment}`);
    assert.deepEqual([status, body.message], [404, 'segment not found']);
    for (const query of ['order=up', 'include=x']) assert.equal((await get(`${path}?${query}`)).status, 400);
  });

  itOnOneEngine(engine, '400: a parameter that a list does not have, by its name', async () => {
    const paths = operations.filter(({ method, path }) => method === 'GET' && path.startsWith('/admin/'));
    const lists = paths.filter(({ hasQuery }) => hasQuery).map(({ path }) => path.replaceAll(/\{\w+\}/g, 'x'));
    assert.ok(lists.length > 15);
    for (const path of [...lists, '/admin/failures', '/admin/traffic']) {
      const { status, body } = await get(`${path}?usr=ann`);
      assert.deepEqual(body, { status: 400, code: 'invalid_param', message: 'usr is not a known parameter' }, path);
      assert.equal(status, 400);
    }
    assert.equal((await get('/admin/apps?__proto__=1')).status, 400);
    // An empty parameter counts as absent.
    assert.equal((await get('/admin/apps?usr=')).status, 200);
  });

  it('200: ids of parents in any letter case, and empty lists', async () => {
    assert.deepEqual((await get(`/admin/datasets/${dataset.id.toUpperCase()}/documents?limit=1`)).body.limit, 1);
    const empty = { limit: 20, has_more: false, data: [], next_cursor: null };
    const inOther = `/admin/datasets/${otherPath.dataset}/documents/${otherPath.document}`;
    assert.deepEqual((await get(`${inOther}/segments/${otherPath.segment}/child_chunks`)).body, empty);
    assert.deepEqual((await get(`/admin/workspaces/${workspaces[0]?.id}/model-providers`)).body, empty);
  });

  it('200: rows added while paging do not move other rows', async () => {
    const { path, rows } = lists.documents ?? assert.fail();
    const added: string[] = [];
    const add = async () => {
      const newDocuments = ['', 'b', 'zz'].map((name) => ({
        record: 'document',
        id: randomUUID(),
        dataset_id: dataset.id,
        name,
      }));
      added.push(...newDocuments.map(({ id }) => id));
      await service.load(newDocuments);
    };
    const visited = (await walk(path, 4, add)).flat();
    assert.ok(added.length > 3);
    assert.equal(new Set(visited.map(({ id }) => id)).size, visited.length);
    assert.deepEqual(
      visited.filter(({ id }) => !added.includes(id)),
      rows,
    );
  });
});
