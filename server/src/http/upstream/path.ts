import { ServiceError } from '../../domain/errors.ts';

/** Encodings inside encodings: a server behind us might decode more than once. */
const decodingsMax = 4;
const escaped = /%([0-9a-f]{2})/gi;

/** The path and query of a request to the upstream, exactly as received, but below the upstream's base path. */
export function upstreamPath(url: string, prefix: string, basePath: string): string {
  requireInside(url.split('?', 1)[0] as string);
  return basePath + url.slice(prefix.length);
}

/** A path with `.` or `..`, however it is spelled, could lead out of the base path. */
function requireInside(path: string): void {
  let decoded = path;
  for (let count = 0; escaped.test(decoded); count += 1) {
    if (count === decodingsMax) throw invalidPath('is encoded too often');
    decoded = decoded.replace(escaped, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  }
  if (/[#\x00-\x1f\x7f]/.test(decoded)) throw invalidPath('contains a character that no path has');
  const isDots = (segment: string) => /^\s*\.{1,2}\s*(;.*)?$/.test(segment);
  if (decoded.split(/[/\\]/).some(isDots)) throw invalidPath('contains . or .. as a segment');
}

const invalidPath = (problem: string) => new ServiceError('bad_request', `the path ${problem}`);
