/** One answer as it came over a socket. */
export type RawAnswer = { status: number; headers: Record<string, string>; body: Buffer };

/** Bytes that are no answer. */
export class NoAnswer extends Error {}

/**
 * The answers in what came over a connection, in their order. `isToHead` tells by place and headers whether one answers
 * a HEAD, which has no body. `rest` holds the bytes of an answer that is not whole. `isOver`: nothing more comes, so
 * that an answer without a length ends here.
 */
export function parseAnswers(
  bytes: Buffer,
  isToHead: (index: number, headers: Record<string, string>) => boolean,
  isOver: boolean,
) {
  const responses: RawAnswer[] = [];
  let at = 0;
  for (;;) {
    const end = bytes.indexOf('\r\n\r\n', at);
    if (end < 0) break;
    const { status, headers } = parseHead(bytes.toString('latin1', at, end));
    const start = end + 4;
    // An interim answer: the real one follows.
    if (status >= 100 && status < 200) {
      at = start;
      continue;
    }
    const bodyless = isToHead(responses.length, headers) || status === 204 || status === 304;
    const taken = bodyless ? { body: Buffer.alloc(0), end: start } : parseBody(bytes, start, headers, isOver);
    if (taken === undefined) break;
    responses.push({ status, headers, body: taken.body });
    at = taken.end;
  }
  return { answers: responses, rest: bytes.subarray(at) };
}

function parseHead(text: string): { status: number; headers: Record<string, string> } {
  const [first = '', ...lines] = text.split('\r\n');
  const status = /^HTTP\/1\.1 ([1-5]\d\d) [\x20-\x7e]*$/.exec(first)?.[1];
  if (status === undefined) throw new NoAnswer(`not a status line: ${JSON.stringify(first.slice(0, 200))}`);
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+): *([\t\x20-\x7e\x80-\xff]*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new NoAnswer(`not a header: ${JSON.stringify(line)}`);
    if (name.toLowerCase() in headers) throw new NoAnswer(`${name} is repeated`);
    headers[name.toLowerCase()] = value;
  }
  return { status: Number(status), headers };
}

type Taken = { body: Buffer; end: number } | undefined;

function parseBody(bytes: Buffer, start: number, headers: Record<string, string>, isOver: boolean): Taken {
  const { 'content-length': length, 'transfer-encoding': coding } = headers;
  if (coding !== undefined) {
    if (coding !== 'chunked' || length !== undefined) throw new NoAnswer(`framed by ${coding} and ${length}`);
    return parseChunks(bytes, start);
  }
  if (length === undefined) return isOver ? { body: bytes.subarray(start), end: bytes.length } : undefined;
  if (!/^\d+$/.test(length)) throw new NoAnswer(`Content-Length: ${length}`);
  const end = start + Number(length);
  return end <= bytes.length ? { body: bytes.subarray(start, end), end } : undefined;
}

function parseChunks(bytes: Buffer, start: number): Taken {
  const pieces: Buffer[] = [];
  let at = start;
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return undefined;
    const size = bytes.toString('latin1', at, lineEnd);
    if (!/^[0-9a-f]{1,8}$/i.test(size)) throw new NoAnswer(`not a chunk size: ${JSON.stringify(size.slice(0, 40))}`);
    const from = lineEnd + 2;
    const end = from + Number.parseInt(size, 16);
    if (bytes.length < end + 2) return undefined;
    if (bytes.toString('latin1', end, end + 2) !== '\r\n') throw new NoAnswer('a chunk does not end where it should');
    at = end + 2;
    if (end === from) return { body: Buffer.concat(pieces), end: at };
    pieces.push(bytes.subarray(from, end));
  }
}
