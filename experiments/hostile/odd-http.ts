import { METHODS } from 'node:http';
import type { Random } from '../support/random.ts';
import { type Expectation, type Header, smuggledId } from './exchange.ts';

/** Unusual and invalid HTTP, each with the expected result of a request that has it. */

const regularMethods = METHODS.filter((method) => !['CONNECT', 'QUERY'].includes(method));

export const oddMethods: readonly (readonly [string, Expectation])[] = [
  ...regularMethods.map((method) => [method, 'handled'] as const),
  ['QUERY', 'handled'],
  ['CONNECT', 'rejected'],
  ['get', 'rejected'],
  ['Get', 'rejected'],
  ['patch', 'rejected'],
  ['FOO', 'rejected'],
  ['GETT', 'rejected'],
  ['G', 'rejected'],
  ['', 'rejected'],
  ['PRI', 'rejected'],
  ['__proto__', 'rejected'],
  ['A'.repeat(3000), 'rejected'],
  ['GET\t', 'rejected'],
  ['\0GET', 'rejected'],
];

type ChangeTarget = (target: string, random: Random) => string;

export const oddTargets: readonly (readonly [string, ChangeTarget, Expectation])[] = [
  ['unchanged', (target) => target, 'handled'],
  ['unknown', () => '/no/such/path', 'handled'],
  ['with doubled slashes', (target) => target.replaceAll('/', '//'), 'handled'],
  ['with dots', (target) => `/./a/..${target}`, 'handled'],
  ['with encoded dots', (target) => `/%2e%2e${target}`, 'handled'],
  ['with a slash at the end', (target) => target.replace(/(\?|$)/, '/$1'), 'handled'],
  ['in capitals', (target) => target.toUpperCase(), 'handled'],
  ['all encoded', (target) => `/${encodeAll(target.slice(1))}`, 'handled'],
  ['with an encoded slash', (target) => target.replaceAll(/(?<=.)\//g, '%2f'), 'handled'],
  ['badly encoded', (target) => `${target}%`, 'handled'],
  ['badly encoded inside', (target) => target.replace('/', '/%zz'), 'handled'],
  ['with an encoded NUL', (target) => target.replace(/(\?|$)/, '%00$1'), 'handled'],
  ['with a backslash', (target) => target.replaceAll('/', '\\').replace('\\', '/'), 'handled'],
  ['long', (target) => `${target}${target.includes('?') ? '&' : '?'}x=${'x'.repeat(8000)}`, 'handled'],
  ['with many segments', () => '/a'.repeat(4000), 'handled'],
  ['with many question marks', (target) => target + '?'.repeat(2000), 'handled'],
  ['too long', (target) => `${target}?${'x'.repeat(17_000)}`, 'rejected'],
  ['absolute', (target) => `http://localhost${target}`, 'handled'],
  ['absolute with another host', (target) => `HTTP://user@example.org:99${target}`, 'handled'],
  ['absolute without a path', () => 'http://localhost', 'handled'],
  ['with another scheme', (target) => `ftp://localhost${target}`, 'handled'],
  ['asterisk', () => '*', 'handled'],
  ['authority', () => 'localhost:80', 'rejected'],
  ['without a slash', (target) => target.slice(1), 'rejected'],
  ['empty', () => '', 'rejected'],
  ['with a fragment', (target) => `${target}#x`, 'handled'],
  ['with a space', (target) => `${target} x`, 'rejected'],
  ['with a tab', (target) => `${target}\tx`, 'rejected'],
  ['with a NUL', (target) => `${target}\0`, 'rejected'],
  ['with a control character', (target) => `${target}\x01`, 'rejected'],
  ['with bytes beyond ASCII', (target) => `${target}\xe4\xbd\xa0`, 'rejected'],
  ['with raw bytes', (target, random) => `${target}${random.bytes(6).toString('latin1')}`, 'either'],
  ['with semicolons', (target) => target.replace(/(\?|$)/, ';a=b;c$1'), 'handled'],
];

function encodeAll(text: string): string {
  return text.replaceAll(/[a-z]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
}

export const oddVersions: readonly (readonly [string, Expectation])[] = [
  ['HTTP/1.0', 'closes'],
  ['HTTP/0.9', 'closes'],
  ['HTTP/1.2', 'rejected'],
  ['HTTP/2.0', 'closes'],
  ['HTTP/11', 'rejected'],
  ['http/1.1', 'rejected'],
  ['HTTP/1.1x', 'rejected'],
  ['HTTP/1.', 'rejected'],
  ['HTTPS/1.1', 'rejected'],
  ['ICE/1.0', 'rejected'],
  ['', 'rejected'],
];

/** Raw header lines. `replaces` names the header of the request that is left out. */
export type OddHeader = {
  description: string;
  lines: (random: Random) => string;
  expectation: Expectation;
  replaces?: string;
};

const lines = (
  description: string,
  text: string,
  expectation: Expectation = 'handled',
  replaces?: string,
): OddHeader => ({
  description,
  lines: () => text,
  expectation,
  ...(replaces !== undefined && { replaces }),
});

export const oddHeaders: readonly OddHeader[] = [
  lines('large', `X-Large: ${'l'.repeat(8000)}\r\n`),
  lines('too large', `X-Large: ${'l'.repeat(20_000)}\r\n`, 'rejected'),
  lines('many', Array.from({ length: 900 }, (_, at) => `h${at}: ${at}\r\n`).join('')),
  lines('too many', Array.from({ length: 4000 }, (_, at) => `h${at}: ${at}\r\n`).join(''), 'rejected'),
  lines('empty value', 'X-Empty:\r\n'),
  lines('second Host', 'Host: elsewhere\r\n'),
  lines('no Host', '', 'handled', 'Host'),
  lines('odd Host', 'Host: ://\\@[::]:99999\r\n', 'handled', 'Host'),
  lines('two request ids', 'X-Request-Id: two\r\n', 'either', 'X-Request-Id'),
  lines('request id with a script', 'X-Request-Id: <script>\r\n', 'either', 'X-Request-Id'),
  lines('long request id', `X-Request-Id: ${'i'.repeat(5000)}\r\n`, 'either', 'X-Request-Id'),
  lines('second Authorization', 'Authorization: Bearer app-x\r\n'),
  lines('second Content-Type', 'Content-Type: text/html\r\n'),
  lines('other Content-Type', 'content-type: text/plain\r\n', 'handled', 'content-type'),
  lines('charset', 'content-type: application/json; charset=utf-16\r\n', 'handled', 'content-type'),
  lines('broken Content-Type', 'content-type: ;;;/=\r\n', 'handled', 'content-type'),
  lines('no Content-Type', '', 'handled', 'content-type'),
  lines('Content-Encoding', 'content-encoding: gzip\r\n'),
  lines('Range', 'Range: bytes=0-1,5-,-9\r\n'),
  lines('If-Range', 'If-Range: "x"\r\nRange: bytes=0-0\r\n'),
  lines('If-Modified-Since', 'If-Modified-Since: yesterday\r\nIf-Unmodified-Since: 0\r\n'),
  lines('Accept', 'Accept: text/html;q=0, */*;q=NaN\r\nAccept-Encoding: gzip, br, *;q=0\r\n'),
  lines('prototype names', '__proto__: 1\r\nconstructor: 2\r\ntoString: 3\r\nhasOwnProperty: 4\r\n'),
  lines('cookies', `Cookie: ${'a=b; '.repeat(500)}\r\nCookie: c=d\r\n`),
  lines('forwarded', 'X-Forwarded-For: 1.2.3.4\r\nForwarded: for="[::1]"\r\nX-HTTP-Method-Override: DELETE\r\n'),
  lines('CORS', 'Origin: null\r\nAccess-Control-Request-Method: PATCH\r\n'),
  lines('Expect continue', 'Expect: 100-continue\r\n'),
  lines('Expect otherwise', 'Expect: miracles\r\n'),
  lines('Expect twice', 'Expect: 100-continue\r\nExpect: 100-continue\r\n'),
  lines('Upgrade websocket', 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: eA==\r\n', 'closes'),
  lines('Upgrade h2c', 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n', 'closes'),
  lines('Upgrade alone', 'Upgrade: x\r\n', 'closes'),
  lines('Connection keep-alive and close', 'Connection: keep-alive, close\r\n', 'closes'),
  lines('Connection names', 'Connection: authorization, host, x-request-id, TE\r\n'),
  lines('Connection odd', 'Connection: ,,;"\r\n'),
  lines('Keep-Alive', 'Keep-Alive: timeout=-1, max=0\r\nConnection: keep-alive\r\n'),
  lines('TE', 'TE: trailers, deflate;q=0.5\r\nTrailer: Authorization\r\n'),
  lines('folded', 'X-Fold: a\r\n b\r\n', 'rejected'),
  lines('folded first', ' X-Fold: a\r\n', 'rejected'),
  lines('bare LF', 'X-A: a\nX-B: b\r\n', 'rejected'),
  lines(
    'bare LF that smuggles a request',
    `X-A: a\n\nGET /health/live HTTP/1.1\r\nX-Request-Id: ${smuggledId}\r\n`,
    'rejected',
  ),
  lines('bare CR', 'X-A: a\rX-B: b\r\n', 'rejected'),
  lines(
    'bare CR that smuggles a request',
    `X-A: a\r\rGET /health/live HTTP/1.1\r\nX-Request-Id: ${smuggledId}\r\n`,
    'rejected',
  ),
  lines('no colon', 'nonsense\r\n', 'rejected'),
  lines('no name', ': x\r\n', 'rejected'),
  lines('space before the colon', 'X-A : b\r\n', 'rejected'),
  lines('space in the name', 'X A: b\r\n', 'rejected'),
  lines('name beyond ASCII', 'X-\xe4: b\r\n', 'rejected'),
  lines('NUL in the name', 'X-\0: b\r\n', 'rejected'),
  lines('NUL in the value', 'X-A: \0\r\n', 'rejected'),
  lines('DEL in the value', 'X-A: \x7f\r\n', 'rejected'),
  lines('control character in the value', 'X-A: \x1b[0m\r\n', 'rejected'),
  lines('bytes beyond ASCII in the value', 'X-A: \xff\xfe\xe4\r\n'),
  {
    description: 'random bytes',
    lines: (random) => `X-A: ${random.bytes(20).toString('latin1')}\r\n`,
    expectation: 'either',
  },
  {
    description: 'random name',
    // A line break would end the headers, and another request would begin.
    lines: (random) =>
      `${random
        .bytes(8)
        .toString('latin1')
        .replaceAll(/[\r\n]/g, '_')}: x\r\n`,
    expectation: 'either',
  },
];

/** A valid or invalid way to frame a body. A request smuggled in the body must never get a response. */
export type Framing = {
  description: string;
  frame: (body: Buffer) => { headers: Header[]; body: Buffer };
  expectation: Expectation;
  isCompressed?: boolean;
};

const smuggledRequest = Buffer.from(`GET /health/live HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${smuggledId}\r\n\r\n`);
const chunk = (body: Buffer, size = body.length.toString(16), after = '\r\n') =>
  Buffer.concat([Buffer.from(`${size}\r\n`), body, Buffer.from(after)]);
const last = Buffer.from('0\r\n\r\n');

/** A chunked body with these parts. */
const chunked = (
  description: string,
  expectation: Expectation,
  parts: (body: Buffer) => (Buffer | string)[],
): Framing => ({
  description,
  expectation,
  frame: (body) => ({
    headers: [['Transfer-Encoding', 'chunked']],
    body: Buffer.concat(parts(body).map((part) => Buffer.from(part as string))),
  }),
});

/** Request smuggling: ambiguous lengths, with a second request where one interpretation of them ends. */
const smuggling = (description: string, ...headers: (Header | 'length')[]): Framing => ({
  description,
  expectation: 'rejected',
  frame: (body) => {
    const whole = Buffer.concat([chunk(body), last, smuggledRequest]);
    const fullLength: Header = ['Content-Length', String(whole.length)];
    return { headers: headers.map((one) => (one === 'length' ? fullLength : one)), body: whole };
  },
});

const transferEncoding = (value: string): Header => ['Transfer-Encoding', value];

export const framings: readonly Framing[] = [
  chunked('chunked', 'handled', (body) => [chunk(body), last]),
  chunked('chunked byte by byte', 'handled', (body) => [...body].map((byte) => chunk(Buffer.of(byte))).concat(last)),
  chunked('chunk extensions', 'handled', (body) => [chunk(body, `${body.length.toString(16)};a="b";c`), last]),
  chunked('trailers', 'handled', (body) => [chunk(body), '0\r\nX-Trailer: a\r\nAuthorization: Bearer x\r\n\r\n']),
  chunked('leading zeros', 'handled', (body) => [chunk(body, `0000${body.length.toString(16)}`), last]),
  chunked('no chunk size', 'rejected', (body) => [chunk(body, ''), last]),
  chunked('a chunk size that is not a number', 'rejected', (body) => [chunk(body, 'zz'), last]),
  chunked('a negative chunk size', 'rejected', (body) => [chunk(body, '-5'), last]),
  chunked('a chunk size with 0x', 'rejected', (body) => [chunk(body, `0x${body.length.toString(16)}`), last]),
  chunked('a chunk size that overflows', 'rejected', (body) => [chunk(body, 'f'.repeat(17)), last]),
  chunked('a chunk longer than its size', 'rejected', (body) => [chunk(body, '2'), last]),
  chunked('a chunk that ends with LF', 'rejected', (body) => [chunk(body, undefined, '\n'), last, smuggledRequest]),
  chunked('a bad trailer', 'rejected', (body) => [chunk(body), '0\r\nbad trailer\r\n\r\n']),
  chunked('a chunk extension without end', 'rejected', (body) => [chunk(body, `5;${'e'.repeat(20_000)}`), last]),
  smuggling('two lengths', ['Content-Length', '3'], 'length'),
  smuggling('two lengths, the other first', 'length', ['Content-Length', '3']),
  smuggling('a list of lengths', ['Content-Length', '3, 3']),
  smuggling('a length with a sign', ['Content-Length', '+3']),
  smuggling('a length in hex', ['Content-Length', '0x3']),
  smuggling('a length with a space inside', ['Content-Length', '1 0']),
  smuggling('an empty length', ['Content-Length', '']),
  smuggling('a length and chunks', 'length', transferEncoding('chunked')),
  smuggling('chunks and a length', transferEncoding('chunked'), 'length'),
  smuggling('chunks and a zero length', transferEncoding('chunked'), ['Content-Length', '0']),
  smuggling('a length and odd chunks', 'length', transferEncoding('xchunked')),
  smuggling('a length and identity', 'length', transferEncoding('identity')),
  smuggling('chunks that are not last', transferEncoding('chunked, identity')),
  smuggling('unknown coding', transferEncoding('xchunked')),
  smuggling('identity', transferEncoding('identity')),
  smuggling('coding in quotes', transferEncoding('"chunked"')),
  smuggling('coding with a tab', transferEncoding('chunked\x0b')),
  smuggling('two codings', transferEncoding('chunked'), transferEncoding('identity')),
  smuggling('a space before the colon', ['Transfer-Encoding ', 'chunked'], 'length'),
  smuggling('a folded coding', ['Transfer-Encoding', '\r\n chunked'], 'length'),
  {
    description: 'gzip',
    isCompressed: true,
    expectation: 'handled',
    frame: (body) => ({ headers: [['Content-Encoding', 'gzip']], body }),
  },
  {
    description: 'gzip without Content-Encoding',
    isCompressed: true,
    expectation: 'handled',
    frame: (body) => ({ headers: [], body }),
  },
];
