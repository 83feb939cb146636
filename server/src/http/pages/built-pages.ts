import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { BroadcastChannel } from 'node:worker_threads';
import type { App, Dependencies } from '../route-types.ts';
import { cachedResult } from './page-files.ts';

export type PageName = 'console' | 'docs';
/** A page with its content security policy, and the files that it loads. */
export type BuiltPage = { html: string; policy: string; files: [name: string, bytes: Uint8Array][] };
export type BuiltPages = Record<PageName, BuiltPage>;

/** The npm package contains the pages as they are served; a checkout contains their sources and what builds them. */
const packed = new URL('../../web/', import.meta.url);
const builder = new URL('../../../../web/build.ts', import.meta.url);

export function pageReader(app: App, { worker: { worker, shared }, logger }: Dependencies): () => Promise<BuiltPages> {
  if (existsSync(packed)) return cachedResult(readPacked);
  const build = async (): Promise<BuiltPages> => {
    const start = performance.now();
    const { buildPages } = await import(builder.href);
    const pages = await buildPages();
    logger.debug({ millis: Math.round(performance.now() - start) }, 'built the web pages');
    return pages;
  };
  if (shared.workers === 1) return cachedResult(build);
  const channel = new BroadcastChannel(`${shared.channel}-pages`);
  channel.unref();
  app.addHook('onClose', async () => channel.close());
  return cachedResult(worker === 0 ? buildForAll(channel, cachedResult(build)) : () => askForPages(channel));
}

type Message = 'build' | { pages: BuiltPages } | { error: string };

/** The main thread, which is worker 0, builds the pages for all workers. */
function buildForAll(channel: BroadcastChannel, build: () => Promise<BuiltPages>): () => Promise<BuiltPages> {
  channel.onmessage = async ({ data }: { data: Message }) => {
    if (data !== 'build') return;
    const built = build().then((pages) => ({ pages }));
    channel.postMessage(await built.catch(({ message }: Error) => ({ error: message }) satisfies Message));
  };
  return build;
}

function askForPages(channel: BroadcastChannel): Promise<BuiltPages> {
  return new Promise((resolve, reject) => {
    channel.onmessage = ({ data }: { data: Message }) => {
      if (data === 'build') return;
      if ('pages' in data) resolve(data.pages);
      else reject(new Error(data.error));
    };
    channel.postMessage('build' satisfies Message);
  });
}

async function readPacked(): Promise<BuiltPages> {
  const pages: BuiltPages = JSON.parse(await readFile(new URL('pages.json', packed), 'utf8'));
  for (const [name, page] of Object.entries(pages)) {
    const folder = new URL(`${name}/`, packed);
    page.files = [];
    for (const file of await readdir(folder)) page.files.push([file, await readFile(new URL(file, folder))]);
  }
  return pages;
}
