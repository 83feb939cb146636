import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { before, describe, it } from 'node:test';
import { onDatabase } from '../support/faulty-postgres.ts';
import { makeTenant, onEveryEngine, startService, useService } from '../support/harness.ts';
import { until } from '../support/until.ts';

/** Lists with a keyword read every row of their scope. */

const rows = 100_000;
const text = 'A text as long as that of a chunk. '.repeat(10);

describe('a long scan for a keyword on SQLite', () => {
  const { ids, keys, records } = makeTenant();
  const key = keys.knowledge;

  const service = useService('sqlite', records);
  before(async () => {
    const db = new DatabaseSync(service.config.database_url.replace('sqlite:', ''));
    const numbers = `WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${rows})`;
    db.exec(`${numbers} INSERT INTO child_chunks
        (dataset_id, id, segment_id, content, position, word_count, type, created_at, updated_at, version)
      SELECT '${ids.dataset}', 'c' || i, '${ids.segment}', '${text}', i, 1, 'automatic', 1, 1, 'v' FROM numbers`);
    db.close();
  });

  const document = `/v1/datasets/${ids.dataset}/documents/${ids.document}`;
  const scanPath = `${document}/segments/${ids.segment}/child_chunks?keyword=kettle`;

  it('lets other requests of the thread be served meanwhile', async () => {
    const request = (path: string) => service.as(key).get(path);
    // Both connections are open, and the key is cached.
    await Promise.all([request(document), request(document)]);
    const served: string[] = [];
    const scan = request(scanPath).then(({ status, body }) => served.push(`scan ${status}, total ${body.total}`));
    // The first may come before the scan begins.
    for (let times = 0; times < 2; times += 1) served.push(`document ${(await request(document)).status}`);
    await scan;
    assert.deepEqual(served, ['document 200', 'document 200', 'scan 200, total 0']);
  });

  it('is of one moment: chunks that are added meanwhile are not on the page', async () => {
    const get = (path: string) => service.as(key).get(path);
    const body = { content: 'A kettle, added while the list is read.' };
    let added = 0;
    // On a busy machine a write may take longer than the scan; then the next one is tried.
    await until(async () => {
      let isScanning = true;
      const scan = get(scanPath).finally(() => {
        isScanning = false;
      });
      // Then the scan has begun, as above.
      for (let times = 0; times < 2; times += 1) await get(document);
      assert.equal((await service.as(key).post(scanPath.replace(/\?.*/, ''), body)).status, 200);
      const wasScanning = isScanning;
      const page = await scan;
      assert.deepEqual([page.status, page.body.total], [200, added]);
      added += 1;
      return wasScanning;
    });
    assert.equal((await get(scanPath)).body.total, added);
  });

  it('does not begin for a dataset of another workspace', async () => {
    const stranger = makeTenant();
    await service.load(stranger.records);
    const served: string[] = [];
    const get = (path: string, key: string) => service.as(key).get(path);
    await Promise.all([
      get(scanPath, key).then(() => served.push('scan')),
      get(scanPath, stranger.keys.knowledge).then(({ status }) => served.push(`stranger ${status}`)),
    ]);
    assert.deepEqual(served, ['stranger 404', 'scan']);
  });
});

onEveryEngine('pages of a list with a keyword', (engine) => {
  const service = useService(engine);

  it('have the matching items in the order of the list, and their number', async () => {
    const { ids, keys, records } = makeTenant();
    const tags = [{ id: 't', name: 't', type: 'knowledge' }];
    const items = Array.from({ length: 60 }, (_, at) => ({
      id: randomUUID(),
      at,
      text: at % 3 === 0 ? 'Kettle' : 'cup',
    }));
    await service.load([
      ...records,
      ...items.map(({ id, at, text: name }) => ({
        ...{ record: 'dataset', id, workspace_id: ids.workspace, name, created_at: at % 7 },
        tags: at % 2 === 0 ? tags : [],
      })),
      ...items.map(({ id, at, text: name }) => ({
        ...{ record: 'document', id, dataset_id: ids.dataset, name, created_at: at % 7, position: at % 5 },
        enabled: at % 2 === 0,
      })),
      ...items.map(({ id, at, text: content }) => ({
        ...{ record: 'segment', id, document_id: ids.document, content, position: at % 5 },
        status: at % 2 === 0 ? 'completed' : 'error',
      })),
      ...items.map(({ id, at, text: content }) => ({
        ...{ record: 'child_chunk', id, segment_id: ids.segment, content, position: at % 5 },
        deleted: at % 2 !== 0,
      })),
    ]);
    const dataset = `/v1/datasets/${ids.dataset}`;
    const document = `${dataset}/documents/${ids.document}`;
    const readAll = async (path: string) => {
      const found: string[] = [];
      for (let page = 1; ; page += 1) {
        const { body } = await service.as(keys.knowledge).get(`${path}&limit=4&page=${page}`);
        assert.equal(body.total, 10, path);
        if (body.data.length === 0) return found;
        found.push(...body.data.map(({ id }: { id: string }) => id));
      }
    };
    const matching = items.filter(({ at, text }) => text === 'Kettle' && at % 2 === 0);
    const byId = (one: { id: string }, other: { id: string }) => (one.id < other.id ? -1 : 1);
    type Item = (typeof items)[number];
    const idsIn = (order: (one: Item, other: Item) => number) => matching.toSorted(order).map(({ id }) => id);
    const byTime = (one: Item, other: Item) => (other.at % 7) - (one.at % 7);
    const byPosition = (one: Item, other: Item) => (one.at % 5) - (other.at % 5);
    const expected = {
      '/v1/datasets?keyword=kettle&tag_ids=t': idsIn((one, other) => byTime(one, other) || byId(one, other)),
      [`${dataset}/documents?keyword=kettle&status=available`]: idsIn(
        (one, other) => byTime(one, other) || byPosition(other, one) || byId(one, other),
      ),
      [`${document}/segments?keyword=kettle&status=completed`]: idsIn(
        (one, other) => byPosition(one, other) || byId(one, other),
      ),
      [`${document}/segments/${ids.segment}/child_chunks?keyword=kettle`]: idsIn(
        (one, other) => byPosition(one, other) || byId(one, other),
      ),
    };
    for (const [path, inOrder] of Object.entries(expected)) assert.deepEqual(await readAll(path), inOrder, path);
  });
});

describe('a long scan for a keyword on PostgreSQL', () => {
  it('503: is ended by DATABASE_TIMEOUT, as other statements are', async (t) => {
    const service = await startService('postgres', { DATABASE_TIMEOUT: '500' });
    t.after(() => service.close());
    const { ids, keys, records } = makeTenant();
    await service.load(records);
    const path = `/v1/datasets/${ids.dataset}/documents/${ids.document}/segments?keyword=text`;
    await onDatabase(service.config.database_url, async (client) => {
      await client.query('BEGIN');
      await client.query('LOCK TABLE segments');
      assert.equal((await service.as(keys.knowledge).get(path)).status, 503);
      await client.query('COMMIT');
    });
    // A busy machine may need longer than the timeout now and then.
    const read = () => service.as(keys.knowledge).get(path);
    const { body } = await until(async () => {
      const response = await read();
      return response.status === 200 && response;
    });
    assert.equal(body.total, 1);
  });
});
