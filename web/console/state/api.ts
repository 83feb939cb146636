import { orElse } from '../../shared/or-else.ts';
import { forgetRows } from './kept-rows.ts';

export { pathOf } from './address.ts';

/** An error response of the service, or no response at all (status 0). */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly requestId: string | null;

  constructor(status: number, code: string, message: string, requestId: string | null) {
    super(message);
    this.status = status;
    this.code = code;
    this.requestId = requestId;
  }
}

/** The network or the service was away: lists and readings are requested again by themselves. */
export const isTemporary = (error: Error | undefined): boolean =>
  error instanceof ApiError && (error.status === 0 || error.status === 503);

export type RequestOptions = {
  method?: string;
  body?: unknown;
  /** Records to import, instead of a body. */
  upload?: Blob;
  headers?: Record<string, string>;
  signal?: AbortSignal;
};
export type ApiResponse<T> = { body: T; etag: string | null };

let onSignedOut: () => void = () => undefined;
export function whenSignedOut(call: () => void): void {
  onSignedOut = call;
}

/** Sends a request to the service; throws unless it succeeds. */
export async function request<T>(path: string, options?: RequestOptions): Promise<ApiResponse<T>> {
  const response = await send(path, options);
  const text = await response.text().catch(disconnected);
  return { body: (text === '' ? undefined : parse(text)) as T, etag: response.headers.get('etag') };
}

/** The lines of a response, as they come. */
export async function* readLines(path: string, options?: RequestOptions): AsyncGenerator<string> {
  const response = await send(path, options);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = (await reader?.read().catch(disconnected)) ?? { value: undefined, done: true };
    if (done) return;
    const lines = `${rest}${value}`.split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}

function disconnected(error: Error): never {
  if (error.name === 'AbortError') throw error;
  throw new ApiError(0, 'unreachable', 'The service cannot be reached.', null);
}

/**
 * Sends a request to the service. The header shows that this page sent it: the session cookie alone authorizes nothing,
 * because another site could make the browser send it.
 */
export async function send(
  path: string,
  { method = 'GET', body, upload, headers = {}, signal }: RequestOptions = {},
): Promise<Response> {
  const sent = upload ?? (body === undefined ? undefined : JSON.stringify(body));
  if (method !== 'GET') forgetRows();
  const type = upload === undefined ? 'application/json' : 'application/x-ndjson';
  const response = await fetch(path, {
    method,
    headers: { ...(sent !== undefined && { 'content-type': type }), ...headers, 'backscroll-console': '1' },
    ...(sent !== undefined && { body: sent }),
    ...(signal !== undefined && { signal }),
  }).catch(disconnected);
  // 304: the caller's version is current, and there is no body.
  if (response.ok || response.status === 304) return response;
  const { code = 'unknown', message = `The service responded with status ${response.status}.` } = (parse(
    await response.text().catch(disconnected),
  ) ?? {}) as Partial<ApiError>;
  if (response.status === 401 && path !== '/console/session') onSignedOut();
  throw new ApiError(response.status, code, message, response.headers.get('x-request-id'));
}

const parse = (text: string): unknown => orElse(() => JSON.parse(text), undefined);
