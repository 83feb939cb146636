import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import fc from 'fast-check';
import {
  makeTenant,
  makeTwoTenants,
  onEveryEngine,
  parseLines,
  pluck,
  type RequestOptions,
  shortOrLong,
  startService,
  useService,
} from '../support/harness.ts';

const url = '/openai/v1/conversations';
type Item = { id: string; type: string; [field: string]: unknown };
type Page = { data: Item[]; first_id: string | null; last_id: string | null; has_more: boolean };

const user = (content: string, more: object = {}) => ({ role: 'user', content, ...more });
const assistant = (content: string) => ({ type: 'message', role: 'assistant', content });
const call = { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"city":"Oslo"}' };
const output = { type: 'function_call_output', call_id: 'c1', output: 'rain' };

onEveryEngine('conversations of OpenAI clients', (engine) => {
  const { one, other, admin, records } = makeTwoTenants();
  const completion = makeTenant('completion');
  const service = useService(engine, [...records, ...completion.records]);

  const key = one.keys.writer;
  const send = (method: string, path: string, options: RequestOptions = {}) =>
    service.request(method, `${url}${path}`, { key, ...options });
  const create = async (body?: object, options: RequestOptions = {}) =>
    (await send('POST', '', { ...(body && { body }), ...options })).body;
  const add = (id: string, items: readonly object[], headers = {}) =>
    send('POST', `/${id}/items`, { body: { items }, headers });
  const list = async (id: string, query = ''): Promise<Page> => (await send('GET', `/${id}/items?${query}`)).body;
  const remove = (id: string, item: string) => send('DELETE', `/${id}/items/${item}`);
  const uuidOf = (id: string) => id.replace(/^conv_(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  const messages = async (id: string) =>
    (await service.as(one.keys.app).get(`/v1/messages?conversation_id=${uuidOf(id)}`)).body.data.toReversed();
  const error = (response: { status: number; body: { error: { type: string; message: string } } }) => [
    response.status,
    response.body.error.type,
    response.body.error.message,
  ];

  it('creates a conversation, with items, metadata and its end user', async () => {
    const created = await create({ metadata: { user: 'ann', topic: 'x' }, items: [user('Hello?')] });
    assert.match(created.id, /^conv_[0-9a-f]{32}$/);
    assert.deepEqual(created.metadata, { user: 'ann', topic: 'x' });
    assert.deepEqual((await send('GET', `/${uuidOf(created.id)}`)).body, created);
    const [item] = (await list(created.id)).data;
    const content = [{ type: 'input_text', text: 'Hello?' }];
    assert.deepEqual(item, { id: item?.id, type: 'message', role: 'user', content, status: 'completed' });
    const own = await service.as(one.keys.app).get('/v1/conversations?user=ann');
    assert.deepEqual([own.body.data[0].id, own.body.data[0].name], [uuidOf(created.id), 'Hello?']);
    assert.deepEqual((await create()).metadata, {});
  });

  it('shows large inputs that other clients stored, also to many at once', async () => {
    const user = randomUUID();
    const inputs = { text: 'x'.repeat(300_000), n: 1, other: 'y' };
    const ids = [1, 2].map(() => randomUUID());
    await service.load(
      ids.map((id, at) => ({ record: 'conversation', id, app_id: one.ids.app, user, created_at: at, inputs })),
    );
    const metadata = { text: inputs.text, other: 'y' };
    const paths = Array.from({ length: 20 }, (_, at) => (at % 2 ? `?user=${user}` : `/${ids[0]}`));
    const responses = await Promise.all(paths.map((path) => service.as(key).get(`${url}${path}`)));
    for (const { body } of responses)
      for (const shown of body.data ?? [body]) assert.deepEqual(shown.metadata, metadata);
    const changed = await service.as(key).post(`${url}/${ids[0]}`, { metadata: { a: 'b' } });
    assert.deepEqual(changed.body.metadata, { a: 'b' });
  });

  it('stores a turn as one message, whose fields readers of /v1 get', async () => {
    const { id } = await create({});
    const added = await add(id, [user('Weather?'), call, output, assistant('It rains.'), user('Thanks'), user('Bye')]);
    assert.equal(added.status, 200);
    assert.deepEqual(
      added.body.data.map((item: Item) => item.id.replace(/[0-9a-f]{32}/, '')),
      ['msg__0', 'fc__1', 'fco__2', 'msg__3', 'msg__0', 'msg__1'],
    );
    await add(id, [assistant('Bye!'), { ...assistant('again'), content: [] }]);
    const stored = await messages(id);
    assert.deepEqual(
      stored.map(({ query, answer }: { query: string; answer: string }) => [query, answer]),
      [
        ['Weather?', 'It rains.'],
        ['Thanks\n\nBye', 'Bye!'],
      ],
    );
    const [{ tool, tool_input, observation }] = stored[0].agent_thoughts;
    assert.deepEqual([tool, tool_input, observation], ['weather', '{"city":"Oslo"}', 'rain']);
    assert.equal('items' in stored[0], false);
  });

  it('lists files by their address only', async () => {
    const { id } = await create({});
    const image = (image_url: string) => ({ type: 'input_image', image_url });
    const content = [
      image('https://example.org/a/b.png?x=1'),
      image('data:image/png;base64,AA'),
      image(`https://x/${'y'.repeat(2050)}`),
    ];
    await add(id, [{ role: 'user', content }]);
    const [{ message_files: files }] = await messages(id);
    assert.deepEqual(
      files.map((file: { filename: string; type: string; url: string }) => [file.filename, file.type, file.url]),
      [['b.png', 'image', 'https://example.org/a/b.png?x=1']],
    );
    assert.deepEqual((await list(id)).data[0]?.content, content);
  });

  it('keeps every item, and pages visit each once, in both directions, like a list in memory', async () => {
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          add: fc.array(fc.constantFrom(user('q'), assistant('a'), call, output, { type: 'new_kind', x: [1] }), {
            minLength: 1,
            maxLength: 5,
          }),
        }),
      },
      { weight: 2, arbitrary: fc.record({ remove: fc.nat(30) }) },
      { weight: 1, arbitrary: fc.constant({ again: true }) },
    );
    const isStep = fc.array(step, { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(isStep, fc.integer({ min: 1, max: 7 }), async (steps, limit) => {
        const { id } = await create({});
        const model: Item[] = [];
        let last: object[] | undefined;
        for (const one of steps) {
          if ('add' in one) {
            last = one.add;
            model.push(...(await add(id, last)).body.data);
          } else if ('again' in one && last !== undefined) {
            const { body } = await add(id, last, { 'x-stainless-retry-count': '1' });
            assert.deepEqual(
              pluck(body.data, 'id'),
              model.slice(-last.length).map(({ id }) => id),
            );
          } else if ('remove' in one && model.length > 0) {
            const [removed] = model.splice(one.remove % model.length, 1);
            assert.equal((await remove(id, removed?.id ?? '')).status, 200);
            last = undefined;
          }
        }
        for (const order of ['asc', 'desc']) {
          const found: Item[] = [];
          for (let after = ''; ; ) {
            const page = await list(id, `limit=${limit}&order=${order}${after}`);
            assert.ok(page.data.length > 0 || !page.has_more, 'an empty page ends the list');
            assert.equal(page.last_id, page.data.at(-1)?.id ?? null);
            found.push(...page.data);
            if (!page.has_more) break;
            after = `&after=${page.last_id}`;
          }
          assert.deepEqual(found, order === 'asc' ? model : model.toReversed());
        }
        const shown = await messages(id);
        const texts = (role: string) => model.filter((item) => item.role === role).length;
        const parts = (field: string) =>
          shown.flatMap((one: Record<string, string>) => one[field]?.split('\n\n').filter((text) => text !== ''))
            .length;
        assert.deepEqual([parts('query'), parts('answer')], [texts('user'), texts('assistant')]);
      }),
      { numRuns: shortOrLong(12, 100) },
    );
  });

  it('pages visit each item once while others are added and deleted, and a copy has the same items', async () => {
    const { id } = await create({});
    const turn = [user('q'), ...Array.from({ length: 9 }, (_, at) => assistant(`${at}`))];
    for (let at = 0; at < 3; at += 1) await add(id, turn);
    for (const order of ['asc', 'desc']) {
      const before = (await list(id, 'limit=100')).data.map((item) => item.id);
      const visited: string[] = [];
      for (let after = ''; ; ) {
        const [page] = await Promise.all([
          list(id, `limit=4&order=${order}${after}`),
          add(id, [assistant('added')]),
          add(id, [user('added'), assistant('added')]),
        ]);
        visited.push(...page.data.map((item) => item.id));
        // The list becomes longer while it is read.
        if (!page.has_more || (order === 'asc' && visited.length > 60)) break;
        const message = visited.at(-4) ?? '';
        if (before.includes(message)) await remove(id, message);
        after = `&after=${page.last_id}`;
      }
      assert.equal(new Set(visited).size, visited.length, order);
      assert.deepEqual(
        before.filter((one) => !visited.includes(one)),
        [],
        order,
      );
    }
    const shown = await list(id, 'limit=100&order=asc');
    const copy = await service.as(admin).get(`/admin/records?conversation_id=${uuidOf(id)}`);
    const second = await startService(engine);
    await second.load(records);
    await second.load(parseLines(copy.text));
    assert.deepEqual((await second.as(key).get(`${url}/${id}/items?limit=100&order=asc`)).body, shown);
    await second.close();
  });

  it('stores concurrent requests whole, one after the other', async () => {
    const { id } = await create({});
    const all = Array.from({ length: 12 }, (_, at) => Array.from({ length: 3 }, (_, n) => assistant(`${at} ${n}`)));
    await Promise.all(all.map((items) => add(id, items)));
    const texts = (await list(id, 'limit=100&order=asc')).data.map(
      ({ content }) => (content as { text: string }[])[0]?.text,
    );
    const groups = Array.from({ length: 12 }, (_, at) => texts.slice(at * 3, at * 3 + 3));
    assert.deepEqual(groups.toSorted(), all.map((items) => items.map(({ content }) => content)).toSorted());
  });

  it('does a request once that a client sends again, and only that', async () => {
    const { id } = await create({ items: [user('first')] });
    const retry = { 'x-stainless-retry-count': '1' };
    await add(id, [user('first')], retry);
    assert.equal((await list(id)).data.length, 2, 'a creation is not compared');
    const before = (await add(id, [assistant('a')])).body;
    assert.deepEqual((await add(id, [{ ...assistant('a'), status: 'completed' }], retry)).body, before);
    await add(id, [assistant('b')], retry);
    await add(id, [assistant('b')]);
    assert.equal((await list(id)).data.length, 5);
    service.advanceClock(121);
    await add(id, [assistant('b')], retry);
    assert.equal((await list(id)).data.length, 6, 'after two minutes it is another request');
    const newest = (await list(id, 'limit=1')).data[0]?.id ?? '';
    await remove(id, newest);
    await add(id, [assistant('b')], retry);
    assert.equal((await list(id)).data.length, 6, 'what was deleted can be added again');
  });

  it('finds a request by its Idempotency-Key', async () => {
    const named = (name: string) => ({ headers: { 'idempotency-key': name } });
    const body = { items: [user('x')] };
    const conversations = await Promise.all([1, 2, 3].map(() => create(body, named('create'))));
    assert.equal(new Set(conversations.map(({ id }) => id)).size, 1);
    const [{ id }] = conversations;
    assert.equal((await list(id)).data.length, 1);
    const changed = await send('POST', '', { body: { items: [user('y')] }, ...named('create') });
    assert.deepEqual(error(changed), [400, 'invalid_request_error', 'Idempotency-Key was used for another request']);
    const added = (await add(id, [user('z')], named('add').headers)).body;
    await add(id, [user('between')]);
    assert.deepEqual((await add(id, [user('z')], named('add').headers)).body, added);
    assert.equal((await add(id, [user('!')], named('add').headers)).status, 400);
    service.advanceClock(86_401);
    assert.equal((await add(id, [user('!')], named('add').headers)).status, 200);
    await service.as(admin).post('/admin/purge', { conversation_id: uuidOf(id) });
    assert.equal((await send('POST', '', { body, ...named('create') })).status, 404, 'what was erased stays erased');
  });

  it('begins another message when one is full', async () => {
    const { id } = await create({ items: [user('q')] });
    for (let at = 0; at < 6; at += 1)
      await add(
        id,
        Array.from({ length: 20 }, () => assistant('a')),
      );
    await add(id, [assistant('z'.repeat(300_000))]);
    await add(id, [assistant('after')]);
    const counts = (await messages(id)).map(({ answer }: { answer: string }) => answer.split('\n\n').length);
    assert.deepEqual(counts, [100, 21, 1]);
    assert.equal((await list(id, 'limit=100&order=asc')).data.length, 100);
  });

  it('shows the id that a client gave where its clients send it again', async () => {
    const { id } = await create({});
    const reasoning = { type: 'reasoning', id: 'rs_abc', summary: [], encrypted_content: 'e' };
    const { body } = await add(id, [user('q', { id: 'mine' }), reasoning, assistant('a')]);
    assert.equal(body.data[1].id, 'rs_abc');
    assert.match(body.data[0].id, /^msg_[0-9a-f]{32}_0$/);
    assert.deepEqual((await send('GET', `/${id}/items/rs_abc`)).body, reasoning);
    assert.equal((await list(id, 'after=rs_abc&order=asc')).data[0]?.id, body.data[2].id);
    const page = await list(id, `limit=1&order=desc&after=${body.data[2].id}`);
    assert.match(page.last_id ?? '', /^rs_[0-9a-f]{32}_1$/);
    assert.equal((await remove(id, 'rs_abc')).status, 200);
    assert.equal((await send('GET', `/${id}/items/rs_abc`)).status, 404);
    assert.equal((await list(id, `after=${page.last_id}&order=asc`)).data.length, 1, 'after a deleted item');
  });

  it('erases a message without items', async () => {
    const { id } = await create({ items: [user('only')] });
    const [item] = (await list(id)).data;
    assert.equal((await remove(id, item?.id ?? '')).body.id, id);
    assert.deepEqual(await list(id), { object: 'list', data: [], first_id: null, last_id: null, has_more: false });
    assert.deepEqual(await messages(id), []);
    assert.equal((await send('GET', `/${id}/items?after=${item?.id}`)).status, 404);
  });

  it('shows and changes messages of any origin', async () => {
    const conversation_id = randomUUID();
    const thought = {
      ...{ id: randomUUID(), chain_id: null, position: 1, thought: 'hm', tool: 't', tool_labels: null },
      ...{ tool_input: '{}', observation: 'o', files: [], created_at: 1 },
    };
    const message = { record: 'message', conversation_id, query: 'q', answer: 'a', feedback: { rating: 'like' } };
    const [first, second] = [randomUUID(), randomUUID()];
    await service.load([
      { record: 'conversation', id: conversation_id, app_id: one.ids.app, inputs: { a: 'text', n: 1 } },
      { ...message, id: first, created_at: 5, agent_thoughts: [{ ...thought, message_id: first }] },
      { ...message, id: second, created_at: 6, query: '' },
    ]);
    const shown = (await list(conversation_id, 'order=asc')).data;
    assert.deepEqual(pluck(shown, 'type'), ['message', 'function_call', 'function_call_output', 'message', 'message']);
    assert.equal((await remove(conversation_id, shown[0]?.id ?? '')).status, 200);
    const [changed] = await messages(conversation_id);
    assert.deepEqual(
      [changed.query, changed.answer, changed.feedback, changed.agent_thoughts[0].thought],
      ['', 'a', { rating: 'like' }, 'hm'],
    );
    const updated = await send('POST', `/${conversation_id}`, { body: { metadata: { b: 'new' } } });
    assert.deepEqual(updated.body.metadata, { b: 'new' });
    const exported = (await service.as(admin).get('/admin/records')).text;
    const record = exported.split('\n').find((line) => line.includes(`"id":"${conversation_id}"`)) ?? '';
    assert.deepEqual(JSON.parse(record).inputs, { n: 1, b: 'new' });
  });

  it('keeps conversations of other users and apps apart', async () => {
    const { id } = await create({ metadata: { user: 'ann' } });
    const as = (name: string) => ({ headers: { 'x-ms-user-isolation-key': name } });
    assert.equal((await send('GET', `/${id}`, as('ann'))).status, 200);
    for (const [method, path, body] of [
      ['GET', `/${id}`],
      ['GET', `/${id}/items`],
      ['DELETE', `/${id}`],
      ['POST', `/${id}/items`, { items: [user('x')] }],
      ['POST', `/${id}`, { metadata: {} }],
    ] as const) {
      const response = await send(method, path, { body, ...as('bob') });
      assert.deepEqual(error(response), [404, 'invalid_request_error', 'Conversation not found.']);
      const foreign = await send(method, path, { body, key: other.keys.writer });
      assert.deepEqual(foreign.body, response.body);
    }
    assert.equal((await send('GET', `/${id}`, as(''))).status, 400);
    assert.equal((await send('POST', '', { body: { metadata: { user: 'ann' } }, ...as('bob') })).status, 400);
    const moved = await send('POST', `/${id}`, { body: { metadata: { user: 'bob' } } });
    assert.deepEqual(error(moved), [400, 'invalid_request_error', 'metadata.user must not change']);
    const listed = (await send('GET', '?user=ann')).body.data.map((one: { id: string }) => one.id);
    assert.ok(listed.includes(id));
    assert.deepEqual((await send('GET', '?user=ann', as('bob'))).body.data, []);
  });

  it('lists conversations by their creation, without deleted ones', async () => {
    const ids: string[] = [];
    for (let at = 0; at < 4; at += 1) {
      service.advanceClock(1);
      ids.push((await create({ metadata: { user: 'lister' } })).id);
    }
    assert.deepEqual((await send('DELETE', `/${ids[1]}`)).body, {
      id: ids[1],
      object: 'conversation.deleted',
      deleted: true,
    });
    const [a, , c, d] = ids;
    const page = (await send('GET', '?user=lister&limit=2')).body;
    assert.deepEqual([page.data.map((one: { id: string }) => one.id), page.has_more], [[d, c], true]);
    const rest = (await send('GET', `?user=lister&limit=2&after=${page.last_id}`)).body;
    assert.deepEqual([rest.data.map((one: { id: string }) => one.id), rest.has_more], [[a], false]);
    assert.equal((await send('GET', `/${ids[1]}`)).status, 404);
  });

  it('rejects what it cannot keep, with the error that these clients read', async () => {
    const { id } = await create({});
    const rejected = async (items: unknown, message: RegExp) => {
      const response = await send('POST', `/${id}/items`, { body: { items } });
      assert.deepEqual(
        [response.status, response.body.error.type, response.body.error.param],
        [400, 'invalid_request_error', null],
      );
      assert.match(response.body.error.message, message);
    };
    await rejected([], /items/);
    await rejected(
      Array.from({ length: 21 }, () => user('x')),
      /items/,
    );
    await rejected(['x'], /items\[0\] must be an object/);
    await rejected([{ role: 'nobody', content: '' }], /items\[0\].role/);
    await rejected([user('x'), { role: 'user', content: [1] }], /items\[1\].content/);
    await rejected([{ type: 'deleted' }], /items\[0\].type/);
    await rejected([{ type: 'reasoning', id: 'x'.repeat(256) }], /items\[0\].id/);
    await rejected([user('a\0b')], /NUL/);
    await rejected([user('\ud800')], /Unicode/);
    assert.deepEqual((await list(id)).data, []);
    const nested = `{"items":[{"type":"x","deep":${'['.repeat(200_000)}${']'.repeat(200_000)}}]}`;
    const headers = { 'content-type': 'application/json' };
    assert.equal((await send('POST', `/${id}/items`, { body: nested, headers })).status, 400);
    const large = await send('POST', `/${id}/items`, { body: { items: [user('x'.repeat(1_100_000))] } });
    assert.deepEqual([large.status, large.body.error.code], [413, 'payload_too_large']);
    for (const [options, type, status] of [
      [{ key: one.keys.app }, 'authentication_error', 401],
      [{ key: admin }, 'authentication_error', 401],
      [{ key: one.keys.knowledge }, 'authentication_error', 401],
      [{ key: completion.keys.writer }, 'invalid_request_error', 400],
      [{ headers: { 'content-type': 'text/plain' }, body: 'x' }, 'invalid_request_error', 415],
      [{ body: '{', headers }, 'invalid_request_error', 400],
      [{ body: { metadata: { a: 1 } } }, 'invalid_request_error', 400],
      [{ body: { metadata: { ['n'.repeat(65)]: '' } } }, 'invalid_request_error', 400],
    ] as const) {
      const response = await send('POST', '', options as RequestOptions);
      assert.deepEqual([response.status, response.body.error.type], [status, type], JSON.stringify(options));
    }
    const unknown = await service.as(key).get('/openai/v1/responses');
    assert.deepEqual(error(unknown), [404, 'invalid_request_error', 'no such route']);
    assert.equal((await send('GET', `/${id}`, { key: one.keys.app })).status, 200, 'an app key reads');
  });

  it('429 has the type that these clients know', async () => {
    const limited = await startService(engine, { RATE_LIMIT: '1' });
    await limited.load(records);
    const get = () => limited.as(key).get(url);
    await get();
    const { status, body } = await get();
    assert.deepEqual([status, body.error.type, body.error.code], [429, 'rate_limit_error', 'too_many_requests']);
    await limited.close();
  });

  it('never fails on a body, whatever it is', async () => {
    const { id } = await create({});
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.jsonValue(), fc.record({ items: fc.array(fc.jsonValue()), metadata: fc.jsonValue() })),
        async (body) => {
          for (const path of ['', `/${id}`, `/${id}/items`]) {
            const { status } = await send('POST', path, {
              body: JSON.stringify(body),
              headers: { 'content-type': 'application/json' },
            });
            assert.ok(status < 500, `${status}`);
          }
        },
      ),
      { numRuns: shortOrLong(40, 500) },
    );
  });
});
