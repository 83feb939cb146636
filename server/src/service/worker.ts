import type { AddressInfo } from 'node:net';
import type { FastifyBaseLogger, FastifyListenOptions } from 'fastify';
import { type Config, difyOwnsData } from '../config.ts';
import { KeyUses } from '../domain/keys/key-uses.ts';
import type { Store } from '../domain/store/store.ts';
import { buildApp } from '../http/app.ts';
import type { App } from '../http/route-types.ts';
import { listenOnLocalhost } from '../http/server.ts';
import type { SharedState } from '../http/workers/context.ts';
import { oidcOf } from '../oidc-settings.ts';
import type { BufferedLog } from './buffered-log.ts';
import { saveUses } from './maintenance.ts';
import { validateInThreads } from './validation-pool.ts';

export type WorkerOptions = {
  config: Config;
  store: Store;
  shared: SharedState;
  /** The number of this worker: 0, 1, … */
  worker: number;
  logger: FastifyBaseLogger;
  lines: BufferedLog;
};

/** A worker is a thread that serves requests, with its own HTTP server, store and caches. */
export class ServiceWorker {
  readonly #app: App;
  readonly #uses: { end: () => Promise<void> };

  private constructor(app: App, uses: { end: () => Promise<void> }) {
    this.#app = app;
    this.#uses = uses;
  }

  static async create({ config, store, shared, worker, logger, lines }: WorkerOptions): Promise<ServiceWorker> {
    const uses = new KeyUses();
    const validateLines = validateInThreads;
    const observed = { logger, lines, uses };
    const { dify_database_url: url } = config;
    // Loaded only if it is used: other services start faster without it.
    const { DifyOwner } = difyOwnsData(config) ? await import('../dify/owned/owner.ts') : { DifyOwner: undefined };
    const owner = DifyOwner && url ? new DifyOwner(url, store, Date.now) : undefined;
    const app = await buildApp({
      ...config,
      ...observed,
      owner,
      oidc: oidcOf(config),
      store,
      shared,
      worker,
      clock: Date.now,
      validateLines,
    });
    return new ServiceWorker(app, saveUses(uses, { store, logger }));
  }

  /** Returns the port. */
  async listen(host: string, port: number, reusePort: boolean): Promise<number> {
    const listenTextResolver = (address: string) => `listening at ${address}`;
    // Fastify passes all options on to Node.js, but its types lack some of them.
    await this.#app.listen({ host, port, reusePort, listenTextResolver } as FastifyListenOptions);
    if (host === 'localhost') await listenOnLocalhost(this.#app.server, reusePort);
    return (this.#app.server.address() as AddressInfo).port;
  }

  /** Finishes requests in flight. */
  async close(): Promise<void> {
    await this.#app.close();
    await this.#uses.end();
  }
}
