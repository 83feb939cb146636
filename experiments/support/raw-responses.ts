/** One response as received on a socket. */
export type RawResponse = { status: number; headers: Record<string, string>; body: Buffer };

/** The received bytes are not a valid HTTP response. */
export class MalformedResponse extends Error {}

/**
 * Parses the responses received on a connection, in order. `isHeadResponse` decides by index and headers whether a
 * response belongs to a HEAD request and so has no body. `rest` contains the bytes of an incomplete response. `isClosed`:
 * no more bytes will arrive, so a response without a length ends here.
 */
export function parseResponses(
  bytes: Buffer,
  isHeadResponse: (index: number, headers: Record<string, string>) => boolean,
  isClosed: boolean,
) {
  const responses: RawResponse[] = [];
  let at = 0;
  for (;;) {
    const end = bytes.indexOf('\r\n\r\n', at);
    if (end < 0) break;
    const { status, headers } = parseHead(bytes.toString('latin1', at, end));
    const start = end + 4;
    // An interim response: the final one follows.
    if (status >= 100 && status < 200) {
      at = start;
      continue;
    }
    const bodyless = isHeadResponse(responses.length, headers) || status === 204 || status === 304;
    const parsed = bodyless ? { body: Buffer.alloc(0), end: start } : parseBody(bytes, start, headers, isClosed);
    if (parsed === undefined) break;
    responses.push({ status, headers, body: parsed.body });
    at = parsed.end;
  }
  return { responses, rest: bytes.subarray(at) };
}

function parseHead(text: string): { status: number; headers: Record<string, string> } {
  const [first = '', ...lines] = text.split('\r\n');
  const status = /^HTTP\/1\.1 ([1-5]\d\d) [\x20-\x7e]*$/.exec(first)?.[1];
  if (status === undefined) throw new MalformedResponse(`not a status line: ${JSON.stringify(first.slice(0, 200))}`);
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+): *([\t\x20-\x7e\x80-\xff]*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new MalformedResponse(`not a header: ${JSON.stringify(line)}`);
    if (name.toLowerCase() in headers) throw new MalformedResponse(`${name} is repeated`);
    headers[name.toLowerCase()] = value;
  }
  return { status: Number(status), headers };
}

type ParsedBody = { body: Buffer; end: number } | undefined;

function parseBody(bytes: Buffer, start: number, headers: Record<string, string>, isClosed: boolean): ParsedBody {
  const { 'content-length': length, 'transfer-encoding': coding } = headers;
  if (coding !== undefined) {
    if (coding !== 'chunked' || length !== undefined) throw new MalformedResponse(`framed by ${coding} and ${length}`);
    return parseChunks(bytes, start);
  }
  if (length === undefined) return isClosed ? { body: bytes.subarray(start), end: bytes.length } : undefined;
  if (!/^\d+$/.test(length)) throw new MalformedResponse(`Content-Length: ${length}`);
  const end = start + Number(length);
  return end <= bytes.length ? { body: bytes.subarray(start, end), end } : undefined;
}

function parseChunks(bytes: Buffer, start: number): ParsedBody {
  const chunks: Buffer[] = [];
  let at = start;
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return undefined;
    const size = bytes.toString('latin1', at, lineEnd);
    if (!/^[0-9a-f]{1,8}$/i.test(size))
      throw new MalformedResponse(`not a chunk size: ${JSON.stringify(size.slice(0, 40))}`);
    const from = lineEnd + 2;
    const end = from + Number.parseInt(size, 16);
    if (bytes.length < end + 2) return undefined;
    if (bytes.toString('latin1', end, end + 2) !== '\r\n')
      throw new MalformedResponse('a chunk does not end where it should');
    at = end + 2;
    if (end === from) return { body: Buffer.concat(chunks), end: at };
    chunks.push(bytes.subarray(from, end));
  }
}
