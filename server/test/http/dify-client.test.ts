import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, it } from 'node:test';
import { ChatClient, DifyClient } from 'dify-client';
import { makeTwoTenants, message, onEveryEngine, type Service, startService } from '../support/harness.ts';

type ShownMessage = { id: string; query: string };
type Page = { limit: number; has_more: boolean; data: ShownMessage[] };

onEveryEngine('the unmodified dify-client', (engine) => {
  let service: Service;
  const { one, records } = makeTwoTenants();
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
  before(async () => {
    service = await startService(engine, { PAGE_ORDER: 'oldest_first' });
    const messages = [1, 2, 3].map((time) => message(one.ids.conversation, time, { query: `question ${time}` }));
    await service.load([...records, provider, ...messages]);
  });
  after(() => service.close());

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
        shown.map(({ id }) => id),
        messages.map(({ id }) => id),
      );
    }
  });
});
