import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { it } from 'node:test';
import fc from 'fast-check';
import { purge } from '../../src/domain/erasure/purge.ts';
import { makeSecret } from '../../src/domain/secret.ts';
import { onEveryEngine, parseLines, useService } from '../support/harness.ts';
import { shortOrLong } from '../support/long.ts';

/** Compares the counts that are updated when messages are written with counts computed from an export. */

const conversations = 4;
const slots = 5;

/** Imported prices, and what each adds to the sum, in billionths. */
const prices: Record<string, number> = {
  '0.0012890': 1_289_000,
  '0.1': 100_000_000,
  '-0.2': -200_000_000,
  '1E-7': 100,
  '1.5e2': 150_000_000_000,
  '0E-10': 0,
  '123456e-12': 123,
  '1e99': 1e15,
  '-1E+99': -1e15,
  '1e-99': 0,
  '12345678901234567890': 1e15,
  '-7e9': -1e15,
  [`0.${'3'.repeat(60)}`]: 333_333_333,
};

type Write = {
  conversation: number;
  slot: number;
  created_at: number | undefined;
  message_tokens: number;
  total_price: string | null;
  currency: string | null;
  feedback: { rating: string } | null | undefined;
  status: string;
  model: string | null;
};
type Step =
  | { kind: 'import'; writes: Write[] }
  | { kind: 'append'; batches: Write[][] }
  | { kind: 'conversation'; conversation: number; user: string; deleted: boolean }
  | { kind: 'rate'; conversation: number; slot: number; rating: string | null }
  | { kind: 'purge'; conversation: number }
  | { kind: 'list users' };

const day = 86_400;
/** 9999-12-31 */
const lastDay = 2_932_896;
const time = fc.oneof(
  fc.constantFrom(-1, 0, 1, day - 1, day, 20_000 * day - 1, 20_000 * day, -5 * day),
  fc.integer({ min: 20_000 * day, max: 20_003 * day }),
  fc.constantFrom(Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 253_402_300_800, -62_167_219_201),
);
const write: fc.Arbitrary<Write> = fc.record({
  conversation: fc.nat(conversations - 1),
  slot: fc.nat(slots - 1),
  created_at: fc.option(time, { nil: undefined, freq: 3 }),
  message_tokens: fc.oneof(fc.nat(5_000), fc.constantFrom(-3, 0, 2 ** 40)),
  total_price: fc.option(fc.constantFrom(...Object.keys(prices)), { freq: 4 }),
  currency: fc.option(fc.constantFrom('USD', 'EUR', '', '€uro', 'a currency that is far too long for one')),
  feedback: fc.constantFrom({ rating: 'like' }, { rating: 'dislike' }, null, undefined),
  status: fc.constantFrom('normal', 'error'),
  model: fc.constantFrom('lantern', 'beacon', null),
});
const rating = fc.constantFrom('like', 'dislike', null);
const writes = fc.array(write, { minLength: 1, maxLength: 12 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('import' as const), writes }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('append' as const),
      batches: fc.array(writes, { minLength: 1, maxLength: 3 }),
    }),
  },
  fc.record({
    kind: fc.constant('conversation' as const),
    conversation: fc.nat(conversations - 1),
    user: fc.constantFrom('ann', 'bob'),
    deleted: fc.boolean(),
  }),
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('rate' as const),
      conversation: fc.nat(conversations - 1),
      slot: fc.nat(slots - 1),
      rating,
    }),
  },
  fc.record({ kind: fc.constant('purge' as const), conversation: fc.nat(conversations - 1) }),
  fc.record({ kind: fc.constant('list users' as const) }),
);

/** Ids that are reproducible from a failing seed. */
function idOf(...parts: (string | number)[]): string {
  const hex = createHash('sha256').update(parts.join(' ')).digest('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
}

// biome-ignore lint/suspicious/noExplicitAny: lines of an export
type Line = any;

const isPriced = ({ total_price, currency }: Line): boolean =>
  total_price !== null && currency !== null && /^(USD|EUR|€uro)$/.test(currency);

type Lines = { conversations: Line[]; messages: Line[] };

onEveryEngine('message counts and usage', (engine) => {
  const admin = makeSecret('admin');
  const workspace_id = idOf('workspace');
  const service = useService(engine, [
    { record: 'workspace', id: workspace_id, name: 'w' },
    { record: 'api_key', kind: 'admin', name: 'admin', secret: admin },
  ]);

  const post = async (records: object[], statuses = [200]) => {
    const { status, text } = await service.as(admin).append(...records);
    assert.ok(statuses.includes(status), text);
  };

  const walk = (path: string, limit: number): Promise<Line[]> => service.as(admin).rows(`${path}&limit=${limit}`);

  async function exportAll(): Promise<Lines> {
    const { text } = await service.as(admin).get('/admin/records');
    const lines: Line[] = parseLines(text);
    const of = (kind: string) => lines.filter(({ record }) => record === kind);
    return { conversations: of('conversation'), messages: of('message') };
  }

  function linesOf(app_id: string, lines: Lines): Lines {
    const appConversations = lines.conversations.filter((line) => line.app_id === app_id);
    const ids = new Set(appConversations.map(({ id }) => id));
    const messages = lines.messages.filter((line) => ids.has(line.conversation_id));
    return { conversations: appConversations, messages };
  }

  function expectedRows(lines: Lines): Line[] {
    return lines.conversations
      .filter(({ deleted }) => !deleted)
      .map(({ id, user, created_at }) => {
        const times = lines.messages.filter((one) => one.conversation_id === id).map((one) => one.created_at);
        const last_message_at = times.length === 0 ? null : Math.max(...times);
        const name = times.length === 0 ? 'New conversation' : 'q';
        const updated_at = Math.max(created_at, last_message_at ?? created_at);
        return { id, user, name, created_at, message_count: times.length, last_message_at, updated_at };
      })
      .sort((a, b) => b.updated_at - a.updated_at || (a.id < b.id ? 1 : -1));
  }

  function expectedSummaries(app_id: string, lines: Lines): Line[] {
    return expectedRows(lines).map(({ id, ...row }) => {
      const own = lines.messages.filter((one) => one.conversation_id === id);
      const priced = own.filter(isPriced);
      const currencies = [...new Set(priced.map(({ currency }) => currency))];
      const nanos = priced.reduce((sum, { total_price }) => sum + (prices[total_price] ?? assert.fail(total_price)), 0);
      return {
        ...row,
        id,
        app_id,
        app_name: 'app',
        disliked_count: own.filter(({ feedback }) => feedback?.rating === 'dislike').length,
        failed_count: own.filter(({ status }) => status === 'error').length,
        price: currencies.length === 1 ? nanos / 1e9 : null,
        currency: currencies.length === 1 ? currencies[0] : null,
        last_text: own.length === 0 ? '' : 'a',
      };
    });
  }

  const dayOf = ({ created_at }: Line): number => Math.min(Math.floor(created_at / day), lastDay);
  /** Messages from one day until another. Later than the last day counts on the last day. */
  const within = (messages: Line[], first: number, end: number): Line[] =>
    messages.filter((message) => dayOf(message) >= first && dayOf(message) < end);
  const sumsOf = (messages: Line[]) => ({
    messages: messages.length,
    liked: messages.filter(({ feedback }) => feedback?.rating === 'like').length,
    disliked: messages.filter(({ feedback }) => feedback?.rating === 'dislike').length,
    failed: messages.filter(({ status }) => status === 'error').length,
    tokens: messages.reduce((sum, { total_tokens }) => sum + total_tokens, 0),
  });
  const pricesOf = (messages: Line[]) =>
    [...Map.groupBy(messages.filter(isPriced), ({ currency }) => currency as string)]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([currency, priced]) => ({
        currency,
        price: priced.reduce((sum, { total_price }) => sum + (prices[total_price] ?? 0), 0) / 1e9,
      }));
  const userOf = ({ conversations }: Lines, { conversation_id }: Line): string =>
    conversations.find(({ id }) => id === conversation_id).user;

  function totalsOf(lines: Lines, messages: Line[]): Line {
    const users = new Set(messages.map((message) => userOf(lines, message))).size;
    return { ...sumsOf(messages), users, prices: pricesOf(messages) };
  }

  const expectedTotals = (lines: Lines, first: number, end: number): Line =>
    totalsOf(lines, within(lines.messages, first, end));

  const hour = 3_600;
  /** Later than the last day counts in its last hour. */
  const hourOf = ({ created_at }: Line): number => Math.min(Math.floor(created_at / hour), lastDay * 24 + 23);
  const pointsOf = (messages: Line[], of: (own: Line[]) => Line): Line[] =>
    [...Map.groupBy(messages, hourOf)]
      .sort(([one], [other]) => one - other)
      .map(([at, own]) => ({ at: at * hour, ...of(own) }));

  function expectedUsers(lines: Lines, first: number, end: number): Line[] {
    const byUser = Map.groupBy(within(lines.messages, first, end), (message) => userOf(lines, message));
    return [...byUser]
      .map(([user, messages]) => {
        const [price, another] = pricesOf(messages);
        const single = another === undefined ? price : undefined;
        return { user, ...sumsOf(messages), price: single?.price ?? null, currency: single?.currency ?? null };
      })
      .sort((one, other) => other.messages - one.messages || (one.user < other.user ? -1 : 1));
  }

  /** All users, by the number of their messages. */
  function expectedListed({ conversations, messages }: Lines): Line[] {
    const lastOf = ({ id, created_at }: Line) =>
      messages.reduce((last, one) => (one.conversation_id === id ? Math.max(last, one.created_at) : last), created_at);
    return [...Map.groupBy(conversations, ({ user }) => user as string)]
      .map(([user, own]) => {
        const ids = new Set(own.map(({ id }) => id));
        const written = messages.filter(({ conversation_id }) => ids.has(conversation_id));
        const { messages: count, disliked, failed } = sumsOf(written);
        const [price, another] = pricesOf(written);
        const single = another === undefined ? price : undefined;
        return {
          user,
          app_ids: [...new Set(own.map(({ app_id }) => app_id))].sort(),
          ...{ conversations: own.length, messages: count, disliked, failed },
          ...{ total_price: single?.price ?? null, currency: single?.currency ?? null },
          first_at: Math.min(...own.map(({ created_at }) => created_at)),
          last_at: Math.max(...own.map(lastOf)),
        };
      })
      .sort((one, other) => other.messages - one.messages || (one.user < other.user ? 1 : -1));
  }

  it('equal the sums over an export, after any writes, moves and purges', async () => {
    let runCount = 0;
    const property = fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 1, max: 7 }),
      async (steps, limit) => {
        runCount += 1;
        const app_id = idOf('app', runCount);
        const conversation = (at: number, more = {}) => ({
          ...{ record: 'conversation', id: idOf(app_id, at), app_id, user: 'ann', created_at: 1, ...more },
        });
        const message = ({ conversation: at, slot, ...fields }: Write) => ({
          ...{ record: 'message', id: idOf(app_id, at, slot), conversation_id: idOf(app_id, at) },
          ...{ query: 'q', answer: 'a', ...fields },
        });
        const allConversations = Array.from({ length: conversations }, (_, at) => conversation(at));
        const app = makeSecret('app');
        await post([
          { record: 'app', id: app_id, workspace_id, name: 'app', mode: 'chat' },
          { record: 'api_key', kind: 'app', name: 'app', workspace_id, app_id, secret: app, read_only: false },
          ...allConversations,
        ]);
        for (const step of steps) {
          if (step.kind === 'import') {
            const needed = [...new Set(step.writes.map((write) => write.conversation))].map((at) => conversation(at));
            await post([{ record: 'workspace', id: workspace_id, name: 'w' }, ...needed, ...step.writes.map(message)]);
          } else if (step.kind === 'append') {
            // A batch that names a purged conversation is rejected as a whole.
            await Promise.all(step.batches.map((batch) => post(batch.map(message), [200, 400])));
          } else if (step.kind === 'conversation') {
            await post([conversation(step.conversation, { user: step.user, deleted: step.deleted })]);
          } else if (step.kind === 'rate') {
            const path = `/v1/messages/${idOf(app_id, step.conversation, step.slot)}/feedbacks`;
            const body = { rating: step.rating, user: 'ann' };
            const { status, text } = await service.as(app).post(path, body);
            assert.ok([200, 400, 404].includes(status), text);
          } else if (step.kind === 'list users') {
            await walk('/admin/users?sort=user', limit);
          } else {
            await purge(service.store, { conversation_id: idOf(app_id, step.conversation) }, { key_id: null, now: 1 });
          }
        }
        const all = await exportAll();
        const lines = linesOf(app_id, all);
        const summaries = await walk(`/admin/conversations?app_id=${app_id}`, limit);
        assert.deepEqual(summaries, expectedSummaries(app_id, lines));
        const users = await walk(`/admin/users?app_id=${app_id}&sort=-messages`, limit);
        assert.deepEqual(users, expectedListed(lines));
        assert.deepEqual(await walk('/admin/users?sort=-messages', limit), expectedListed(all));
        for (const first of [0, 1, 19_999, 20_001, lastDay - 1]) {
          const path = `/admin/overview?app_id=${app_id}&from=${first * day}&to=${(first + 2) * day}`;
          const { body } = await service.as(admin).get(path);
          assert.deepEqual(
            { totals: body.totals, before: body.before, users: body.users },
            {
              totals: expectedTotals(lines, first, first + 2),
              before: expectedTotals(lines, first - 2, first),
              users: expectedUsers(lines, first, first + 2),
            },
          );
          const [own, earlier] = [within(lines.messages, first, first + 2), within(lines.messages, first - 2, first)];
          const ofPoint = (messages: Line[]) => ({ ...sumsOf(messages), prices: pricesOf(messages) });
          assert.deepEqual(
            body.points,
            pointsOf(own, (messages) => totalsOf(lines, messages)),
          );
          assert.deepEqual(body.points_before, pointsOf(earlier, ofPoint));
          const of = (messages: Line[], model: string | null) => messages.filter((one) => one.model === model);
          const expectedModels = ['lantern', 'beacon', null]
            .map((model) => ({ model, ...ofPoint(of(own, model)), before: ofPoint(of(earlier, model)) }))
            .filter(({ messages, before }) => messages + before.messages > 0)
            .sort((a, b) => b.messages - a.messages || ((a.model ?? '') < (b.model ?? '') ? -1 : 1));
          assert.deepEqual(
            body.models,
            expectedModels.map((row) => ({ model_provider: null, ...row })),
          );
          assert.deepEqual(
            body.series,
            expectedModels.filter(({ messages }) => messages > 0).map(({ model }) => pointsOf(of(own, model), ofPoint)),
          );
          const ofApp = { app_id, app_name: 'app', ...ofPoint(own), before: ofPoint(earlier) };
          assert.deepEqual(body.apps, own.length + earlier.length === 0 ? [] : [ofApp]);
        }
      },
    );
    await fc.assert(property, { numRuns: shortOrLong(5, 150) });
  });
});
