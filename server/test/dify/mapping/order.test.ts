import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { readMessages, type SelectedMessages } from '../../../src/dify/rows/messages.ts';
import { at, createDify, type DifyDatabase, difyId, difyRows, ids, insertInto } from '../../support/dify-database.ts';
import { shortOrLong } from '../../support/long.ts';
import { everything } from '../runs.ts';

let dify: DifyDatabase;
let source: Awaited<ReturnType<DifyDatabase['connect']>>;

before(async () => {
  dify = await createDify();
  await dify.run(difyRows);
  source = await dify.connect();
});
after(() => dify.close());

const report = {
  skip() {
    assert.fail();
  },
  count() {
    assert.fail();
  },
};

async function readBatches(selected: SelectedMessages) {
  const batches = [];
  for await (const { records } of readMessages({ source, options: everything, report }, selected))
    batches.push(records);
  return batches;
}
const idsOf = async (selected: SelectedMessages) => (await readBatches(selected)).flat().map(({ id }) => id);

describe('the order of messages of a Dify installation', () => {
  it('is by conversation and time, with parents first inside a second', async () => {
    const [early, late] = [difyId(4001), difyId(4002)];
    await dify.insert('conversations', { id: early, app_id: ids.app }, { id: late, app_id: ids.app });
    const message = (nth: number, seconds: number, parent: number | null, conversation_id: string) => ({
      id: difyId(nth),
      conversation_id,
      parent_message_id: parent === null ? '00000000-0000-0000-0000-000000000000' : difyId(parent),
      created_at: at(seconds),
    });
    await dify.run(
      insertInto(
        'messages',
        message(4109, 100, null, late),
        message(4101, 200.1, 4103, early),
        message(4102, 200.1, null, early),
        message(4103, 200.1, 4104, early),
        message(4104, 200.1, null, early),
        // The clock of the source was set back: the child is older than its parent.
        message(4105, 300.2, 4106, early),
        message(4106, 300.8, null, early),
        message(4107, 300.5, null, early),
        message(4108, 150.9, null, early),
      ),
    );
    const expected = [4108, 4104, 4103, 4101, 4102, 4106, 4105, 4107, 4109].map(difyId);
    assert.deepEqual(await idsOf({ conversationIds: [late, early] }), expected);
    assert.deepEqual(await idsOf({ messageIds: expected.toReversed() }), expected);
  });

  it('is the same in conversations of many pages, which are read in bounded batches', async () => {
    const count = shortOrLong(9_000, 45_000);
    // Two thirds of the messages share few seconds: pages end inside a second. Parents have larger ids than their children.
    await dify.run(`
      INSERT INTO conversations (id, app_id) SELECT ('00000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, '${ids.app}'
        FROM generate_series(1, 3) n;
      INSERT INTO messages (id, conversation_id, parent_message_id, created_at, query)
      SELECT ('00000001-0000-4000-8000-' || lpad(to_hex(100000 - n), 12, '0'))::uuid,
        ('00000000-0000-4000-8000-' || lpad(to_hex(1 + n / ${count / 3}), 12, '0'))::uuid,
        ('00000001-0000-4000-8000-' || lpad(to_hex(100001 - n), 12, '0'))::uuid,
        timestamp '2026-01-01' + interval '1 second' * (n / ${count / 10}), n::text
      FROM generate_series(0, ${count - 1}) n;
      ANALYZE messages`);
    const conversationIds = [1, 2, 3].map((n) => `00000000-0000-4000-8000-${`${n}`.padStart(12, '0')}`);
    const before = source.statements;
    const batches = await readBatches({ conversationIds });
    assert.ok(batches.every(({ length }) => length <= 500));
    assert.deepEqual(
      batches.flat().map(({ query }) => query),
      Array.from({ length: count }, (_, n) => `${n}`),
    );
    assert.ok(batches.length <= count / 500 + 2, `${batches.length}`);
    // For each batch one statement for each table, and no statement for a single message.
    assert.ok(source.statements - before <= batches.length * 5 + 10, `${source.statements - before}`);
  });

  it('is read in batches of few messages with large texts or large parts', async () => {
    const [conversation, ofAgent] = [difyId(4003), difyId(4004)];
    await dify.insert('conversations', { id: conversation, app_id: ids.app }, { id: ofAgent, app_id: ids.app });
    await dify.run(`INSERT INTO messages (id, conversation_id, created_at)
      SELECT gen_random_uuid(), '${ofAgent}', now() FROM generate_series(1, 10);
      INSERT INTO message_agent_thoughts (id, message_id, position, observation)
      SELECT gen_random_uuid(), id, n, repeat('x', 500000) FROM messages, generate_series(1, 2) n
      WHERE conversation_id = '${ofAgent}'`);
    await dify.run(`INSERT INTO messages (id, conversation_id, answer, created_at)
      SELECT gen_random_uuid(), '${conversation}', repeat('x', 1000000), now() FROM generate_series(1, 20)`);
    const sizesOf = async (id: string) => (await readBatches({ conversationIds: [id] })).map(({ length }) => length);
    assert.deepEqual(
      [await sizesOf(conversation), await sizesOf(ofAgent)],
      [
        [4, 4, 4, 4, 4],
        [4, 4, 2],
      ],
    );
  });
});
