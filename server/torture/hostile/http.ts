import { METHODS } from 'node:http';
import type { Random } from '../support/random.ts';
import { type Fate, type Header, hiddenId } from './shot.ts';

/** Oddities of HTTP itself, each with what must become of a request that has it. */

const known = METHODS.filter((method) => !['CONNECT', 'QUERY'].includes(method));

export const oddMethods: readonly (readonly [string, Fate])[] = [
  ...known.map((method) => [method, 'answered'] as const),
  ['QUERY', 'answered'],
  ['CONNECT', 'refused'],
  ['get', 'refused'],
  ['Get', 'refused'],
  ['patch', 'refused'],
  ['FOO', 'refused'],
  ['GETT', 'refused'],
  ['G', 'refused'],
  ['', 'refused'],
  ['PRI', 'refused'],
  ['__proto__', 'refused'],
  ['A'.repeat(3000), 'refused'],
  ['GET\t', 'refused'],
  ['\0GET', 'refused'],
];

type ChangeTarget = (target: string, random: Random) => string;

export const oddTargets: readonly (readonly [string, ChangeTarget, Fate])[] = [
  ['as it is', (target) => target, 'answered'],
  ['unknown', () => '/no/such/path', 'answered'],
  ['doubled', (target) => target.replaceAll('/', '//'), 'answered'],
  ['with dots', (target) => `/./a/..${target}`, 'answered'],
  ['with encoded dots', (target) => `/%2e%2e${target}`, 'answered'],
  ['with a slash at the end', (target) => target.replace(/(\?|$)/, '/$1'), 'answered'],
  ['in capitals', (target) => target.toUpperCase(), 'answered'],
  ['all encoded', (target) => `/${encodeAll(target.slice(1))}`, 'answered'],
  ['with an encoded slash', (target) => target.replaceAll(/(?<=.)\//g, '%2f'), 'answered'],
  ['badly encoded', (target) => `${target}%`, 'answered'],
  ['badly encoded inside', (target) => target.replace('/', '/%zz'), 'answered'],
  ['with an encoded NUL', (target) => target.replace(/(\?|$)/, '%00$1'), 'answered'],
  ['with a backslash', (target) => target.replaceAll('/', '\\').replace('\\', '/'), 'answered'],
  ['long', (target) => `${target}${target.includes('?') ? '&' : '?'}x=${'x'.repeat(8000)}`, 'answered'],
  ['of many parts', () => '/a'.repeat(4000), 'answered'],
  ['of many questions', (target) => target + '?'.repeat(2000), 'answered'],
  ['overlong', (target) => `${target}?${'x'.repeat(17_000)}`, 'refused'],
  ['absolute', (target) => `http://localhost${target}`, 'answered'],
  ['absolute elsewhere', (target) => `HTTP://user@example.org:99${target}`, 'answered'],
  ['absolute alone', () => 'http://localhost', 'answered'],
  ['of another scheme', (target) => `ftp://localhost${target}`, 'answered'],
  ['asterisk', () => '*', 'answered'],
  ['authority', () => 'localhost:80', 'refused'],
  ['without a slash', (target) => target.slice(1), 'refused'],
  ['empty', () => '', 'refused'],
  ['with a fragment', (target) => `${target}#x`, 'answered'],
  ['with a space', (target) => `${target} x`, 'refused'],
  ['with a tab', (target) => `${target}\tx`, 'refused'],
  ['with a NUL', (target) => `${target}\0`, 'refused'],
  ['with a control character', (target) => `${target}\x01`, 'refused'],
  ['with bytes beyond ASCII', (target) => `${target}\xe4\xbd\xa0`, 'refused'],
  ['with raw bytes', (target, random) => `${target}${random.bytes(6).toString('latin1')}`, 'either'],
  ['with semicolons', (target) => target.replace(/(\?|$)/, ';a=b;c$1'), 'answered'],
];

function encodeAll(text: string): string {
  return text.replaceAll(/[a-z]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
}

export const oddVersions: readonly (readonly [string, Fate])[] = [
  ['HTTP/1.0', 'ends'],
  ['HTTP/0.9', 'ends'],
  ['HTTP/1.2', 'refused'],
  ['HTTP/2.0', 'ends'],
  ['HTTP/11', 'refused'],
  ['http/1.1', 'refused'],
  ['HTTP/1.1x', 'refused'],
  ['HTTP/1.', 'refused'],
  ['HTTPS/1.1', 'refused'],
  ['ICE/1.0', 'refused'],
  ['', 'refused'],
];

/** Lines of headers as they are sent. `replaces`: without the header of this name that the request has. */
export type OddHeader = { about: string; lines: (random: Random) => string; fate: Fate; replaces?: string };

const lines = (about: string, text: string, fate: Fate = 'answered', replaces?: string): OddHeader => ({
  about,
  lines: () => text,
  fate,
  ...(replaces !== undefined && { replaces }),
});

export const oddHeaders: readonly OddHeader[] = [
  lines('large', `X-Large: ${'l'.repeat(8000)}\r\n`),
  lines('too large', `X-Large: ${'l'.repeat(20_000)}\r\n`, 'refused'),
  lines('many', Array.from({ length: 900 }, (_, at) => `h${at}: ${at}\r\n`).join('')),
  lines('too many', Array.from({ length: 4000 }, (_, at) => `h${at}: ${at}\r\n`).join(''), 'refused'),
  lines('empty value', 'X-Empty:\r\n'),
  lines('second Host', 'Host: elsewhere\r\n'),
  lines('no Host', '', 'answered', 'Host'),
  lines('odd Host', 'Host: ://\\@[::]:99999\r\n', 'answered', 'Host'),
  lines('two request ids', 'X-Request-Id: two\r\n', 'either', 'X-Request-Id'),
  lines('request id with a script', 'X-Request-Id: <script>\r\n', 'either', 'X-Request-Id'),
  lines('long request id', `X-Request-Id: ${'i'.repeat(5000)}\r\n`, 'either', 'X-Request-Id'),
  lines('second Authorization', 'Authorization: Bearer app-x\r\n'),
  lines('second Content-Type', 'Content-Type: text/html\r\n'),
  lines('other Content-Type', 'content-type: text/plain\r\n', 'answered', 'content-type'),
  lines('charset', 'content-type: application/json; charset=utf-16\r\n', 'answered', 'content-type'),
  lines('broken Content-Type', 'content-type: ;;;/=\r\n', 'answered', 'content-type'),
  lines('no Content-Type', '', 'answered', 'content-type'),
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
  lines('Upgrade websocket', 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: eA==\r\n', 'ends'),
  lines('Upgrade h2c', 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n', 'ends'),
  lines('Upgrade alone', 'Upgrade: x\r\n', 'ends'),
  lines('Connection keep-alive and close', 'Connection: keep-alive, close\r\n', 'ends'),
  lines('Connection names', 'Connection: authorization, host, x-request-id, TE\r\n'),
  lines('Connection odd', 'Connection: ,,;"\r\n'),
  lines('Keep-Alive', 'Keep-Alive: timeout=-1, max=0\r\nConnection: keep-alive\r\n'),
  lines('TE', 'TE: trailers, deflate;q=0.5\r\nTrailer: Authorization\r\n'),
  lines('folded', 'X-Fold: a\r\n b\r\n', 'refused'),
  lines('folded first', ' X-Fold: a\r\n', 'refused'),
  lines('bare LF', 'X-A: a\nX-B: b\r\n', 'refused'),
  lines('bare LF that hides', `X-A: a\n\nGET /health/live HTTP/1.1\r\nX-Request-Id: ${hiddenId}\r\n`, 'refused'),
  lines('bare CR', 'X-A: a\rX-B: b\r\n', 'refused'),
  lines('bare CR that hides', `X-A: a\r\rGET /health/live HTTP/1.1\r\nX-Request-Id: ${hiddenId}\r\n`, 'refused'),
  lines('no colon', 'nonsense\r\n', 'refused'),
  lines('no name', ': x\r\n', 'refused'),
  lines('space before the colon', 'X-A : b\r\n', 'refused'),
  lines('space in the name', 'X A: b\r\n', 'refused'),
  lines('name beyond ASCII', 'X-\xe4: b\r\n', 'refused'),
  lines('NUL in the name', 'X-\0: b\r\n', 'refused'),
  lines('NUL in the value', 'X-A: \0\r\n', 'refused'),
  lines('DEL in the value', 'X-A: \x7f\r\n', 'refused'),
  lines('control character in the value', 'X-A: \x1b[0m\r\n', 'refused'),
  lines('bytes beyond ASCII in the value', 'X-A: \xff\xfe\xe4\r\n'),
  { about: 'random bytes', lines: (random) => `X-A: ${random.bytes(20).toString('latin1')}\r\n`, fate: 'either' },
  { about: 'random name', lines: (random) => `${random.bytes(8).toString('latin1')}: x\r\n`, fate: 'either' },
];

/** A way to frame a body, right or wrong. What is hidden behind it must never be answered as a request. */
export type Framing = {
  about: string;
  frame: (body: Buffer) => { headers: Header[]; body: Buffer };
  fate: Fate;
  isCompressed?: boolean;
};

const hidden = Buffer.from(`GET /health/live HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${hiddenId}\r\n\r\n`);
const chunk = (body: Buffer, size = body.length.toString(16), after = '\r\n') =>
  Buffer.concat([Buffer.from(`${size}\r\n`), body, Buffer.from(after)]);
const last = Buffer.from('0\r\n\r\n');

/** Chunked, with this in place of plain chunks. */
const chunked = (about: string, fate: Fate, pieces: (body: Buffer) => (Buffer | string)[]): Framing => ({
  about,
  fate,
  frame: (body) => ({
    headers: [['Transfer-Encoding', 'chunked']],
    body: Buffer.concat(pieces(body).map((piece) => Buffer.from(piece as string))),
  }),
});

/** Contradictory lengths, with another request hidden where one reading of them ends. */
const hiding = (about: string, ...headers: (Header | 'length')[]): Framing => ({
  about,
  fate: 'refused',
  frame: (body) => {
    const whole = Buffer.concat([chunk(body), last, hidden]);
    const own: Header = ['Content-Length', String(whole.length)];
    return { headers: headers.map((one) => (one === 'length' ? own : one)), body: whole };
  },
});

const te = (value: string): Header => ['Transfer-Encoding', value];

export const framings: readonly Framing[] = [
  chunked('chunked', 'answered', (body) => [chunk(body), last]),
  chunked('chunked byte by byte', 'answered', (body) => [...body].map((byte) => chunk(Buffer.of(byte))).concat(last)),
  chunked('chunk extensions', 'answered', (body) => [chunk(body, `${body.length.toString(16)};a="b";c`), last]),
  chunked('trailers', 'answered', (body) => [chunk(body), '0\r\nX-Trailer: a\r\nAuthorization: Bearer x\r\n\r\n']),
  chunked('leading zeros', 'answered', (body) => [chunk(body, `0000${body.length.toString(16)}`), last]),
  chunked('no chunk size', 'refused', (body) => [chunk(body, ''), last]),
  chunked('a chunk size that is none', 'refused', (body) => [chunk(body, 'zz'), last]),
  chunked('a negative chunk size', 'refused', (body) => [chunk(body, '-5'), last]),
  chunked('a chunk size with 0x', 'refused', (body) => [chunk(body, `0x${body.length.toString(16)}`), last]),
  chunked('a chunk size beyond all numbers', 'refused', (body) => [chunk(body, 'f'.repeat(17)), last]),
  chunked('a chunk longer than it says', 'refused', (body) => [chunk(body, '2'), last]),
  chunked('a chunk that ends with LF', 'refused', (body) => [chunk(body, undefined, '\n'), last, hidden]),
  chunked('a bad trailer', 'refused', (body) => [chunk(body), '0\r\nbad trailer\r\n\r\n']),
  chunked('a chunk extension without end', 'refused', (body) => [chunk(body, `5;${'e'.repeat(20_000)}`), last]),
  hiding('two lengths', ['Content-Length', '3'], 'length'),
  hiding('two lengths, the other first', 'length', ['Content-Length', '3']),
  hiding('a list of lengths', ['Content-Length', '3, 3']),
  hiding('a length with a sign', ['Content-Length', '+3']),
  hiding('a length in hex', ['Content-Length', '0x3']),
  hiding('a length with a space inside', ['Content-Length', '1 0']),
  hiding('an empty length', ['Content-Length', '']),
  hiding('a length and chunks', 'length', te('chunked')),
  hiding('chunks and a length', te('chunked'), 'length'),
  hiding('chunks and no length', te('chunked'), ['Content-Length', '0']),
  hiding('a length and odd chunks', 'length', te('xchunked')),
  hiding('a length and identity', 'length', te('identity')),
  hiding('chunks that are not last', te('chunked, identity')),
  hiding('unknown coding', te('xchunked')),
  hiding('identity', te('identity')),
  hiding('coding in quotes', te('"chunked"')),
  hiding('coding with a tab', te('chunked\x0b')),
  hiding('two codings', te('chunked'), te('identity')),
  hiding('a space before the colon', ['Transfer-Encoding ', 'chunked'], 'length'),
  hiding('a folded coding', ['Transfer-Encoding', '\r\n chunked'], 'length'),
  {
    about: 'gzip',
    isCompressed: true,
    fate: 'answered',
    frame: (body) => ({ headers: [['Content-Encoding', 'gzip']], body }),
  },
  { about: 'gzip unsaid', isCompressed: true, fate: 'answered', frame: (body) => ({ headers: [], body }) },
];
