import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { makeTwoTenants, message, onEveryEngine, type Service, startService } from '../support/harness.ts';

onEveryEngine('the three operations', (engine) => {
  let service: Service;
  const { one, records } = makeTwoTenants();
  before(async () => {
    service = await startService(engine);
    await service.load([...records, message(one.ids.conversation, 1), message(one.ids.conversation, 2)]);
  });
  after(() => service.close());

  it('list messages', async () => {
    const response = await service.request('GET', `/v1/messages?conversation_id=${one.ids.conversation}`, {
      key: one.keys.app,
    });
    assert.equal(response.status, 200);
    assert.equal(response.body.data.length, 2);
  });

  it('replace the text of a child chunk', async () => {
    const response = await service.request('PATCH', one.chunkPath, {
      key: one.keys.knowledge,
      body: { content: 'new text' },
    });
    assert.equal(response.status, 200);
    assert.equal(response.body.data.content, 'new text');
  });

  it('list models', async () => {
    const path = '/v1/workspaces/current/models/model-types/llm';
    assert.deepEqual((await service.request('GET', path, { key: one.keys.knowledge })).body, { data: [] });
  });
});
