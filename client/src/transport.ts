import { classOf } from './error-classes.ts';
import {
  Aborted,
  type ApiError,
  BackscrollError,
  Connection,
  NotFound,
  Timeout,
  UnexpectedResponse,
} from './errors.ts';
import { type CallOptions, checkBaseUrl, checkKey, checkNumber, type Fetch, type TransportOptions } from './options.ts';
import { limits, retryAfterOf, sleep, waitBefore } from './retry.ts';

/**
 * A request that may be repeated: two executions have the result of one. Decision 0021 gives the reason for each. The one
 * exception, creating a chunk, is sent with `retries: 0`.
 */
export type ApiRequest = {
  method: 'GET' | 'PATCH' | 'POST' | 'DELETE';
  /** Below `baseUrl`, or an operation of `/admin`, which is next to it. */
  path: string;
  headers?: Record<string, string> | undefined;
  /** Sent as JSON; a list as NDJSON. */
  body?: object | readonly object[] | undefined;
  /**
   * Whether an error of a retry shows that an earlier attempt was executed and its response was lost: what the request deletes
   * no longer exists. Such a retry succeeds.
   */
  isDone?: ((error: BackscrollError) => boolean | Promise<boolean>) | undefined;
  /** Time that the service may wait for a change. The attempt may take this much longer. */
  holdMillis?: number | undefined;
};

/** A response to DELETE has no body. */
export type ApiResponse<Body> = { body: Body; headers: Headers };

/** Sends requests with retries, and returns a response or throws one of the errors. */
export class Transport {
  readonly #baseUrl: string;
  readonly #key: string;
  readonly #fetch: Fetch;
  readonly #timeout: number;
  readonly #retries: number;
  readonly #maxWait: number;

  constructor(options: TransportOptions) {
    this.#baseUrl = checkBaseUrl(options.baseUrl);
    this.#key = checkKey(options.key);
    this.#fetch = options.fetch ?? ((url, init) => globalThis.fetch(url, init));
    this.#timeout = checkNumber('timeout', options.timeout ?? limits.timeoutMillis, 1);
    this.#retries = checkNumber('retries', options.retries ?? limits.retries, 0);
    this.#maxWait = checkNumber('maxWait', options.maxWait ?? limits.waitMillisMax, 0);
  }

  async get<Body>(path: string, options: CallOptions): Promise<Body> {
    return (await this.send<Body>({ method: 'GET', path }, options)).body;
  }

  /** Whether a list exists. */
  finds(path: string, options: CallOptions): Promise<boolean> {
    return this.isFound({ method: 'GET', path: `${path}?limit=1` }, options);
  }

  isFound(request: ApiRequest, options: CallOptions): Promise<boolean> {
    return this.send(request, options).then(
      () => true,
      (error: Error) => {
        if (error instanceof NotFound) return false;
        throw error;
      },
    );
  }

  async send<Body>(
    request: ApiRequest,
    { signal, maxWait = this.#maxWait, ...options }: CallOptions & { maxWait?: number },
  ): Promise<ApiResponse<Body>> {
    const ownTimeout = checkNumber('timeout', options.timeout ?? this.#timeout, 1);
    const timeout = Math.min(ownTimeout + (request.holdMillis ?? 0), limits.timerMillisMax);
    const retries = checkNumber('retries', options.retries ?? this.#retries, 0);
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#attempt<Body>(request, timeout, signal);
      } catch (error) {
        const isDone = attempt > 0 && (await request.isDone?.(error as BackscrollError));
        if (isDone) return { body: undefined as Body, headers: new Headers() };
        const wait = attempt < retries ? waitBefore(attempt, error as BackscrollError, maxWait) : undefined;
        if (wait === undefined) throw error;
        await sleep(wait, signal);
      }
    }
  }

  /** The lines of a response, as they come. The timeout is for its beginning. Never retried. */
  async *lines(path: string, { signal, timeout }: CallOptions): AsyncGenerator<string, void, undefined> {
    const stream = new AbortController();
    const abort = () => stream.abort();
    const ownTimeout = checkNumber('timeout', timeout ?? this.#timeout, 1);
    const timer = setTimeout(abort, ownTimeout);
    signal?.addEventListener('abort', abort);
    try {
      if (signal?.aborted) throw abortedBy(signal);
      const response = await this.#fetch(this.#urlOf(path), this.#init({ method: 'GET', path }, stream.signal));
      if (!response.ok) throw this.#errorOf(response, parseObject(await response.text()));
      clearTimeout(timer);
      const decoder = new TextDecoder();
      let rest = '';
      for await (const bytes of response.body ?? []) {
        const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
        rest = lines.pop() ?? '';
        yield* lines;
      }
    } catch (error) {
      if (signal?.aborted) throw abortedBy(signal);
      if (error instanceof BackscrollError) throw error;
      if (stream.signal.aborted) throw new Timeout(`no response within ${ownTimeout} ms`);
      throw new Connection(this.#withoutKey(reasonOf(error)));
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      abort();
    }
  }

  async #attempt<Body>(
    request: ApiRequest,
    timeout: number,
    signal: AbortSignal | undefined,
  ): Promise<ApiResponse<Body>> {
    if (signal?.aborted) throw abortedBy(signal);
    const attempt = new AbortController();
    const abort = () => attempt.abort();
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      abort();
    }, timeout);
    signal?.addEventListener('abort', abort);
    let response: Response;
    let text: string;
    try {
      response = await this.#fetch(this.#urlOf(request.path), this.#init(request, attempt.signal));
      text = await response.text();
    } catch (error) {
      if (signal?.aborted) throw abortedBy(signal);
      if (isLate) throw new Timeout(`no response within ${timeout} ms`);
      throw new Connection(this.#withoutKey(reasonOf(error)));
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
    const body = parseObject(text);
    const isDeleted = request.method === 'DELETE' && response.status === 204;
    if (isDeleted) return { body: undefined as Body, headers: response.headers };
    if (response.ok && body !== undefined) return { body: body as Body, headers: response.headers };
    throw this.#errorOf(response, body);
  }

  #urlOf(path: string): string {
    return (path.startsWith('/admin/') ? this.#baseUrl.replace(/\/v1$/, '') : this.#baseUrl) + path;
  }

  #init({ method, headers, body }: ApiRequest, signal: AbortSignal): RequestInit {
    const isList = Array.isArray(body);
    return {
      method,
      signal,
      // The API never redirects, and no other server may get the key.
      redirect: 'manual',
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${this.#key}`,
        ...(body !== undefined && { 'content-type': isList ? 'application/x-ndjson' : 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: isList ? linesOf(body) : JSON.stringify(body) }),
    };
  }

  #errorOf({ ok, status, headers }: Response, body: Record<string, unknown> | undefined): ApiError {
    const details = {
      status,
      requestId: headers.get('x-request-id') ?? undefined,
      retryAfter: retryAfterOf(headers),
    };
    const { code, message } = body ?? {};
    if (!ok && typeof code === 'string' && typeof message === 'string')
      return new (classOf(code))(this.#withoutKey(message), { ...details, code });
    const words = `a response with status ${status} that is not from the service: check baseUrl and any proxy`;
    return new UnexpectedResponse(words, { ...details, code: 'unexpected_response' });
  }

  /** A message from another program may quote the request. */
  #withoutKey(text: string): string {
    return text.replaceAll(this.#key, '[key]');
  }
}

const linesOf = (records: readonly object[]): string => records.map((one) => `${JSON.stringify(one)}\n`).join('');

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Runtimes give the reason in the cause of the error, not in its message. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: { code?: string; message?: string } };
  const why = cause?.code ?? cause?.message;
  return `the service could not be reached: ${message ?? error}${why ? ` (${why})` : ''}`;
}

export function abortedBy(signal: AbortSignal): Aborted {
  return new Aborted('the call was aborted', { cause: signal.reason });
}

export const ifMatchHeader = (ifMatch: string | undefined) =>
  ifMatch === undefined ? undefined : { 'if-match': ifMatch };
