import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { readConversations } from '../../src/dify/rows/conversations.ts';
import { readMessages } from '../../src/dify/rows/messages.ts';
import type { DifySource } from '../../src/dify/source.ts';
import { createDify, type DifyDatabase, difyId, difyRows, ids } from '../support/dify-database.ts';
import { idsOf, read } from './readers.ts';

describe('conversations and messages of a Dify', () => {
  let dify: DifyDatabase;
  let source: DifySource;
  before(async () => {
    dify = await createDify();
    await dify.run(difyRows);
    source = await dify.connect();
  });
  after(() => dify.close());

  it('maps a conversation field by field', async () => {
    const { records, skips } = await read(source, readConversations, {}, [ids.conversation, ids.deleted]);
    assert.deepEqual(records, [
      {
        record: 'conversation',
        id: ids.conversation,
        app_id: ids.app,
        user: 'visitor-1',
        created_at: 1793600000,
        deleted: false,
        name: 'New conversation',
        inputs: {},
        introduction: null,
      },
      {
        record: 'conversation',
        id: ids.deleted,
        app_id: ids.app,
        user: null,
        created_at: 1793600000,
        deleted: true,
        name: 'New conversation',
        inputs: {},
        introduction: null,
      },
    ]);
    assert.deepEqual(skips, []);
  });

  it('maps messages in their order', async () => {
    const reading = await read(source, readMessages, {}, { conversationIds: [ids.conversation] });
    assert.deepEqual(idsOf(reading), [difyId(23), difyId(22), difyId(21)]);
    assert.deepEqual(reading.skips, []);
  });
});
