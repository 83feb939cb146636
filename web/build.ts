import { basename, parse } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Metafile, stop } from 'esbuild';
import type { BuiltPage, BuiltPages, PageName } from '../server/src/http/pages/built-pages.ts';
import { cachedResult } from '../server/src/http/pages/page-files.ts';
import { pageOf } from './html.ts';

/** `npm run dev`. */
const isDevelopment = process.execArgv.includes('--conditions=development');

/** Builds the pages in memory, once. */
export const buildPages: () => Promise<BuiltPages> = cachedResult(async () => {
  try {
    const [console, docs] = await Promise.all([buildPage('console'), buildPage('docs')]);
    return { console, docs };
  } finally {
    // The process of esbuild would stay as long as the service.
    await stop();
  }
});

async function buildPage(page: PageName): Promise<BuiltPage> {
  const main = `${page}/main.tsx`;
  const { outputFiles, metafile } = await build({
    absWorkingDir: fileURLToPath(new URL('.', import.meta.url)),
    entryPoints: [main, `${page}/style.css`],
    // As if every module imported it: what it imports is then one file, and not one for each set of views that need a part of it.
    inject: [main],
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2024',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    minify: true,
    sourcemap: isDevelopment && 'inline',
    loader: { '.woff2': 'file' },
    outdir: 'dist',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    write: false,
    metafile: true,
    logLevel: 'silent',
  });
  const outputs = Object.entries(metafile.outputs);
  const nameOf = (isIt: (output: Metafile['outputs'][string], path: string) => unknown): string => {
    const [path] = outputs.find(([path, output]) => isIt(output, path)) ?? [];
    if (path === undefined) throw new Error(`the build of ${main} lacks a file`);
    return basename(path);
  };
  const mainFile = nameOf(({ inputs }) => main in inputs);
  const neededBy = (path: string): string[] => [
    basename(path),
    ...(metafile.outputs[path]?.imports ?? [])
      .filter(({ kind, path }) => kind === 'import-statement' && basename(path) !== mainFile)
      .flatMap(({ path }) => neededBy(path)),
  ];
  const loadedLater = outputs.filter(([, { entryPoint = main }]) => /\.tsx?$/.test(entryPoint) && entryPoint !== main);
  const later = loadedLater.map(
    ([path, { entryPoint = '' }]) => [parse(entryPoint).name, [...new Set(neededBy(path))]] as const,
  );
  const style = nameOf((_, path) => path.endsWith('.css'));
  const font = nameOf((_, path) => path.endsWith('.woff2'));
  const files = outputFiles
    .map(({ path, contents }): [string, Uint8Array] => [basename(path), contents])
    // The entry point itself only imports the main file.
    .filter(([name]) => name === mainFile || !name.startsWith('main-'));
  return pageOf(page, { main: mainFile, style, font, later: Object.fromEntries(later) }, files, isDevelopment);
}
