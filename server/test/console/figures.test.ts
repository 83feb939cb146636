import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { causeOf } from '../../../web/console/conversations/message-error.ts';
import { curlOf, expiryOf, newestFirst, reachOf, stateOf, titleOf } from '../../../web/console/keys/key-words.ts';
import { brief, millis, money, percent } from '../../../web/console/parts/figures.ts';
import type { Key, Usage } from '../../../web/console/parts/types.ts';
import {
  labelledPoints,
  linearScale,
  logScale,
  pointAt,
  roundStep,
  spreadScale,
} from '../../../web/console/pulse/scale.ts';
import { stack, sum, totals } from '../../../web/console/pulse/series.ts';
import { trafficPlots, trafficSummary } from '../../../web/console/pulse/traffic.ts';
import { currenciesOf, daysUntil, usagePlots, usageSummary } from '../../../web/console/pulse/usage.ts';

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
      [0.682, 42.61, 1500].map((value) => millis(value, 'en')),
      ['0.682 ms', '42.6 ms', '1.5 s'],
    );
    assert.deepEqual([percent(1, 3, 'en'), percent(0, 0, 'en')], ['33%', '0%']);
  });

  it('accept any currency of a record', () => {
    assert.equal(money(1234.5, 'USD', 'en'), '$1,234.50');
    assert.equal(money(0.000_123_4, 'USD', 'en'), '$0.000123');
    assert.equal(money(2, 'credits', 'en'), '2.00 credits');
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
      requests: 'now 1 a second, at most 4; 50 in the last hour',
      latency: 'now p50 0.5 ms, p90 1.5 ms, p99 9 ms; p99 at most 1.2 s',
      errors: 'now 0; in the last hour 3 rejected (6%), 1 failed (2%)',
    });
    assert.deepEqual(trafficPlots(traffic).requests[0]?.values, [4, 0, 1]);
  });

  it('has no plot without requests', () => {
    assert.equal(trafficPlots({ interval_seconds: 10, data: [{ at: 0, ...none }] }).isEmpty, true);
    assert.equal(trafficPlots(traffic).isEmpty, false);
  });
});

describe('usage', () => {
  const days = daysUntil(Date.UTC(2026, 10, 15, 23, 59), 3);
  const use = (app: number, more: Partial<Usage> = {}): Usage => ({
    day: '2026-11-15',
    app_id: `0000000${app}-app`,
    app_name: `app ${app}`,
    currency: null,
    messages: 10 - app,
    tokens: 100,
    price: 0,
    ...more,
  });

  it('has every day, in UTC, today last', () => {
    assert.deepEqual(days, ['2026-11-13', '2026-11-14', '2026-11-15']);
  });

  it('shows six apps by name and the others together, no app twice', () => {
    const uses = [0, 1, 2, 3, 4, 5, 6, 7].map((app) => use(app));
    const messages = usagePlots(uses, days)[0];
    assert.deepEqual(
      messages?.series.map(({ name, values }) => [name, values.at(-1)]),
      [
        ['app 0', 10],
        ['app 1', 9],
        ['app 2', 8],
        ['app 3', 7],
        ['app 4', 6],
        ['app 5', 5],
        ['others', 7],
      ],
    );
    assert.equal(messages && usageSummary(messages, String, 3), 'today 52; 52 in 3 days');
  });

  it('plots each currency separately, and names each app that matters in one of them', () => {
    const uses = [
      ...[0, 1, 2, 3, 4, 5, 6].map((app) => use(app, { currency: 'USD', price: 1 })),
      use(9, { currency: 'EUR', price: 2, messages: 1, tokens: 1, day: '2026-11-14' }),
    ];
    const plots = usagePlots(uses, days);
    assert.deepEqual(
      plots.map(({ what, currency }) => [what, currency]),
      [
        ['messages', null],
        ['tokens', null],
        ['cost', 'EUR'],
        ['cost', 'USD'],
      ],
    );
    assert.deepEqual(
      plots[2]?.series.map(({ name, values }) => [name, values]),
      [['app 9', [0, 2, 0]]],
    );
    const looks = plots.map(({ series }) => series.find(({ name }) => name === 'app 9')?.look);
    assert.deepEqual(looks, [5, 5, 5, undefined]);
  });

  it('plots the currencies with the most messages, however many there are', () => {
    const made = Array.from({ length: 20_000 }, (_, n) => use(1, { currency: `c${n}`, price: 1, messages: 1 }));
    const uses = [...made, use(2, { currency: 'USD', price: 1, messages: 2 })];
    const shown = usagePlots(uses, days).map(({ currency }) => currency);
    assert.deepEqual(shown, [null, null, 'USD', 'c0', 'c1', 'c10', 'c100', 'c1000']);
    assert.equal(currenciesOf(uses).length, 20_001);
  });

  it('distinguishes apps with the same name, and leaves out older days', () => {
    const uses = [use(1, { app_name: 'bot' }), use(2, { app_name: 'bot' }), use(3, { day: '2026-11-01' })];
    const names = usagePlots(uses, days)[0]?.series.map(({ name }) => name);
    assert.deepEqual(names, ['bot (00000001)', 'bot (00000002)']);
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
    assert.deepEqual(reachOf(app), { words: 'app', list: 'apps', ids: ['a'] });
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
    const line = "curl -H 'Authorization: Bearer s' 'http://h/v1/messages?conversation_id=c'";
    assert.equal(curlOf('app', 's', 'http://h', 'c'), line);
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
