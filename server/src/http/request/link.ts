/**
 * The value of a `Link` header that leads to the next page: the request with this parameter, and without those that it
 * replaces. The other parameters are repeated exactly as the request has them, so that they mean the same.
 */
export function linkToNext(
  path: string,
  url: string,
  name: string,
  value: string,
  replaced: readonly string[] = [],
): string {
  let rest = '';
  const query = url.indexOf('?');
  for (let start = query === -1 ? url.length : query + 1, end: number; start < url.length; start = end + 1) {
    end = url.indexOf('&', start);
    if (end === -1) end = url.length;
    const equals = url.indexOf('=', start);
    const hasValue = equals > start && equals + 1 < end;
    if (!hasValue) continue;
    const other = decodeName(url.slice(start, equals)) ?? '';
    if (other !== name && !replaced.includes(other)) rest += `${url.slice(start, end)}&`;
  }
  const safe = unsafeInLink.test(rest) ? rest.replace(unsafeInLinks, percentEncode) : rest;
  return `<${path}?${safe}${name}=${value}>; rel="next"`;
}

const decodeName = (encoded: string): string | undefined =>
  /[%+]/.test(encoded) ? new URLSearchParams(encoded).keys().next().value : encoded;
const unsafeInLink = /[^\x21-\x7e]|["<>\\^`{|}]/;
const unsafeInLinks = new RegExp(unsafeInLink, 'g');
const percentEncode = (char: string): string => `%${char.charCodeAt(0).toString(16).padStart(2, '0')}`;
