import { parsePostgresUrl } from './database-url.ts';

/** One setting. In `help`, values and routes are in backticks, as Markdown has them. */
export type Setting<T> = {
  /** The default as text, as in the environment; undefined if there is none. */
  fallback: string | undefined;
  /** Completes the error message: `PORT=abc: must be …`. */
  allowed: string;
  help: string;
  /** Undefined for a value that is not allowed. */
  parse: (text: string) => T | undefined;
  /** More than `allowed` about a value that is not allowed. */
  problem?: (text: string) => string | undefined;
  /** Whether NAME_FILE can name a file with the value. */
  hasFile?: true;
  /** For a value that can contain a secret: the part that an error message may show. */
  withoutSecret?: (text: string) => string;
};

export const integer = (fallback: number, min: number, max: number, help: string): Setting<number> => ({
  fallback: `${fallback}`,
  allowed: `a whole number from ${min} to ${max}`,
  help,
  parse: (text) => parseInteger(text, min, max),
});

export function parseInteger(text: string, min: number, max: number): number | undefined {
  return /^\d{1,10}$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined;
}

const unitSeconds: Readonly<Record<string, number>> = { m: 60, h: 3_600, d: 86_400 };

/** A time such as `15m`, in seconds. */
export const duration = (
  fallback: string,
  [min, max]: readonly [number, number],
  allowed: string,
  help: string,
): Setting<number> => ({
  fallback,
  allowed,
  help,
  parse: (text) => {
    const [, count, unit = ''] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
    const seconds = Number(count) * (unitSeconds[unit] ?? 0);
    return seconds >= min && seconds <= max ? seconds : undefined;
  },
});

export const choice = <const T extends string>(
  fallback: NoInfer<T>,
  values: readonly T[],
  help: string,
): Setting<T> => ({
  fallback,
  allowed: `one of ${values.join(', ')}`,
  help: `${help}: ${listed(values)}`,
  parse: (text) => values.find((value) => value === text),
});

export const onOff = (help: string): Setting<boolean> => ({
  fallback: 'on',
  allowed: 'on or off',
  help,
  parse: (text) => (text === 'on' ? true : text === 'off' ? false : undefined),
});

export const text = (fallback: string, allowed: string, help: string, pattern: RegExp): Setting<string> => ({
  ...optionalText(allowed, help, pattern),
  fallback,
});
export const optionalText = (allowed: string, help: string, pattern: RegExp) => ({
  fallback: undefined,
  allowed,
  help,
  parse: (text: string) => (pattern.test(text) ? text : undefined),
});

/** An address that can have a user, with a password, or a query: an error message does not show them. */
export const address = (allowed: string, help: string, isAllowed: (text: string) => boolean) => ({
  fallback: undefined,
  allowed,
  help,
  parse: (text: string) => (isAllowed(text) ? text : undefined),
  withoutSecret: withoutUser,
});

export const secret = (help: string) => ({
  ...optionalText('visible ASCII without spaces', help, /^[\x21-\x7e]+$/),
  withoutSecret: () => '…',
});

export const fromFile = <T extends Setting<unknown>>(setting: T): T & { hasFile: true } => ({
  ...setting,
  help: `${setting.help}; also as …_FILE, the path of a file with it`,
  hasFile: true,
});

/** `a`, `b` or `c` */
function listed(values: readonly string[]): string {
  const quoted = values.map((value) => `\`${value}\``);
  return `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`;
}

export function isDatabaseUrl(text: string): boolean {
  if (text.startsWith('sqlite:')) return !/^sqlite:(\/\/)?(:memory:)?$/.test(text);
  return postgresProblem(text) === undefined && typeof parsePostgresUrl(text) !== 'string';
}

export function isUpstreamUrl(text: string): boolean {
  const url = /^https?:\/\/[^\s?#@]+$/i.test(text) ? URL.parse(text) : null;
  return url !== null && url.username === '' && url.password === '';
}

export const storeForms = 's3://BUCKET/PREFIX, file:///FOLDER or the path of a folder';
const bucketForm = /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](?:\/(?!\.\.?(?:\/|$))[\w.-]+)*\/?$/;

/** Whether this is the address of a store of backups. */
export function isStore(text: string): boolean {
  if (text.startsWith('file://')) return /^file:\/\/\/[^?#]*$/.test(text);
  return bucketForm.test(text) || !/^[\w+.-]+:\/\//.test(text);
}

/** `https://host`, without a slash at its end. */
export function originOf(text: string): string | undefined {
  const url = /^https?:\/\/[^\s/?#@]+\/?$/i.test(text) ? URL.parse(text) : null;
  return url?.origin;
}

/** Undefined also for a text that does not begin like the address of a PostgreSQL server. */
export function postgresProblem(text: string): string | undefined {
  const address = /^postgres(ql)?:\/\//.test(text) ? parsePostgresUrl(text) : undefined;
  return typeof address === 'string' ? address : undefined;
}

export function withoutPassword(text: string): string {
  const address = parsePostgresUrl(text);
  if (typeof address !== 'string') return address.location;
  const [, protocol = '', hosts = '', path = ''] = /^(\w+:)\/\/(?:[^/?#]*@)?([^/?#@]*)([^?#]*)/.exec(text) ?? [];
  return protocol === '' ? text.replace(/:.*/s, ':…') : `${protocol}//${hosts}${path}`;
}

export const withoutUser = (text: string): string => text.replace(/\/\/[^/]*@/, '//…@').replace(/[?#].*/s, '?…');
