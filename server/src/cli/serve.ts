import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { type Config, difyOwnsData } from '../config.ts';
import { limits } from '../contract/limits.ts';
import { switchFeed } from '../domain/changes/changes.ts';
import { authenticate } from '../domain/keys/authenticate.ts';
import { createSignInToken } from '../domain/keys/open-session.ts';
import { digestOf } from '../domain/secret.ts';
import type { Store } from '../domain/store/store.ts';
import { createSharedState } from '../http/shared-state.ts';
import { BufferedLog, loggerOf, StandardOutput } from '../service/buffered-log.ts';
import { countUsersRegularly, indexRegularly, sequenceRegularly, trimRegularly } from '../service/maintenance.ts';
import { emptyLogRegularly, retainRegularly } from '../service/retention.ts';
import { createWorker, type ServiceWorker } from '../service/worker.ts';
import { tryListening, WorkerPool, workerCount } from '../service/worker-pool.ts';
import { createStoreMemory, type Database, databaseOf } from '../store/open.ts';
import { addressOf, type Command, epochSeconds } from './command.ts';
import type { ScheduledBackups } from './scheduled-backups.ts';
import { loadStarter, pages, type Secrets, welcome } from './starter.ts';
import { flag, parse, print, visible } from './terminal.ts';

export const serveCommand: Command = {
  help: `Usage: backscroll serve [--starter]

Brings the database schema up to date and serves the HTTP API at HOST and PORT.
On SIGTERM or SIGINT it finishes requests in flight, then exits.

Options:
  --starter  if the embedded database is empty, load starter records, create a key of each kind, and
             print the keys with commands to try`,

  run: async (argv, config) => {
    const { values } = parse(argv, { starter: flag }, { max: 0 });
    const isTerminal = process.stdout.isTTY;
    const isText = config.log_format === 'text' || (config.log_format === 'auto' && isTerminal);
    const output = new StandardOutput(isText ? logText : undefined);
    const lines = new BufferedLog(output.write);
    const logger = loggerOf(config, lines);
    const database = databaseOf(config);
    const workers = await workerCount(config, database, logger);
    const backups = await prepareBackups(config, database);
    const { host, port: wanted } = config;
    // Before a database is created. Another service that shares its port would cause no error later: each would get a part of
    // the connections.
    if (wanted !== 0) await listening(config, () => tryListening({ host, port: wanted }));
    await migrate(database, logger);
    const open = database.protect();
    if (open.length > 0) logger.warn({ files: open }, 'other users of this machine can access files of the database');
    const writer = database.startWriter();
    const follows = difyOwnsData(config);
    const storeMemory = createStoreMemory(follows ? workers + 1 : workers);
    const store = await database.open({ ...storeMemory, thread: 0, writer }).catch(async (error: Error) => {
      // The thread would keep the process running.
      await writer?.close();
      throw error;
    });
    logger.info({ database: database.location }, 'opened');
    try {
      await switchFeed(store, config.changes, (text) => logger.warn(text));
      await keepPeriod(store, config);
      const isNew = values.starter && database.engine === 'sqlite' && (await store.isEmpty());
      const shared = createSharedState(workers, output.dropped);
      // The main thread is the first worker.
      const service = await createWorker({ config, store, shared, worker: 0, logger, lines });
      const port = await listening(config, () => service.listen(host, wanted, workers > 1));
      // Only when the port is open: a start that fails must not create keys whose secrets it never prints.
      const secrets = isNew ? await loadStarter(store).catch(closing(service)) : undefined;
      const tasks = [
        trimRegularly(config.audit_days, { store, logger }),
        sequenceRegularly({ store, logger }),
        countUsersRegularly({ store, logger }),
        config.search && config.changes ? indexRegularly({ store, logger }) : undefined,
        retainRegularly({ store, logger, clock: Date.now }),
        emptyLogRegularly({ store, logger }),
        backups?.start(store, logger),
      ];
      const data = { config, shared, storeMemory, port };
      const pool = new WorkerPool({ data, follows, writer, logger, log: output.write });
      const stopped = stopSignal();
      // The greeting comes after the lines of all workers, so that its end, the keys, is in sight.
      await Promise.race([pool.started, stopped]);
      lines.flush();
      const base = addressOf(config.host, port);
      if (secrets !== undefined) print(welcome(base, secrets, await signInToken(store, secrets)));
      else if (values.starter || isTerminal) print(addresses(base));
      const signal = await stopped;
      logger.info({ signal }, 'shutting down');
      // The exit also ends the threads: a large import that is still being applied is rolled back.
      const giveUp = () => {
        logger.warn('stopped before all requests were finished');
        process.exit(0);
      };
      await closeWithin(Promise.all([service.close(), pool.close()]), limits.shutdownMillisMax, giveUp);
      await Promise.all(tasks.map((task) => task?.end()));
      return 0;
    } finally {
      await store.close();
      await writer?.close();
      logger.info('stopped');
    }
  },
};

/** A service without a store of backups loads none of it. */
async function prepareBackups(config: Config, database: Database): Promise<ScheduledBackups | undefined> {
  const { backup_url: url } = config;
  return url === undefined
    ? undefined
    : (await import('./scheduled-backups.ts')).scheduledBackups(url, config, database);
}

/** Logs one line if there was something to do: a mistake in DATABASE_URL shows as a database that should not be new. */
async function migrate(database: Database, logger: Logger): Promise<void> {
  const isNew = !database.exists();
  const steps = await database.migrate(epochSeconds());
  const version = steps.at(-1)?.version;
  if (isNew) logger.info({ version }, `created a new database at ${resolve(database.location)}`);
  else if (version !== undefined) logger.info({ version, steps: steps.length }, 'migrated');
}

/** Stores the period of retention, so that it is in force for processes without the setting too. */
async function keepPeriod(store: Store, { retention_days: days }: Config): Promise<void> {
  if (days === undefined || days === (await store.erasure.readRetentionDays())) return;
  await store.run('setRetentionDays', days);
}

function closing(service: ServiceWorker): (error: Error) => Promise<never> {
  return async (error) => {
    await service.close();
    throw error;
  };
}

/** Only for a user at a terminal: elsewhere the output may be stored as a log. */
async function signInToken(store: Store, { admin }: Secrets): Promise<string | undefined> {
  if (!process.stdout.isTTY) return undefined;
  const now = epochSeconds();
  const key_digest = digestOf(admin);
  const caller = await authenticate(store, key_digest, now, store.dataVersion());
  return caller && createSignInToken(store, { key_id: caller.key_id, key_digest }, now);
}

function addresses(base: string): string {
  return `
Backscroll is running at ${base}/v1

${pages(base)}
Create an admin key: npx backscroll keys create --kind admin --name NAME
Import records:      npx backscroll import --help
`;
}

async function listening<T>({ host, port }: Config, listen: () => Promise<T>): Promise<T> {
  try {
    return await listen();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') throw new Error(`PORT=${port}: already in use on ${host}; choose another PORT`);
    if (code === 'EACCES') throw new Error(`PORT=${port}: not allowed to listen there`);
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
      throw new Error(`HOST=${host}: not an address of this machine`);
    throw new Error(message);
  }
}

function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve(signal));
  });
}

async function closeWithin(closed: Promise<unknown>, millis: number, giveUp: () => void): Promise<void> {
  const timer = setTimeout(giveUp, millis).unref();
  await closed;
  clearTimeout(timer);
}

const levels: Readonly<Record<number, string>> = { 40: 'warning: ', 50: 'error: ', 60: 'fatal: ' };

type Line = { level: number; time: string; msg?: string; err?: { stack?: string } } & Record<string, unknown>;

/** Lines of the log, which are JSON, as lines for a person at a terminal. */
export const logText = (lines: string): string => lines.replaceAll(/.+\n?/g, (line) => lineText(JSON.parse(line)));

/** `12:11:03 GET /v1/messages 200 0.7 ms 5f1c…`, with the id of the request, or a message with its fields. An error has its stack on the lines below. */
function lineText({ level, time, msg = '', err, ...fields }: Line): string {
  // The other workers listen at the same address.
  if (msg.startsWith('listening at') && 'worker' in fields) return '';
  const text = msg === 'request' && 'route' in fields ? requestText(fields) : `${visible(msg)}${fieldsText(fields)}`;
  const stack = err?.stack?.split('\n').map((line) => `\n  ${visible(line)}`) ?? [];
  return `${new Date(time).toTimeString().slice(0, 8)} ${levels[level] ?? ''}${text}${stack.join('')}\n`;
}

function requestText({ method, route, status, ms, error, message, aborted, req_id }: Record<string, unknown>): string {
  const rounded = Number(ms) < 10 ? Number(ms).toFixed(1) : Math.round(Number(ms));
  const cause = message === undefined ? '' : ` ${error === undefined ? '' : `${error}: `}${message}`;
  return visible(`${method} ${route} ${status} ${rounded} ms${cause}${aborted ? ' (aborted)' : ''} ${req_id}`);
}

const fieldsText = (fields: Record<string, unknown>): string =>
  Object.entries(fields)
    .map(([name, value]) => ` ${name}=${visible(typeof value === 'string' ? value : JSON.stringify(value))}`)
    .join('');
