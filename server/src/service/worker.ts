import type { AddressInfo } from 'node:net';
import type { FastifyBaseLogger, FastifyListenOptions } from 'fastify';
import { type Config, difyOwnsData } from '../config.ts';
import { KeyUses } from '../domain/keys/key-uses.ts';
import type { Store } from '../domain/store/store.ts';
import { buildApp } from '../http/app.ts';
import { listenOnLocalhost } from '../http/server.ts';
import type { SharedState } from '../http/workers/context.ts';
import { oidcOf } from '../oidc-settings.ts';
import type { BufferedLog } from './buffered-log.ts';
import { saveUses } from './maintenance.ts';
import { validateInThreads } from './validation-pool.ts';

type WorkerOptions = {
  config: Config;
  store: Store;
  shared: SharedState;
  /** The number of this worker: 0, 1, … */
  worker: number;
  logger: FastifyBaseLogger;
  lines: BufferedLog;
};

/** A worker is a thread that serves requests, with its own HTTP server, store and caches. */
export type ServiceWorker = {
  /** Returns the port. */
  listen(host: string, port: number, reusePort: boolean): Promise<number>;
  /** Finishes requests in flight. */
  close(): Promise<void>;
};

export async function createWorker({ config, ...options }: WorkerOptions): Promise<ServiceWorker> {
  const { store } = options;
  const uses = new KeyUses();
  const { dify_database_url: url } = config;
  // Loaded only if it is used: other services start faster without it.
  const { DifyOwner } = difyOwnsData(config) ? await import('../dify/owned/owner.ts') : { DifyOwner: undefined };
  const owner = DifyOwner && url ? new DifyOwner(url, store, Date.now) : undefined;
  const parts = { uses, owner, oidc: oidcOf(config), clock: Date.now, validateLines: validateInThreads };
  const app = await buildApp({ ...config, ...options, ...parts });
  const saving = saveUses(uses, options);
  return {
    listen: async (host, port, reusePort) => {
      const listenTextResolver = (address: string) => `listening at ${address}`;
      // Fastify passes all options on to Node.js, but its types lack some of them.
      await app.listen({ host, port, reusePort, listenTextResolver } as FastifyListenOptions);
      if (host === 'localhost') await listenOnLocalhost(app.server, reusePort);
      return (app.server.address() as AddressInfo).port;
    },
    close: async () => {
      await app.close();
      await saving.end();
    },
  };
}
