import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, it } from 'node:test';
import { Agent, type Model, OpenAIConversationsSession, Runner, Usage } from '@openai/agents';
import OpenAI from 'openai';
import { makeTenant, onEveryEngine, useService } from '../support/harness.ts';

/** The unchanged clients of others. */

const user = (content: string) => ({ type: 'message', role: 'user', content }) as const;
const assistant = (content: string) => ({ type: 'message', role: 'assistant', content }) as const;

/** Answers with the number of messages that it was sent. */
const countingModel = {
  getResponse: async ({ input }) => {
    const count = typeof input === 'string' ? 1 : input.length;
    const content = [{ type: 'output_text', text: `${count} items` }];
    return { usage: new Usage(), output: [{ type: 'message', role: 'assistant', status: 'completed', content }] };
  },
  getStreamedResponse: () => {
    throw new Error('not used');
  },
} as Model;

onEveryEngine('clients of OpenAI', (engine) => {
  const { keys, records } = makeTenant();
  let client: OpenAI;
  const service = useService(engine, records);
  before(async () => {
    client = new OpenAI({ baseURL: `${service.base}/openai/v1`, apiKey: keys.writer, maxRetries: 0 });
  });

  it('openai: creates, reads, changes and deletes a conversation', async () => {
    const { id, metadata } = await client.conversations.create({ metadata: { user: 'u1' }, items: [user('Hello!')] });
    assert.deepEqual(metadata, { user: 'u1' });
    assert.equal((await client.conversations.create()).object, 'conversation');
    await client.conversations.update(id, { metadata: { user: 'u1', topic: 'x' } });
    assert.deepEqual((await client.conversations.retrieve(id)).metadata, { user: 'u1', topic: 'x' });
    assert.equal((await client.conversations.delete(id)).deleted, true);
    await assert.rejects(client.conversations.retrieve(id), OpenAI.NotFoundError);
  });

  it('openai: pages through all items, also one by one across deleted ones', async () => {
    const { id } = await client.conversations.create({});
    const texts = Array.from({ length: 9 }, (_, at) => `${at}`);
    await client.conversations.items.create(id, { items: texts.map(assistant) });
    const all = async (query: OpenAI.Conversations.ItemListParams) => {
      const found: string[] = [];
      for await (const item of client.conversations.items.list(id, query)) {
        const [part] = item.type === 'message' ? item.content : [];
        found.push(part && 'text' in part ? `${part.text}` : '');
      }
      return found;
    };
    assert.deepEqual(await all({ limit: 4, order: 'asc' }), texts);
    assert.deepEqual(await all({}), texts.toReversed());
    const page = await client.conversations.items.list(id, { limit: 100, order: 'asc' });
    for (const at of [0, 3, 4, 8])
      await client.conversations.items.delete(page.data[at]?.id ?? '', { conversation_id: id });
    assert.deepEqual(await all({ limit: 1, order: 'asc' }), ['1', '2', '5', '6', '7']);
    const { data } = await client.conversations.items.list(id, { limit: 1 });
    const newest = await client.conversations.items.retrieve(data[0]?.id ?? '', { conversation_id: id });
    assert.deepEqual(newest, data[0]);
  });

  it('openai: items of every type of its declarations come back as they were', async () => {
    const declared = await readFile(
      new URL('resources/responses/responses.d.ts', import.meta.resolve('openai')),
      'utf8',
    );
    const types = new Set([...declared.matchAll(/\btype: '([a-z_]+)'/g)].map(([, type = '']) => type));
    const others = [...types].filter((type) => type !== 'message');
    assert.ok(others.length > 30);
    const { id } = await client.conversations.create({});
    const items = others.map((type) => ({ type, call_id: type, nested: { list: [1, null, 'x'] } }));
    for (let at = 0; at < items.length; at += 20)
      await client.conversations.items.create(id, { items: items.slice(at, at + 20) as never });
    const stored: { id?: string | null }[] = [];
    for await (const item of client.conversations.items.list(id, { limit: 100, order: 'asc' })) stored.push(item);
    assert.deepEqual(
      stored.map(({ id: _, ...item }) => item),
      items,
    );
  });

  it('openai: errors have their class, message and code', async () => {
    const denied = new OpenAI({ baseURL: client.baseURL, apiKey: 'writer-unknown', maxRetries: 0 });
    await assert.rejects(denied.conversations.create({}), OpenAI.AuthenticationError);
    const { id } = await client.conversations.create({});
    const items = [{ type: 'message', role: 'user' }] as never;
    const error = await client.conversations.items.create(id, { items }).catch((thrown) => thrown);
    assert.ok(error instanceof OpenAI.BadRequestError);
    assert.deepEqual([error.code, error.type], ['invalid_param', 'invalid_request_error']);
    assert.match(error.message, /items\[0\]\.content must be/);
  });

  it('openai: a request that is sent again after a lost response is done once', async () => {
    let isLost = false;
    const lossy = new OpenAI({
      baseURL: client.baseURL,
      apiKey: keys.writer,
      fetch: async (...request) => {
        const response = await fetch(...(request as Parameters<typeof fetch>));
        if (isLost || !`${request[0]}`.endsWith('/items')) return response;
        isLost = true;
        throw new TypeError('the connection was lost');
      },
    });
    const { id } = await lossy.conversations.create({});
    const { data } = await lossy.conversations.items.create(id, { items: [user('once')] });
    assert.equal(isLost, true);
    const stored = await client.conversations.items.list(id);
    assert.deepEqual(stored.data, data);
  });

  it('@openai/agents: a session adds, reads, pops and clears', async () => {
    const session = new OpenAIConversationsSession({ client });
    const reasoning = {
      type: 'reasoning' as const,
      id: 'rs_1',
      content: [{ type: 'input_text' as const, text: 'why' }],
    };
    await session.addItems([
      { role: 'user', content: 'What is the weather?' },
      { type: 'function_call', name: 'weather', callId: 'c1', arguments: '{"city":"Oslo"}', status: 'completed' },
      { type: 'function_call_result', name: 'weather', callId: 'c1', output: 'rain', status: 'completed' },
      {
        type: 'message',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'It rains.' }],
        status: 'completed',
      },
      reasoning,
    ]);
    const items = await session.getItems();
    assert.deepEqual(
      items.map((item) => item.type),
      ['message', 'function_call', 'function_call_result', 'message', 'reasoning'],
    );
    assert.equal((await session.getItems(2)).length, 2);
    assert.equal((await session.popItem())?.type, 'reasoning');
    assert.equal((await session.popItem())?.type, 'message');
    assert.equal((await session.getItems()).length, 3);
    await session.clearSession();
    assert.deepEqual(await session.getItems(), []);
  });

  it('@openai/agents: an agent keeps its memory here', async () => {
    const session = new OpenAIConversationsSession({ client });
    const runner = new Runner({ modelProvider: { getModel: () => countingModel }, tracingDisabled: true });
    const agent = new Agent({ name: 'counter', instructions: 'Count.' });
    const answers: unknown[] = [];
    for (const question of ['one', 'two', 'three'])
      answers.push((await runner.run(agent, question, { session })).finalOutput);
    assert.deepEqual(answers, ['1 items', '3 items', '5 items']);
    const id = (await session.getSessionId()).replace(/^conv_(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    const { body } = await service.as(keys.app).get(`/v1/messages?conversation_id=${id}`);
    assert.deepEqual(
      body.data.map(({ query, answer }: { query: string; answer: string }) => `${query}: ${answer}`).toSorted(),
      ['one: 1 items', 'three: 5 items', 'two: 3 items'],
    );
  });
});
