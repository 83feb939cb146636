import { limits } from './contract/limits.ts';
import { pageOrders } from './contract/message.ts';
import { parsePostgresUrl } from './database-url.ts';

/** One setting. In `help`, values and routes are in backticks, as Markdown has them. */
type Setting<T> = {
  /** The default as text, as in the environment; undefined if there is none. */
  fallback: string | undefined;
  /** Completes the error message: `PORT=abc: must be …`. */
  allowed: string;
  help: string;
  /** Undefined for a value that is not allowed. */
  parse: (text: string) => T | undefined;
  /** More than `allowed` about a value that is not allowed. */
  problem?: (text: string) => string | undefined;
  /** For a value that can contain a secret: the part that an error message may show. */
  withoutSecret?: (text: string) => string;
};

const integer = (fallback: number, min: number, max: number, help: string): Setting<number> => ({
  fallback: `${fallback}`,
  allowed: `a whole number from ${min} to ${max}`,
  help,
  parse: (text) => parseInteger(text, min, max),
});

function parseInteger(text: string, min: number, max: number): number | undefined {
  return /^\d{1,10}$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined;
}

const choice = <const T extends string>(fallback: NoInfer<T>, values: readonly T[], help: string): Setting<T> => ({
  fallback,
  allowed: `one of ${values.join(', ')}`,
  help: `${help}: ${listed(values)}`,
  parse: (text) => values.find((value) => value === text),
});

const onOff = (fallback: 'on' | 'off', help: string): Setting<boolean> => ({
  fallback,
  allowed: 'on or off',
  help,
  parse: (text) => (text === 'on' ? true : text === 'off' ? false : undefined),
});

const secret = (help: string): Setting<string | undefined> => ({
  fallback: undefined,
  allowed: 'visible ASCII without spaces',
  help,
  parse: (text) => (/^[\x21-\x7e]+$/.test(text) ? text : undefined),
  withoutSecret: () => '…',
});

/**
 * Every setting, by its name in lower case. The configuration, `backscroll --help`, the table in README.md and
 * .env.example are generated from this table: `npm run settings` writes the two files, and a test compares them.
 */
export const settings = {
  host: {
    fallback: '127.0.0.1',
    allowed: 'an address or host name',
    help: 'address to listen on',
    parse: (text) => (/^[\w.:%-]+$/.test(text) ? text : undefined),
  } satisfies Setting<string>,
  port: integer(5001, 0, 65_535, 'port to listen on; 0 for any free port'),
  database_url: {
    fallback: 'sqlite:data/backscroll.db',
    allowed: 'sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/DATABASE',
    help: 'the database: `sqlite:PATH` (embedded) or `postgres://USER:PASSWORD@HOST:PORT/DATABASE`',
    parse: (text) => (isDatabaseUrl(text) ? text : undefined),
    problem: postgresProblem,
    withoutSecret: withoutPassword,
  } satisfies Setting<string>,
  database_pool: integer(10, 1, 1_000, 'PostgreSQL: maximum number of connections per instance'),
  database_timeout: integer(
    5_000,
    100,
    600_000,
    'PostgreSQL: maximum milliseconds for a statement, the wait for a connection included',
  ),
  database_wait: integer(30, 0, 3_600, 'PostgreSQL: seconds to wait at the start until the server accepts connections'),
  database_prepared: onOff(
    'on',
    'PostgreSQL: named prepared statements, `on` or `off`; use `off` behind pgbouncer in transaction mode',
  ),
  workers: {
    fallback: 'auto',
    allowed: 'auto or a whole number from 1 to 64',
    help: 'threads that serve requests: `auto` (one per core, at most 4) or a number; on PostgreSQL at most DATABASE_POOL',
    parse: (text) => (text === 'auto' ? text : parseInteger(text, 1, 64)),
  } satisfies Setting<'auto' | number>,
  page_cache: integer(
    64,
    0,
    65_536,
    'MiB of message pages cached by an instance, divided among its workers; 0 to cache none',
  ),
  page_order: choice(
    'newest_first',
    pageOrders,
    'order of messages in a page, unless the request sets it (default `oldest_first` if a Dify installation owns the data)',
  ),
  log_level: choice('info', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], 'log level'),
  log_format: choice(
    'auto',
    ['auto', 'json', 'text'],
    'format of the log (`auto` is `text` on a terminal, else `json`)',
  ),
  rate_limit: integer(0, 0, 1_000_000, 'requests per second for one key; 0 for no limit'),
  write_limit: integer(0, 0, 1_000_000, 'writes (PATCH, POST, DELETE) per second for one key; 0 for no separate limit'),
  in_flight_max: integer(
    500,
    1,
    1_000_000,
    'maximum number of requests in flight; more are rejected with 503 and `Retry-After`',
  ),
  changes: onOff(
    'on',
    'the change feed, `on` or `off`; must be the same for all processes of a database; after `off`, readers start again',
  ),
  search: onOff(
    'on',
    'the search of the console, `on` or `off`; requires CHANGES; after `off`, the index catches up with the changes',
  ),
  audit_days: integer(365, 1, 36_500, 'days until entries of the audit log are deleted'),
  retention_days: {
    fallback: undefined,
    allowed: `a whole number from 0 to ${limits.retentionDaysMax}`,
    help: 'days from the last message of a conversation until it is erased, for apps without `retention_days`; 0 for never; if not set, the last value stays in force',
    parse: (text) => parseInteger(text, 0, limits.retentionDaysMax),
  } satisfies Setting<number | undefined>,
  backup_url: {
    fallback: undefined,
    allowed: 'file:///FOLDER or the path of a folder',
    help: 'the store of backups of the embedded database for `backup` and `restore`: a folder',
    parse: (text) => (isStore(text) ? text : undefined),
    withoutSecret: (text) => text.replace(/\/\/[^/]*@/, '//…@').replace(/[?#].*/s, '?…'),
  } satisfies Setting<string | undefined>,
  backup_keep: {
    fallback: '14',
    allowed: 'a number of backups such as 14, or of days such as 30d',
    help: 'how many backups are kept (`14`), or those of how many days (`30d`); the newest one always is',
    parse: (text) => {
      const [, count, days] = /^([1-9]\d{0,4})(d?)$/.exec(text) ?? [];
      if (count === undefined) return undefined;
      return days === 'd' ? { days: Number(count) } : { backups: Number(count) };
    },
  } satisfies Setting<{ days: number } | { backups: number }>,
  dify_database_url: {
    fallback: undefined,
    allowed: 'postgres://USER:PASSWORD@HOST:PORT/DATABASE',
    help: 'the database of a Dify installation, for `backscroll import --from-dify`; with UPSTREAM_URL, that installation owns the data, and `serve` follows it',
    parse: (text) => (typeof parsePostgresUrl(text) === 'string' ? undefined : text),
    problem: postgresProblem,
    withoutSecret: withoutPassword,
  } satisfies Setting<string | undefined>,
  dify_api_key: secret(
    'knowledge keys of the Dify installation, one for each workspace, separated by commas, for `--dify-url`',
  ),
  dify_dataset_key: secret(
    'a knowledge key of the Dify installation that owns the data, to send edits of child chunks to it',
  ),
  upstream_url: {
    fallback: undefined,
    allowed: 'http://HOST:PORT/PATH or https://…, without user, query and fragment',
    help: 'the server that gets requests for which Backscroll has no operation, for example `http://dify-api:5001/v1`',
    parse: (text) => (isUpstreamUrl(text) ? text : undefined),
    withoutSecret: (text) => text.replace(/\/\/[^/]*@/, '//…@').replace(/[?#].*/s, '?…'),
  } satisfies Setting<string | undefined>,
  public_url: {
    fallback: undefined,
    allowed: 'http://HOST:PORT or https://…, without user, path, query and fragment',
    help: 'the public address of this installation, for links to the console; pages of this origin may send requests to `/mcp`',
    parse: originOf,
    withoutSecret: (text) => text.replace(/\/\/[^/]*@/, '//…@').replace(/[?#].*/s, '?…'),
  } satisfies Setting<string | undefined>,
  metrics_token: {
    fallback: undefined,
    allowed: 'visible ASCII without spaces',
    help: 'a bearer token that allows only `/metrics`; an admin key allows it too',
    parse: (text) => (/^[\x21-\x7e]+$/.test(text) ? text : undefined),
    withoutSecret: () => '…',
  } satisfies Setting<string | undefined>,
};

type Settings = typeof settings;

/** The settings of the service, read once from the environment. */
export type Config = {
  readonly [K in keyof Settings]: Settings[K] extends { fallback: undefined }
    ? ReturnType<Settings[K]['parse']>
    : NonNullable<ReturnType<Settings[K]['parse']>>;
};

/** The message names the setting, its value and what is allowed. */
export class BadSetting extends Error {}

/** An empty value counts as not set. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const values = Object.entries<Setting<unknown>>(settings).map(([key, setting]) => {
    const name = key.toUpperCase();
    const text = environment[name] || setting.fallback;
    const value = text === undefined ? undefined : setting.parse(text);
    if (text !== undefined && value === undefined) {
      const problem = setting.problem?.(text) ?? `must be ${setting.allowed}`;
      throw new BadSetting(`${name}=${setting.withoutSecret?.(text) ?? text}: ${problem}`);
    }
    return [key, value];
  });
  const config: Config = Object.fromEntries(values);
  // The pages of a Dify installation have that order, and a client must not see two.
  const isOrdered = !difyOwnsData(config) || Boolean(environment.PAGE_ORDER);
  return Object.freeze(isOrdered ? config : { ...config, page_order: 'oldest_first' });
}

/** Whether the upstream is a Dify installation whose data is served here. */
export const difyOwnsData = ({ upstream_url, dify_database_url }: Config): boolean =>
  upstream_url !== undefined && dify_database_url !== undefined;

/** The settings as `backscroll --help` shows them. */
export function settingsHelp(): string {
  const rows = Object.entries<Setting<unknown>>(settings);
  const width = Math.max(...rows.map(([key]) => key.length));
  return rows
    .map(([key, { fallback, help }]) => {
      return `  ${key.toUpperCase().padEnd(width)}  ${help.replaceAll('`', '')} (default: ${fallback ?? 'none'})`;
    })
    .join('\n');
}

function isDatabaseUrl(text: string): boolean {
  if (text.startsWith('sqlite:')) return !/^sqlite:(\/\/)?(:memory:)?$/.test(text);
  return postgresProblem(text) === undefined && typeof parsePostgresUrl(text) !== 'string';
}

function isUpstreamUrl(text: string): boolean {
  const url = /^https?:\/\/[^\s?#@]+$/i.test(text) ? URL.parse(text) : null;
  return url !== null && url.username === '' && url.password === '';
}

function isStore(text: string): boolean {
  if (text.startsWith('file://')) return /^file:\/\/\/[^?#]*$/.test(text);
  return !/^[\w+.-]+:\/\//.test(text);
}

/** `https://host`, without a slash at its end. */
function originOf(text: string): string | undefined {
  const url = /^https?:\/\/[^\s/?#@]+\/?$/i.test(text) ? URL.parse(text) : null;
  return url?.origin;
}

/** Undefined also for a text that does not begin like the address of a PostgreSQL server. */
function postgresProblem(text: string): string | undefined {
  const address = /^postgres(ql)?:\/\//.test(text) ? parsePostgresUrl(text) : undefined;
  return typeof address === 'string' ? address : undefined;
}

function withoutPassword(text: string): string {
  const address = parsePostgresUrl(text);
  if (typeof address !== 'string') return address.location;
  const [, protocol = '', hosts = '', path = ''] = /^(\w+:)\/\/(?:[^/?#]*@)?([^/?#@]*)([^?#]*)/.exec(text) ?? [];
  return protocol === '' ? text.replace(/:.*/s, ':…') : `${protocol}//${hosts}${path}`;
}

/** `a`, `b` or `c` */
function listed(values: readonly string[]): string {
  const quoted = values.map((value) => `\`${value}\``);
  return `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`;
}
