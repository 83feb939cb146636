import type { ServerResponse } from 'node:http';
import { limits } from '../contract/limits.ts';
import { ReadLog } from '../domain/activity/read-log.ts';
import { ChangeWatch } from '../domain/changes/change-watch.ts';
import { PageCache } from '../domain/messages/page-cache.ts';
import { whyOff } from '../domain/search/search-indexer.ts';
import { Bearer } from './auth/bearer.ts';
import { FailedKeys } from './auth/failed-keys.ts';
import { Oidc } from './auth/oidc.ts';
import { RateLimits } from './auth/rate-limits.ts';
import { leaveGate } from './front/gate.ts';
import { Metrics } from './observe/metrics.ts';
import { Observer } from './observe/observe.ts';
import { ErrorSender, Outages } from './request/errors.ts';
import { pageReads } from './response/message-page.ts';
import type { AppOptions, Dependencies } from './route-types.ts';
import { OwnedData } from './upstream/owned-data.ts';
import { UnstoredDoubts } from './upstream/unstored-doubts.ts';
import { Upstream } from './upstream/upstream.ts';
import type { WorkerContext } from './workers/context.ts';
import { SharedSum } from './workers/shared-sum.ts';
import { SlowReaders } from './workers/slow-readers.ts';

/** What the server and its routes need, of one worker. */
export function dependenciesOf(options: AppOptions, context: WorkerContext): Dependencies {
  const { store, clock, logger, uses, shared, worker, sign_in, owner, upstream_url: url } = options;
  const { workers } = shared;
  const inFlight = new SharedSum(shared.inFlight, worker);
  const waiting = new SharedSum(shared.waiting, worker);
  const metrics = new Metrics(
    clock,
    () => inFlight.total,
    () => waiting.total,
    context,
    () => store.monitoring.connections(),
  );
  const rateLimits = new RateLimits(metrics, options, shared);
  const errors = new ErrorSender(logger, new Outages(shared.outages));
  const passed = new SharedSum(shared.passedOn, worker);
  const failedKeys = new FailedKeys(clock, metrics, shared);
  const bearer = new Bearer({ store, clock, limits: rateLimits, uses, failedKeys, sign_in, oidc: options.oidc });
  const upstream = url === undefined ? undefined : new Upstream({ url, errors, metrics, passed, workers });
  if (upstream !== undefined) metrics.addUpstream();
  const leave = (response: ServerResponse) => leaveGate(response, inFlight);
  const unstored = new UnstoredDoubts(shared.unstoredDoubts, worker);
  const datasetKey = options.dify_dataset_key;
  const owned =
    upstream &&
    owner &&
    new OwnedData({ owner, store, bearer, upstream, metrics, errors, unstored, leave, clock, datasetKey });
  const pages = new PageCache((options.page_cache * 2 ** 20) / workers);
  const reads = pageReads(store, pages, errors);
  return {
    now: performance.now.bind(performance),
    ...options,
    pages,
    pageReads: owned?.decoratePages(reads) ?? reads,
    bearer,
    metrics,
    observer: new Observer(metrics, uses, logger, options.lines),
    errors,
    reads: new ReadLog(store, options.audit_reads),
    hasFastLane: options.audit_reads !== 'all',
    oidc: options.oidc && new Oidc(options.oidc, { store, clock, logger }),
    inFlight,
    changeWatch: new ChangeWatch(store),
    search: whyOff(options),
    upstream,
    owned,
    waiting,
    slowReaders: new SlowReaders(limits.unreadBytesMax, context),
    worker: context,
  };
}
