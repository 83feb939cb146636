import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { after, before, it } from 'node:test';
import { limits } from '../../src/contract/limits.ts';
import { makeTwoTenants, onEveryEngine, type Service, startService } from '../support/harness.ts';
import { countTurns } from './turns.ts';

const text = `\u{1F600}"\n${'x'.repeat(2 ** 20)}`;
/** More than a page that is read as a whole. */
const count = 8;
const times = <T>(make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));

onEveryEngine('lists of large texts', (engine) => {
  const { one, records } = makeTwoTenants();
  const {
    app: app_id,
    workspace: workspace_id,
    dataset: dataset_id,
    document: document_id,
    segment: segment_id,
  } = one.ids;
  const { app, knowledge } = one.keys;
  const document = `/v1/datasets/${dataset_id}/documents/${document_id}`;
  const inputs = { text };
  const data_source_info = { text };
  const settings = { external_retrieval_model: { text } };
  const lists = {
    conversations: {
      key: app,
      path: '/v1/conversations?limit=100&user=bob',
      records: times((n) => ({ record: 'conversation', id: randomUUID(), app_id, user: 'bob', created_at: n, inputs })),
    },
    datasets: {
      key: knowledge,
      path: '/v1/datasets?limit=100',
      records: times((n) => ({
        record: 'dataset',
        id: randomUUID(),
        workspace_id,
        name: 'd',
        settings,
        created_at: n,
      })),
    },
    documents: {
      key: knowledge,
      path: `/v1/datasets/${dataset_id}/documents?limit=100`,
      records: times((n) => ({
        record: 'document',
        id: randomUUID(),
        dataset_id,
        name: 'd',
        data_source_info,
        created_at: n,
      })),
    },
    segments: {
      key: knowledge,
      path: `${document}/segments?limit=100`,
      records: times((n) => ({ record: 'segment', id: randomUUID(), document_id, position: n + 2, content: text })),
    },
    'child chunks': {
      key: knowledge,
      path: `${document}/segments/${segment_id}/child_chunks?limit=100`,
      records: times((n) => ({ record: 'child_chunk', id: randomUUID(), segment_id, position: n + 2, content: text })),
    },
  };
  let service: Service;
  before(async () => {
    service = await startService(engine, { SEARCH: 'off' });
    await service.load(records);
    for (const list of Object.values(lists)) await service.load(list.records);
  });
  after(() => service.close());

  for (const [name, list] of Object.entries(lists)) {
    it(`200: ${name}, each text read once, about a mebibyte in one turn of the event loop`, async (t) => {
      const turns = countTurns(t);
      const { status, text: response, body } = await service.request('GET', list.path, { key: list.key });
      assert.equal(status, 200);
      const listed = body.data.map(({ id }: { id: string }) => id);
      for (const { id } of list.records) assert.ok(listed.includes(id), id);
      const [large] = body.data.filter(({ id }: { id: string }) => id === list.records[0]?.id);
      assert.ok(JSON.stringify(large).includes(JSON.stringify(text).slice(1, -1)), 'the whole text');
      if (engine !== 'sqlite') return;
      assert.ok(turns.largestTurn < 2 * limits.largePageReadBytes, `${turns.largestTurn} bytes in one turn`);
      assert.ok(turns.bytes < 1.1 * response.length, `${turns.bytes} bytes`);
    });
  }

  if (engine === 'sqlite')
    it('tables of large records are not clustered by their keys, except that of messages', () => {
      const db = new DatabaseSync(service.config.database_url.replace('sqlite:', ''), { readOnly: true });
      const isClustered = (table: string) => db.prepare('SELECT wr FROM pragma_table_list(?)').get(table)?.wr === 1;
      const tables = ['conversations', 'datasets', 'documents', 'segments', 'child_chunks', 'child_chunk_revisions'];
      assert.deepEqual(tables.filter(isClustered), []);
      assert.ok(isClustered('messages'));
      db.close();
    });
});
