import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import type { Config } from '../config.ts';
import { limits } from '../contract/limits.ts';
import { LastUsed } from '../domain/last-used.ts';
import type { Store } from '../domain/store.ts';
import { buildApp } from '../http/app.ts';
import type { App } from '../http/route-types.ts';
import { listenOnLocalhost } from '../http/server.ts';
import { databaseOf } from '../store/open.ts';
import { BufferedLog } from './buffered-log.ts';
import { type Command, epochSeconds, parse, print } from './command.ts';
import { startMaintenance } from './maintenance.ts';
import { loadStarter, pages, type Secrets, welcome } from './starter.ts';
import { validateInThreads } from './validation-pool.ts';

export const serveCommand: Command = {
  help: `Usage: backscroll serve [--starter]

Brings the database schema up to date and serves the HTTP API at HOST and PORT.
On SIGTERM or SIGINT it finishes requests in flight, then exits.

Options:
  --starter  if the embedded database is empty, load starter records, create a key of each kind, and
             print the keys with commands to try`,

  run: async (argv, config) => {
    const { values } = parse(argv, { starter: { type: 'boolean' } }, { max: 0 });
    const lines = new BufferedLog();
    const logger = pino({ level: config.log_level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, lines);
    const database = databaseOf(config);
    for (const { version, name } of await database.migrate(epochSeconds())) logger.info({ version, name }, 'migrated');
    const store = await database.open();
    logger.info({ database: database.location }, 'opened');
    try {
      const isNew = values.starter && database.engine === 'sqlite' && (await store.isEmpty());
      const uses = new LastUsed();
      const app = await buildApp({
        ...config,
        ...{ store, logger, lines, uses, clock: Date.now, validateLines: validateInThreads },
      });
      const base = await listen(app, config);
      const secrets = isNew ? await loadStarterInto(app, store) : undefined;
      const maintenance = startMaintenance({ ...config, store, uses, logger });
      lines.flush();
      if (secrets !== undefined) print(welcome(base, secrets));
      else if (values.starter || process.stdout.isTTY) print(addresses(base));
      const signal = await stopSignal();
      logger.info({ signal }, 'shutting down');
      // The exit also ends the threads: a large import that is still being applied is rolled back.
      const giveUp = () => {
        logger.warn('stopped before all requests were finished');
        process.exit(0);
      };
      await closeWithin(app, limits.shutdownMillisMax, giveUp);
      await maintenance.end();
      return 0;
    } finally {
      await store.close();
      logger.info('stopped');
    }
  },
};

/** Runs only when the port is open: a start that fails must not create keys whose secrets it never prints. */
async function loadStarterInto(app: App, store: Store): Promise<Secrets> {
  try {
    return await loadStarter(store);
  } catch (error) {
    await app.close();
    throw error;
  }
}

function addresses(base: string): string {
  return `
Backscroll is running at ${base}/v1

${pages(base)}
Create an admin key: npx backscroll keys create --kind admin
Import records:      npx backscroll import --help
`;
}

/** Starts listening and returns the address at which this machine can reach the service. */
async function listen(app: App, { host, port }: Config): Promise<string> {
  try {
    await app.listen({ host, port, listenTextResolver: (address) => `listening at ${address}` });
    if (host === 'localhost') await listenOnLocalhost(app.server);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') throw new Error(`PORT=${port}: already in use on ${host}; choose another PORT`);
    if (code === 'EACCES') throw new Error(`PORT=${port}: not allowed to listen there`);
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
      throw new Error(`HOST=${host}: not an address of this machine`);
    throw new Error(message);
  }
  const bound = app.server.address() as AddressInfo;
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '[::1]' }[host] ?? (host.includes(':') ? `[${host}]` : host);
  return `http://${reachable}:${bound.port}`;
}

function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve(signal));
  });
}

/** Finishes requests in flight; calls `giveUp` if that takes longer than `millis`. */
async function closeWithin(app: App, millis: number, giveUp: () => void): Promise<void> {
  const timer = setTimeout(giveUp, millis).unref();
  await app.close();
  clearTimeout(timer);
}
