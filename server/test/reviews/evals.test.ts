import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, it } from 'node:test';
import { redact } from '../../src/domain/reviews/redact.ts';
import { makeTwoTenants, message, onEveryEngine, parseLines, useService } from '../support/harness.ts';
import { citation } from '../support/rich-messages.ts';

const now = 1_793_822_400;

onEveryEngine('evaluation sets', (engine) => {
  const { one, other, admin, records } = makeTwoTenants();
  const conversation = one.ids.conversation;
  const ids = { app_id: one.ids.app, conversation_id: conversation };
  const cited = (content: string) => ({ ...citation(randomUUID()), content });
  const earlier = Array.from({ length: 12 }, (_, nth) =>
    message(conversation, now - 100 + nth, { query: `q${nth}`, answer: `a${nth}` }),
  );
  const judged = message(conversation, now - 50, {
    ...{ query: 'price?', answer: 'Ask ann@example.com or 10.0.0.1', feedback: { rating: 'dislike' } },
    ...{ model_provider: 'harbour', model: 'lantern', retriever_resources: [cited('one'), cited('two')] },
  });
  const first = message(other.ids.conversation, now - 60, {
    ...{ query: 'file:///etc/passwd', answer: 'package:x {{ env.HOME }}{% raw %}' },
    ...{
      model: 'file://{{range.constructor("return process.exit(7)")()}}',
      model_provider: '{{env.HOME}} joe@example.com',
    },
  });
  const review = (of: typeof judged, app_id: string, fields: object) => ({
    ...{ record: 'review', app_id, conversation_id: of.conversation_id, message_id: of.id, updated_at: now },
    ...{ state: 'done', expected_answer: '5 euros', ...fields },
  });
  const open = message(conversation, now - 40);
  const silent = message(conversation, now - 30);

  const service = useService(engine, [...records, ...earlier, judged, open, silent, first]);
  before(async () => {
    await service.load([
      review(judged, one.ids.app, { labels: ['price', '+49 30 123456'] }),
      review(first, other.ids.app, { expected_answer: '{{{# a }}', labels: ['file://a.js', '{%'] }),
      review(open, one.ids.app, { state: 'open' }),
      review(silent, one.ids.app, { expected_answer: null }),
    ]);
  });

  const get = (query = '', key = admin) => service.as(key).get(`/admin/evals.jsonl?${query}`);
  const lines = async (query = '') => {
    const { status, text } = await get(query);
    assert.equal(status, 200, text);
    return parseLines(text);
  };

  it('200: one test case for each review that is done and has an expected answer', async () => {
    const { headers } = await get();
    assert.equal(headers['content-type'], 'application/x-ndjson');
    assert.equal((await lines()).length, 2);
    const before = earlier.slice(-10).flatMap(({ query, answer }) => [`User: ${query}`, `Assistant: ${answer}`]);
    assert.deepEqual(await lines(`app_id=${one.ids.app}`), [
      {
        vars: {
          input: [...before, 'User: price?'].join('\n\n'),
          actual: 'Ask ann@example.com or 10.0.0.1',
          context: 'one\n\ntwo',
        },
        assert: [{ type: 'factuality', value: '5 euros' }],
        metadata: {
          ...ids,
          ...{ message_id: judged.id, model_provider: 'harbour', model: 'lantern', labels: ['price', '+49 30 123456'] },
          ...{ created_at: '2026-11-04T19:59:10Z', reviewed_at: '2026-11-04T20:00:00Z' },
        },
      },
    ]);
  });

  it('200: filters by label, app and time of the message', async () => {
    const found = async (query: string) => (await lines(query)).map(({ metadata }) => metadata.message_id);
    assert.deepEqual(await found(''), [judged.id, first.id]);
    assert.deepEqual(await found('label=price'), [judged.id]);
    assert.deepEqual(await found('label=pric'), []);
    assert.deepEqual(await found(`app_id=${other.ids.app.toUpperCase()}`), [first.id]);
    assert.deepEqual(await found(`from=${now - 60}&to=${now - 50}`), [first.id]);
  });

  it('200: what users and models wrote is neither a template nor the name of a file', async () => {
    const [{ vars, assert: assertions, metadata }] = await lines(`app_id=${other.ids.app}`);
    assert.equal(metadata.model, '{{""}}file://{{"{{"}}range.constructor("return process.exit(7)")()}}');
    assert.equal(metadata.model_provider, '{{"{{"}}env.HOME}} joe@example.com');
    assert.deepEqual(metadata.labels, ['{{""}}file://a.js', '{{"{%"}}']);
    assert.deepEqual(vars, {
      input: '{{""}}file:///etc/passwd',
      actual: '{{""}}package:x {{"{{"}} env.HOME }}{{"{%"}} raw %}',
      context: '',
    });
    assert.equal(assertions[0].value, '{{"{{"}}{{"{#"}} a }}');
  });

  it('200: redact replaces personal data on the way out only', async () => {
    const [{ vars, metadata }] = await lines('redact=1&label=price');
    assert.deepEqual([vars.actual, metadata.labels], ['Ask [email] or [ip]', ['price', '[phone]']]);
    const [{ metadata: others }] = await lines(`redact=1&app_id=${other.ids.app}`);
    assert.equal(others.model_provider, '{{"{{"}}env.HOME}} [email]');
    assert.deepEqual([others.app_id, others.message_id], [other.ids.app, first.id]);
    assert.equal((await lines('redact=0&label=price'))[0].vars.actual, 'Ask ann@example.com or 10.0.0.1');
    assert.match((await service.as(admin).get('/admin/records')).text, /ann@example\.com/);
  });

  it('200: redact knows the separators of numbers, and leaves other numbers', async () => {
    const space = '\u00a0';
    const card = '4111 1111 1111 1111';
    const answers = {
      [card.replaceAll(' ', space)]: '[card]',
      [card.replaceAll(' ', '.')]: '[card]',
      '3782.822463.10005': '[card]',
      ['+49 30 123456'.replaceAll(' ', space)]: '[phone]',
      '+49.30.123456': '[phone]',
      [`555${space}123${space}4567`]: '[phone]',
      '3.14159265358979 1.000.000 2026.11': '3.14159265358979 1.000.000 2026.11',
    };
    for (const [text, expected] of Object.entries(answers)) assert.equal(redact(text), expected);
    const start = performance.now();
    for (const part of [`1${space}`, '1111.', '0.', '1.']) redact(part.repeat(100_000));
    assert.ok(performance.now() - start < 5_000);
  });
});
