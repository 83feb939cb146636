import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  brief,
  duration,
  millis,
  money,
  percent,
  share,
  short,
} from '../../../web/console/components/format-number.ts';
import { queryOf } from '../../../web/console/conversations/search-query.ts';
import { curlOf, expiryOf, newestFirst, reachOf, stateOf, titleOf } from '../../../web/console/keys/key-labels.ts';
import { causeOf } from '../../../web/console/messages/error-cause.ts';
import { measuresOf, runningPoint, timesOf, totalsOf, valuesOf } from '../../../web/console/overview/measures.ts';
import { partsOf, soFarText } from '../../../web/console/overview/parts.ts';
import {
  labelledPoints,
  linearScale,
  logScale,
  pointAt,
  roundStep,
  spreadScale,
} from '../../../web/console/overview/scale.ts';
import { isOutlier, stack, sum, totals } from '../../../web/console/overview/series.ts';
import { trafficPlots, trafficSummary } from '../../../web/console/overview/traffic.ts';
import { periodOf } from '../../../web/console/state/period.ts';
import { daySecondsOf, dayText } from '../../../web/console/state/times.ts';
import type { Key, Overview } from '../../../web/console/state/types.ts';

describe('scales', () => {
  it('steps are 1, 2 or 5 times a power of ten', () => {
    assert.deepEqual([0.03, 1, 1.1, 2.5, 7, 34].map(roundStep), [0.05, 1, 2, 5, 10, 50]);
  });

  it('a linear scale starts at 0, ends at or above the highest value and has few ticks', () => {
    for (const highest of [0, 0.0004, 0.3, 1, 3, 8.9, 99, 100, 101, 123_456]) {
      const { ticks, place } = linearScale(highest);
      assert.equal(ticks[0], 0);
      assert.ok((ticks.at(-1) ?? 0) >= highest && ticks.length >= 2 && ticks.length <= 6, `${highest}: ${ticks}`);
      assert.ok(place(highest) <= 1 && (highest === 0 || place(highest) > 0.4), `${highest}: ${place(highest)}`);
    }
    assert.deepEqual(linearScale(3).ticks, [0, 1, 2, 3]);
    assert.deepEqual(linearScale(0.3).ticks, [0, 0.1, 0.2, 0.3]);
  });

  it('a scale of integers has only integers as ticks', () => {
    assert.deepEqual(linearScale(1, true).ticks, [0, 1]);
    assert.deepEqual(linearScale(0, true).ticks, [0, 1]);
  });

  it('a logarithmic scale contains all values, and is used when they differ much', () => {
    const { ticks, place } = logScale(0.4, 250);
    assert.deepEqual(ticks, [0.1, 1, 10, 100, 1000]);
    assert.deepEqual([0.1, 10, 1000].map(place), [0, 0.5, 1]);
    assert.deepEqual(spreadScale([0.5, 40]).ticks, [0.1, 1, 10, 100]);
    assert.deepEqual(spreadScale([4, 3, 2]).ticks, [0, 1, 2, 3, 4]);
    assert.deepEqual(spreadScale([]).ticks, linearScale(0).ticks);
  });

  it('label as many points at round times as there is room for, and find the point at a place', () => {
    const at = (time: string) => Date.parse(`2026-11-15T${time}Z`) / 1000;
    const hour = Array.from({ length: 360 }, (_, n) => at('20:43:20') + n * 10);
    const labels = (room: number) =>
      labelledPoints(hour, room).map((point) => new Date((hour[point] ?? 0) * 1000).toISOString().slice(11, 19));
    assert.deepEqual(labels(5), ['20:45:00', '21:00:00', '21:15:00', '21:30:00']);
    assert.deepEqual(labels(6), ['20:50:00', '21:00:00', '21:10:00', '21:20:00', '21:30:00', '21:40:00']);
    assert.deepEqual(labels(2), ['21:00:00', '21:30:00']);
    const days = Array.from({ length: 30 }, (_, n) => at('00:00:00') + n * 86_400);
    const apart = labelledPoints(days, 6).map((point, n, points) => point - (points[n - 1] ?? point));
    assert.deepEqual(new Set(apart.slice(1)), new Set([7]));
    assert.equal(labelledPoints(days, 30).length, 30);
    assert.deepEqual(labelledPoints([], 10), []);
    assert.deepEqual(
      [-1, 0, 0.49, 0.5, 1, 2].map((place) => pointAt(place, 2)),
      [0, 0, 0, 1, 1, 1],
    );
  });
});

describe('numbers as text', () => {
  it('have three digits, or all if there are few', () => {
    const of = (value: number) => brief(value, 'en');
    assert.deepEqual([0, 0.123_456, 8.94, 1234, 1_234_567].map(of), ['0', '0.123', '8.94', '1,234', '1.23M']);
    assert.deepEqual(
      [0.682, 42.61, 1500, 119_999, 150_000].map((value) => millis(value, 'en')),
      ['0.682 ms', '42.6 ms', '1.5 s', '120 s', '2.5 min'],
    );
    assert.deepEqual([0.6, 2, 150].map(duration), ['600 ms', '2 s', '2.5 min']);
    assert.deepEqual([percent(1, 3, 'en'), percent(0, 0, 'en')], ['33%', '0%']);
  });

  it('are short from a million on', () => {
    const of = (value: number) => short(value, 'en-GB');
    assert.deepEqual([0, 999_999, 1_000_000, 258_512_345].map(of), ['0', '999,999', '1M', '258.5M']);
  });

  it('have one precision in a column', () => {
    assert.deepEqual([share(1, 3, 'en'), share(1, 50, 'en'), share(0, 0, 'en')], ['33.3%', '2.0%', '0.0%']);
    const prices = [0.5, 0.001, 12].map((price) => money(price, 'USD', 'en', 12));
    assert.deepEqual(prices, ['$0.50', '<$0.01', '$12.00']);
  });

  it('accept any currency of a record', () => {
    assert.equal(money(1234.5, 'USD', 'en'), '$1,234.50');
    assert.equal(money(2, 'credits', 'en'), '2.00 credits');
  });

  it('have two decimals as a price, or four below 1', () => {
    assert.deepEqual(
      [0, 0.1, 0.000_123_4, 0.000_001].map((value) => money(value, 'USD', 'en')),
      ['$0.00', '$0.1000', '$0.0001', '<$0.0001'],
    );
  });
});

describe('a stack', () => {
  const series = [
    { name: 'a', look: 0, values: [1, null, 3] },
    { name: 'b', look: 1, values: [2, 2, 0] },
  ];
  it('has each series above those before it', () => {
    assert.deepEqual(
      stack(series).map(({ spans }) => spans),
      [
        [
          [0, 1],
          [0, 0],
          [0, 3],
        ],
        [
          [1, 3],
          [0, 2],
          [3, 3],
        ],
      ],
    );
    assert.deepEqual(totals(series), [3, 2, 3]);
    assert.equal(sum([1, null, 2]), 3);
  });
});

describe('a share', () => {
  it('is an outlier above twice the median', () => {
    assert.deepEqual(
      [0.1, 0.2, 0.41].map((value) => isOutlier(value, [0.1, 0.41, 0.2])),
      [false, false, true],
    );
    assert.equal(isOutlier(0.5, [0.5, 0]), false);
    assert.equal(isOutlier(0.5, [0.5, 0, 0]), true);
  });
});

describe('traffic', () => {
  const none = { requests: 0, client_errors: 0, server_errors: 0, p50: null, p90: null, p99: null };
  const traffic = {
    interval_seconds: 10,
    data: [
      { at: 0, requests: 40, client_errors: 3, server_errors: 1, p50: 1, p90: 2, p99: 1200 },
      { at: 10, ...none },
      { at: 20, requests: 10, client_errors: 0, server_errors: 0, p50: 0.5, p90: 1.5, p99: 9 },
    ],
  };

  it('is described by rates, latest percentiles and shares', () => {
    assert.deepEqual(trafficSummary(traffic, 'en'), {
      requests: { figure: '1', summary: 'now, max 4, 50 requests in the last hour' },
      latency: { figure: '9 ms', summary: 'p99 now, p50 0.5 ms, p90 1.5 ms, max 1.2 s' },
      errors: { figure: '4', summary: 'in the last hour, rejected 3 (6%), failed 1 (2%)' },
    });
    assert.deepEqual(trafficPlots(traffic).requests[0]?.values, [4, 0, 1]);
  });

  it('has no plot without requests', () => {
    assert.equal(trafficPlots({ interval_seconds: 10, data: [{ at: 0, ...none }] }).isEmpty, true);
    assert.equal(trafficPlots(traffic).isEmpty, false);
  });
});

describe('a period', () => {
  const now = Date.UTC(2026, 10, 15, 23, 59) / 1000;
  const days = (filters: Record<string, string>) => {
    const { from, to, days } = periodOf(filters, now);
    return [dayText(from), dayText(to), days];
  };

  it('is of whole days in UTC, up to today or as in the address', () => {
    assert.deepEqual(days({}), ['2026-10-17', '2026-11-16', 30]);
    assert.deepEqual(days({ days: '7' }), ['2026-11-09', '2026-11-16', 7]);
    assert.deepEqual(days({ from: '86405', to: '172801' }), ['1970-01-02', '1970-01-04', undefined]);
    for (const bad of [{ days: '8' }, { from: '172800', to: '86400' }, { from: 'x', to: '9' }, { from: '5' }] as Record<
      string,
      string
    >[])
      assert.deepEqual(days(bad), days({}));
    assert.deepEqual(
      [daySecondsOf('1970-01-02'), daySecondsOf(''), daySecondsOf('1969-01-01')],
      [86_400, undefined, undefined],
    );
  });

  it('is the same in the list of conversations', () => {
    const { from, to } = periodOf({ days: '7' }, now);
    assert.deepEqual(queryOf({ days: '7', rating: 'dislike' }, now), { rating: 'dislike', from, to });
  });
});

describe('an overview', () => {
  const none = { messages: 0, liked: 0, disliked: 0, failed: 0, tokens: 0, users: 0, prices: [] };
  const overview: Overview = {
    from: 0,
    to: 172_800,
    totals: { ...none, messages: 50, disliked: 5, failed: 1, users: 3, prices: [{ currency: 'USD', price: 2 }] },
    before: { ...none, messages: 40, disliked: 8, users: 3, prices: [{ currency: 'USD', price: 4 }] },
    step_seconds: 86_400,
    points: [{ ...none, at: 86_400, messages: 50, disliked: 5, failed: 1, users: 3 }],
    points_before: [],
    series: [],
    so_far: null,
    apps: [],
    models: [],
    users: [],
  };

  it('has numbers with the change to the period before', () => {
    const texts = totalsOf(overview).map(({ name, value, change, more }) => [name, `${value} | ${change} | ${more}`]);
    assert.deepEqual(texts, [
      ['Messages', '50 | +25% from 40 | '],
      ['Cost', '$2.00 | −50% from $4.00 | '],
      ['Users', '3 | no change | 16.7 messages each'],
      ['Tokens', '0 |  | '],
      ['Disliked', '10% | −10 pp from 20% | 5 of 50'],
      ['Failed', '2% | +2 pp from 0% | 1 of 50'],
    ]);
    const trends = totalsOf(overview).map(({ trend }) => trend);
    assert.deepEqual(trends, ['better', undefined, undefined, undefined, 'better', 'worse']);
    const small = { ...overview.before, disliked: 4, failed: 1, messages: 48 };
    const trendsOfSmall = totalsOf({ ...overview, before: small }).map(({ trend }) => trend);
    assert.deepEqual(trendsOfSmall, [undefined, undefined, undefined, undefined, 'worse', undefined]);
    const launched = totalsOf({ ...overview, before: { ...overview.before, messages: 1 } });
    assert.equal(launched[0]?.change, 'up from 1', 'the percentage of a first message says nothing');
    const empty = totalsOf({ ...overview, totals: none, before: none });
    assert.deepEqual(
      empty.map(({ value }) => value),
      ['0', '–', '0', '0', '0%', '0%'],
    );
    for (const { name, change, trend } of totalsOf({ ...overview, before: none })) {
      assert.doesNotMatch(change, /from|no change/, name);
      assert.equal(trend, undefined, name);
    }
  });

  it('has a point that has not ended, unless the period is over', () => {
    assert.deepEqual(
      [0, 86_399, 86_400, 172_799, 172_800].map((now) => runningPoint(overview, now)),
      [0, 0, 1, 1, undefined],
    );
    assert.equal(runningPoint({ ...overview, step_seconds: 3600 }, 90_000), 25);
  });

  it('compares the running day with yesterday at the same hour, where values can be added up', () => {
    const so_far = { today: { ...none, messages: 71 }, yesterday: { ...none, messages: 100 } };
    const texts = measuresOf(overview).map((measure) => soFarText(measure, { ...overview, so_far }));
    assert.deepEqual(texts, ['So far today, 71% of yesterday by this hour', '', '', '', '', '']);
    const [messages = assert.fail()] = measuresOf(overview);
    assert.equal(soFarText(messages, { ...overview, so_far: { ...so_far, yesterday: none } }), '');
    assert.equal(soFarText(messages, overview), '');
  });

  it('has parts in the order of the models or apps, and the last one of all others', () => {
    const compared = { ...none, before: none };
    const models = ['a', null, 'c', 'd', 'e', 'f', 'g'].map((model) => ({ ...compared, model_provider: 'p', model }));
    const apps = [{ ...compared, app_id: 'x', app_name: 'X' }];
    const points = [{ ...none, at: 0 }];
    const series = Array.from({ length: 6 }, () => points);
    const parts = partsOf({ ...overview, models, series }, 'model').map(({ name, look, filters }) => [
      ...[name, look, filters],
    ]);
    assert.deepEqual(parts.slice(0, 2), [
      ['a', 4, { model_provider: 'p', model: 'a' }],
      ['Model not known', 11, {}],
    ]);
    assert.deepEqual(parts.at(-1), ['All others', 9, {}]);
    assert.deepEqual(
      partsOf({ ...overview, apps, series: [points] }, 'app').map(({ name, filters }) => [name, filters]),
      [['X', { app_id: 'x' }]],
    );
  });

  it('has a measure for each of the highest currencies, and a value for every day', () => {
    const prices = ['A', 'B', 'C', 'D', 'E'].map((currency, n) => ({ currency, price: n }));
    const measures = measuresOf({ ...overview, totals: { ...overview.totals, prices } });
    assert.deepEqual(
      measures.map(({ id }) => id),
      ['messages', 'cost E', 'cost D', 'cost C', 'users', 'tokens', 'disliked', 'failed'],
    );
    const disliked = measures.find(({ id }) => id === 'disliked');
    assert.deepEqual(disliked && valuesOf(disliked, overview.points, timesOf(overview)), [0, 10]);
    const cost = totalsOf({ ...overview, totals: { ...overview.totals, prices } })[1];
    assert.equal(cost?.more, '+ 3.00 D + 2.00 C and 2 more currencies');
  });
});

describe('keys as text', () => {
  const key: Key = {
    id: '12345678-abcd',
    kind: 'knowledge',
    name: '',
    workspace_id: 'w',
    app_id: null,
    dataset_ids: null,
    created_at: 0,
    expires_at: 100,
    revoked_at: null,
    last_used_at: null,
    read_only: false,
    role: null,
    requests: 0,
    errors: 0,
  };

  it('are listed newest first, those of one second by name', () => {
    const keys = ['b 2', 'c 1', 'a 1', 'd 3'].map((words) => {
      const [name = '', time] = words.split(' ');
      return { ...key, id: words, name, created_at: Number(time) };
    });
    assert.deepEqual(
      keys.toSorted(newestFirst).map(({ name }) => name),
      ['d', 'b', 'a', 'c'],
    );
  });

  it('have a state: revoked before expired before active', () => {
    assert.equal(stateOf(key, 99 - 7 * 86_400), 'active');
    assert.equal(stateOf(key, 99), 'expires soon');
    assert.equal(stateOf(key, 100), 'expired');
    assert.equal(stateOf({ ...key, revoked_at: 1 }, 100), 'revoked');
    assert.equal(stateOf({ ...key, expires_at: null }, 1e9), 'active');
  });

  it('have a scope: one app, a workspace, some datasets, or everything', () => {
    const app = { ...key, kind: 'writer', app_id: 'a' } as const;
    assert.deepEqual(reachOf(app), { words: '', list: 'apps', ids: ['a'] });
    assert.equal(reachOf({ ...app, kind: 'feed' }).words, 'app', 'it could be a workspace');
    assert.deepEqual(reachOf(key), { words: 'all datasets of', list: 'workspaces', ids: ['w'] });
    for (const [words, ids] of [
      ['dataset', ['d']],
      ['datasets', ['d', 'x']],
    ] as [string, string[]][])
      assert.deepEqual(reachOf({ ...key, dataset_ids: ids }), { words, list: 'datasets', ids });
    assert.deepEqual(reachOf({ ...key, kind: 'admin', workspace_id: null }).words, 'everything');
  });

  it('have a title also without a name', () => {
    assert.equal(titleOf(key), 'knowledge key 12345678');
    assert.equal(titleOf({ ...key, name: 'shop' }), 'shop');
  });

  it('expire never, after days, or at the end of a day', () => {
    assert.equal(expiryOf('never', '', 5), null);
    assert.equal(expiryOf('30', '', 5.7), 5 + 30 * 86_400);
    assert.equal(expiryOf('date', '2026-12-31', 5), new Date(2027, 0, 1).getTime() / 1000);
  });

  it('have an example command for their kind', () => {
    const line = "curl -sS 'http://h/v1/messages?conversation_id=c' \\\n  -H 'Authorization: Bearer s'";
    assert.equal(curlOf('app', 's', 'http://h', 'c'), line);
    assert.match(curlOf('writer', 's', 'http://h'), /^curl -sS http:\/\/h\/openai\/v1\/conversations /);
    assert.match(curlOf('app', 's', 'http://h'), /model-types\/llm'$/);
  });
});

describe('the error of a provider', () => {
  it('is reduced to its innermost message', () => {
    for (const [text, cause] of [
      ['The model did not answer.', 'The model did not answer.'],
      ['[openai] Error: 429, {"error": {"message": "Quota \\"x\\" exceeded", "type": "q"}}', 'Quota "x" exceeded'],
      ["Run failed: {'error': {'code': 1, 'message': 'Model is overloaded'}}", 'Model is overloaded'],
      [JSON.stringify({ message: JSON.stringify({ error: { message: 'Too many tokens' } }) }), 'Too many tokens'],
      ['a set {1, 2} and {"message": 3}', 'a set {1, 2} and {"message": 3}'],
      ['{"message": ""}', '{"message": ""}'],
      [`${'{"message":"'.repeat(100_000)}x`, undefined],
    ] as const)
      if (cause === undefined) assert.equal(typeof causeOf(text), 'string');
      else assert.equal(causeOf(text), cause);
  });
});
