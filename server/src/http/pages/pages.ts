import type { FastifyReply, FastifyRequest } from 'fastify';
import { notFound } from '../../domain/errors.ts';
import { matchesTag } from '../request/etag.ts';
import type { Dependencies, Routes } from '../route-types.ts';
import { type BuiltPage, type PageName, pageReader } from './built-pages.ts';
import { llmsText, readGuides } from './guides.ts';
import { cachedResult, type PageFile, packFile } from './page-files.ts';
import { readStarterRecords } from './starter-records.ts';

/** Browsers must not guess the content type, and must revalidate cached files each time, unless their name changes with them. */
const common = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-cache' };
const aYear = 'public, max-age=31536000, immutable';

/** Addresses that people type. */
const redirects = { '/': '/console', '/console/': '/console', '/docs/': '/docs' };

/** The web pages. Their files are read on the first request for a page. */
export const pageRoutes: Routes = (app, dependencies) => {
  const { clock } = dependencies;
  const hidden = { schema: { hide: true } } as const;
  for (const [from, to] of Object.entries(redirects))
    app.get(from, hidden, (_request, reply) => reply.headers(common).redirect(to));
  // The console offers to load them into an empty database.
  app.get('/console/starter.ndjson', hidden, async (_request, reply) =>
    reply
      .headers({ ...common, 'content-type': 'application/x-ndjson; charset=utf-8' })
      .send(await readStarterRecords(Math.floor(clock() / 1000))),
  );
  const llms = cachedResult(async () => packFile('llms.txt', llmsText(await readGuides())));
  app.get('/llms.txt', hidden, async (request, reply) => sendFile(request, reply, await llms()));
  const read = pageReader(app, dependencies);
  for (const name of ['console', 'docs'] as const) {
    const page = cachedResult(async () => packPage((await read())[name], name, signInMethods(dependencies)));
    app.get(`/${name}`, hidden, async (request, reply) => {
      const { html, policy } = await page();
      return sendFile(request, reply, html, { 'referrer-policy': 'no-referrer', 'content-security-policy': policy });
    });
    app.get(`/${name}/:file`, hidden, async (request, reply) => {
      const { file: name } = request.params as { file: string };
      const foundFile = (await page()).files.get(name);
      if (foundFile === undefined) throw notFound('no such route');
      return sendFile(request, reply, foundFile.file, foundFile.headers);
    });
  }
};

/** Attributes of the page that tell the console what sign-in it offers. The content security policy does not depend on them. */
function signInMethods({ oidc, sign_in }: Dependencies): string {
  const name = oidc?.options.name.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
  return `${name === undefined ? '' : ` data-oidc="${name}"`}${sign_in === 'oidc' ? ' data-keys="off"' : ''}`;
}

type Files = readonly (readonly [name: string, content: string | Uint8Array])[];

/** All guides for the page, and each for other readers. */
async function guideFiles(): Promise<Files> {
  const guides = await readGuides();
  return [['guides.json', JSON.stringify(guides)], ...guides.map(({ name, text }) => [`${name}.md`, text] as const)];
}

/** The HTML of a page, and its files by their names. */
async function packPage(page: BuiltPage, name: PageName, methods: string) {
  const texts = name === 'docs' ? await guideFiles() : [];
  const pack = (files: Files, headers: Record<string, string>) =>
    Promise.all(
      files.map(async ([name, content]) => [name, { file: await packFile(name, content), headers }] as const),
    );
  const html = name === 'console' ? page.html.replace('<html lang="en"', (start) => start + methods) : page.html;
  return {
    html: await packFile('index.html', html),
    policy: page.policy,
    files: new Map([...(await pack(page.files, { 'cache-control': aYear })), ...(await pack(texts, {}))]),
  };
}

/** Compressed if the client accepts it; 304 if the client has this version. */
export function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { type, bytes, gzipped, tag }: PageFile,
  headers: Record<string, string> = {},
) {
  reply.headers({ ...common, ...headers, etag: `"${tag}"`, vary: 'accept-encoding' });
  if (matchesTag(request.headers['if-none-match'], tag)) return reply.code(304).send();
  reply.header('content-type', type);
  return acceptsGzip(request.headers['accept-encoding'])
    ? reply.header('content-encoding', 'gzip').send(gzipped)
    : reply.send(bytes);
}

/** Whether gzip is listed, and not with a weight of 0, which means "not acceptable". */
function acceptsGzip(accepted = ''): boolean {
  return accepted.split(',').some((one) => {
    const [name = '', weight = ''] = one.split(';');
    return name.trim().toLowerCase() === 'gzip' && !/^\s*q=0(?:\.0*)?\s*$/i.test(weight);
  });
}
