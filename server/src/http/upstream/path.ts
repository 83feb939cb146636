import { notFound, ServiceError } from '../../domain/errors.ts';

/** Encodings inside encodings: the upstream might decode more than once. */
const decodingsMax = 4;

/** The path and query of a request to the upstream, exactly as received, but below the upstream's base path. */
export function upstreamPath(url: string, prefix: string, basePath: string): string {
  // The router has decoded it: `/%761` is `/v1` to it, and to no one else.
  if (!url.startsWith(`${prefix}/`)) throw notFound('no such route');
  requireInside(url.split('?', 1)[0] as string);
  return basePath + url.slice(prefix.length);
}

/** A path with `.` or `..`, however it is spelled, could lead out of the base path. */
function requireInside(path: string): void {
  const decoded = decodeAll(path);
  if (hasEscape(decoded)) throw invalidPath('is encoded too often');
  if (/[#\x00-\x1f\x7f]/.test(decoded)) throw invalidPath('contains a character that no path has');
  const isDots = (segment: string) => /^\s*\.{1,2}\s*(;.*)?$/.test(segment);
  if (decoded.split(/[/\\]/).some(isDots)) throw invalidPath('contains . or .. as a segment');
}

/** Without escapes, unless they are encoded too often. A character is a byte. */
export function decodeAll(text: string): string {
  let decoded = text;
  for (let count = 0; count < decodingsMax && hasEscape(decoded); count += 1) {
    decoded = decoded.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  }
  return decoded;
}

const hasEscape = (text: string): boolean => /%[0-9a-f]{2}/i.test(text);
const invalidPath = (problem: string) => new ServiceError('bad_request', `the path ${problem}`);
