/** The headers of a request that the fast lane uses, and those that it may have once. */
export type LaneHeaders = Record<
  'host' | 'content-type' | 'authorization' | 'if-none-match' | 'x-request-id' | 'traceparent',
  string | undefined
>;

/** Headers that announce a body, or that need special handling. */
const unsupported = new Set(['connection', 'content-length', 'expect', 'transfer-encoding', 'upgrade']);

/**
 * Reads the raw headers, which is cheaper than Node's `headers` object. Undefined if the fast lane cannot handle the
 * request: without a Host, with a repeated header, or with one of the headers above.
 */
export function readLaneHeaders(rawHeaders: readonly string[]): LaneHeaders | undefined {
  const headers: LaneHeaders = {
    host: undefined,
    'content-type': undefined,
    authorization: undefined,
    'if-none-match': undefined,
    'x-request-id': undefined,
    traceparent: undefined,
  };
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const value = rawHeaders[index + 1] ?? '';
    const name = (rawHeaders[index] ?? '').toLowerCase();
    switch (name) {
      case 'host':
      case 'content-type':
      case 'authorization':
      case 'if-none-match':
      case 'x-request-id':
      case 'traceparent':
        if (headers[name] !== undefined) return undefined;
        headers[name] = value;
        break;
      default:
        if (unsupported.has(name) && !(name === 'connection' && value === 'keep-alive')) return undefined;
    }
  }
  return headers.host === undefined ? undefined : headers;
}
