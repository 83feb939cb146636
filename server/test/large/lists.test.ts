import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import { before, it } from 'node:test';
import { limits } from '../../src/contract/limits.ts';
import { isLong, makeTwoTenants, message, onEveryEngine, useService } from '../support/harness.ts';
import { until } from '../support/until.ts';
import { bytesRead, countTurns } from './turns.ts';

const text = `\u{1F600}"\n${'x'.repeat(2 ** 20)}`;
/** More than a page that is read as a whole. */
const count = 8;

type List = { key: string; path: string; records: object[]; id?: string; shown?: string; field?: string };

onEveryEngine('lists of large texts', (engine) => {
  const { one, admin, records } = makeTwoTenants();
  const { app: app_id, workspace: workspace_id, dataset: dataset_id } = one.ids;
  const { document: document_id, segment: segment_id, conversation } = one.ids;
  const { app, knowledge } = one.keys;
  const documents = `/v1/datasets/${dataset_id}/documents`;
  const segments = `${documents}/${document_id}/segments`;
  const label = { en_US: 'label' };
  const model = {
    ...{ model: 'model', label, model_type: 'llm', features: null, fetch_from: 'predefined-model', status: 'active' },
    ...{ model_properties: { text }, deprecated: false, load_balancing_enabled: false },
    has_invalid_load_balancing_configs: false,
  };
  const provider = { workspace_id, label, icon_small: label, icon_small_dark: null, status: 'active', models: [model] };
  const make = (record: string, fields: (n: number) => object): object[] =>
    Array.from({ length: count }, (_, n) => ({ record, id: randomUUID(), ...fields(n) }));
  const segmentOf = {
    record: 'segment',
    id: randomUUID(),
    document_id,
    position: 1_000,
    content: 'with large child chunks',
  };
  const lists: Record<string, List> = {
    conversations: {
      key: app,
      path: '/v1/conversations?limit=100&user=bob',
      records: make('conversation', (n) => ({ app_id, user: 'bob', created_at: n, inputs: { text } })),
    },
    feedback: {
      key: app,
      path: '/v1/app/feedbacks?limit=100',
      records: make('message', (n) =>
        message(conversation, n, { feedback: { rating: 'like' }, feedback_content: text }),
      ),
      shown: 'message_id',
    },
    models: {
      key: app,
      path: '/v1/workspaces/current/models/model-types/llm',
      records: make('model_provider', (n) => ({ ...provider, id: undefined, provider: `provider-${n}` })),
      id: 'provider',
      shown: 'provider',
    },
    datasets: {
      key: knowledge,
      path: '/v1/datasets?limit=100',
      records: make('dataset', (n) => ({
        ...{ workspace_id, name: 'dataset', created_at: n },
        settings: { external_retrieval_model: { text } },
      })),
    },
    documents: {
      key: knowledge,
      path: `${documents}?limit=100`,
      records: make('document', (n) => ({ dataset_id, name: 'document', data_source_info: { text }, created_at: n })),
    },
    segments: {
      key: knowledge,
      path: `${segments}?limit=100`,
      records: make('segment', (n) => ({ document_id, position: n + 2, content: text })),
    },
    'child chunks': {
      key: knowledge,
      path: `${segments}/${segment_id}/child_chunks?limit=100`,
      records: make('child_chunk', (n) => ({ segment_id, position: n + 2, content: text })),
    },
    'child chunks of one segment': {
      key: knowledge,
      path: `${segments}/${segmentOf.id}`,
      records: make('child_chunk', (n) => ({ segment_id: segmentOf.id, position: n, content: text })),
      field: 'child_chunks',
    },
  };
  // All lists read large rows by the same functions, so `npm test` reads one of them from PostgreSQL.
  const read = Object.entries(lists).filter(([name]) => engine === 'sqlite' || isLong || name === 'conversations');
  const service = useService(engine, [...records, segmentOf], { SEARCH: 'off' });
  before(async () => {
    for (const [, list] of read) await service.load(list.records);
  });

  for (const [name, { key, path, records: stored, id = 'id', shown = 'id', field }] of read) {
    it(`200: ${name}, each text read once, about a mebibyte in one turn of the event loop`, async (t) => {
      const turns = countTurns(t);
      const before = bytesRead();
      const { status, text: response, body } = await service.as(key).get(path);
      const read = bytesRead() - before;
      assert.equal(status, 200);
      const listed: Record<string, unknown>[] = field === undefined ? body.data : body.data[field];
      for (const record of stored as Record<string, unknown>[]) {
        const item = listed.find((one) => one[shown] === record[id]);
        assert.ok(JSON.stringify(item).includes(JSON.stringify(text).slice(1, -1)), 'the whole text');
      }
      if (engine !== 'sqlite') return;
      assert.ok(turns.largestTurn < 2 * limits.largePageReadBytes, `${turns.largestTurn} bytes in one turn`);
      assert.ok(turns.bytes < 1.1 * response.length, `${turns.bytes} bytes`);
      // Rows of messages are stored with their keys, and are read to be found.
      if (name === 'feedback') return;
      // The texts from the file, and the response: lengths, which are read first, are known without the texts.
      assert.ok(read < 2.5 * response.length, `${read} bytes read for ${response.length}`);
    });
  }

  if (engine === 'sqlite')
    it('200: a page of some mebibytes is also read in slices', async (t) => {
      const turns = countTurns(t);
      const path = '/v1/conversations?limit=3&user=bob';
      const { status, body } = await service.as(app).get(path);
      assert.deepEqual([status, body.data.length], [200, 3]);
      assert.ok(turns.largestTurn < 2 * limits.largePageReadBytes, `${turns.largestTurn} bytes in one turn`);
    });

  it('requests whose clients have left while they waited are not read', async (t) => {
    const headers = { authorization: `Bearer ${app}` };
    const { path } = lists.conversations ?? assert.fail();
    const open = (): http.ClientRequest =>
      http.get(`${service.base}${path}`, { headers, agent: false }).on('error', () => undefined);
    // They hold all slots, as they read nothing.
    const unread = Array.from({ length: limits.largePagesMax }, open);
    t.after(() => {
      for (const request of unread) request.destroy();
    });
    await Promise.all(unread.map((request) => once(request, 'response')));
    const inFlight = async () => {
      const { text: metrics } = await service.as(admin).get('/metrics');
      return Number(/^backscroll_http_requests_in_flight (\d+)$/m.exec(metrics)?.[1]);
    };
    const leaving = Array.from({ length: 100 }, open);
    await until(async () => (await inFlight()) > unread.length + leaving.length);
    for (const request of leaving) request.destroy();
    await until(async () => (await inFlight()) === unread.length + 1);
    const turns = countTurns(t);
    for (const request of unread) request.destroy();
    await until(async () => (await inFlight()) === 1);
    assert.ok(turns.bytes < limits.largePagesMax * 2 * limits.largePageReadBytes, `${turns.bytes} bytes`);
  });

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
