import { brief, millis, percent, whole } from '../components/format-number.ts';
import type { Traffic, TrafficInterval } from '../state/types.ts';
import type { Series } from './series.ts';

export function trafficPlots({ interval_seconds, data }: Traffic) {
  const series = (name: string, look: number, value: (slot: TrafficInterval) => number | null): Series => ({
    name,
    look,
    values: data.map(value),
  });
  return {
    at: data.map(({ at }) => at),
    isEmpty: data.every(({ requests }) => requests === 0),
    requests: [series('requests per second', 0, ({ requests }) => requests / interval_seconds)],
    latency: (['p50', 'p90', 'p99'] as const).map((name, look) => series(name, look, (slot) => slot[name])),
    errors: [
      series('rejected (4xx)', 1, ({ client_errors }) => client_errors),
      series('failed (5xx)', 3, ({ server_errors }) => server_errors),
    ],
  };
}

/** The last hour in a sentence for each plot. `now` is the last complete interval. */
export function trafficSummary(
  { interval_seconds, data }: Traffic,
  locale?: string,
): Record<'requests' | 'latency' | 'errors', string> {
  const all = (value: (slot: TrafficInterval) => number) => data.reduce((sum, slot) => sum + value(slot), 0);
  const requests = all((slot) => slot.requests);
  const rejected = all((slot) => slot.client_errors);
  const failed = all((slot) => slot.server_errors);
  const now = data.at(-1);
  const busiest = data.reduce((most, slot) => Math.max(most, slot.requests), 0);
  const slowest = data.reduce((most, slot) => Math.max(most, slot.p99 ?? 0), 0);
  const last = data.findLast(({ p50 }) => p50 !== null);
  const when = now?.p50 == null ? 'last' : 'now';
  const per = (count: number) => brief(count / interval_seconds, locale);
  return {
    requests: `now ${per(now?.requests ?? 0)} a second, at most ${per(busiest)}; ${whole(requests, locale)} in the last hour`,
    latency:
      last === undefined
        ? 'no requests in the last hour'
        : `${when} p50 ${millis(last.p50 ?? 0, locale)}, p90 ${millis(last.p90 ?? 0, locale)}, ` +
          `p99 ${millis(last.p99 ?? 0, locale)}; p99 at most ${millis(slowest, locale)}`,
    errors:
      `now ${whole((now?.client_errors ?? 0) + (now?.server_errors ?? 0), locale)}; in the last hour ` +
      `${whole(rejected, locale)} rejected (${percent(rejected, requests, locale)}), ` +
      `${whole(failed, locale)} failed (${percent(failed, requests, locale)})`,
  };
}
