import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import fc from 'fast-check';
import { purge } from '../../src/domain/erasure/purge.ts';
import { filesContaining } from '../support/cli-helpers.ts';
import { makeTwoTenants, message, onEveryEngine, pluck, startService } from '../support/harness.ts';
import { shortOrLong } from '../support/long.ts';

/** Few words, so that most messages of a transaction share some. */
const words = ['auk', 'bittern', 'crake', 'dunlin', 'eider', 'finch', 'gull'];
const text = fc.subarray(words, { minLength: 1 }).map((parts) => parts.join(' '));

type SentMessage = ReturnType<typeof message> & { query: string };
/** `marker` is a word that only the messages of this conversation have. */
type Chat = { id: string; marker: string; user: string; deleted: boolean; messages: SentMessage[] };

type Operation = { kind: 'append' | 'rate' | 'replace' | 'user' | 'delete' | 'purge'; text: string; at: number };

const chats = 4;
const operation: fc.Arbitrary<Operation> = fc.record({
  kind: fc.constantFrom('append', 'rate', 'replace', 'user', 'delete', 'purge'),
  text,
  at: fc.nat(),
});
/** One operation for each conversation, all at the same time. */
const batch = fc.record({
  operations: fc.array(operation, { minLength: chats, maxLength: chats }),
  indexesMeanwhile: fc.boolean(),
});

onEveryEngine('the index after operations in any order', (engine) => {
  it('a rating and an append in one transaction of the indexer: both messages are found by a word that they share', async (t) => {
    const { one, admin, records } = makeTwoTenants();
    const service = await startService(engine);
    t.after(() => service.close());
    const rated = message(one.ids.conversation, 10, { query: 'osprey' });
    const removed = { record: 'conversation', id: randomUUID(), app_id: one.ids.app };
    await service.load([...records, rated, removed, message(removed.id, 20, { query: 'osprey' })]);
    await service.index();
    const body = { rating: 'like', user: 'ann' };
    await service.as(one.keys.app).post(`/v1/messages/${rated.id}/feedbacks`, body);
    const added = message(one.ids.conversation, 15, { query: 'osprey' });
    await service.load([added, { ...removed, deleted: true }]);
    await service.index();
    const { body: found } = await service.as(admin).get('/admin/search?q=osprey');
    assert.deepEqual(pluck(found.data, 'message_id'), [added.id, rated.id]);
    const { body: counts } = await service.as(admin).get('/admin/search/counts?q=osprey');
    assert.equal(counts.all, 2);
  });

  it('has each word of each message, and nothing else', async (t) => {
    const { one, admin, records } = makeTwoTenants();
    // Otherwise the words of this test's searches are stored as what was read.
    const service = await startService(engine, { AUDIT_READS: 'off' });
    let count = 0;
    const newChat = (): Chat => {
      count += 1;
      return { id: randomUUID(), marker: `zq${count}xv`, user: 'ann', deleted: false, messages: [] };
    };
    const recordOf = ({ id, user, deleted }: Chat) => ({
      record: 'conversation',
      id,
      app_id: one.ids.app,
      user,
      deleted,
    });
    const all = Array.from({ length: chats }, newChat);
    const purged: string[] = [];
    const found = async (q: string): Promise<string[]> => {
      const { body } = await service.as(admin).get(`/admin/search?q=${q}&limit=100`);
      return body.data.map(({ message_id }: { message_id: string }) => message_id).sort();
    };
    const append = (chat: Chat, query: string, at: number) => {
      const sent = message(chat.id, at % 10, { query: `${chat.marker} ${query}` });
      chat.messages.push(sent);
      return service.load([sent]);
    };
    const run = async (index: number, { kind, text: query, at }: Operation) => {
      const chat = all[index] as Chat;
      const sent = chat.messages[at % Math.max(1, chat.messages.length)];
      if (kind === 'purge' && chat.messages.length > 2) {
        purged.push(chat.marker);
        all[index] = newChat();
        await purge(service.store, { conversation_id: chat.id }, { key_id: null, now: 1 });
        return service.load([recordOf(all[index])]);
      }
      if (kind === 'delete' || kind === 'user') {
        if (kind === 'delete') chat.deleted = !chat.deleted;
        else chat.user = query;
        return service.load([recordOf(chat)]);
      }
      if (sent === undefined || kind === 'append') return append(chat, query, at);
      if (kind === 'replace') {
        Object.assign(sent, { query: `${chat.marker} ${query}`, created_at: at % 10 });
        return service.load([sent]);
      }
      const body = { rating: ['like', 'dislike', null][at % 3], user: chat.user };
      return service.as(one.keys.app).post(`/v1/messages/${sent.id}/feedbacks`, body);
    };
    t.after(() => service.close());
    await service.load([...records, ...all.map(recordOf)]);
    await fc.assert(
      fc.asyncProperty(fc.array(batch, { minLength: 1, maxLength: 4 }), async (batches) => {
        for (const { operations, indexesMeanwhile } of batches) {
          await Promise.all([
            ...operations.map((one, index) => run(index, one)),
            ...(indexesMeanwhile ? [service.index()] : []),
          ]);
          await service.index();
        }
        const live = all.filter(({ deleted }) => !deleted);
        for (const word of [...words, ...all.map(({ marker }) => marker)]) {
          const expected = live.flatMap(({ messages, user }) =>
            messages.filter(({ query }) => `${query} ${user}`.split(' ').includes(word)).map(({ id }) => id),
          );
          assert.deepEqual(await found(word), expected.sort(), word);
        }
        for (const [index, { messages }] of all.entries()) {
          if (messages.length > 15) await run(index, { kind: 'purge', text: '', at: 0 });
        }
        const path = service.config.database_url.replace('sqlite:', '');
        for (const marker of engine === 'sqlite' ? purged.splice(0) : []) {
          assert.deepEqual(filesContaining(path, marker), [], marker);
        }
      }),
      { numRuns: shortOrLong(5, 150), endOnFailure: true },
    );
  });
});
