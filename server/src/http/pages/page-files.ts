import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { browserModule, libraryFileName } from './browser-module.ts';
import { readGuides } from './guides.ts';
import { joinModules } from './join-modules.ts';

/** A file in the form that is sent to browsers. */
export type PageFile = { type: string; bytes: Buffer; gzipped: Buffer; tag: string };
export type PageFiles = ReadonlyMap<string, PageFile>;

/** The npm package contains the pages ready for browsers; a checkout contains their TypeScript. */
const packed = new URL('../../web/', import.meta.url);
const checkout = new URL('../../../../web/', import.meta.url);

const types: Record<string, string> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json; charset=utf-8',
  md: 'text/markdown; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
  woff2: 'font/woff2',
};
/** Modules of the service that the console imports, so that a rule is stated once. They import nothing. */
const sharedRules: Record<string, readonly string[]> = {
  console: [
    'contract/key-kinds',
    'contract/limits',
    'contract/rules',
    'domain/records/count-words',
    'domain/words/word-diff',
  ],
};
const source = new URL('../../', import.meta.url);
const ownExtension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));

/** The typeface of all pages: its Latin letters. Other scripts use the fonts of the system. */
const typeface = '@fontsource-variable/inter/files/inter-latin-wght-normal.woff2';
export const typefaceName = 'inter.woff2';

/** Packages that the modules of a folder of `web/` import. */
const libraries: Record<string, readonly string[]> = {
  shared: ['preact', 'preact/hooks'],
  console: ['marked'],
  docs: ['marked'],
};

/** The files of one page, by their names: its joined modules and style sheets, the typeface, and what it loads later. */
export async function readPageFiles(page: string): Promise<PageFiles> {
  const files = new Map<string, PageFile>();
  const { sources, styles } = await readSources(page);
  for (const [name, text] of joinModules(sources)) files.set(name, await packFile(name, text));
  if (page === 'docs') for (const [name, text] of await guideFiles()) files.set(name, await packFile(name, text));
  files.set(typefaceName, await packFile(typefaceName, await readFile(new URL(import.meta.resolve(typeface)))));
  files.set(styleSheet, await packFile(styleSheet, styles.join('\n')));
  return files;
}

/** The modules of a page and of all pages, with unique names, and their style sheets. */
async function readSources(page: string): Promise<{ sources: Map<string, string>; styles: string[] }> {
  const root = existsSync(packed) ? packed : checkout;
  const sources = new Map<string, string>();
  const styles: string[] = [];
  for (const folder of ['shared', page]) {
    for (const library of libraries[folder] ?? [])
      sources.set(
        libraryFileName(library),
        browserModule(await readFile(new URL(import.meta.resolve(library)), 'utf8')),
      );
    for (const path of sharedRules[folder] ?? []) {
      const text = await readFile(new URL(path + ownExtension, source), 'utf8');
      sources.set(`${path.split('/').at(-1)}.js`, browserModule(text));
    }
    // Style sheets apply in the order of their names.
    const entries = await readdir(new URL(`${folder}/`, root), { recursive: true, withFileTypes: true });
    for (const { name: entry, parentPath } of entries.filter((one) => one.isFile()).sort(byName)) {
      if (!/\.(?:css|[jt]s)$/.test(entry)) continue;
      const text = await readFile(join(parentPath, entry), 'utf8');
      if (entry.endsWith('.css')) {
        styles.push(text);
        continue;
      }
      const name = entry.replace(/\.ts$/, '.js');
      if (sources.has(name)) throw new Error(`two files of the page ${page} have the name ${name}`);
      sources.set(name, entry.endsWith('.ts') ? browserModule(text) : text);
    }
  }
  return { sources, styles };
}

/** All guides for the page, and each for other readers. */
async function guideFiles(): Promise<[name: string, text: string][]> {
  const guides = await readGuides();
  return [
    ['guides.json', JSON.stringify(guides)],
    ...guides.map(({ name, text }): [string, string] => [`${name}.md`, text]),
  ];
}

/** The style sheets of a page, in one file. */
export const styleSheet = 'style.css';

const byName = (one: { name: string }, other: { name: string }) => (one.name < other.name ? -1 : 1);

/** Content as a file; the extension of the name gives its type. */
export async function packFile(name: string, content: string | Buffer): Promise<PageFile> {
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
