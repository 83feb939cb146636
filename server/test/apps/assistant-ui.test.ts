import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import type { ExportedMessageRepository, ThreadMessage } from '@assistant-ui/core';
import { MessageRepository } from '@assistant-ui/core/internal';
import { Backscroll } from '../../../client/src/index.ts';
import { backscrollHistory } from '../../../examples/assistant-ui/history.ts';
import { makeTenant, onOneEngine, useService } from '../support/harness.ts';

onOneEngine('the example of a history for assistant-ui', (engine) => {
  const { ids, keys, records } = makeTenant();
  const service = useService(engine, records);

  const open = (conversation_id: string) => {
    const client = (key: string) => new Backscroll({ baseUrl: `${service.base}/v1`, key });
    const scope = { app_id: ids.app, user: 'visitor-1', conversation_id };
    return backscrollHistory({ reader: client(keys.app), writer: client(keys.writer), ...scope });
  };
  const message = (id: string, role: 'user' | 'assistant', text: string, status?: object) =>
    ({ id, role, content: [{ type: 'text', text }], status }) as unknown as ThreadMessage;
  const shown = (repository: ExportedMessageRepository) => {
    const thread = new MessageRepository();
    thread.import(repository);
    const texts = (all: readonly ThreadMessage[]) =>
      all.map(({ role, content: [part] }) => `${role}: ${part?.type === 'text' ? part.text : ''}`);
    return { thread, texts: texts(thread.getMessages()) };
  };

  it('keeps questions, answers and branches, also in another page', async () => {
    const id = randomUUID();
    const history = open(id);
    await history.append({ parentId: null, message: message('u1', 'user', 'one') });
    assert.deepEqual(shown(await open(id).load()).texts, ['user: one'], 'a question is there before its answer');
    await history.append({ parentId: 'u1', message: message('a1', 'assistant', 'first') });
    service.advanceClock(1);
    await history.append({ parentId: 'a1', message: message('u2', 'user', 'two') });
    await history.append({ parentId: 'u2', message: message('a2', 'assistant', 'second') });
    const later = open(id);
    const loaded = await later.load();
    const { thread, texts } = shown(loaded);
    assert.deepEqual(texts, ['user: one', 'assistant: first', 'user: two', 'assistant: second']);

    service.advanceClock(1);
    const first = thread.getMessages()[1]?.id ?? '';
    await later.append({ parentId: first, message: message('u3', 'user', 'two, edited') });
    await later.append({ parentId: 'u3', message: message('a3', 'assistant', 'third') });
    const branched = shown(await open(id).load());
    assert.deepEqual(branched.texts.slice(2), ['user: two, edited', 'assistant: third']);
    const question = branched.thread.getMessages()[2]?.id ?? '';
    assert.equal(branched.thread.getBranches(question).length, 2);
  });

  it('stores a failed answer as a failed message', async () => {
    const id = randomUUID();
    const history = open(id);
    await history.append({ parentId: null, message: message('u1', 'user', 'one') });
    const status = { type: 'incomplete', reason: 'error', error: 'overloaded' };
    await history.append({ parentId: 'u1', message: message('a1', 'assistant', '', status) });
    const { body } = await service.as(keys.app).get(`/v1/messages?conversation_id=${id}`);
    assert.deepEqual([body.data.length, body.data[0].status, body.data[0].error], [1, 'error', 'overloaded']);
    assert.deepEqual(shown(await open(id).load()).texts, ['user: one', 'assistant: overloaded']);
  });
});
