import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify';
import type { PageOrder } from '../contract/message.ts';
import type { ReadAudit } from '../contract/people/roles.ts';
import type { ReadLog } from '../domain/activity/read-log.ts';
import type { ChangeWatch } from '../domain/changes/change-watch.ts';
import type { KeyUses } from '../domain/keys/key-uses.ts';
import type { PageCache } from '../domain/messages/page-cache.ts';
import type { Owner } from '../domain/owner.ts';
import type { LineValidator } from '../domain/records/prepare-lines.ts';
import type { Store } from '../domain/store/store.ts';
import type { Bearer } from './auth/bearer.ts';
import type { Oidc, SignInOptions } from './auth/oidc.ts';
import type { Metrics } from './observe/metrics.ts';
import type { Lines, Observer } from './observe/observe.ts';
import type { ErrorSender } from './request/errors.ts';
import type { PageReads } from './response/message-page.ts';
import type { OwnedData } from './upstream/owned-data.ts';
import type { Upstream } from './upstream/upstream.ts';
import type { SharedState, WorkerContext } from './workers/context.ts';
import type { SharedSum } from './workers/shared-sum.ts';
import type { SlowReaders } from './workers/slow-readers.ts';

export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

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
  /** The address by which people reach this installation, without a slash at its end. */
  public_url: string | undefined;
  /** The address of a trace, with `{trace_id}`. */
  trace_url: string | undefined;
  upstream_url: string | undefined;
  dify_dataset_key: string | undefined;
  /** The system that owns the data, if the upstream belongs to one. */
  owner?: Owner | undefined;
  audit_reads: ReadAudit;
  /** Seconds between two backups. */
  backup_every: number;
  changes: boolean;
  search: boolean;
};

/** The dependencies of the server and its routes. They are passed in, never imported. */
export type Dependencies = Omit<AppOptions, 'now' | 'oidc' | 'search' | 'worker'> & {
  pages: PageCache;
  pageReads: PageReads;
  bearer: Bearer;
  metrics: Metrics;
  observer: Observer;
  errors: ErrorSender;
  /** Who read what. */
  reads: ReadLog;
  /** Not if reads of pages are noted: that is done by the framework, and costs the fast lane nothing. */
  hasFastLane: boolean;
  /** Sign-in by name, if it is on. */
  oidc: Oidc | undefined;
  /** Requests in flight, of all workers. */
  inFlight: SharedSum;
  slowReaders: SlowReaders;
  changeWatch: ChangeWatch;
  /** Why the search is off; undefined if it is on. */
  search: string | undefined;
  /** Requests that wait for changes, of all workers. */
  waiting: SharedSum;
  /** The server that requests without a route are passed on to. */
  upstream: Upstream | undefined;
  /** If the upstream owns the data. */
  owned: OwnedData | undefined;
  worker: WorkerContext;
  /** Milliseconds that only go forward. */
  now: () => number;
};

export type Routes = (app: App, dependencies: Dependencies) => void;

export const together =
  (...all: readonly Routes[]): Routes =>
  (app, dependencies) => {
    for (const add of all) add(app, dependencies);
  };

/** A request listener of Node's HTTP server. */
export type Handler = (request: IncomingMessage, response: ServerResponse) => void;
