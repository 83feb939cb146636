import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { purge } from '../../src/domain/erasure/purge.ts';
import { makeSecret } from '../../src/domain/secret.ts';
import { completeRecords } from '../support/complete-records.ts';
import {
  describeOnOneEngine,
  exportedText,
  itOnOneEngine,
  makeTenant,
  message,
  messageDefaults,
  onEveryEngine,
  parseLines,
  pluck,
  type Service,
  startService,
  type Tenant,
  type TestResponse,
  useService,
} from '../support/harness.ts';
import { describeRefusals, type Refusal } from '../support/scenarios.ts';

const noConversation = { status: 404, code: 'not_found', message: 'conversation not exists' };
const noFirstMessage = { status: 404, code: 'not_found', message: 'first message not exists' };
/** How a request is refused. */
type RefusedBy = Pick<Refusal, 'status' | 'code' | 'message'>;

const notChatApp = {
  status: 400,
  code: 'not_chat_app',
  message: 'Please check that the app mode matches the API route.',
};

/** A string is used unchanged as the query; an object is encoded. */
const pathOf = (query: string | Record<string, string>) =>
  `/v1/messages?${typeof query === 'string' ? query : new URLSearchParams(query)}`;

const idsOf = (response: TestResponse): string[] => response.body.data.map(({ id }: { id: string }) => id);
const etagOf = (response: TestResponse): string => {
  assert.equal(response.status, 200, response.text);
  assert.match(response.headers.etag ?? '', /^(W\/)?"[\x21\x23-\x7e]+"$/);
  return response.headers.etag ?? '';
};
/** The target of `Link`. */
const nextOf = (response: TestResponse): string => {
  const link = response.headers.link;
  assert.equal(typeof link, 'string', 'there is a Link');
  const path = /^<(\/v1\/messages\?[\x21-\x3d\x3f-\x7e]+)>; rel="next"$/.exec(`${link}`)?.[1];
  assert.ok(path, `Link is path-absolute and rel="next": ${link}`);
  return path;
};

/** Ids that are not UUIDs, percent-encoded. */
const notUuids = (uuid: string): Record<string, string> => ({
  word: 'x',
  digit: '1',
  null: 'null',
  'an object': '%5Bobject%20Object%5D',
  NUL: '%00',
  'a UUID and NUL': `${uuid}%00`,
  'a UUID and a letter': `${uuid}a`,
  'a UUID and a line feed': `${uuid}%0A`,
  'a UUID after a space': `%20${uuid}`,
  'a UUID in braces': `%7B${uuid}%7D`,
  'a UUID without hyphens': uuid.replaceAll('-', ''),
  'a truncated UUID': uuid.slice(0, -1),
  'a URN': `urn:uuid:${uuid}`,
  emoji: encodeURIComponent('😀'),
  'many emoji': encodeURIComponent('😀'.repeat(500)),
  'a long word': 'a'.repeat(8000),
  'a long number': '9'.repeat(400),
  'half a surrogate pair': '%ED%A0%80',
  'bytes that are not UTF-8': '%FF%FE',
  'broken percent-encoding': '%zz',
  'a lone percent sign': '%',
  SQL: encodeURIComponent("' OR '1'='1"),
  wildcard: '%25',
  path: encodeURIComponent('../../etc'),
});

onEveryEngine('GET /messages', (engine) => {
  const admin = makeSecret('admin');
  /** What refused requests name. */
  const refused = makeTenant();
  const refusedMessage = message(refused.ids.conversation, 1001);
  const withoutUser = randomUUID();
  const modes = ['completion', 'workflow', 'Chat', 'chatflow', 'chat ', 'rag-pipeline', '', '__proto__'];
  const notChatApps = modes.map((mode) => ({ mode, ...makeTenant(mode) }));
  const service = useService(engine, [
    { record: 'api_key', kind: 'admin', name: 'admin', secret: admin },
    ...[refused, ...notChatApps].flatMap(({ records }) => records),
    { record: 'conversation', id: withoutUser, app_id: refused.ids.app },
    refusedMessage,
  ]);

  /** Creates a tenant with `count` messages, oldest first, one per second from 1001 on. */
  async function createTenant(count: number, mode = 'chat') {
    const tenant = makeTenant(mode);
    const messages = Array.from({ length: count }, (_, at) => message(tenant.ids.conversation, 1001 + at));
    await service.load([...tenant.records, ...messages]);
    return { ...tenant, messages, messageIds: messages.map(({ id }) => id), ...clientOf(tenant) };
  }

  /** `get` requests the tenant's own conversation with its own key. */
  function clientOf({ keys, ids }: Tenant, from: () => Service = () => service) {
    const get = (more: Record<string, string> = {}, headers = {}, method = 'GET') =>
      from().request(method, pathOf({ conversation_id: ids.conversation, ...more }), { key: keys.app, headers });
    /** `rest` is appended to the query unchanged. */
    const getRaw = (rest: string) =>
      from()
        .as(keys.app)
        .get(pathOf(`conversation_id=${ids.conversation}${rest}`));
    return { get, getRaw };
  }

  const newConversation = (tenant: Tenant, more: object = {}) => ({
    record: 'conversation',
    id: randomUUID(),
    app_id: tenant.ids.app,
    created_at: 1000,
    ...more,
  });

  describe('the message', () => {
    it('200: a message with every field and every nested type is returned exactly', async () => {
      const tenant = await createTenant(0);
      const { message: complete } = completeRecords(tenant);
      const inputs = { zebra: 1, apple: [true, null, { deep: [[]] }], ключ: '值', '': 'empty name' };
      await service.load([{ ...complete, inputs }]);
      const response = await tenant.get();
      assert.match(response.headers['content-type'] ?? '', /^application\/json\b/);
      const fields = ['id', 'conversation_id', 'query', 'answer', ...Object.keys(messageDefaults), 'created_at'];
      const shown = Object.fromEntries(
        Object.entries({ ...complete, inputs }).filter(([name]) => fields.includes(name)),
      );
      const [item, ...others] = response.body.data;
      assert.deepEqual([item, others, response.body.limit, response.body.has_more], [shown, [], 20, false]);
      assert.deepEqual(Object.keys(item.inputs), Object.keys(inputs), 'names stay in order');
    });

    it('200: a conversation without messages has an empty page', async () => {
      const tenant = await createTenant(0);
      const response = await tenant.get();
      assert.equal(response.status, 200);
      assert.deepEqual(response.body, { limit: 20, has_more: false, data: [] });
      assert.equal(response.headers.link, undefined);
      etagOf(response);
    });
  });

  describeOnOneEngine(engine, 'app mode', () => {
    it('200: apps of these modes have conversations', async () => {
      for (const mode of ['advanced-chat', 'agent', 'chat', 'agent-chat']) {
        const tenant = await createTenant(2, mode);
        assert.deepEqual(idsOf(await tenant.get()), tenant.messageIds.toReversed(), mode);
      }
    });
  });

  describeOnOneEngine(engine, 'limit', () => {
    it('200: the default is 20, and the response contains it', async () => {
      const tenant = await createTenant(21);
      const response = await tenant.get();
      assert.equal(response.body.limit, 20);
      assert.equal(response.body.has_more, true);
      assert.deepEqual(idsOf(response), tenant.messageIds.toReversed().slice(0, 20));
    });

    it('200: 1 to 100 are accepted', async () => {
      const tenant = await createTenant(101);
      for (const limit of [1, 2, 99, 100]) {
        const response = await tenant.get({ limit: `${limit}` });
        assert.equal(response.status, 200);
        assert.equal(response.body.limit, limit);
        assert.equal(response.body.has_more, true);
        assert.deepEqual(idsOf(response), tenant.messageIds.toReversed().slice(0, limit));
      }
    });

    it('200: leading zeros are accepted', async () => {
      const tenant = await createTenant(9);
      for (const limit of ['007', '08']) {
        const response = await tenant.get({ limit });
        assert.equal(response.status, 200, response.text);
        assert.strictEqual(response.body.limit, Number(limit));
        assert.equal(response.body.data.length, Number(limit));
      }
    });

    it('200: the response contains the requested limit, also if fewer messages are left', async () => {
      const tenant = await createTenant(2);
      const response = await tenant.get({ limit: '50' });
      assert.deepEqual([response.body.limit, response.body.data.length, response.body.has_more], [50, 2, false]);
    });
  });

  describeOnOneEngine(engine, 'parameters', () => {
    it('200: every other empty parameter counts as absent', async () => {
      const tenant = await createTenant(21);
      const plain = await tenant.get();
      for (const rest of ['&user=', '&first_id=', '&limit=', '&page_order=', '&user=&first_id=&limit=&page_order=']) {
        const response = await tenant.getRaw(rest);
        assert.equal(response.status, 200, `${rest}: ${response.text}`);
        assert.deepEqual(response.body, plain.body, rest);
      }
      for (const rest of ['&user', '&first_id', '&limit', '&page_order', '&&', '&=']) {
        assert.deepEqual((await tenant.getRaw(rest)).body, plain.body, rest);
      }
    });

    it('200: unknown parameters are ignored, also repeated and malformed ones', async () => {
      const tenant = await createTenant(2);
      const plain = await tenant.get();
      const unknownParameters = ['x=1', 'x=1&x=2', 'x', 'offset=1', 'last_id=x', 'limit[]=1', 'limit[0]=0', 'LIMIT=0'];
      unknownParameters.push('Page_Order=x', '__proto__=x', '__proto__=x&__proto__=y', 'constructor=x', 'user.x=1');
      unknownParameters.push('toString=x&toString=y', 'hasOwnProperty=0', '%00=1', '%zz=1', 'a.b[c]=d', ' =x');
      unknownParameters.push('%F0%9F%98%80=%F0%9F%98%80', 'limit%20=0');
      for (const rest of unknownParameters) {
        const response = await tenant.getRaw(`&${rest}`);
        assert.equal(response.status, 200, `${rest}: ${response.text}`);
        assert.deepEqual(response.body, plain.body, rest);
      }
    });

    it('200: names and values may be percent-encoded', async () => {
      const tenant = await createTenant(3);
      const encoded = [...tenant.ids.conversation].map((c) => `%${c.charCodeAt(0).toString(16)}`).join('');
      const response = await service.as(tenant.keys.app).get(pathOf(`conversation%5Fid=${encoded}&l%69mit=%32`));
      assert.equal(response.body.limit, 2);
      assert.deepEqual(idsOf(response), tenant.messageIds.toReversed().slice(0, 2));
    });
  });

  describe('user', () => {
    it('200: without user, any conversation of the app is found', async () => {
      const tenant = await createTenant(1);
      const [withoutUser, ben] = [newConversation(tenant), newConversation(tenant, { user: 'ben' })];
      await service.load([withoutUser, ben]);
      for (const conversation_id of [tenant.ids.conversation, withoutUser.id, ben.id]) {
        assert.equal((await tenant.get({ conversation_id })).status, 200);
        assert.equal((await tenant.get({ conversation_id, user: '' })).status, 200);
      }
    });

    it('200: with user, a conversation of that user is found', async () => {
      const tenant = await createTenant(2);
      const response = await tenant.get({ user: 'ann' });
      assert.equal(response.status, 200);
      assert.deepEqual(response.body, (await tenant.get()).body);
    });

    it('200: users are compared character by character', async () => {
      const tenant = await createTenant(0);
      const users = [
        'é',
        'e\u0301',
        'É',
        'a b',
        'a+b',
        'a&b=c',
        '100%',
        '%20',
        '😀',
        'x'.repeat(2000),
        '"',
        '0',
        'null',
      ];
      const conversations = users.map((user) => newConversation(tenant, { user }));
      await service.load(conversations);
      for (const [at, user] of users.entries()) {
        for (const [other, { id: conversation_id }] of conversations.entries()) {
          const { status } = await tenant.get({ conversation_id, user });
          assert.equal(status, at === other ? 200 : 404, `${user} requests the conversation of ${users[other]}`);
        }
      }
    });

    it('404: a conversation moved to another user does not exist for the first one', async () => {
      const tenant = await createTenant(1);
      const etag = etagOf(await tenant.get({ user: 'ann' }));
      await service.load([
        { record: 'conversation', id: tenant.ids.conversation, app_id: tenant.ids.app, user: 'ben', created_at: 1000 },
      ]);
      assert.deepEqual((await tenant.get({ user: 'ann' })).body, noConversation);
      assert.equal((await tenant.get({ user: 'ann' }, { 'if-none-match': etag })).status, 404);
      assert.deepEqual(idsOf(await tenant.get({ user: 'ben' })), tenant.messageIds);
    });
  });

  describe('conversation', () => {
    it('404: a deleted conversation does not exist until it is undeleted', async () => {
      const tenant = await createTenant(2);
      const { ids, messageIds } = tenant;
      const conversation = { record: 'conversation', id: ids.conversation, app_id: ids.app, user: 'ann' };
      const etag = etagOf(await tenant.get());
      await service.load([{ ...conversation, deleted: true }]);
      for (const more of [{}, { user: 'ann' }, { first_id: messageIds[1] ?? '' }, { first_id: randomUUID() }]) {
        const response = await tenant.get(more);
        assert.equal(response.status, 404);
        assert.deepEqual(response.body, noConversation);
      }
      assert.equal((await tenant.get({}, { 'if-none-match': etag })).status, 404);
      assert.equal((await tenant.get({}, { 'if-none-match': '*' })).status, 404);
      await service.load([{ ...conversation, deleted: false }]);
      assert.deepEqual(idsOf(await tenant.get()), messageIds.toReversed());
    });

    it('404: a purged conversation does not exist', async () => {
      const tenant = await createTenant(2);
      const etag = etagOf(await tenant.get());
      await purge(service.store, { conversation_id: tenant.ids.conversation }, { key_id: null, now: 5 });
      assert.deepEqual((await tenant.get()).body, noConversation);
      assert.equal((await tenant.get({}, { 'if-none-match': etag })).status, 404);
    });

    it('200: ids are compared case-insensitively', async () => {
      const tenant = await createTenant(0);
      const id = 'ABCDEFAB-cdef-4ABC-8def-ABCDEFabcdef'.replace('ABCDEFAB', randomUUID().slice(0, 8).toUpperCase());
      const [first, last] = ['Aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeeF', 'FFFFFFFF-bbbb-4ccc-8ddd-eeeeeeeeeeee'];
      await service.load([
        newConversation(tenant, { id }),
        message(id.toLowerCase(), 1, { id: first }),
        message(id.toUpperCase(), 2, { id: last }),
        // The same two again, in lower case.
        message(id, 1, { id: first.toLowerCase() }),
        message(id, 2, { id: last.toLowerCase() }),
      ]);
      for (const conversation_id of [id, id.toLowerCase(), id.toUpperCase()]) {
        const page = await tenant.get({ conversation_id });
        assert.deepEqual(
          idsOf(page).map((messageId) => messageId.toLowerCase()),
          [last.toLowerCase(), first.toLowerCase()],
        );
        for (const first_id of [last, last.toLowerCase(), last.toUpperCase()]) {
          const older = await tenant.get({ conversation_id, first_id });
          assert.equal(older.status, 200);
          assert.deepEqual(
            idsOf(older).map((messageId) => messageId.toLowerCase()),
            [first.toLowerCase()],
          );
        }
      }
    });
  });

  describe('first_id', () => {
    it('404: a first_id with NUL does not exist, also if the newest page was just read', async () => {
      const tenant = await createTenant(3);
      const etag = (await tenant.get({})).headers.etag ?? '';
      assert.equal((await tenant.get({})).status, 200);
      for (const headers of [{}, { 'if-none-match': etag }, { connection: 'Keep-Alive' }]) {
        const path = `/v1/messages?conversation_id=${tenant.ids.conversation}&first_id=%00`;
        const response = await service.as(tenant.keys.app).get(path, headers);
        assert.deepEqual(response.body, noFirstMessage);
      }
    });

    it('200: an id shared by messages of two conversations names the message of the requested conversation', async () => {
      const tenant = await createTenant(0);
      const other = newConversation(tenant);
      const shared = randomUUID();
      const ownMessages = [1, 2, 3].map((at) => message(tenant.ids.conversation, at, at === 2 ? { id: shared } : {}));
      const otherMessages = [1, 2, 3].map((at) => message(other.id, at, at === 3 ? { id: shared } : {}));
      await service.load([other, ...ownMessages, ...otherMessages]);
      assert.deepEqual(idsOf(await tenant.get({ first_id: shared })), [ownMessages[0]?.id]);
      assert.deepEqual(idsOf(await tenant.get({ conversation_id: other.id, first_id: shared })), [
        otherMessages[1]?.id,
        otherMessages[0]?.id,
      ]);
    });
  });

  describe('order and has_more', () => {
    it('200: data is newest first, by created_at as a number', async () => {
      const tenant = await createTenant(0);
      const times = [10, 9, 2 ** 53 - 1, 0, 100, -5, 2 ** 31, 2 ** 32 + 1, -60, 2 ** 31 - 1];
      await service.load(times.map((time) => message(tenant.ids.conversation, time)));
      const { data } = (await tenant.get()).body;
      assert.deepEqual(
        pluck(data, 'created_at'),
        times.toSorted((a, b) => b - a),
      );
    });
  });

  describe('page_order', () => {
    itOnOneEngine(engine, '200: the setting PAGE_ORDER is the default', async () => {
      const tenant = makeTenant();
      const messages = [1, 2, 3].map((at) => message(tenant.ids.conversation, at));
      const ids = messages.map(({ id }) => id);
      for (const setting of ['oldest_first', 'newest_first']) {
        const otherService = await startService(engine, { PAGE_ORDER: setting });
        try {
          await otherService.load([...tenant.records, ...messages]);
          const { get } = clientOf(tenant, () => otherService);
          const newestTwo = [ids[2], ids[1]];
          const bySetting = setting === 'newest_first' ? newestTwo : newestTwo.toReversed();
          const plain = await get({ limit: '2' });
          assert.deepEqual(idsOf(plain), bySetting);
          assert.equal(plain.body.has_more, true);
          assert.deepEqual(idsOf(await get({ limit: '2', page_order: '' })), bySetting);
          assert.deepEqual(idsOf(await get({ limit: '2', page_order: 'newest_first' })), newestTwo);
          assert.deepEqual(idsOf(await get({ limit: '2', page_order: 'oldest_first' })), newestTwo.toReversed());
          const next = await otherService.as(tenant.keys.app).get(nextOf(plain));
          assert.deepEqual(idsOf(next), [ids[0]]);
          assert.equal(next.body.has_more, false);
        } finally {
          await otherService.close();
        }
      }
    });

    itOnOneEngine(
      engine,
      'an invalid PAGE_ORDER stops the start, with its value and the allowed values in the message',
      async () => {
        await assert.rejects(startService(engine, { PAGE_ORDER: 'sideways' }, 'sqlite:/nonexistent/never-created.db'), {
          message: /^(?=.*PAGE_ORDER)(?=.*sideways)(?=.*newest_first)(?=.*oldest_first).*$/,
        });
      },
    );
  });

  describeOnOneEngine(engine, 'Link', () => {
    it('200: is path-absolute and repeats the other parameters of the request, and no others', async () => {
      const tenant = await createTenant(5);
      const { ids, messageIds } = tenant;
      const queryOf = (response: TestResponse) =>
        Object.fromEntries(new URLSearchParams(nextOf(response).split('?', 2)[1]));
      assert.deepEqual(queryOf(await tenant.get({ limit: '2' })), {
        conversation_id: ids.conversation,
        limit: '2',
        first_id: messageIds[3],
      });
      const parameters = { user: 'ann', limit: '2', page_order: 'oldest_first', trace: 'x y' };
      assert.deepEqual(queryOf(await tenant.get({ ...parameters, first_id: messageIds[4] ?? '' })), {
        conversation_id: ids.conversation,
        ...parameters,
        first_id: messageIds[2],
      });
      const many = await createTenant(21);
      assert.deepEqual(queryOf(await many.get()), {
        conversation_id: many.ids.conversation,
        first_id: many.messageIds[1],
      });
    });

    it('200: keeps a user with special characters', async () => {
      const tenant = await createTenant(0);
      const users = [
        'a&b=c',
        'a b',
        'a+b',
        '100%',
        '%41',
        'a#b',
        'a?b',
        '<x>; rel="prev", </y>',
        'ü😀',
        "o'neil",
        'a\r\nb',
      ];
      for (const user of users) {
        const conversation = newConversation(tenant, { user });
        const messages = [1, 2].map((at) => message(conversation.id, at));
        await service.load([conversation, ...messages]);
        const response = await tenant.get({ conversation_id: conversation.id, user, limit: '1' });
        assert.equal(response.status, 200, user);
        const next = await service.as(tenant.keys.app).get(nextOf(response));
        assert.equal(next.status, 200, `${user}: ${nextOf(response)}`);
        assert.deepEqual(idsOf(next), [messages[0]?.id]);
        assert.equal(new URLSearchParams(nextOf(response).split('?', 2)[1]).get('user'), user);
      }
    });

    it('200: keeps characters that a query may contain unencoded', async () => {
      const tenant = await createTenant(0);
      const user = "a?b/c:d@e!$'()*,;~-._[]|?";
      const conversation = newConversation(tenant, { user });
      const messages = [1, 2].map((at) => message(conversation.id, at));
      await service.load([conversation, ...messages]);
      const rest = `conversation_id=${conversation.id}&user=${user}&limit=1`;
      const response = await service.as(tenant.keys.app).get(pathOf(rest));
      assert.equal(response.status, 200);
      const next = await service.as(tenant.keys.app).get(nextOf(response));
      assert.equal(next.status, 200, nextOf(response));
      assert.deepEqual(idsOf(next), [messages[0]?.id]);
      assert.equal(next.body.limit, 1, 'the limit is repeated');
      assert.equal(new URLSearchParams(nextOf(response).slice('/v1/messages?'.length)).get('user'), user);
    });

    it('200: leads to the next page also if user is not UTF-8 but matches a stored user', async () => {
      const tenant = await createTenant(0);
      for (const [raw, user] of [
        ['%FF', '%FF'],
        ['%FF', '\ufffd'],
        ['a%41%FF', 'a%41%FF'],
        ['a%41%FF', 'aA\ufffd'],
        ['%zz', '%zz'],
      ] as const) {
        const conversation = newConversation(tenant, { user });
        const messages = [1, 2].map((at) => message(conversation.id, at));
        await service.load([conversation, ...messages]);
        const path = pathOf(`conversation_id=${conversation.id}&user=${raw}&limit=1`);
        const response = await service.as(tenant.keys.app).get(path);
        // The contract does not define such bytes, but a page that is found must lead to the next one.
        if (response.status === 404) continue;
        const next = await service.as(tenant.keys.app).get(nextOf(response));
        assert.equal(next.status, 200, `${path} -> ${nextOf(response)}`);
        assert.deepEqual(idsOf(next), [messages[0]?.id]);
      }
    });

    it('200: works with empty, unknown, repeated and encoded parameters', async () => {
      const tenant = await createTenant(3);
      for (const rest of [
        '&user=&first_id=',
        '&x=1&x=2',
        '&page_order',
        '&f%69rst_id=',
        '&__proto__=1',
        '&?',
        '&x=?',
      ]) {
        const response = await tenant.getRaw(`&limit=1${rest}`);
        const next = await service.as(tenant.keys.app).get(nextOf(response));
        assert.equal(next.status, 200, `${rest}: ${nextOf(response)}`);
        assert.deepEqual(idsOf(next), [tenant.messageIds[1]], rest);
      }
      const encoded = await tenant.getRaw(`&limit=1&f%69rst_id=${tenant.messageIds[2]}`);
      const next = await service.as(tenant.keys.app).get(nextOf(encoded));
      assert.deepEqual(idsOf(next), [tenant.messageIds[0]]);
    });
  });

  describe('ETag', () => {
    const ifNoneMatch = (tag: string) => ({ 'if-none-match': tag });

    it('304: the tag of a page matches If-None-Match; the response has the tag and no body', async () => {
      const tenant = await createTenant(3);
      const first_id = tenant.messageIds[2] ?? '';
      for (const more of [{}, { limit: '1' }, { page_order: 'oldest_first' }, { first_id }, { user: 'ann' }]) {
        const tag = etagOf(await tenant.get(more));
        assert.equal(etagOf(await tenant.get(more)), tag, 'the same page has the same tag');
        const response = await tenant.get(more, ifNoneMatch(tag));
        assert.equal(response.status, 304);
        assert.equal(response.text, '');
        assert.equal(response.headers.etag, tag);
      }
    });

    itOnOneEngine(engine, '304: weak tags, lists and * match', async () => {
      const tenant = await createTenant(1);
      const tag = etagOf(await tenant.get());
      const opaque = tag.replace(/^W\//, '');
      for (const header of [opaque, `W/${opaque}`, `"x", ${tag}`, `W/"a,b",${tag},"y"`, `${tag} , "z"`, '*', ' * ']) {
        assert.equal((await tenant.get({}, ifNoneMatch(header))).status, 304, header);
      }
      assert.equal((await tenant.get({}, { 'if-none-match': ['"x"', tag] })).status, 304, 'in two headers');
    });

    itOnOneEngine(engine, '200: other tags do not match', async () => {
      const tenant = await createTenant(1);
      const opaque = etagOf(await tenant.get())
        .replace(/^W\//, '')
        .slice(1, -1);
      const others = ['"x"', '""', '"*"', 'W/"*"', `"${opaque}x"`, `"${opaque.slice(0, -1)}"`, `"x${opaque}"`, 'x'];
      for (const header of others) {
        const response = await tenant.get({}, ifNoneMatch(header));
        assert.equal(response.status, 200, header);
        assert.equal(response.body.data.length, 1);
      }
    });

    it('200: pages with different content have different tags', async () => {
      const tenant = await createTenant(3);
      const other = await createTenant(3);
      const [first, second] = tenant.messageIds;
      const pages = [
        {},
        { limit: '2' },
        { limit: '100' },
        { page_order: 'oldest_first' },
        { limit: '2', page_order: 'oldest_first' },
        { first_id: first ?? '' },
        { first_id: second ?? '' },
      ];
      const tags: string[] = [];
      const ownIds: string[] = tenant.messageIds;
      for (const { get } of [tenant, other]) {
        for (const { first_id, ...more } of pages) {
          const cursor = get === tenant.get ? first_id : first_id && other.messageIds[ownIds.indexOf(first_id)];
          tags.push(etagOf(await get({ ...more, ...(cursor && { first_id: cursor }) })));
        }
      }
      assert.equal(new Set(tags).size, 2 * pages.length);
    });

    it('200: changes with any change to the page', async () => {
      const tenant = await createTenant(3);
      const { ids, messages } = tenant;
      const [oldest, middle, newest] = messages;
      assert.ok(oldest && middle && newest);
      const conversation = {
        record: 'conversation',
        id: ids.conversation,
        app_id: ids.app,
        user: 'ann',
        created_at: 1000,
      };
      const older = { limit: '5', first_id: newest.id };
      const changes: [string, Record<string, string>, object[]][] = [
        ['a newer message', { limit: '2' }, [message(ids.conversation, 5000)]],
        ['a rewritten text', {}, [{ ...newest, answer: 'b' }]],
        ['a rewritten text on a later page', older, [{ ...oldest, answer: 'b' }]],
        ['feedback', {}, [{ ...middle, feedback: { rating: 'like' } }]],
        ['removed feedback', {}, [{ ...middle, feedback: null }]],
        ['a message that moved', {}, [{ ...oldest, created_at: 1500 }]],
        ['an older message', older, [message(ids.conversation, 1)]],
        ['two messages at once', {}, [message(ids.conversation, 2), message(ids.conversation, 6000)]],
        ['a change together with one of the conversation', {}, [conversation, { ...newest, answer: 'c' }]],
        ['a change before one of the conversation', {}, [{ ...newest, answer: 'd' }, conversation]],
      ];
      const usedTags = new Set<string>();
      for (const [change, query, records] of changes) {
        const oldPage = await tenant.get(query);
        usedTags.add(etagOf(oldPage));
        await service.load(records);
        const newPage = await tenant.get(query, ifNoneMatch([...usedTags].join(', ')));
        assert.equal(newPage.status, 200, change);
        assert.notDeepEqual(newPage.body, oldPage.body, `${change} is visible`);
        assert.ok(!usedTags.has(etagOf(newPage)), change);
      }
    });

    it('200: changes when only has_more does', async () => {
      const tenant = await createTenant(1);
      const oldPage = await tenant.get({ limit: '1' });
      await service.load([message(tenant.ids.conversation, 1)]);
      const newPage = await tenant.get({ limit: '1' }, ifNoneMatch(etagOf(oldPage)));
      assert.equal(newPage.status, 200);
      assert.deepEqual(newPage.body, { ...oldPage.body, has_more: true });
      assert.notEqual(etagOf(newPage), etagOf(oldPage));
    });

    it('200: is never reused for other content after a purge and a new import', async () => {
      const tenant = await createTenant(0);
      const { ids } = tenant;
      const conversation = { record: 'conversation', id: ids.conversation, app_id: ids.app, created_at: 1000 };
      const first = message(ids.conversation, 1);
      const contentByTag = new Map<string, string>();
      const checkPage = async () => {
        const response = await tenant.get();
        const tag = etagOf(response);
        assert.equal(contentByTag.get(tag) ?? response.text, response.text, 'a tag names one content only');
        contentByTag.set(tag, response.text);
      };
      for (const word of ['one', 'two', 'three']) {
        await purge(service.store, { conversation_id: ids.conversation }, { key_id: null, now: 5 });
        await service.load([conversation, first]);
        await checkPage();
        await service.load([{ ...first, answer: word }]);
        await checkPage();
        await service.load([conversation]);
        await checkPage();
      }
      assert.equal(new Set(contentByTag.values()).size, 4, 'four different contents were returned');
    });

    it('200: is never reused for other content in a database restored from an export', async (t) => {
      const tenant = await createTenant(1);
      const { messages } = tenant;
      const restored = await startService(engine);
      t.after(() => restored.close());
      await restored.load(parseLines(await exportedText(service.store)));
      const restoredClient = clientOf(tenant, () => restored);
      // Both databases change independently, in as many steps.
      const [originalPages, restoredPages] = [new Map<string, string>(), new Map<string, string>()];
      for (const step of [1, 2, 3]) {
        const [original, copy] = [await tenant.get(), await restoredClient.get()];
        originalPages.set(etagOf(original), original.text);
        restoredPages.set(etagOf(copy), copy.text);
        await service.load([{ ...messages[0], answer: `original ${step}` }]);
        await restored.load([{ ...messages[0], answer: `restored ${step}` }]);
      }
      assert.equal(originalPages.size, 3);
      for (const [tag, text] of restoredPages) assert.equal(originalPages.get(tag) ?? text, text);
    });

    it('304: the tag of an unchanged page stays the same when the clock advances', async () => {
      const tenant = await createTenant(1);
      const tag = etagOf(await tenant.get());
      service.advanceClock(10);
      assert.equal((await tenant.get({}, ifNoneMatch(tag))).status, 304);
    });
  });

  describeOnOneEngine(engine, 'method', () => {
    it('200: HEAD responds as GET does, without the body', async () => {
      const tenant = await createTenant(3);
      for (const more of [{}, { limit: '1' }, { limit: '1', page_order: 'oldest_first' }]) {
        const getResponse = await tenant.get(more);
        const head = await tenant.get(more, {}, 'HEAD');
        assert.equal(head.status, 200);
        assert.equal(head.text, '');
        for (const name of ['etag', 'link', 'content-type', 'content-length'] as const) {
          assert.equal(head.headers[name], getResponse.headers[name], name);
        }
      }
    });

    it('304, 400, 401 and 404: HEAD responds as GET does', async () => {
      const tenant = await createTenant(1);
      const tag = etagOf(await tenant.get());
      assert.equal((await tenant.get({}, { 'if-none-match': tag }, 'HEAD')).status, 304);
      assert.equal((await tenant.get({ limit: '0' }, {}, 'HEAD')).status, 400);
      assert.equal((await tenant.get({ conversation_id: randomUUID() }, {}, 'HEAD')).status, 404);
      assert.equal((await tenant.get({ first_id: randomUUID() }, {}, 'HEAD')).status, 404);
      assert.equal((await service.request('HEAD', pathOf({ conversation_id: tenant.ids.conversation }))).status, 401);
    });
  });

  describe('many requests at once', () => {
    it('200, 304 and 404: each gets its own response', async () => {
      const [one, other] = [await createTenant(3), await createTenant(2)];
      const headers = { 'if-none-match': etagOf(await one.get({ limit: '2' })) };
      const foreign = { conversation_id: other.ids.conversation };
      // More than are handled together.
      const rounds = Array.from({ length: 20 }, () => [
        one.get(),
        other.get(),
        one.get({ limit: '2' }, headers),
        one.get(foreign),
      ]);
      for (const [own, others, unchanged, missing] of await Promise.all(rounds.map((round) => Promise.all(round)))) {
        assert.ok(own && others && unchanged && missing);
        assert.deepEqual(idsOf(own), one.messageIds.toReversed());
        assert.deepEqual(idsOf(others), other.messageIds.toReversed());
        assert.equal(unchanged.status, 304);
        assert.deepEqual(missing.body, noConversation);
      }
    });
  });

  describe('side effects of GET', () => {
    const sendEveryKindOfGet = async (tenant: Awaited<ReturnType<typeof createTenant>>): Promise<number[]> => {
      const { get, messageIds } = tenant;
      const headers = { 'if-none-match': '*' };
      const responses = [get(), get({}, headers), get({ limit: '1' }), get({ first_id: messageIds[1] ?? '' })];
      responses.push(
        get({ limit: '0' }),
        get({ user: 'unknown' }),
        get({ first_id: randomUUID() }),
        get({}, {}, 'HEAD'),
      );
      return (await Promise.all(responses)).map(({ status }) => status);
    };
    const statuses = [200, 304, 200, 200, 400, 404, 404, 200];

    it('200: the stored data does not change', async () => {
      const tenant = await createTenant(3);
      const exportBefore = await exportedText(service.store);
      assert.deepEqual(await sendEveryKindOfGet(tenant), statuses);
      assert.ok(exportBefore.includes(tenant.messageIds[0] ?? '?'));
      assert.equal(await exportedText(service.store), exportBefore);
    });

    // Only the embedded engine has a single writer.
    const itEmbedded = engine === 'sqlite' ? it : () => undefined;
    itEmbedded('200: pages are served while another process blocks the only writer', async () => {
      const tenant = await createTenant(3);
      const writer = new DatabaseSync(service.config.database_url.slice('sqlite:'.length));
      try {
        writer.exec('BEGIN IMMEDIATE');
        // A request that waits for the writer would get 503 in the end.
        assert.deepEqual(await sendEveryKindOfGet(tenant), statuses);
      } finally {
        writer.close();
      }
    });
  });

  const inConversation = { conversation_id: refused.ids.conversation };
  const refusedPage = (name: string, query: string | Record<string, string>, error: RefusedBy) => ({
    ...{ name, path: pathOf(query), key: refused.keys.app },
    ...error,
  });
  const invalid = (parameter: string) => ({
    ...{ status: 400, code: 'invalid_param', message: new RegExp(`\\b${parameter}\\b`) },
  });
  const limits = ['0', '00', '101', '0101', '1000', '-1', '-0', '+5', '1.5', '5.0', '5.', '1e1', '1E1', '0x10', '0b1'];
  limits.push(
    ' 5',
    '5 ',
    '\t5',
    '5\n',
    '5\0',
    '1_0',
    '1,0',
    '٥',
    '５',
    'abc',
    'true',
    'null',
    'undefined',
    'NaN',
    '{}',
  );
  limits.push('Infinity', '[5]', '"5"', '5n', '9007199254740993', '4294967301', '1'.repeat(400));
  const orders = ['asc', 'NEWEST_FIRST', 'oldest-first', ' newest_first', 'newest_first ', '0', '\0'];
  const otherUsers = ['ben', 'Ann', 'ANN', 'an', 'anna', ' ann', 'ann ', 'ann\0', '\0', '%', 'a_n', '*', 'ａnn'];
  const all = { ...inConversation, user: 'ann', first_id: refusedMessage.id, limit: '5', page_order: 'newest_first' };
  const shown = (value: string) => JSON.stringify(value.slice(0, 40));

  describeRefusals({ service: () => service, admin, engine }, [
    ...notChatApps.map(({ mode, keys, ids }) => ({
      ...refusedPage(`an app of mode ${shown(mode)}`, { conversation_id: ids.conversation }, notChatApp),
      key: keys.app,
    })),
    ...['', 'limit=0', 'conversation_id=x&conversation_id=y', `conversation_id=${randomUUID()}`].map((query) => ({
      ...refusedPage(`the app mode is checked before ?${query.slice(0, 20)}`, query, notChatApp),
      key: notChatApps[0]?.keys.app,
    })),
    ...['', 'limit=5', 'CONVERSATION_ID=x', 'conversation_id=', 'conversation_id', 'conversation_id=&user=ann'].map(
      (query) => refusedPage(`no conversation in ?${query}`, query, invalid('conversation_id')),
    ),
    ...limits.map((limit) => refusedPage(`limit ${shown(limit)}`, { ...inConversation, limit }, invalid('limit'))),
    refusedPage(
      'an unencoded plus sign is a space',
      `${new URLSearchParams(inConversation)}&limit=+5`,
      invalid('limit'),
    ),
    ...orders.map((page_order) =>
      refusedPage(`page_order ${shown(page_order)}`, { ...inConversation, page_order }, invalid('page_order')),
    ),
    ...Object.entries(all).flatMap(([name, value]) =>
      [`${name}=${value}`, `${name}=other`, `${name}=`, `%${name.charCodeAt(0).toString(16)}${name.slice(1)}=x`].map(
        (more) => refusedPage(`a second ${more}`, `${new URLSearchParams(all)}&${more}`, invalid(name)),
      ),
    ),
    ...Object.entries({ limit: '0', page_order: 'sideways' }).flatMap(([name, value]) =>
      [{ conversation_id: randomUUID() }, { first_id: randomUUID() }, { user: 'unknown' }].map((more) =>
        refusedPage(
          `${name} is checked before ${Object.keys(more)}`,
          { ...inConversation, ...more, [name]: value },
          invalid(name),
        ),
      ),
    ),
    ...[randomUUID(), refusedMessage.id, refused.ids.app, refused.ids.workspace].flatMap((conversation_id) =>
      [{}, { first_id: randomUUID() }, { first_id: refusedMessage.id }, { first_id: 'x' }].map((more) =>
        refusedPage(`an unknown conversation, with ${Object.keys(more)}`, { conversation_id, ...more }, noConversation),
      ),
    ),
    ...otherUsers.map((user) => refusedPage(`user ${shown(user)}`, { ...inConversation, user }, noConversation)),
    refusedPage('the user is checked before first_id', { ...inConversation, user: 'x', first_id: 'x' }, noConversation),
    ...['ann', 'null', 'undefined'].map((user) =>
      refusedPage(`user ${user} of a conversation without one`, { conversation_id: withoutUser, user }, noConversation),
    ),
    ...Object.entries(notUuids(refused.ids.conversation)).map(([name, id]) =>
      refusedPage(`conversation_id: ${name}`, `conversation_id=${id}`, noConversation),
    ),
    ...Object.entries(notUuids(refusedMessage.id)).map(([name, id]) =>
      refusedPage(`first_id: ${name}`, `${new URLSearchParams(inConversation)}&first_id=${id}`, noFirstMessage),
    ),
    ...[randomUUID(), refused.ids.conversation].map((first_id) =>
      refusedPage('an unknown first_id', { ...inConversation, first_id }, noFirstMessage),
    ),
    refusedPage('a first_id for no messages', { conversation_id: withoutUser, first_id: randomUUID() }, noFirstMessage),
    ...['*', '"x"'].map((tag) => ({
      ...refusedPage('a missing first_id', { ...inConversation, first_id: randomUUID() }, noFirstMessage),
      headers: { 'if-none-match': tag },
    })),
  ]);
});
