import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify';
import type { PageCache } from '../domain/page-cache.ts';
import type { Store } from '../domain/store.ts';
import type { Bearer } from './auth/bearer.ts';
import type { Metrics } from './observe/metrics.ts';

export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/** What the routes stand on; passed in, never imported. */
export type Parts = {
  store: Store;
  pages: PageCache;
  bearer: Bearer;
  metrics: Metrics;
  logger: FastifyBaseLogger;
  clock: () => number;
};
export type Routes = (app: App, parts: Parts) => void;
