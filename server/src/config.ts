import { readFileSync } from 'node:fs';
import { limits } from './contract/limits.ts';
import { pageOrders } from './contract/message.ts';
import { readAudits } from './contract/people/roles.ts';
import { parsePostgresUrl } from './database-url.ts';
import { findOidcProblem, oidcSettings } from './oidc-settings.ts';
import {
  address,
  choice,
  duration,
  fromFile,
  integer,
  isDatabaseUrl,
  isStore,
  isUpstreamUrl,
  onOff,
  optionalText,
  originOf,
  parseInteger,
  postgresProblem,
  type Setting,
  secret,
  storeForms,
  text,
  withoutPassword,
} from './setting-kinds.ts';

/**
 * Every setting, by its name in lower case. The configuration, `backscroll --help`, the table in docs/run/settings.md and
 * .env.example are generated from this table: `npm run settings` writes the two files, and a test compares them.
 */
export const settings = {
  host: text('127.0.0.1', 'an address or host name', 'address to listen on', /^[\w.:%-]+$/),
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
    'the change feed, `on` or `off`; must be the same for all processes of a database; after `off`, readers start again',
  ),
  search: onOff(
    'the search of the console, `on` or `off`; requires CHANGES; after `off`, the index catches up with the changes',
  ),
  audit_days: integer(365, 1, 36_500, 'days until entries of the audit log are deleted'),
  audit_reads: choice(
    'admin',
    readAudits,
    'who read what, in the audit log: in the console, under `/admin` and by agents (`admin`), also by front ends (`all`, which slows pages down), or not',
  ),
  retention_days: {
    fallback: undefined,
    allowed: `a whole number from 0 to ${limits.retentionDaysMax}`,
    help: 'days from the last message of a conversation until it is erased, for apps without `retention_days`; 0 for never; if not set, the last value stays in force',
    parse: (text) => parseInteger(text, 0, limits.retentionDaysMax),
  } satisfies Setting<number | undefined>,
  backup_url: address(
    storeForms,
    'the store of backups of the embedded database for `serve`, `backup` and `restore`: a folder, or `s3://BUCKET/PREFIX`',
    isStore,
  ),
  backup_every: duration(
    '24h',
    [60, Number.POSITIVE_INFINITY],
    'a number and m, h or d, such as 15m',
    'time between two backups that `serve` makes if BACKUP_URL is set (`15m`, `24h`)',
  ),
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
  aws_endpoint_url_s3: fromFile(
    address(
      'http://HOST:PORT or https://…, without user, query and fragment',
      'for `s3://`: the address of the service, if it is not AWS; the bucket is then part of the path',
      isUpstreamUrl,
    ),
  ),
  aws_region: fromFile(text('us-east-1', 'the name of a region', 'for `s3://`: the region of the bucket', /^[\w-]+$/)),
  aws_access_key_id: fromFile(secret('for `s3://`: the id of the key')),
  aws_secret_access_key: fromFile(secret('for `s3://`: the key')),
  aws_session_token: fromFile(secret('for `s3://`: the token of a temporary key')),
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
  upstream_url: address(
    'http://HOST:PORT/PATH or https://…, without user, query and fragment',
    'the server that gets requests for which Backscroll has no operation, for example `http://dify-api:5001/v1`',
    isUpstreamUrl,
  ),
  public_url: {
    ...address(
      'http://HOST:PORT or https://…, without user, path, query and fragment',
      'the public address of this installation, for links to the console; pages of this origin may send requests to `/mcp`',
      isUpstreamUrl,
    ),
    parse: originOf,
  } satisfies Setting<string | undefined>,
  trace_url: optionalText(
    'http://… or https://…, with {trace_id} after the host',
    'the address of a trace, for the link of a message with a `trace_id`, for example `https://traces.example.org/{trace_id}`',
    /^https?:\/\/[^\s/?#@]+\/\S*\{trace_id\}\S*$/i,
  ),
  ...oidcSettings,
  metrics_token: secret('a bearer token that allows only `/metrics`; an admin key allows it too'),
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
    const text = environment[name] || (setting.hasFile && readValue(name, environment)) || setting.fallback;
    const value = text === undefined ? undefined : setting.parse(text);
    if (text !== undefined && value === undefined) {
      const problem = setting.problem?.(text) ?? `must be ${setting.allowed}`;
      throw new BadSetting(`${name}=${setting.withoutSecret?.(text) ?? text}: ${problem}`);
    }
    return [key, value];
  });
  const config: Config = Object.fromEntries(values);
  const problem = findOidcProblem(config);
  if (problem !== undefined) throw new BadSetting(problem);
  // The pages of a Dify installation have that order, and a client must not see two.
  const isOrdered = !difyOwnsData(config) || Boolean(environment.PAGE_ORDER);
  return Object.freeze(isOrdered ? config : { ...config, page_order: 'oldest_first' });
}

/** The content of the file that NAME_FILE names, as secrets are mounted into containers. */
function readValue(name: string, environment: Readonly<Record<string, string | undefined>>): string | undefined {
  const path = environment[`${name}_FILE`];
  if (!path) return undefined;
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new BadSetting(`${name}_FILE=${path}: ${(error as Error).message}`);
  }
}

/** Whether the upstream is a Dify installation whose data is served here. */
export const difyOwnsData = ({ upstream_url, dify_database_url }: Config): boolean =>
  upstream_url !== undefined && dify_database_url !== undefined;

export function settingsHelp(): string {
  const rows = Object.entries<Setting<unknown>>(settings);
  const width = Math.max(...rows.map(([key]) => key.length));
  return rows
    .map(([key, { fallback, help }]) => {
      return `  ${key.toUpperCase().padEnd(width)}  ${help.replaceAll('`', '')} (default: ${fallback ?? 'none'})`;
    })
    .join('\n');
}
