import type { ServerResponse } from 'node:http';
import type { FastifyBaseLogger } from 'fastify';
import { limits } from '../contract/limits.ts';
import type { PageOrder } from '../contract/message.ts';
import type { ReadAudit } from '../contract/people/reads.ts';
import { ReadLog } from '../domain/activity/read-log.ts';
import { ChangeWatch } from '../domain/changes/change-watch.ts';
import type { KeyUses } from '../domain/keys/key-uses.ts';
import { pageReads } from '../domain/messages/list-messages.ts';
import { PageCache } from '../domain/messages/page-cache.ts';
import type { Owner } from '../domain/owner.ts';
import type { LineValidator } from '../domain/records/prepare-lines.ts';
import { whyOff } from '../domain/search/search-indexer.ts';
import type { Store } from '../domain/store/store.ts';
import { Bearer } from './auth/bearer.ts';
import { FailedKeys } from './auth/failed-keys.ts';
import { Oidc, type SignInOptions } from './auth/oidc.ts';
import { RateLimits } from './auth/rate-limits.ts';
import { leaveGate } from './front/gate.ts';
import { Metrics } from './observe/metrics.ts';
import { type Lines, Observer } from './observe/observe.ts';
import { Outages } from './observe/outages.ts';
import { ErrorSender } from './request/errors.ts';
import type { Dependencies } from './route-types.ts';
import { OwnedData } from './upstream/owned-data.ts';
import { ownedPages } from './upstream/owned-pages.ts';
import { UnstoredDoubts } from './upstream/unstored-doubts.ts';
import { Upstream } from './upstream/upstream.ts';
import type { SharedState, WorkerContext } from './workers/context.ts';
import { SharedSum } from './workers/shared-sum.ts';
import { SlowReaders } from './workers/slow-readers.ts';

export type AppOptions = SignInOptions & {
  store: Store;
  logger: FastifyBaseLogger;
  /** The destination of the logger. */
  lines: Lines;
  /** Milliseconds since the epoch. */
  clock: () => number;
  /** Milliseconds that only go forward, by which the gate notices overload. */
  now?: () => number;
  shared: SharedState;
  /** The number of this worker: 0, 1, … */
  worker: number;
  /** Collects when keys were last used. */
  uses: KeyUses;
  /** Validates the lines of an import. */
  validateLines: LineValidator;
  /** MiB of pages that all workers cache. */
  page_cache: number;
  page_order: PageOrder;
  rate_limit: number;
  in_flight_max: number;
  write_limit: number;
  metrics_token: string | undefined;
  public_url: string | undefined;
  trace_url: string | undefined;
  upstream_url: string | undefined;
  dify_dataset_key: string | undefined;
  /** The system behind the upstream, if it owns the data. */
  owner?: Owner | undefined;
  audit_reads: ReadAudit;
  changes: boolean;
  search: boolean;
};

/** What the server and its routes need, of one worker. */
export function dependenciesOf(options: AppOptions, context: WorkerContext): Dependencies {
  const { store, clock, logger, lines, uses, validateLines, shared, worker, ...settings } = options;
  const {
    page_order,
    metrics_token,
    public_url,
    trace_url,
    in_flight_max,
    sign_in,
    now = performance.now.bind(performance),
  } = settings;
  const inFlight = new SharedSum(shared.inFlight, worker);
  const waiting = new SharedSum(shared.waiting, worker);
  const metrics = new Metrics(
    clock,
    () => inFlight.total,
    () => waiting.total,
    context,
    () => store.monitoring.connections(),
  );
  const rateLimits = new RateLimits(metrics, settings, shared);
  const { workers } = shared;
  const errors = new ErrorSender(logger, new Outages(shared.outages));
  const passed = new SharedSum(shared.passedOn, worker);
  const failedKeys = new FailedKeys(clock, metrics, shared);
  const bearer = new Bearer({ store, clock, limits: rateLimits, uses, failedKeys, sign_in, oidc: options.oidc });
  const { upstream_url: url, owner, dify_dataset_key: datasetKey } = settings;
  const upstream = url === undefined ? undefined : new Upstream({ url, errors, metrics, passed, workers });
  if (upstream !== undefined) metrics.addUpstream();
  const leave = (response: ServerResponse) => leaveGate(response, inFlight);
  const unstored = new UnstoredDoubts(shared.unstoredDoubts, worker);
  const owned =
    upstream &&
    owner &&
    new OwnedData({ owner, store, bearer, upstream, metrics, errors, unstored, leave, clock, datasetKey });
  const pages = new PageCache((settings.page_cache * 2 ** 20) / shared.workers);
  const reads = pageReads(store, pages);
  return {
    store,
    pages,
    pageReads: owned === undefined ? reads : ownedPages(reads, metrics),
    bearer,
    metrics,
    observer: new Observer(metrics, uses, logger, lines),
    logger,
    errors,
    clock,
    validateLines,
    page_order,
    metrics_token,
    public_url,
    trace_url,
    reads: new ReadLog(store, options.audit_reads),
    hasFastLane: options.audit_reads !== 'all',
    sign_in,
    oidc: options.oidc && new Oidc(options.oidc, { store, clock, logger }),
    in_flight_max,
    inFlight,
    changeWatch: new ChangeWatch(store),
    search: whyOff(settings),
    upstream,
    owned,
    waiting,
    slowReaders: new SlowReaders(limits.unreadBytesMax, context),
    worker: context,
    now,
  };
}
