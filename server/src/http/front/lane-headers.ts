/** The headers of a request that the fast lane uses. */
export type LaneHeaders = {
  authorization: string | undefined;
  if_none_match: string | undefined;
  request_id: string | undefined;
  traceparent: string | undefined;
};

/** Headers that announce a body, or that need special handling. */
const unsupported = new Set(['connection', 'content-length', 'expect', 'transfer-encoding', 'upgrade']);

/**
 * Reads the raw headers, which is cheaper than Node's `headers` object. Undefined if the fast lane cannot handle the
 * request: without exactly one Host, with a repeated header, or with one of the headers above.
 */
export function readLaneHeaders(rawHeaders: readonly string[]): LaneHeaders | undefined {
  const headers: LaneHeaders = {
    authorization: undefined,
    if_none_match: undefined,
    request_id: undefined,
    traceparent: undefined,
  };
  let hosts = 0;
  let contentTypes = 0;
  const setOnce = (name: keyof LaneHeaders, value: string): boolean => {
    if (headers[name] !== undefined) return false;
    headers[name] = value;
    return true;
  };
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const value = rawHeaders[index + 1] ?? '';
    const name = (rawHeaders[index] ?? '').toLowerCase();
    switch (name) {
      case 'host':
        hosts += 1;
        break;
      case 'content-type':
        contentTypes += 1;
        break;
      case 'authorization':
        if (!setOnce('authorization', value)) return undefined;
        break;
      case 'if-none-match':
        if (!setOnce('if_none_match', value)) return undefined;
        break;
      case 'x-request-id':
        if (!setOnce('request_id', value)) return undefined;
        break;
      case 'traceparent':
        if (!setOnce('traceparent', value)) return undefined;
        break;
      default:
        if (unsupported.has(name) && !(name === 'connection' && value === 'keep-alive')) return undefined;
    }
  }
  return hosts === 1 && contentTypes <= 1 ? headers : undefined;
}
