import { collectDefaultMetrics, type Metric, Registry } from 'prom-client';
import { Traffic } from './traffic.ts';

const bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

type Series = {
  labels: Record<string, string | number>;
  sum: number;
  count: number;
  buckets: number[];
  isTraffic: boolean;
};

/** The route label of requests that the gate rejects, regardless of their path. */
export const rejectedRoute = 'rejected';

/** Metrics for Prometheus. Requests are counted in plain arrays: the library's counters would cost more than logging. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #series = new Map<string, Series>();
  /** Requests rejected because of their key, by reason. Expired and revoked keys count as unknown. */
  readonly failedKeys = { missing: 0, unknown: 0, wrong_kind: 0 };
  /** Responses with status 429, by the limit that was exceeded. */
  readonly throttled = { failed_keys: 0, requests: 0, writes: 0 };

  readonly contentType = this.#registry.contentType;

  /** The last hour in short intervals, for the console. */
  readonly traffic: Traffic;

  /** `clock` returns milliseconds since the epoch. */
  constructor(clock: () => number) {
    this.traffic = new Traffic(clock);
    collectDefaultMetrics({ register: this.#registry });
    this.#register('backscroll_http_requests_total', 'Requests with a response.', 'counter', ({ labels, count }) => [
      { labels, value: count },
    ]);
    this.#countBy('backscroll_failed_keys_total', 'Requests rejected because of their key.', 'reason', this.failedKeys);
    this.#countBy('backscroll_throttled_total', 'Responses with status 429.', 'limit', this.throttled);
    const seconds = 'backscroll_http_request_duration_seconds';
    const help = 'Time from a request to the end of its response.';
    this.#register(seconds, help, 'histogram', ({ labels, sum, count, buckets }) => {
      let below = 0;
      return [
        ...bounds.map((le, index) => ({
          metricName: `${seconds}_bucket`,
          labels: { le, ...labels },
          value: (below += buckets[index] ?? 0),
        })),
        { metricName: `${seconds}_bucket`, labels: { le: '+Inf', ...labels }, value: count },
        { metricName: `${seconds}_sum`, labels, value: sum },
        { metricName: `${seconds}_count`, labels, value: count },
      ];
    });
  }

  #register(name: string, help: string, type: string, valuesOf: (series: Series) => object[]): void {
    const get = async () => ({ name, help, type, values: [...this.#series.values()].flatMap(valuesOf) });
    this.#registry.registerMetric({ name, get } as unknown as Metric);
  }

  /** `inFlight` returns the number of requests in flight. */
  watchInFlight(inFlight: () => number): void {
    const name = 'backscroll_http_requests_in_flight';
    const help = 'Requests in flight.';
    const get = async () => ({ name, help, type: 'gauge', values: [{ labels: {}, value: inFlight() }] });
    this.#registry.registerMetric({ name, get } as unknown as Metric);
  }

  /** Registers an object of counts, with one series for each of its names, even if it is zero. */
  #countBy(name: string, help: string, label: string, counts: Readonly<Record<string, number>>): void {
    const values = () => Object.entries(counts).map(([one, value]) => ({ labels: { [label]: one }, value }));
    const get = async () => ({ name, help, type: 'counter', values: values() });
    this.#registry.registerMetric({ name, get } as unknown as Metric);
  }

  /** Counts a request whose response has ended. */
  count(method: string, route: string, status: number, seconds: number): void {
    const key = `${status} ${method} ${route}`;
    let series = this.#series.get(key);
    if (series === undefined) {
      const isTraffic = route.startsWith('/v1/') || route === '/admin/records' || route === rejectedRoute;
      series = { labels: { method, route, status }, sum: 0, count: 0, buckets: bounds.map(() => 0), isTraffic };
      this.#series.set(key, series);
    }
    series.count += 1;
    series.sum += seconds;
    let index = 0;
    while (index < bounds.length && seconds > (bounds[index] as number)) index += 1;
    if (index < bounds.length) series.buckets[index] = (series.buckets[index] as number) + 1;
    if (series.isTraffic) this.traffic.add(status, route === rejectedRoute ? undefined : seconds);
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }
}
