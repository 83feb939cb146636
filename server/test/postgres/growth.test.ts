import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, before, describe } from 'node:test';
import pg from 'pg';
import { countUsers } from '../../src/domain/activity/list-users.ts';
import { personId } from '../../src/domain/author.ts';
import { digestOf } from '../../src/domain/secret.ts';
import { type RecordingProxy, startProxy } from '../store/recording-proxy.ts';
import { newMigratedUrl, type Service, startService } from '../support/harness.ts';
import { isLong, itLong } from '../support/long.ts';
import { describePlan, explain, type Plan, rowsRead } from '../support/plans.ts';

/** What a statement may read for each row that it returns; one that returns few may read as much as one that fills a page. */
const readsPerRow = 10;
const fullPage = 21;

const rows = {
  ...{ conversations: 30_000, users: 3_000, parents: 40, knowledge: 20_000, keys: 40 },
  ...{ turns: 2_000, people: 400, sessions: 2_000, reads: 20_000, views: 2_000, edits: 500 },
};
/** Rows are divided among this many parents: to count all rows of a table, a scan would be right. */
const parents = 4;

/** A UUID derived from a name. */
function id(kind: string, at: number): string {
  const hex = hash('md5', `${kind} ${at}`);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

const workspace_id = id('workspace', 0);
const app_id = id('app', 0);
const [dataset_id, document_id, segment_id] = [id('dataset', 0), id('document', 0), id('segment', 0)];
const secrets = {
  app: `app-${'a'.repeat(40)}`,
  knowledge: `dataset-${'b'.repeat(40)}`,
  admin: `admin-${'c'.repeat(40)}`,
};
const of = (kind: string, at: number): string => id(kind, at % parents);
const upTo = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));

/** Most conversations have one message, this one has many. */
const conversation_id = id('conversation', 4);
const start = 1_790_000_000;
const personOf = (at: number) => ({ issuer: 'https://id.example.com', subject: `${at % rows.people}` });
/** In the first dataset, each in another document. */
const editedIds = (at: number) => ({
  document_id: id('document', (at + 1) * parents),
  segment_id: id('edited segment', at),
  child_chunk_id: id('edited chunk', at),
});
const states = ['open', 'done', 'ignored'];

/**
 * Many rows on every level that grows with the use of the service; workspaces, apps, datasets, keys and the people who sign in are
 * few.
 */
const records: readonly object[] = [
  ...upTo(rows.parents, (at) => ({ record: 'workspace', id: id('workspace', at), name: `workspace ${at}` })),
  ...upTo(rows.parents, (at) => ({
    record: 'app',
    id: id('app', at),
    workspace_id: of('workspace', at),
    name: `app ${at}`,
    mode: 'chat',
  })),
  { record: 'api_key', kind: 'app', workspace_id, app_id, name: 'app', secret: secrets.app },
  { record: 'api_key', kind: 'knowledge', workspace_id, name: 'knowledge', secret: secrets.knowledge },
  { record: 'api_key', kind: 'admin', name: 'admin', secret: secrets.admin },
  ...upTo(rows.keys, (at) => ({ record: 'api_key', kind: 'admin', name: `${at}`, digest: digestOf(`${at}`) })),
  ...upTo(rows.people, (at) => ({ record: 'person', ...personOf(at), name: `person ${at}`, role: 'viewer' })),
  ...upTo(rows.parents, (at) => ({
    record: 'dataset',
    id: id('dataset', at),
    workspace_id: of('workspace', at),
    name: `dataset ${at}`,
  })),
  ...upTo(rows.knowledge, (at) => ({
    record: 'document',
    id: id('document', at),
    dataset_id: of('dataset', at),
    name: `document ${at}`,
  })),
  ...upTo(rows.knowledge, (at) => ({
    record: 'segment',
    id: id('segment', at),
    document_id: of('document', at),
    position: at,
    content: 'text',
  })),
  ...upTo(rows.knowledge, (at) => ({
    record: 'child_chunk',
    id: id('chunk', at),
    segment_id: of('segment', at),
    position: at,
    content: 'text',
  })),
  ...upTo(rows.knowledge, (at) => ({
    record: 'child_chunk_revision',
    child_chunk_id: of('chunk', at),
    revision: at + 1,
    content: 'text',
    replaced_at: start + at,
    review_message_id: id('message', at),
  })),
  ...upTo(rows.conversations, (at) => ({
    ...{
      record: 'conversation',
      id: id('conversation', at),
      app_id: of('app', at),
      user: `user-${at % rows.users}`,
    },
    created_at: start + at,
  })),
  ...upTo(rows.conversations, (at) => ({
    ...{ record: 'message', id: id('message', at), conversation_id: id('conversation', at), query: 'q', answer: 'a' },
    created_at: start + at,
    ...(at % 100 === 0 && { feedback: { rating: 'dislike' } }),
  })),
  ...upTo(rows.turns, (at) => ({
    ...{ record: 'message', id: id('turn', at), conversation_id, query: 'q', answer: 'a' },
    created_at: start + at,
  })),
  ...upTo(Math.floor(rows.conversations / 7), (at) => ({
    record: 'review',
    app_id: of('app', at * 7),
    conversation_id: id('conversation', at * 7),
    message_id: id('message', at * 7),
    state: states[at % states.length],
    labels: [`label ${at % 5}`],
    assignee: `person:${personId(personOf(at % 5))}`,
  })),
];

const chunkUrl =
  '/v1/datasets/{dataset_id}/documents/{document_id}/segments/{segment_id}/child_chunks/{child_chunk_id}';
const ids = {
  ...{ workspace_id, app_id, dataset_id, document_id, segment_id, conversation_id },
  child_chunk_id: id('chunk', 0),
};
const pathOf = (template: string, named = ids): string =>
  template.replaceAll(/\{(\w+)\}/g, (_, name: keyof typeof ids) => named[name]);

/** What no record has. Imports and edits come in turn, since most entries of the audit log are imports. */
async function addOthers({ store, as, load }: Service): Promise<void> {
  for (let at = 0; at < rows.edits; at++) {
    const named = editedIds(at);
    const { document_id, segment_id, child_chunk_id } = named;
    await load([
      { record: 'segment', id: segment_id, document_id, position: 0, content: 'text' },
      { record: 'child_chunk', id: child_chunk_id, segment_id, position: 0, content: 'text' },
    ]);
    const response = await as(secrets.knowledge).patch(pathOf(chunkUrl, { ...ids, ...named }), { content: 'edited' });
    assert.equal(response.status, 200);
  }
  const reads = upTo(rows.reads, (at) => ({
    ...{
      id: id('read', at),
      at: start + at,
      key_id: `person:${personId(personOf(at % 5))}`,
      operation: 'getTranscript',
    },
    ...{ app_id: of('app', at), conversation_id: id('conversation', at % rows.users), user: `user-${at % rows.users}` },
    words: null,
  }));
  await store.run('noteReads', reads);
  for (let at = 0; at < rows.views; at++) await store.run('saveView', { name: `view ${at}`, address: '#/reviews' });
  for (let at = 0; at < rows.sessions; at++) {
    const person = { ...personOf(at), id: personId(personOf(at)), name: `person ${at}`, role: 'viewer' as const };
    const times = { created_at: start, expires_at: start + 1_000_000 };
    const session = { digest: digestOf(`session ${at}`), sid: null, ...times };
    await store.run('signIn', { person: { ...person, email: null, role_source: null }, session });
  }
}

/**
 * Lists with their own tests of what they read: the search reads windows of its index, the feed has a cursor into one table, and the
 * list of datasets counts their documents.
 */
const others = ['/admin/search', '/v1/messages/search', '/admin/changes', '/admin/datasets'];

/** Each list by its path in the OpenAPI document, with requests for pages of it. */
const lists: Record<string, readonly string[]> = {
  '/v1/messages': [`?conversation_id=${conversation_id}`, `?conversation_id=${conversation_id}&user=user-4`],
  '/v1/conversations': ['?user=user-4', '?user=user-4&sort_by=created_at', '?user=user-4&sort_by=-created_at'],
  '/v1/app/feedbacks': ['', '?page=2'],
  '/v1/datasets': [''],
  '/v1/datasets/{dataset_id}/documents': [''],
  '/v1/datasets/{dataset_id}/documents/{document_id}/segments': [''],
  '/v1/datasets/{dataset_id}/documents/{document_id}/segments/{segment_id}/child_chunks': [''],
  '/admin/workspaces': [''],
  '/admin/apps': [''],
  '/admin/workspaces/{workspace_id}/model-providers': [''],
  '/admin/datasets/{dataset_id}/documents': [''],
  '/admin/datasets/{dataset_id}/documents/{document_id}/segments': ['', '?order=desc'],
  '/admin/datasets/{dataset_id}/documents/{document_id}/segments/{segment_id}/child_chunks': [''],
  '/admin/datasets/{dataset_id}/documents/{document_id}/segments/{segment_id}/child_chunks/{child_chunk_id}/revisions':
    [''],
  '/admin/activity': ['', `?dataset_id=${dataset_id}`, '?action=import'],
  '/admin/keys': [''],
  '/admin/conversations': [
    '',
    `?app_id=${app_id}`,
    '?user=user-4',
    `?app_id=${app_id}&user=user-4`,
    '?from=1790000000',
  ],
  '/admin/apps/{app_id}/conversations/{conversation_id}/messages': [''],
  '/admin/people': [''],
  '/admin/reads': [
    '',
    `?person_id=${personId(personOf(1))}`,
    `?app_id=${app_id}`,
    '?user=user-4',
    `?conversation_id=${conversation_id}`,
  ],
  // Not by label, assignee or document: these read all reviews of a state, which are few, since people write them.
  '/admin/reviews': [
    '',
    ...states.map((state) => `?state=${state}`),
    `?app_id=${app_id}`,
    `?message_id=${id('message', 7)}`,
    `?from=${start}&to=${start + 1000}`,
  ],
  '/admin/views': [''],
  '/openai/v1/conversations': ['', '?user=user-4', '?user=user-4&order=asc'],
  '/openai/v1/conversations/{conversation_id}/items': [
    '',
    '?order=asc',
    `?after=msg_${id('turn', 1000).replaceAll('-', '')}_0`,
  ],
  '/admin/users': ['', `?app_id=${app_id}`, '?sort=-messages', '?sort=user'],
};

const keyOf = (path: string): string =>
  path.startsWith('/admin') ? secrets.admin : path.startsWith('/v1/datasets') ? secrets.knowledge : secrets.app;

/** These have few rows, which PostgreSQL scans. */
const smallTables = ['workspaces', 'apps', 'datasets', 'api_keys', 'persons', 'model_providers'];
/** Totals are counted in an index. */
const isCounted = (step: Plan): boolean =>
  step['Node Type'] !== 'Index Only Scan' && !smallTables.includes(step['Relation Name'] ?? '');

/** Rows that a statement returns, or sums up if it limits their number. */
function rowsReturned(plan: Plan): number {
  const [summed] = plan['Node Type'] === 'Aggregate' ? (plan.Plans ?? []) : [];
  const { 'Actual Rows': rows = 0, 'Actual Loops': loops = 1 } = summed?.['Node Type'] === 'Limit' ? summed : plan;
  return rows * loops;
}

describe('lists with many rows', () => {
  let service: Service | undefined;
  let client: pg.Client;
  let remove: () => Promise<void>;
  let proxy: RecordingProxy | undefined;

  before(async () => {
    if (!isLong) return;
    const database = await newMigratedUrl('postgres');
    ({ remove } = database);
    proxy = await startProxy(database.url);
    service = await startService('postgres', {}, proxy.url);
    // Disliked messages need a review for 30 days.
    service.freezeClock((start + rows.conversations) * 1000);
    await service.load(records);
    await addOthers(service);
    await countUsers(service.store, () => true);
    client = new pg.Client(database.url);
    await client.connect();
    await client.query('VACUUM ANALYZE');
  });
  after(async () => {
    await client?.end();
    await service?.close();
    await proxy?.close();
    await remove?.();
  });

  itLong('no statement of a list reads ten times as many rows as it returns, or as a page has', async () => {
    const { paths } = JSON.parse(readFileSync(new URL('../../../openapi.json', import.meta.url), 'utf8'));
    const isList = (path: string) =>
      paths[path].get?.parameters?.some(({ name }: { name: string }) => name === 'limit');
    const all = Object.keys(paths).filter((path) => isList(path) && !others.includes(path));
    assert.deepEqual(Object.keys(lists).sort(), all.sort());
    const wasteful: string[] = [];
    for (const [template, pages] of Object.entries(lists)) {
      for (const page of pages) {
        proxy?.traffic.statements.splice(0);
        const path = pathOf(template) + page;
        const response = await service?.as(keyOf(path)).get(path);
        assert.equal(response?.status, 200, path);
        const statements = (proxy?.traffic.statements ?? []).filter(({ text }) => /^\s*(SELECT|WITH)/.test(text));
        assert.ok(statements.length > 0, path);
        for (const { text, values } of statements) {
          const plan = await explain(client, text, values);
          const returned = rowsReturned(plan);
          const read = rowsRead(plan, isCounted);
          if (read <= readsPerRow * Math.max(returned, fullPage)) continue;
          wasteful.push(`${path}: ${read} rows read for ${returned}: ${text}\n${describePlan(plan)}`);
        }
      }
    }
    assert.deepEqual(wasteful, []);
  });
});
