/**
 * The address of a PostgreSQL database, as libpq writes it: several servers are separated by commas, options follow `?`.
 * https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING
 */
export type PostgresAddress = {
  /** One URL for each server, in the order in which they are tried. */
  urls: readonly string[];
  /** For messages: without user, password and options. */
  location: string;
  target: TargetSession;
  channelBinding: ChannelBinding;
  connectSeconds: number | undefined;
  keepAlive: { isOn: boolean; idleSeconds: number };
};

const targets = ['any', 'read-write', 'read-only', 'primary', 'standby'] as const;
export type TargetSession = (typeof targets)[number];
const channelBindings = ['disable', 'prefer', 'require'] as const;
export type ChannelBinding = (typeof channelBindings)[number];

const sslModes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'] as const;
const onOff = ['0', '1'] as const;

/** Allowed values of an option; undefined: any text. */
type Values = readonly string[] | RegExp | undefined;
const wholeNumber = /^\d{1,9}$/;

/** Options that the driver gets with the URL. */
const driverOptions: Readonly<Record<string, Values>> = {
  host: /^[^,]+$/,
  port: wholeNumber,
  user: undefined,
  password: undefined,
  application_name: undefined,
  fallback_application_name: undefined,
  options: undefined,
  client_encoding: /^(?:utf-?8|auto)$/i,
  sslcert: undefined,
  sslkey: undefined,
  sslrootcert: undefined,
  sslnegotiation: ['postgres', 'direct'],
  // Names of the driver, not of libpq.
  ssl: ['true', '1', '0', 'no-verify'],
  uselibpqcompat: ['true'],
};

/** Options that are evaluated here. */
const ownOptions: Readonly<Record<string, Values>> = {
  dbname: undefined,
  sslmode: sslModes,
  target_session_attrs: targets,
  channel_binding: channelBindings,
  connect_timeout: wholeNumber,
  keepalives: onOff,
  keepalives_idle: wholeNumber,
  // Neither is used, whichever value is given.
  gssencmode: ['disable', 'prefer'],
  load_balance_hosts: ['disable'],
};

const form = /^(postgres(?:ql)?:)\/\/(?:([^/?#]*)@)?([^/?#@]*)(\/[^?#]*)?(?:\?([^#]*))?$/;

/** The address, or a text that completes "DATABASE_URL=…: ". */
export function parsePostgresUrl(text: string): PostgresAddress | string {
  const [matched, protocol, credentials, hosts = '', path = '', query = ''] = form.exec(text) ?? [];
  if (matched === undefined) return expected;
  const options = new URLSearchParams(query);
  for (const [name, value] of options) {
    const problem = problemOf(name, value, options.getAll(name).length);
    if (problem !== undefined) return problem;
  }
  const database = options.get('dbname');
  const pathname = database === null ? path : `/${encodeURIComponent(database)}`;
  const server = `${protocol}//${credentials === undefined ? '' : `${credentials}@`}`;
  const urls = hosts
    .split(',')
    .flatMap((host) => driverQueries(options).map((driverQuery) => `${server}${host}${pathname}${driverQuery}`));
  if (hosts.includes(',') && (options.has('host') || hosts.split(',').includes(''))) return 'every server needs a name';
  if (!urls.every((url) => URL.canParse(url))) return expected;
  const idleSeconds = Number(options.get('keepalives_idle') ?? 0);
  return {
    urls,
    location: `${protocol}//${hosts}${pathname}`,
    target: (options.get('target_session_attrs') ?? 'any') as TargetSession,
    channelBinding: (options.get('channel_binding') ?? 'disable') as ChannelBinding,
    // As in libpq, 0 is no limit of its own.
    connectSeconds: Number(options.get('connect_timeout') ?? 0) || undefined,
    keepAlive: { isOn: options.get('keepalives') !== '0', idleSeconds },
  };
}

const expected = 'must be sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/DATABASE';

function problemOf(name: string, value: string, times: number): string | undefined {
  const allOptions = { ...driverOptions, ...ownOptions };
  if (!Object.hasOwn(allOptions, name)) return `the option ${name} is not supported`;
  if (times > 1) return `the option ${name} is given more than once`;
  const allowed = allOptions[name];
  if (allowed === undefined) return undefined;
  if (allowed instanceof RegExp)
    return allowed.test(value) ? undefined : `the value of the option ${name} is not allowed`;
  return allowed.includes(value) ? undefined : `the option ${name} must be one of ${allowed.join(', ')}`;
}

/**
 * The options for the driver. `prefer` and `allow` are two attempts for each server, encrypted and not. The driver verifies
 * the certificate in all other modes but `no-verify`.
 */
function driverQueries(options: URLSearchParams): string[] {
  const common = [...options].filter(([name]) => Object.hasOwn(driverOptions, name));
  return driverModes(options.get('sslmode')).map((mode) => {
    const query = new URLSearchParams(mode === undefined ? common : [...common, ['sslmode', mode]]).toString();
    return query === '' ? '' : `?${query}`;
  });
}

const modes: Readonly<Record<string, string[]>> = {
  allow: ['disable', 'no-verify'],
  prefer: ['no-verify', 'disable'],
  disable: ['disable'],
  'no-verify': ['no-verify'],
};
const driverModes = (sslmode: string | null): (string | undefined)[] =>
  sslmode === null ? [undefined] : (modes[sslmode] ?? ['verify-full']);
