import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { limits } from '../../src/contract/limits.ts';
import {
  engines,
  exportedText,
  isLong,
  makeTenant,
  makeTwoTenants,
  message,
  onEveryEngine,
  parseLines,
  useService,
} from '../support/harness.ts';

/** A chat back end sends its conversation again with every message: nothing that the record omits may be lost. */

onEveryEngine('records written again', (engine) => {
  const { one, admin, records } = makeTwoTenants();
  const app_id = one.ids.app;
  const service = useService(engine, records);

  type Line = Record<string, unknown>;
  const post = async (lines: readonly object[], key = admin) => {
    const response = await service.as(key).append(...lines);
    assert.equal(response.status, 200, response.text);
  };
  const exported = async (): Promise<Line[]> => parseLines(await exportedText(service.store));
  const storedRecord = async (kind: string, id: string) =>
    (await exported()).find((line) => line.record === kind && line.id === id) ?? assert.fail(`${kind} ${id}`);

  const wholeConversation = (): Line & { id: string } => ({
    record: 'conversation',
    id: randomUUID(),
    app_id,
    user: 'ann',
    created_at: 1000,
    deleted: true,
    hold: true,
    name: 'Named',
    inputs: { b: 1, a: [null, { x: 1.5 }] },
    introduction: 'Hello',
    renamed_at: 2000,
    updated_at: 3000,
  });
  const wholeMessage = (conversation_id: string) =>
    message(conversation_id, 1500, {
      inputs: { city: 'Bern', nested: { '': null } },
      feedback: { rating: 'like' },
      feedback_content: 'Good',
      rated_at: 1600,
      answer_tokens: 7,
    });
  /** Messages beyond the size that is spooled to disk. Later they are short, since the tests read whole exports. */
  const fillers = [1, 2, 3].map(() => message(one.ids.conversation, 1));
  const spooled = async (write: (lines: object[]) => Promise<unknown>, lines: object[]) => {
    const answer = 'x'.repeat(limits.spoolBytesMin / 2);
    await write([...lines, ...fillers.map((filler) => ({ ...filler, answer }))]);
    await service.load(fillers);
  };

  const ways: Record<string, (lines: object[]) => Promise<unknown>> = {
    'by import': (lines) => service.load(lines),
    'by POST with an admin key': (lines) => post(lines),
    'by POST with a writer key': (lines) => post(lines, one.keys.writer),
    'with a spooled import': (lines) => spooled((all) => service.load(all), lines),
    'with a spooled POST': (lines) => spooled((all) => post(all), lines),
    'with another conversation, which has all fields': (lines) => service.load([wholeConversation(), ...lines]),
  };

  // How lines arrive is the same for every engine.
  const tried = Object.entries(ways).filter(([way]) => isLong || engine === engines[0] || !way.includes('POST'));
  for (const [way, write] of tried) {
    it(`keeps omitted fields of conversations and messages, ${way}`, async () => {
      const conversation = wholeConversation();
      const rated = wholeMessage(conversation.id);
      await service.load([conversation, rated]);
      const {
        created_at: _,
        inputs: __,
        feedback: ___,
        feedback_content: ____,
        rated_at: _____,
        ...again
      } = rated as Line;
      await write([
        { record: 'conversation', id: conversation.id, app_id },
        { ...again, answer: 'new', answer_tokens: undefined },
      ]);
      assert.deepEqual(await storedRecord('conversation', conversation.id), conversation);
      const { answer, answer_tokens, ...rest } = await storedRecord('message', rated.id);
      assert.deepEqual([answer, answer_tokens], ['new', 0]);
      for (const field of ['created_at', 'inputs', 'feedback', 'feedback_content', 'rated_at']) {
        assert.deepEqual(rest[field], (rated as Line)[field], field);
      }
    });

    it(`null and false are values, ${way}`, async () => {
      const conversation = wholeConversation();
      const rated = wholeMessage(conversation.id);
      await service.load([conversation, rated]);
      const nulls = {
        user: null,
        name: null,
        inputs: null,
        introduction: null,
        renamed_at: null,
        updated_at: null,
        deleted: false,
        hold: false,
      };
      await write([
        { record: 'conversation', id: conversation.id, app_id, ...nulls },
        { ...rated, feedback: null, feedback_content: null, inputs: {} },
      ]);
      assert.deepEqual(await storedRecord('conversation', conversation.id), { ...conversation, ...nulls });
      const { feedback, feedback_content, inputs } = await storedRecord('message', rated.id);
      assert.deepEqual([feedback, feedback_content, inputs], [null, null, {}]);
    });

    it(`keeps fields from earlier lines, ${way}`, async () => {
      const conversation = wholeConversation();
      const rated = wholeMessage(conversation.id);
      const { feedback: _, ...again } = rated as Line;
      const bare = { record: 'conversation', id: conversation.id, app_id };
      await write([conversation, rated, bare, again, { ...bare, name: 'Other' }, bare, again]);
      assert.deepEqual(await storedRecord('conversation', conversation.id), { ...conversation, name: 'Other' });
      assert.deepEqual((await storedRecord('message', rated.id)).feedback, { rating: 'like' });
    });
  }

  it('keeps different fields of many conversations in one input', async () => {
    const all = Array.from({ length: 40 }, wholeConversation);
    const fields = [
      'user',
      'created_at',
      'deleted',
      'hold',
      'name',
      'inputs',
      'introduction',
      'renamed_at',
      'updated_at',
    ];
    const changed = {
      user: 'bob',
      created_at: 7,
      deleted: false,
      hold: false,
      name: 'x',
      inputs: {},
      introduction: 'y',
      renamed_at: 9,
      updated_at: 11,
    };
    await service.load(all);
    const given = all.map((_, index) => fields.filter((_field, bit) => ((index * 37) >> bit) & 1));
    const pick = (names: string[]) =>
      Object.fromEntries(Object.entries(changed).filter(([name]) => names.includes(name)));
    await service.load(
      all.map(({ id }, index) => ({ record: 'conversation', id, app_id, ...pick(given[index] ?? []) })),
    );
    const stored = new Map((await exported()).map((line) => [line.id, line]));
    for (const [index, conversation] of all.entries()) {
      assert.deepEqual(stored.get(conversation.id), { ...conversation, ...pick(given[index] ?? []) });
    }
  });

  it('keeps the period of retention of an app', async () => {
    const { records: tenant, ids } = makeTenant();
    const app = tenant.find((line) => (line as Line).record === 'app') as Line;
    const days = async () => (await storedRecord('app', ids.app)).retention_days;
    await service.load([...tenant, { ...app, retention_days: 30 }]);
    await service.load([{ ...app, name: 'other' }]);
    assert.equal(await days(), 30);
    await service.load([{ ...app, retention_days: null }]);
    assert.equal(await days(), null);
  });

  it('gives new records their defaults', async () => {
    const id = randomUUID();
    await service.load([{ record: 'conversation', id, app_id, created_at: 5 }, message(id, 6)]);
    const defaults = {
      user: null,
      deleted: false,
      hold: false,
      name: null,
      inputs: null,
      introduction: null,
      renamed_at: null,
      updated_at: null,
    };
    assert.deepEqual(await storedRecord('conversation', id), {
      record: 'conversation',
      id,
      app_id,
      created_at: 5,
      ...defaults,
    });
  });

  it('stores the time of feedback that a reader gives, until a record sets the feedback', async () => {
    const conversation = { ...wholeConversation(), deleted: false, user: null };
    const unrated = { ...wholeMessage(conversation.id), rated_at: undefined };
    await service.load([conversation, unrated]);
    const ratedAt = async () => (await storedRecord('message', unrated.id)).rated_at;
    const rate = async (rating: string | null) => {
      const path = `/v1/messages/${unrated.id}/feedbacks`;
      const { status } = await service.as(one.keys.app).post(path, { rating, user: 'ann' });
      assert.equal(status, 200);
    };
    assert.equal(await ratedAt(), null);
    for (const rating of ['dislike', null]) {
      const before = Math.floor(Date.now() / 1000);
      await rate(rating);
      const { feedback, rated_at } = await storedRecord('message', unrated.id);
      assert.deepEqual(feedback, rating && { rating });
      assert.ok((rated_at as number) >= before);
    }
    const { feedback: _feedback, ...again } = unrated as Line;
    await service.load([again]);
    assert.notEqual(await ratedAt(), null);
    await service.load([unrated]);
    assert.equal(await ratedAt(), null);
  });

  it('never shows the text of feedback to readers', async () => {
    const id = randomUUID();
    await service.load([{ record: 'conversation', id, app_id }, message(id, 6, { feedback_content: 'secret words' })]);
    const { text } = await service.as(one.keys.app).get(`/v1/messages?conversation_id=${id}`);
    assert.ok(!text.includes('secret words') && !text.includes('feedback_content'));
  });
});
