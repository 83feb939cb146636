import { AggregatorRegistry, collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client';
import type { ErrorCode } from '../../contract/error.ts';
import { productVersion } from '../../contract/product.ts';
import type { OutageCause } from '../../domain/errors.ts';
import type { WorkerContext } from '../workers/context.ts';
import type { Peers } from '../workers/peers.ts';
import { databaseGauges, type GaugeState } from './database-metrics.ts';
import { Failures } from './failures.ts';
import { memoryParts, processorSeconds } from './process-metrics.ts';
import { type Counter, histogram, type Labels, type Sample, type Series, SeriesTable } from './series-table.ts';
import { Traffic } from './traffic.ts';

/** The route label of requests that the gate rejects, regardless of their path. */
export const rejectedRoute = 'rejected';

/** Why a key was rejected. Expired and revoked keys count as unknown. */
const failedKeyReasons = ['missing', 'unknown', 'wrong_kind'] as const;
export type FailedKeyReason = (typeof failedKeyReasons)[number];

/** The limits that, when exceeded, cause a response with status 429. */
const throttlingLimits = ['failed_keys', 'requests', 'writes'] as const;
export type ThrottlingLimit = (typeof throttlingLimits)[number];

/** What is counted in addition to requests, with its label: a word, or two. */
type Events = {
  failedKeys: FailedKeyReason;
  throttled: ThrottlingLimit;
  tools: `${string} ${number}`;
  outages: `${OutageCause} ${string}`;
  /** The beginning of a response of the upstream, one with a status of 500 or above, or the code of its error. */
  upstream: typeof responded | typeof failed | ErrorCode;
  /** Who responds to a request that is passed on. `doubt`: something is in doubt here. */
  responder: 'upstream' | 'doubt';
  /** A response whose end was held back. */
  heldBack: '';
};

const damage: OutageCause = 'damaged';

/** The outcomes of a request to the upstream that got a response. */
const responded = 'response';
const failed = 'failed_response';

/**
 * Metrics for Prometheus. They are those of the whole process, whichever worker responds. Requests are counted in plain
 * arrays in shared memory: the library's counters would cost more than logging. The metrics of threads, such as the size of
 * the heap, are collected from all workers.
 */
export class Metrics {
  readonly #registry = new Registry();
  readonly #threadMetrics = new Registry();
  /** Labels begin with the name of the event, or `requests`. */
  readonly #series: SeriesTable;
  readonly #peers: Peers;
  /** As of the last request for metrics. */
  #read: GaugeState = {};
  /** For the last request that was counted. Most requests are like the one before, and finding a counter takes longer. */
  #last: { method: string; route: string; status: number; counter: Counter; isTraffic: boolean } | undefined;

  readonly contentType = this.#registry.contentType;

  /** The current time in seconds. */
  readonly seconds: () => number;
  /** The last hour in short intervals, for the console. */
  readonly traffic: Traffic;
  /** Failed requests of the last hour, for the console. */
  readonly failures: Failures;

  /**
   * `clock` returns milliseconds since the epoch, `inFlight` and `waiting` the numbers of requests that are in flight and
   * that wait for changes, `connections` those of this worker to the database.
   */
  constructor(
    clock: () => number,
    inFlight: () => number,
    waiting: () => number,
    context: WorkerContext,
    connections: () => { used: number; waiting: number },
  ) {
    const { peers } = context;
    this.seconds = () => Math.floor(clock() / 1000);
    this.#series = new SeriesTable(context);
    this.#peers = peers;
    this.traffic = new Traffic(clock, context);
    this.failures = new Failures(clock, context);
    this.#addDefaultMetrics();
    this.#addConnections(connections);
    const build = { version: productVersion(), node: process.version };
    this.#register('backscroll_build_info', 'The version of this program. Always 1.', () => [
      { labels: build, value: 1 },
    ]);
    for (const { name, help, samples } of databaseGauges)
      this.#register(name, help, () => samples(this.#read, this.seconds()));
    const appended = () => this.#count('messages');
    this.#registerValue('backscroll_messages_appended_total', 'Messages that were received as records.', appended);
    peers.onCollect(() => this.#threadMetrics.getMetricsAsJSON());
    this.#register('backscroll_http_requests_total', 'Requests with a response.', () =>
      this.#requests().map(({ labels, series }) => ({ labels, value: series.count })),
    );
    this.#register('backscroll_worker_requests_total', 'Requests with a response, by worker.', () =>
      this.#series.countByWorker('requests ').map((value, worker) => ({ labels: { worker }, value })),
    );
    this.#register('backscroll_failed_keys_total', 'Requests rejected because of their key.', () =>
      failedKeyReasons.map((reason) => ({ labels: { reason }, value: this.#count(`failedKeys ${reason}`) })),
    );
    this.#register('backscroll_throttled_total', 'Responses with status 429.', () =>
      throttlingLimits.map((limit) => ({ labels: { limit }, value: this.#count(`throttled ${limit}`) })),
    );
    const outages = 'Responses with status 503 because of the database.';
    this.#register('backscroll_database_unavailable_total', outages, () =>
      this.#countByWords('outages', ['cause', 'node']),
    );
    this.#register('backscroll_tool_calls_total', 'Calls of tools by agents, by status.', () =>
      this.#countByWords('tools', ['tool', 'status']),
    );
    const droppedLines = new Uint32Array(context.shared.droppedLogLines);
    const dropped = () => Atomics.load(droppedLines, 0);
    this.#registerValue('backscroll_log_lines_dropped_total', 'Log lines dropped since no one read the log.', dropped);
    const duration = 'Time from a request to the end of its response.';
    this.#registerHistogram('backscroll_http_request_duration_seconds', duration, () => this.#requests());
    this.#registerValue('backscroll_http_requests_in_flight', 'Requests in flight.', inFlight);
    this.#registerValue('backscroll_changes_waiting', 'Requests that wait for changes.', waiting);
  }

  /** Metrics of requests under `/v1`, if some of them are passed on. */
  addUpstream(): void {
    this.#register('backscroll_upstream_requests_total', 'Requests under /v1, by who responded.', () =>
      Object.entries(this.#countByResponder()).map(([outcome, value]) => ({ labels: { outcome }, value })),
    );
    const response = 'Time until the response of the upstream begins, or its error.';
    this.#registerHistogram('backscroll_upstream_response_seconds', response, () =>
      this.#seriesOf('upstream').map(({ label: outcome, series }) => ({ labels: { outcome }, series })),
    );
    const held = 'Time that the end of a response waited for its message.';
    this.#registerHistogram('backscroll_upstream_held_back_seconds', held, () =>
      this.#seriesOf('heldBack').map(({ series }) => ({ labels: {}, series })),
    );
  }

  /** Requests under `/v1` since the start of the process, and how the upstream has responded. */
  upstreamStatistics() {
    const all = this.#seriesOf('upstream');
    const seriesOf = (outcome: string) =>
      all.find(({ label }) => label === outcome)?.series ?? { count: 0, sum: 0, last: 0 };
    const [good, { count: server_errors, sum: failedSeconds }] = [seriesOf(responded), seriesOf(failed)];
    const count = good.count + server_errors;
    const lastError = Math.max(0, ...all.map(({ label, series }) => (label === responded ? 0 : series.last)));
    return {
      ...this.#countByResponder(),
      errors: all.reduce((sum, { series }) => sum + series.count, 0) - count,
      server_errors,
      last_success_at: good.count === 0 ? null : Math.floor(good.last / 1000),
      last_error_at: lastError === 0 ? null : Math.floor(lastError / 1000),
      response_millis: count === 0 ? null : ((good.sum + failedSeconds) / count) * 1000,
    };
  }

  #countByResponder() {
    const [passed, doubted] = [this.#count('responder upstream'), this.#count('responder doubt')];
    const all = this.#requests().reduce(
      (sum, { labels, series }) => sum + (`${labels.route}`.startsWith('/v1/') ? series.count : 0),
      0,
    );
    return { served: Math.max(0, all - passed), passed_on: passed - doubted, in_doubt: doubted };
  }

  #count(label: string): number {
    return this.#series.total().get(label)?.count ?? 0;
  }

  /** The labels are without the name. */
  #seriesOf(name: keyof Events | 'requests'): { label: string; series: Series }[] {
    return [...this.#series.total()]
      .filter(([label]) => label.startsWith(`${name} `))
      .map(([label, series]) => ({ label: label.slice(name.length + 1), series }));
  }

  /** Every worker has its own connections, which are added up. */
  #addConnections(connections: () => { used: number; waiting: number }): void {
    const registers = [this.#threadMetrics];
    const add = (name: string, help: string, value: () => number) => {
      const gauge: Gauge = new Gauge({ name, help, registers, collect: () => gauge.set(value()) });
    };
    const used = 'Connections to PostgreSQL in use; 0 on the embedded engine.';
    add('backscroll_database_connections_in_use', used, () => connections().used);
    add('backscroll_database_connections_waiting', 'Requests that wait for a connection.', () => connections().waiting);
  }

  /** Those named `nodejs_` are of one thread, the others of the process. */
  #addDefaultMetrics(): void {
    collectDefaultMetrics({ register: this.#registry });
    this.#register('backscroll_memory_bytes', 'Resident memory of the process, by part.', memoryParts);
    for (const metric of this.#registry.getMetricsAsArray()) {
      const { name, help } = metric;
      if (name.startsWith('nodejs_')) this.#threadMetrics.registerMetric(metric as unknown as Metric);
      // The library counts from the start of a thread, which would make the counter decrease when a worker is replaced.
      const isProcessorTime = name.startsWith('process_cpu_');
      if (name.startsWith('nodejs_') || isProcessorTime) this.#registry.removeSingleMetric(name);
      if (isProcessorTime) this.#registerValue(name, help, () => processorSeconds(name));
    }
  }

  /** By convention, the names of counters end in `_total`. */
  #register(name: string, help: string, samples: () => Sample[], type = name.endsWith('_total') ? 'counter' : 'gauge') {
    const get = async () => ({ name, help, type, values: samples() });
    this.#registry.registerMetric({ name, get } as unknown as Metric);
  }

  /** A metric without labels. */
  #registerValue(name: string, help: string, value: () => number): void {
    this.#register(name, help, () => [{ labels: {}, value: value() }]);
  }

  #registerHistogram(name: string, help: string, list: () => { labels: Labels; series: Series }[]): void {
    const samples = () => list().flatMap(({ labels, series }) => histogram(name, labels, series));
    this.#register(name, help, samples, 'histogram');
  }

  #requests(): { labels: Labels; series: Series }[] {
    return this.#seriesOf('requests').map(({ label, series }) => {
      const [status = '', method = '', route = ''] = label.split(' ');
      return { labels: { method, route, status }, series };
    });
  }

  /** One sample for each label that was counted; `names` are those of its words. */
  #countByWords(name: keyof Events, names: readonly string[]): Sample[] {
    return this.#seriesOf(name).map(({ label, series }) => {
      const words = label.split(' ');
      return { labels: Object.fromEntries(names.map((name, at) => [name, words[at] ?? ''])), value: series.count };
    });
  }

  /** Counts a request whose response has ended. */
  count(method: string, route: string, status: number, seconds: number): void {
    let last = this.#last;
    if (last?.route !== route || last.status !== status || last.method !== method) {
      const counter = this.#series.counter(`requests ${status} ${method} ${route}`);
      // With all failures, so that their number is that of the list of failures.
      const isTraffic = status >= 400 || /^\/(?:v1\/|admin\/records$|mcp$)/.test(route);
      last = { method, route, status, counter, isTraffic };
      this.#last = last;
    }
    last.counter.add(seconds);
    if (last.isTraffic) this.traffic.add(status, route === rejectedRoute ? undefined : seconds);
  }

  /** Counts an event and its duration. */
  countEvent<N extends keyof Events>(name: N, label: Events[N], seconds = 0): void {
    this.#series.counter(`${name} ${label}`).add(seconds);
  }

  /** Counts a request that was passed on, when its response begins or fails, and notes the time in milliseconds. */
  countUpstream(outcome: Events['upstream'], seconds: number, now: number): void {
    const counter = this.#series.counter(`upstream ${outcome}`);
    counter.add(seconds);
    counter.noteLast(now);
  }

  /** Whether a request to any worker has found a damaged page since the start of the process. */
  get hasFoundDamage(): boolean {
    return this.#seriesOf('outages').some(({ label }) => label.startsWith(damage));
  }

  /** Counts messages that were stored. */
  countMessages(count: number): void {
    this.#series.counter('messages').addMany(count);
  }

  async text(read: GaugeState): Promise<string> {
    this.#read = read;
    const otherReports = (await this.#peers.collect()) as object[];
    const ofAllThreads = AggregatorRegistry.aggregate([await this.#threadMetrics.getMetricsAsJSON(), ...otherReports]);
    return `${await this.#registry.metrics()}\n${await ofAllThreads.metrics()}`;
  }
}
