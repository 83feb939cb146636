/** Characters that end a URL in Markdown, HTML or JSON. */
const urlEnd = '\\s"\'()<>\\[\\]{}|^`';

/** From `/files/` on: the path and the query of a link to a file. `\/` and `\u0026` are the escapes of JSON inside a text. */
const fileLink = new RegExp(
  `/files\\\\?/(?<path>[^${urlEnd}?#]{1,200})\\?(?<query>(?:[\\w%=&;~+-]|\\.(?=\\w)|\\\\u0026)*)`,
  'iy',
);

/** The part before `/files/` in an absolute link. */
const linkStart = new RegExp(`https?:[^${urlEnd}?#]*$`, 'i');
const linkStartMax = 500;

/**
 * Removes the signatures of links to files, which are valid for a few minutes only and are credentials until then. If
 * `filesBase` is given, it replaces everything before `/files/`. Unsigned links are unchanged.
 */
export function removeSignatures(text: string, filesBase: string | undefined): { text: string; count: number } {
  if (!text.includes('sign=')) return { text, count: 0 };
  let result = '';
  let copied = 0;
  let count = 0;
  for (let at = text.indexOf('/files'); at !== -1; at = text.indexOf('/files', at + 1)) {
    fileLink.lastIndex = at;
    const match = fileLink.exec(text);
    const { path = '', query = '' } = match?.groups ?? {};
    if (match === null || !isSigned(query)) continue;
    const start = linkStart.exec(text.slice(Math.max(copied, at - linkStartMax), at))?.[0].length ?? 0;
    const origin = filesBase === undefined ? text.slice(at - start, at) : withoutSlash(filesBase);
    result += `${text.slice(copied, at - start)}${origin}/files/${path}`;
    copied = at + match[0].length;
    at = copied - 1;
    count += 1;
  }
  return { text: count === 0 ? text : result + text.slice(copied), count };
}

const isSigned = (query: string): boolean =>
  /(?:^|[&;]|u0026)sign=/.test(query) && /timestamp=/.test(query) && /nonce=/.test(query);

export const withoutSlash = (base: string): string => base.replace(/\/+$/, '');
