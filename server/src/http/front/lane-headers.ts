/** What a plain request says in its headers. */
export type LaneHeaders = {
  authorization: string | undefined;
  if_none_match: string | undefined;
  request_id: string | undefined;
};

/** These ask for more than an answer, or announce a body. */
const more = new Set(['connection', 'content-length', 'expect', 'transfer-encoding', 'upgrade']);

/**
 * Reads headers as they came, which is cheaper than having them made into an object. Undefined where there is not one
 * Host, where one that matters is repeated, or where more than an answer is asked for.
 */
export function readLaneHeaders(rawHeaders: readonly string[]): LaneHeaders | undefined {
  const found: LaneHeaders = { authorization: undefined, if_none_match: undefined, request_id: undefined };
  let hosts = 0;
  const keep = (name: keyof LaneHeaders, value: string): boolean => {
    if (found[name] !== undefined) return false;
    found[name] = value;
    return true;
  };
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const value = rawHeaders[at + 1] as string;
    const name = (rawHeaders[at] as string).toLowerCase();
    switch (name) {
      case 'host':
        hosts += 1;
        break;
      case 'authorization':
        if (!keep('authorization', value)) return undefined;
        break;
      case 'if-none-match':
        if (!keep('if_none_match', value)) return undefined;
        break;
      case 'x-request-id':
        if (!keep('request_id', value)) return undefined;
        break;
      default:
        if (more.has(name) && !(name === 'connection' && value === 'keep-alive')) return undefined;
    }
  }
  return hosts === 1 ? found : undefined;
}
