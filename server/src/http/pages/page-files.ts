import { createHash } from 'node:crypto';
import { promisify } from 'node:util';

/** A file in the form that is sent to browsers. */
export type PageFile = { type: string; bytes: Buffer; gzipped: Buffer; tag: string };

const types: Record<string, string> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json; charset=utf-8',
  md: 'text/markdown; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
  woff2: 'font/woff2',
};

/** Content as a file; the extension of the name gives its type. */
export async function packFile(name: string, content: string | Uint8Array): Promise<PageFile> {
  const type = types[name.split('.').at(-1) ?? ''];
  if (type === undefined) throw new Error(`no content type for ${name}`);
  // Loaded on the first request for a page, not at every start.
  const { gzip } = await import('node:zlib');
  const bytes = Buffer.from(content);
  const tag = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
  return { type, bytes, gzipped: await promisify(gzip)(bytes, { level: 9 }), tag };
}

/** Computes a result on the first call and caches it. A failure is not cached. */
export function cachedResult<T>(compute: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => {
    result ??= compute().catch((error) => {
      result = undefined;
      throw error;
    });
    return result;
  };
}
