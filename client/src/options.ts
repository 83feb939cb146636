import { limits } from './retry.ts';

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export type TransportOptions = {
  /** Base address of the API: `https://backscroll.example.com/v1`. Without a path, `/v1` is added. */
  baseUrl: string;
  /** The secret of a key. It is sent to `baseUrl` and shown nowhere. */
  key: string;
  /** A `fetch` to use instead of the runtime's own. */
  fetch?: Fetch | undefined;
  /** Milliseconds that one attempt may take, including reading the response. Default 10,000. */
  timeout?: number | undefined;
  /** Number of retries of a failed call. Default 2. */
  retries?: number | undefined;
  /** The longest wait before a retry, in milliseconds. If `Retry-After` is longer, there is no retry. Default 30,000. */
  maxWait?: number | undefined;
};

/** Options of a single call. */
export type CallOptions = {
  /** Ends the call with `Aborted`, also while it waits for a retry. */
  signal?: AbortSignal | undefined;
  timeout?: number | undefined;
  retries?: number | undefined;
};

export function checkBaseUrl(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  const isPlain =
    url && /^https?:$/.test(url.protocol) && `${url.username}${url.password}${url.search}${url.hash}` === '';
  // Not quoted: it may contain a password.
  if (!isPlain) throw new TypeError('baseUrl must be an http or https address without user, query and fragment');
  const path = url.pathname.replace(/\/+$/, '');
  if (path !== '' && !path.endsWith('/v1')) throw new TypeError('baseUrl must end in /v1, the path of the API');
  return url.origin + (path || '/v1');
}

export function checkKey(key: string): string {
  // Other characters are not allowed in a header, and the runtime's own message would show the key.
  if (typeof key !== 'string' || !/^[\x21-\x7e]+$/.test(key))
    throw new TypeError('key must be the secret of an API key');
  return key;
}

export function checkNumber(name: string, value: number, min: number): number {
  if (Number.isInteger(value) && value >= min && value <= limits.timerMillisMax) return value;
  throw new TypeError(`${name} must be an integer from ${min} to ${limits.timerMillisMax}, not ${value}`);
}
