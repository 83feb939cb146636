import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { makeTenant, makeTwoTenants, message, onEveryEngine, useService } from '../support/harness.ts';
import { describeRefusals, type Refusal } from '../support/scenarios.ts';

/** What the routes refuse, and why: a table for each. Which keys they refuse is in the isolation matrix. */

/** `METHOD /path`, the body, and the message; or only its first words, which name the parameter. */
type Row = [request: string, message: string | RegExp, body?: unknown];

const codes = { 400: 'invalid_param', 404: 'not_found', 413: 'payload_too_large', 415: 'unsupported_media_type' };

function refused(
  key: string,
  status: keyof typeof codes,
  rows: readonly Row[],
  more: Partial<Refusal> = {},
): Refusal[] {
  return rows.map(([request, message, body]) => {
    const [method = '', path = ''] = request.split(' ', 2);
    const name = `${request}${body === undefined ? '' : ` ${JSON.stringify(body)}`}`.slice(0, 150);
    return {
      ...{ name, key, method, path, status, code: codes[status], message },
      ...(body !== undefined && { body }),
      ...more,
    };
  });
}
const withEach = <T>(values: readonly T[], row: (value: T) => Row): Row[] => values.map(row);

onEveryEngine('refusals', (engine) => {
  const { one, other, admin, records } = makeTwoTenants();
  const completion = makeTenant('completion');
  const rated = message(one.ids.conversation, 1000);
  const deleted = { record: 'conversation', id: randomUUID(), app_id: one.ids.app, deleted: true };
  const bare = { record: 'document', id: randomUUID(), dataset_id: one.ids.dataset, name: 'without segments' };
  const sibling = { record: 'segment', id: randomUUID(), document_id: one.ids.document, position: 2, content: 'x' };
  const service = useService(engine, [...records, ...completion.records, rated, deleted, bare, sibling]);
  const start = { service: () => service, admin };
  const onOneEngine = { ...start, engine };
  const { app, knowledge } = one.keys;
  const { workspace, dataset, document, segment, chunk, conversation } = one.ids;
  const unknown = randomUUID();

  const notForChat = 'Please check that the app mode matches the API route.';
  describeRefusals(onOneEngine, [
    ...refused(app, 400, [
      ...withEach(['0', '101', '1e1'], (limit): Row => [`GET /v1/conversations?limit=${limit}`, /^limit/]),
      ['GET /v1/conversations?sort_by=name', /^sort_by/],
      ...withEach(
        ['user', 'last_id'],
        (name): Row => [`GET /v1/conversations?${name}=a&${name}=b`, new RegExp(`^${name}`)],
      ),
    ]),
    ...refused(app, 400, [[`GET /v1/messages/${unknown}/suggested`, 'Suggested Questions Is Disabled.']], {
      code: 'bad_request',
    }),
    ...refused(
      completion.keys.app,
      400,
      [
        ['GET /v1/conversations?limit=0', notForChat],
        [`GET /v1/messages/${unknown}/suggested`, notForChat],
        [`POST /v1/conversations/${unknown}/name`, notForChat, {}],
        [`DELETE /v1/conversations/${unknown}`, notForChat],
      ],
      { code: 'not_chat_app' },
    ),
  ]);

  const inDataset = `/v1/datasets/${dataset}`;
  const inDocument = `${inDataset}/documents/${document}`;
  const chunks = `${inDocument}/segments/${segment}/child_chunks`;
  const notFound = (part: string) => `${part} not found`;
  const noDataset = notFound('dataset');
  const noDocument = notFound('document');
  const noSegment = notFound('segment');
  const noChunk = notFound('child chunk');
  describeRefusals(
    start,
    refused(knowledge, 404, [
      [`GET /v1/datasets/${unknown}`, noDataset],
      [`GET /v1/datasets/${unknown}/documents`, noDataset],
      ['GET /v1/datasets/not-a-uuid/documents', noDataset],
      [`GET /v1/datasets/${other.ids.dataset}/documents`, noDataset],
      [`GET /v1/datasets/${other.ids.dataset}/documents/${other.ids.document}/segments`, noDataset],
      [`GET ${inDataset}/documents/${unknown}`, noDocument],
      [`GET ${inDataset}/documents/${other.ids.document}`, noDocument],
      [`GET ${inDataset}/documents/${unknown}/segments`, noDocument],
      [`GET ${inDataset}/documents/%00/segments`, noDocument],
      [`GET ${inDocument}/segments/${unknown}`, noSegment],
      [`GET ${inDataset}/documents/${unknown}/segments/${segment}`, noDocument],
      [`GET ${inDocument}/segments/${other.ids.segment}/child_chunks`, noSegment],
      [`GET ${inDataset}/documents/${unknown}/segments/${unknown}/child_chunks`, noDocument],
      ...[
        ['POST', chunks, other.chunkPath.replace(/\/[^/]*$/, ''), { content: 'text' }] as const,
        ['DELETE', one.chunkPath, other.chunkPath, undefined] as const,
      ].flatMap(([method, path, foreign, body]): Row[] => [
        [`${method} ${path.replace(dataset, unknown)}`, noDataset, body],
        [`${method} ${foreign}`, noDataset, body],
        [`${method} ${path.replace(document, unknown)}`, noDocument, body],
        [`${method} ${path.replace(segment, other.ids.segment)}`, noSegment, body],
        [`${method} ${path.replace(segment, unknown)}`, noSegment, body],
      ]),
      [`DELETE ${one.chunkPath.replace(chunk, other.ids.chunk)}`, noChunk],
    ]),
  );
  const noTexts = [undefined, null, 5, '', ' \n', '\u0085', 'a\0b', '\ud800', 'x'.repeat(100_001)];
  const consolePath = one.chunkPath.replace('/v1/', '/admin/');
  describeRefusals(onOneEngine, [
    ...refused(
      knowledge,
      400,
      withEach(noTexts, (content): Row => [`POST ${chunks}`, /^content /, { content }]),
    ),
    ...refused(knowledge, 413, [[`POST ${chunks}`, /^the body is larger than/, { content: 'x'.repeat(1_100_000) }]]),
    ...refused(knowledge, 415, [[`POST ${chunks}`, /content type/, '{"content":"x"}']], {
      headers: { 'content-type': 'text/plain' },
    }),
    // The body is checked before the path.
    ...[consolePath, consolePath.replace(dataset, unknown)].flatMap((path) => [
      ...refused(
        admin,
        400,
        withEach(noTexts, (content): Row => [`PATCH ${path}`, /^content /, { content }]),
      ),
      ...refused(admin, 415, [[`PATCH ${path}`, /content type/, 'x']], { headers: { 'content-type': 'text/plain' } }),
    ]),
  ]);

  const admins = (path: string) => `/admin${path.replace('/v1', '')}`;
  describeRefusals(
    start,
    refused(admin, 404, [
      ...withEach([unknown, 'x%00'], (id): Row => [`GET /admin/apps/${id}`, 'app not found']),
      ...withEach([unknown, 'x%00'], (id): Row => [`GET /admin/conversations?app_id=${id}`, 'app not found']),
      [`GET /admin/users?app_id=${unknown}`, 'app not found'],
      [`GET /admin/overview?app_id=${unknown}`, 'app not found'],
      [`GET /admin/evals.jsonl?app_id=${unknown}`, 'app not found'],
      [`GET /admin/apps/${unknown}/conversations/${conversation}`, 'app not found'],
      [`GET /admin/apps/${unknown}/conversations/${conversation}/messages`, 'app not found'],
      ...['', '/messages'].flatMap((end) =>
        withEach(
          [unknown, other.ids.conversation, deleted.id],
          (id): Row => [`GET /admin/apps/${one.ids.app}/conversations/${id}${end}`, 'conversation not exists'],
        ),
      ),
      [
        `GET /admin/apps/${one.ids.app}/conversations/${conversation}/messages?first_id=${unknown}`,
        'first message not exists',
      ],
      [`GET /admin/workspaces/${unknown}`, 'workspace not found'],
      [`GET /admin/workspaces/${unknown}/model-providers`, 'workspace not found'],
      ...withEach([unknown, 'x%00'], (id): Row => [`GET /admin/datasets/${id}`, noDataset]),
      ...withEach([unknown, '%00'], (id): Row => [`GET /admin/datasets/${id}/documents`, noDataset]),
      [`GET /admin/datasets/${unknown}/documents/${document}`, noDataset],
      [`GET /admin/datasets/${unknown}/documents/${unknown}/segments`, noDataset],
      [`GET /admin/datasets/${unknown}/documents/${document}/segments/${segment}`, noDataset],
      ...[unknown, other.ids.document].flatMap((id): Row[] => [
        [`GET ${admins(inDataset)}/documents/${id}`, noDocument],
        [`GET ${admins(inDataset)}/documents/${id}/segments`, noDocument],
      ]),
      [`GET ${admins(inDataset)}/documents/${unknown}/segments/${segment}`, noDocument],
      [`GET ${admins(inDataset)}/documents/${unknown}/segments/${segment}/child_chunks`, noDocument],
      [`GET ${admins(inDataset)}/documents/${bare.id}/segments/${segment}`, noSegment],
      ...withEach([other.ids.segment, 'x%00'], (id): Row => [`GET ${admins(inDocument)}/segments/${id}`, noSegment]),
      ...withEach(
        [unknown, other.ids.segment],
        (id): Row => [`GET ${admins(inDocument)}/segments/${id}/child_chunks`, noSegment],
      ),
      ...withEach([unknown, 'x%00'], (id): Row => [`GET ${admins(chunks)}/${id}/revisions`, noChunk]),
      [`GET ${admins(inDocument)}/segments/${sibling.id}/child_chunks/${chunk}/revisions`, noChunk],
      ...Object.entries({
        [dataset]: noDataset,
        [document]: noDocument,
        [segment]: noSegment,
        [chunk]: noChunk,
      }).flatMap(([id, message]) =>
        [unknown, 'x', '%00'].flatMap((wrong): Row[] => [
          [`GET ${consolePath.replace(id, wrong)}`, message],
          [`PATCH ${consolePath.replace(id, wrong)}`, message, { content: 'text' }],
        ]),
      ),
      [`PATCH ${consolePath.replace(dataset, other.ids.dataset)}`, noDocument, { content: 'text' }],
      ...withEach([unknown, 'x', '%00'], (id): Row => [`DELETE /admin/keys/${id}`, 'key not found']),
      ...['records', 'messages.csv'].flatMap((path) =>
        withEach(
          [
            `app_id=${unknown}`,
            `conversation_id=${unknown}`,
            `app_id=${other.ids.app}&conversation_id=${conversation}`,
          ],
          (query): Row => [`GET /admin/${path}?${query}`, /not found|not exists/],
        ),
      ),
      ...[true, false].flatMap((dry_run): Row[] => [
        ['POST /admin/purge', 'conversation not exists', { conversation_id: unknown, dry_run }],
        ['POST /admin/purge', 'app not found', { app_id: unknown, user: 'ann', dry_run }],
      ]),
      [`PATCH /admin/people/${unknown}`, /./, { blocked: true }],
      ['DELETE /admin/people/x/sessions', /./],
    ]),
  );

  const owners = ['app_id', 'user', 'conversation_id'];
  const filters = {
    records: [...owners, 'from', 'to', 'kinds'],
    'messages.csv': [...owners, 'from', 'to'],
    changes: ['app_id', 'dataset_id', 'kinds'],
    'evals.jsonl': ['label', 'app_id', 'from', 'to'],
  };
  const search = {
    ...{
      rating: 'bad',
      status: 'failed',
      has: 'forms',
      from: 'monday',
      to: '1.5',
      min_cost: 'much',
      min_latency: '1s',
    },
    ...{ in: 'apps', q: 'x'.repeat(201), limit: '101', cursor: 'x' },
  };
  const wrong = (path: string, queries: Record<string, string>) =>
    Object.entries(queries).map(([query, name]): Row => [`GET ${path}?${query}`, new RegExp(`^${name}\\b`)]);
  describeRefusals(
    onOneEngine,
    refused(admin, 400, [
      ['GET /admin/overview?from=5&to=5', 'from must be before to'],
      ['GET /admin/overview?from=0&to=31622401', 'from and to must be at most 366 days apart'],
      ['GET /admin/overview?from=253402300799', 'from must not be in the future'],
      ...wrong('/admin/overview', { 'from=-1': 'from', 'to=x': 'to' }),
      ...wrong('/admin/users', { 'sort=up': 'sort', 'cursor=x': 'cursor', 'user=ann': 'user', 'q=%00': 'q' }),
      ...wrong('/admin/activity', { 'action=read': 'action', 'record=x': 'record', 'from=-1': 'from', 'to=x': 'to' }),
      ...wrong('/admin/activity', { 'cursor=x': 'cursor', 'limit=0': 'limit', 'from=1e99': 'from' }),
      ...wrong('/admin/reviews', {
        'state=closed': 'state',
        'labels=x': 'labels',
        'cursor=x': 'cursor',
        'limit=0': 'limit',
      }),
      ...wrong('/admin/evals.jsonl', { 'redact=2': 'redact', 'redact=': 'redact', 'user=ann': 'user' }),
      ...wrong('/admin/records', {
        'from=x': 'from',
        'usr=ann': 'usr',
        'user=%00': 'user',
        'kinds=message,x': 'kinds',
      }),
      ...wrong('/admin/messages.csv', { 'from=x': 'from', 'usr=ann': 'usr', 'user=%00': 'user' }),
      // An empty filter would select everything.
      ...Object.entries(filters).flatMap(([path, names]) =>
        names.flatMap((name) => wrong(`/admin/${path}`, { [`${name}=`]: name })),
      ),
      ...Object.entries(search).flatMap(([name, value]) => wrong('/admin/search', { [`${name}=${value}`]: name })),
      ...Object.entries(search)
        .filter(([name]) => name !== 'limit' && name !== 'cursor')
        .flatMap(([name, value]) => wrong('/admin/search/counts', { [`${name}=${value}`]: name })),
      ['GET /admin/search?in=knowledge&user=ann', 'user must be absent with in=knowledge'],
      ['GET /admin/search?in=knowledge&group=conversation', 'group must be absent with in=knowledge'],
      ['GET /admin/search/counts?in=knowledge', /./],
      ...withEach(
        owners,
        (name): Row => [
          'POST /admin/purge',
          `${name} must not be empty`,
          { app_id: one.ids.app, user: 'eve', [name]: '' },
        ],
      ),
      ...withEach(
        [
          ...[{}, { conversation_id: conversation, user: 'ann' }, { app_id: one.ids.app }, { user: 'ann' }],
          ...[
            { conversation_id: conversation, app_id: one.ids.app, user: 'ann' },
            { app_id: one.ids.app, user: '' },
          ],
          ...[
            { app_id: one.ids.app, user: 'a\0' },
            { conversation_id: '' },
            { conversation_id: conversation, dryrun: true },
          ],
          { conversation_id: conversation, dry_run: 'yes' },
        ],
        (body): Row => ['POST /admin/purge', /./, body],
      ),
      ...withEach(
        ['https://example.com', '//example.com', 'javascript:alert(1)', '#', '#/a\nb', '', 7, undefined],
        (address): Row => ['PUT /admin/views/bad', /^address/, { address }],
      ),
      [`PUT /admin/views/${'x'.repeat(81)}`, /^name/, { address: '#/keys' }],
      [`DELETE /admin/views/${'x'.repeat(81)}`, /^name/],
    ]),
  );

  const reviewOf = (id: string, conversation_id = conversation, app_id = one.ids.app) =>
    `PUT /admin/apps/${app_id}/conversations/${conversation_id}/messages/${id}/review`;
  describeRefusals(onOneEngine, [
    ...refused(admin, 400, [
      ...withEach(
        [
          { reviewer: 'x' },
          { state: 'closed' },
          { labels: Array(21).fill('x') },
          { labels: ['x'.repeat(65)] },
          { labels: [''] },
        ],
        (body): Row => [reviewOf(rated.id), new RegExp(Object.keys(body)[0] ?? ''), body],
      ),
      ...withEach(['x'.repeat(10_001), '😀'.repeat(5_001)], (note): Row => [reviewOf(rated.id), /^note/, { note }]),
      [reviewOf(rated.id), /^expected_answer/, { expected_answer: 'a\0b' }],
      ...withEach(
        [{ labels: ['\ud83d', '\ude00'] }, { note: '\ud83d' }, { expected_answer: '\ude00' }],
        (body): Row => [reviewOf(rated.id), /must be well-formed Unicode/, body],
      ),
    ]),
    ...refused(admin, 404, [
      [reviewOf(unknown), 'message not exists', {}],
      [reviewOf(rated.id, unknown), 'conversation not exists', {}],
      [reviewOf(rated.id, conversation, other.ids.app), 'conversation not exists', {}],
      [reviewOf(rated.id, conversation, unknown), 'app not found', {}],
    ]),
  ]);

  const app_id = one.ids.app;
  const workspace_id = workspace;
  const dataset_ids = [dataset];
  const now = Math.floor(Date.now() / 1000);
  const newKey = (kind: string, fields: object, message: RegExp): Row => [
    'POST /admin/keys',
    message,
    { kind, ...fields },
  ];
  describeRefusals(onOneEngine, [
    ...refused(admin, 400, [
      ['POST /admin/keys', /^kind is required/, {}],
      newKey('root', {}, /^kind must be one of app, knowledge, writer, feed, admin/),
      newKey('app', {}, /^app_id is required for kind app/),
      newKey('app', { app_id: null }, /^app_id is required/),
      newKey('app', { app_id: unknown }, /^app .* does not exist/),
      newKey('app', { app_id: '\0' }, /^app .* does not exist/),
      newKey('app', { app_id, workspace_id }, /^workspace_id is not allowed for kind app/),
      newKey('app', { app_id, role: 'viewer' }, /^role is not allowed for kind app/),
      newKey('writer', { app_id, dataset_ids }, /^dataset_ids is not allowed for kind writer/),
      newKey('writer', { app_id: 5 }, /^app_id must be a string or null/),
      newKey('knowledge', {}, /^workspace_id is required for kind knowledge/),
      newKey('knowledge', { workspace_id, app_id }, /^app_id is not allowed for kind knowledge/),
      newKey('knowledge', { workspace_id: unknown }, /^workspace .* does not exist/),
      newKey('knowledge', { workspace_id, dataset_ids: [] }, /^dataset_ids /),
      newKey('knowledge', { workspace_id, dataset_ids: [5] }, /^dataset_ids\[0\] must be a string/),
      newKey('knowledge', { workspace_id, dataset_ids: [unknown] }, /^dataset .* does not exist/),
      newKey('knowledge', { workspace_id, dataset_ids: [other.ids.dataset] }, /^dataset .* does not exist/),
      newKey('feed', {}, /^workspace_id is required for kind feed/),
      newKey('feed', { workspace_id, app_id: other.ids.app }, /^app .* does not exist in that workspace/),
      newKey(
        'feed',
        { workspace_id, app_id, dataset_ids },
        /^app_id and dataset_ids are not allowed together for kind feed/,
      ),
      newKey('admin', { app_id }, /^app_id is not allowed for kind admin/),
      newKey('admin', { workspace_id }, /^workspace_id is not allowed for kind admin/),
      newKey('admin', { dataset_ids }, /^dataset_ids is not allowed for kind admin/),
      newKey('admin', { name: 5 }, /^name must be a string/),
      newKey('admin', { name: 'x\0' }, /^name must not contain NUL/),
      newKey('admin', { name: '\ud800' }, /^name must be well-formed/),
      newKey('admin', { name: 'x'.repeat(256) }, /^name /),
      newKey('admin', { expires_at: now - 1 }, /^expires_at must be in the future/),
      newKey('admin', { expires_at: now + 0.5 }, /^expires_at must be an integer or null/),
      newKey('admin', { expires_at: 2 ** 60 }, /^expires_at /),
      newKey('admin', { expires_at: '90d' }, /^expires_at must be an integer or null/),
      newKey('admin', { role: 'root' }, /^role must be one of viewer, editor, admin/),
    ]),
    ...refused(admin, 400, [['POST /admin/keys', /./, '{']], {
      headers: { 'content-type': 'application/json' },
      code: 'bad_request',
    }),
    ...refused(admin, 415, [['POST /admin/keys', /./, 'kind=admin']]),
  ]);

  it('200: what is just allowed', async () => {
    for (const [key, path] of [
      [app, '/v1/conversations?limit=&user=&sort_by=&last_id=&other=1&other=2'],
      [knowledge, chunks.replaceAll(/[0-9a-f-]{36}/g, (id) => id.toUpperCase())],
      [admin, '/admin/overview?from=0&to=31622400'],
      [admin, `/admin/changes?after=&limit=&app_id=${one.ids.app}`],
      [admin, '/admin/conversations?user=&app_id=&from='],
    ] as const)
      assert.equal((await service.as(key).get(path)).status, 200, path);
    const [method = '', path = ''] = reviewOf(rated.id).split(' ');
    const note = '😀'.repeat(5_000);
    assert.equal((await service.request(method, path, { key: admin, body: { note } })).status, 200);
    const edit = { key: admin, body: { content: 'in another workspace' } };
    assert.equal((await service.request('PATCH', other.chunkPath.replace('/v1/', '/admin/'), edit)).status, 200);
  });
});
