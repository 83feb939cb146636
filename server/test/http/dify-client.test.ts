import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, it } from 'node:test';
import { ChatClient, CompletionClient, DifyClient } from 'dify-client';
import { makeTenant, makeTwoTenants, message, onOneEngine, pluck, useService } from '../support/harness.ts';

type ShownMessage = { id: string; query: string };
type Page = { limit: number; has_more: boolean; data: ShownMessage[] };
/** The types of the client do not have the values that it sends. */
type ActualCalls = {
  messageFeedback(message_id: string, rating: 'like' | 'dislike' | null, user: string): Promise<{ data: object }>;
  renameConversation(id: string, name: string | null, user: string, auto_generate: boolean): Promise<{ data: Named }>;
};
type Named = { id: string; name: string };

onOneEngine('the unmodified dify-client', (engine) => {
  const { one, records } = makeTwoTenants();
  const completion = makeTenant('completion');
  const provider = {
    record: 'model_provider',
    workspace_id: one.ids.workspace,
    provider: 'acme/llm',
    label: { en_US: 'Acme' },
    icon_small: { en_US: 'https://acme.example/icon.png' },
    status: 'active',
    models: [
      {
        ...{ model: 'chat-1', label: { en_US: 'Chat 1' }, model_type: 'llm', features: null, model_properties: {} },
        ...{ fetch_from: 'predefined-model', status: 'active', deprecated: false },
        ...{ load_balancing_enabled: false, has_invalid_load_balancing_configs: false },
      },
    ],
  };
  const service = useService(engine, [], { PAGE_ORDER: 'oldest_first' });
  before(async () => {
    const messages = [1, 2, 3].map((time) => message(one.ids.conversation, time, { query: `question ${time}` }));
    await service.load([...records, ...completion.records, provider, ...messages]);
  });

  const chat = () => new ChatClient(one.keys.app, `${service.base}/v1`);

  /** The response body of the error that axios throws. */
  const errorBody = async (call: Promise<unknown>) => {
    const [{ reason }] = (await Promise.allSettled([call])) as [PromiseRejectedResult];
    return reason.response.data;
  };

  it('200: getConversationMessages with a user, without first_id and limit', async () => {
    const { status, data, headers } = await chat().getConversationMessages('ann', one.ids.conversation);
    assert.equal(status, 200);
    assert.match(headers['x-request-id'], /\S/);
    const { limit, has_more, data: shown } = data as Page;
    assert.deepEqual(
      [limit, has_more, shown.map(({ query }) => query)],
      [20, false, ['question 1', 'question 2', 'question 3']],
    );
  });

  it('200: getConversationMessages with first_id and limit, and with an empty first_id', async () => {
    const newest = await chat().getConversationMessages('ann', one.ids.conversation, '', 1);
    assert.equal(newest.data.data[0].query, 'question 3');
    const first_id = newest.data.data[0].id;
    const older = await chat().getConversationMessages('ann', one.ids.conversation, first_id, 1);
    assert.deepEqual([older.data.has_more, older.data.data[0].query], [true, 'question 2']);
    const empty = { conversation_id: one.ids.conversation, user: 'ann', first_id: '', limit: 20 };
    assert.equal((await chat().sendRequest('GET', '/messages', null, empty)).data.data.length, 3);
  });

  it('200: sendRequest replaces the text of a child chunk', async () => {
    const client = new DifyClient(one.keys.knowledge, `${service.base}/v1`);
    const path = one.chunkPath.replace('/v1', '');
    const { status, data } = await client.sendRequest('PATCH', path, { content: 'An edited text.' });
    assert.equal(status, 200);
    assert.deepEqual([data.data.content, data.data.type, data.data.word_count], ['An edited text.', 'customized', 3]);
  });

  it('200: sendRequest lists models', async () => {
    const client = new DifyClient(one.keys.app, `${service.base}/v1`);
    const { status, data } = await client.sendRequest('GET', '/workspaces/current/models/model-types/llm');
    assert.equal(status, 200);
    assert.deepEqual([data.data[0].provider, data.data[0].models[0].model], ['acme/llm', 'chat-1']);
  });

  it('401, 400 and 404: the client reports our error body', async () => {
    assert.deepEqual(await errorBody(chat().getConversationMessages('bob', one.ids.conversation)), {
      status: 404,
      code: 'not_found',
      message: 'conversation not exists',
    });
    assert.equal((await errorBody(chat().getConversationMessages('ann'))).code, 'invalid_param');
    const unknownClient = new ChatClient('app-unknown', `${service.base}/v1`);
    assert.equal((await errorBody(unknownClient.getConversationMessages('ann', one.ids.conversation))).status, 401);
  });

  it('200: a front end that pages by data[0].id shows every message once, in order, while messages are added', async () => {
    for (const limit of [1, 2, 7, 20]) {
      const conversation_id = randomUUID();
      // Five messages per second.
      const messages = Array.from({ length: 43 }, (_, at) => message(conversation_id, 1000 + Math.floor(at / 5)));
      const user = 'ann';
      await service.load([{ record: 'conversation', id: conversation_id, app_id: one.ids.app, user }, ...messages]);
      let shown: ShownMessage[] = [];
      for (let more = true; more; ) {
        const { data } = await chat().getConversationMessages(user, conversation_id, shown[0]?.id ?? '', limit);
        const page = data as Page;
        shown = [...page.data, ...shown];
        more = page.has_more;
        // One in the same second as the newest message, and one later.
        await service.load([message(conversation_id, 1008), message(conversation_id, 2000)]);
      }
      assert.deepEqual(
        pluck(shown, 'id'),
        messages.map(({ id }) => id),
      );
    }
  });

  /** Conversations of a new user with one message each, from the newest to the oldest. */
  async function converse(count: number): Promise<{ user: string; ids: string[]; message_ids: string[] }> {
    const user = randomUUID();
    const ids = Array.from({ length: count }, () => randomUUID());
    const messages = ids.map((id, at) => message(id, 2000 - at, { query: `Which filter fits machine ${at}?` }));
    const conversations = ids.map((id) => ({
      record: 'conversation',
      id,
      app_id: one.ids.app,
      user,
      created_at: 1000,
    }));
    await service.load([...conversations, ...messages]);
    return { user, ids, message_ids: messages.map(({ id }) => id) };
  }
  const feedbackOf = async (user: string, conversation_id: string) =>
    (await chat().getConversationMessages(user, conversation_id)).data.data[0].feedback;

  it('200: getConversations, which sends its cursor as first_id, lists every conversation once', async () => {
    const { user, ids } = await converse(5);
    const { status, data } = await chat().getConversations(user);
    assert.deepEqual([status, data.limit, data.has_more], [200, 20, false]);
    assert.deepEqual(pluck(data.data, 'id'), ids);
    assert.equal(data.data[0].name, 'Which filter fits ma…');
    const listed: string[] = [];
    for (let more = true; more; ) {
      const page = await chat().getConversations(user, listed.at(-1) ?? null, 2, true);
      listed.push(...page.data.data.map(({ id }: Named) => id));
      more = page.data.has_more;
    }
    assert.deepEqual(listed, ids);
    const unknown = await errorBody(chat().getConversations(user, randomUUID()));
    assert.deepEqual(unknown, { status: 404, code: 'not_found', message: 'Last Conversation Not Exists.' });
  });

  it('200: renameConversation, with a name and with auto_generate', async () => {
    const { user, ids } = await converse(1);
    const [id = ''] = ids;
    const renamed = await chat().renameConversation(id, 'Filters', user);
    assert.deepEqual([renamed.status, renamed.data.id, renamed.data.name], [200, id, 'Filters']);
    const client = chat() as unknown as ActualCalls;
    assert.equal((await client.renameConversation(id, '', user, true)).data.name, 'Which filter fits ma…');
    assert.equal((await errorBody(chat().renameConversation(id, '', user))).code, 'invalid_param');
    assert.equal((await errorBody(chat().renameConversation(id, 'x', 'bob'))).message, 'Conversation Not Exists.');
  });

  it('204: deleteConversation, with a user and without one', async () => {
    const { user, ids } = await converse(2);
    const [first = '', second = ''] = ids;
    assert.equal((await errorBody(chat().deleteConversation(first, 'bob'))).message, 'Conversation Not Exists.');
    assert.equal((await chat().deleteConversation(first, user)).status, 204);
    assert.equal((await errorBody(chat().deleteConversation(first, user))).status, 404);
    assert.equal((await chat().deleteConversation(second, undefined as never)).status, 204);
    assert.deepEqual((await chat().getConversations(user)).data.data, []);
  });

  it('200: messageFeedback, with null, and without a rating as dify-client 3 removes one', async () => {
    const { user, ids, message_ids } = await converse(1);
    const [[id = ''], [message_id = '']] = [ids, message_ids];
    const client = chat() as unknown as ActualCalls;
    assert.deepEqual((await client.messageFeedback(message_id, 'like', user)).data, { result: 'success' });
    assert.deepEqual(await feedbackOf(user, id), { rating: 'like' });
    await client.messageFeedback(message_id, null, user);
    assert.equal(await feedbackOf(user, id), null);
    assert.equal((await errorBody(client.messageFeedback(message_id, null, user))).code, 'invalid_param');
    await client.messageFeedback(message_id, 'dislike', user);
    const removed = await chat().sendRequest('POST', `/messages/${message_id}/feedbacks`, { user });
    assert.deepEqual(removed.data, { result: 'success' });
    assert.equal(await feedbackOf(user, id), null);
  });

  it('200: a CompletionClient reads parameters and rates a message of its app', async () => {
    const rated = message(completion.ids.conversation, 20);
    await service.load([rated]);
    const client = new CompletionClient(completion.keys.app, `${service.base}/v1`);
    assert.equal((await client.getApplicationParameters('ann')).status, 200);
    const { data } = await (client as unknown as ActualCalls).messageFeedback(rated.id, 'like', 'ann');
    assert.deepEqual(data, { result: 'success' });
    const list = client.sendRequest('GET', '/conversations', null, { user: 'ann' });
    assert.equal((await errorBody(list)).code, 'not_chat_app');
  });

  it('200: getApplicationParameters, and sendRequest for info, meta and site', async () => {
    const { data } = await chat().getApplicationParameters('ann');
    assert.deepEqual([data.opening_statement, data.user_input_form], [null, []]);
    assert.equal(data.system_parameters.file_size_limit, 15);
    const read = async (path: string) => (await chat().sendRequest('GET', path, null, { user: 'ann' })).data;
    const { name, mode } = await read('/info');
    assert.deepEqual([name, mode], ['app', 'chat']);
    assert.deepEqual(await read('/meta'), { tool_icons: {} });
    assert.equal((await read('/site')).title, 'app');
  });

  it('200, 204: sendRequest lists knowledge bases down to chunks, creates a chunk and deletes it', async () => {
    const client = new DifyClient(one.keys.app, `${service.base}/v1`);
    client.updateApiKey(one.keys.knowledge);
    const { dataset, document, segment } = one.ids;
    const list = async (path: string) => {
      const { data } = await client.sendRequest('GET', path, null, { page: 1, limit: 100, keyword: '' });
      return data.data.map(({ id }: Named) => id);
    };
    const segments = `/datasets/${dataset}/documents/${document}/segments`;
    const chunks = `${segments}/${segment}/child_chunks`;
    assert.deepEqual(await list('/datasets'), [dataset]);
    assert.deepEqual(await list(`/datasets/${dataset}/documents`), [document]);
    assert.deepEqual(await list(segments), [segment]);
    const created = await client.sendRequest('POST', chunks, { content: 'A new chunk.' });
    assert.equal(created.status, 200);
    const { id } = created.data.data;
    assert.deepEqual(await list(chunks), [one.ids.chunk, id]);
    assert.equal((await client.sendRequest('DELETE', `${chunks}/${id}`)).status, 204);
    assert.deepEqual(await list(chunks), [one.ids.chunk]);
  });
});
