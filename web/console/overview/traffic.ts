import { brief, millis, percent, whole } from '../components/format-number.ts';
import type { Traffic, TrafficInterval } from '../state/types.ts';
import type { Series } from './series.ts';

function series<T>(data: readonly T[], name: string, look: number, value: (slot: T) => number | null): Series {
  return { name, look, values: data.map(value) };
}

/** Requests that were rejected or failed, as two series. */
export const errorSeries = (data: readonly Pick<TrafficInterval, 'client_errors' | 'server_errors'>[]) => [
  series(data, 'rejected (4xx)', 1, ({ client_errors }) => client_errors),
  series(data, 'failed (5xx)', 3, ({ server_errors }) => server_errors),
];

type Intervals = Pick<Traffic, 'interval_seconds' | 'data'>;

export function trafficPlots({ interval_seconds, data }: Intervals) {
  return {
    at: data.map(({ at }) => at),
    isEmpty: data.every(({ requests }) => requests === 0),
    requests: [series(data, 'requests per second', 0, ({ requests }) => requests / interval_seconds)],
    latency: (['p50', 'p90', 'p99'] as const).map((name, look) => series(data, name, look, (slot) => slot[name])),
    errors: errorSeries(data),
  };
}

/** What this page has seen of the lag since it was opened, in seconds, by interval of the last hour. */
export class LagHistory {
  readonly #seen: { at: number; dify: number | null; search: number | null }[] = [];

  add({ upstream, search_lag_seconds }: Traffic, at: number): void {
    const { messages_lag_seconds: messages = null, others_lag_seconds: others = null } = upstream ?? {};
    const dify = messages === null && others === null ? null : Math.max(messages ?? 0, others ?? 0);
    this.#seen.push({ at, dify, search: search_lag_seconds });
    if (at - (this.#seen[0]?.at ?? at) > 3_600) this.#seen.shift();
  }

  /** One line for each that was known at some time, with its last value. */
  series({ data, interval_seconds }: Intervals): (Series & { last: number })[] {
    return (['dify', 'search'] as const).flatMap((name, look) => {
      const last = this.#seen.findLast((one) => one[name] !== null)?.[name] ?? null;
      const valueAt = (at: number) =>
        this.#seen.findLast((one) => one.at >= at && one.at < at + interval_seconds)?.[name] ?? null;
      const title = name === 'dify' ? 'Dify copy' : 'search';
      return last === null ? [] : { name: title, look, last, values: data.map(({ at }) => valueAt(at)) };
    });
  }
}

/** The last hour as a figure for each plot, and words about it. `now` is the last complete interval. */
export function trafficSummary({ interval_seconds, data }: Intervals, locale?: string) {
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
  const time = (value: number | null | undefined) => millis(value ?? 0, locale);
  const part = (count: number) => `${whole(count, locale)} (${percent(count, requests, locale)})`;
  return {
    requests: {
      figure: per(now?.requests ?? 0),
      summary: `now, max ${per(busiest)}, ${whole(requests, locale)} requests in the last hour`,
    },
    latency: {
      figure: time(last?.p99),
      summary: `p99 ${when}, p50 ${time(last?.p50)}, p90 ${time(last?.p90)}, max ${time(slowest)}`,
    },
    errors: {
      figure: whole(rejected + failed, locale),
      summary: `in the last hour, rejected ${part(rejected)}, failed ${part(failed)}`,
    },
  };
}
