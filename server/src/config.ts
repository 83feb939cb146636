import { pageOrders } from './contract/message.ts';

/** The settings of the service, read once from the environment. */
export type Config = {
  readonly host: string;
  readonly port: number;
  readonly database_url: string;
  /** Connections to PostgreSQL at most. */
  readonly database_pool: number;
  /** Milliseconds after which a statement is given up. */
  readonly database_timeout: number;
  /** Seconds to wait at the start for a database that does not answer. */
  readonly database_wait: number;
  /** Named prepared statements. */
  readonly database_prepared: boolean;
  readonly page_order: (typeof pageOrders)[number];
  readonly log_level: (typeof logLevels)[number];
  readonly rate_limit: number;
  /** Requests in flight at most. */
  readonly in_flight_max: number;
  /** Days that entries of the audit are kept. */
  readonly audit_days: number;
  readonly write_limit: number;
  readonly metrics_token: string | undefined;
};

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** Says which setting is wrong, with which value, and what is allowed. */
export class BadSetting extends Error {}

type Environment = Readonly<Record<string, string | undefined>>;

export function readConfig(environment: Environment): Config {
  const setting = <T>(name: string, fallback: T, allowed: string, parse: (value: string) => T | undefined): T => {
    const value = environment[name];
    if (value === undefined || value === '') return fallback;
    const parsed = parse(value);
    if (parsed === undefined) throw new BadSetting(`${name}=${shown(name, value)}: ${allowed}`);
    return parsed;
  };
  const integer = (name: string, fallback: number, min: number, max: number) =>
    setting(name, fallback, `must be a whole number from ${min} to ${max}`, (value) =>
      /^\d{1,10}$/.test(value) && Number(value) >= min && Number(value) <= max ? Number(value) : undefined,
    );
  const choice = <const T extends string>(name: string, fallback: T, values: readonly T[]) =>
    setting(name, fallback, `must be one of ${values.join(', ')}`, (value) => values.find((one) => one === value));

  return Object.freeze({
    host: setting('HOST', '127.0.0.1', 'must be an address or host name', (value) =>
      /^[\w.:%-]+$/.test(value) ? value : undefined,
    ),
    port: integer('PORT', 5001, 0, 65_535),
    database_url: setting(
      'DATABASE_URL',
      'sqlite:data/backscroll.db',
      'must be sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/DATABASE',
      (value) => (isDatabaseUrl(value) ? value : undefined),
    ),
    database_pool: integer('DATABASE_POOL', 10, 1, 1_000),
    database_timeout: integer('DATABASE_TIMEOUT', 5_000, 100, 600_000),
    database_wait: integer('DATABASE_WAIT', 30, 0, 3_600),
    database_prepared: choice('DATABASE_PREPARED', 'on', ['on', 'off']) === 'on',
    page_order: choice('PAGE_ORDER', 'newest_first', pageOrders),
    log_level: choice('LOG_LEVEL', 'info', logLevels),
    rate_limit: integer('RATE_LIMIT', 0, 0, 1_000_000),
    in_flight_max: integer('IN_FLIGHT_MAX', 500, 1, 1_000_000),
    audit_days: integer('AUDIT_DAYS', 365, 1, 36_500),
    write_limit: integer('WRITE_LIMIT', 0, 0, 1_000_000),
    metrics_token: setting<string | undefined>(
      'METRICS_TOKEN',
      undefined,
      'must be visible ASCII without spaces',
      (value) => (/^[\x21-\x7e]+$/.test(value) ? value : undefined),
    ),
  });
}

function isDatabaseUrl(value: string): boolean {
  if (value.startsWith('sqlite:')) return !/^sqlite:(\/\/)?(:memory:)?$/.test(value);
  return /^postgres(ql)?:\/\//.test(value) && URL.canParse(value);
}

/** Of a value that may hold a secret only its beginning is repeated. */
function shown(name: string, value: string): string {
  if (name === 'METRICS_TOKEN') return '…';
  return name === 'DATABASE_URL' ? withoutPassword(value) : value;
}

function withoutPassword(value: string): string {
  const { protocol, host, pathname } = URL.canParse(value) ? new URL(value) : { protocol: '', host: '', pathname: '' };
  return host === '' ? value.replace(/:.*/s, ':…') : `${protocol}//${host}${pathname}`;
}
