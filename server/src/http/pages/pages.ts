import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { notFound } from '../../domain/errors.ts';
import { matchesTag } from '../request/etag.ts';
import type { Routes } from '../route-types.ts';
import { firstMoments } from './first-moments.ts';
import { llmsText, readGuides } from './guides.ts';
import { cachedResult, type PageFile, packFile, readPageFiles, styleSheet, typefaceName } from './page-files.ts';
import { readStarterRecords } from './starter-records.ts';

/** Scripts and styles are loaded only from this service; `images` adds sources of images. The page itself has one script. */
const policyOf = (images: string, script: string) =>
  `default-src 'none'; script-src 'self' 'sha256-${createHash('sha256').update(script).digest('base64')}'; style-src 'self'; img-src 'self' data:${images}; font-src 'self'; connect-src 'self'; ` +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/** Browsers must not guess the content type, and must revalidate cached files each time. */
const common = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-cache' };

/** The mark of the pages (`web/shared/controls.ts`), in colours for light and dark tabs. */
const icon =
  'data:image/svg+xml,' +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><rect width="24" height="24" rx="6" fill="#2456c6"/>' +
      '<path d="M6.5 17h11M6.5 12.5h5M16 13V7M13.3 9.6 16 6.9l2.7 2.7" fill="none" stroke="#fff" stroke-width="2" ' +
      'stroke-linecap="round" stroke-linejoin="round"/></svg>',
  );

type WebPage = { path: string; folder: string; title: string; images: string };

const pages: readonly WebPage[] = [
  // Icons of model providers are on the providers' own sites.
  { path: '/console', folder: 'console', title: 'Backscroll console', images: ' https:' },
  { path: '/docs', folder: 'docs', title: 'Backscroll API reference', images: '' },
];

/** Addresses that people type. */
const redirects = { '/': '/console', '/console/': '/console', '/docs/': '/docs' };

/** The web pages. Their files are read on the first request for a page. */
export const pageRoutes: Routes = (app, { clock }) => {
  for (const [from, to] of Object.entries(redirects))
    app.get(from, { schema: { hide: true } }, (_request, reply) => reply.headers(common).redirect(to));
  // The console offers to load them into an empty database.
  app.get('/console/starter.ndjson', { schema: { hide: true } }, async (_request, reply) =>
    reply
      .headers({ ...common, 'content-type': 'application/x-ndjson; charset=utf-8' })
      .send(await readStarterRecords(Math.floor(clock() / 1000))),
  );
  const llms = cachedResult(async () => packFile('llms.txt', llmsText(await readGuides())));
  app.get('/llms.txt', { schema: { hide: true } }, async (request, reply) => sendFile(request, reply, await llms()));
  for (const page of pages) {
    const files = cachedResult(() => readPageFiles(page.folder));
    app.get(page.path, { schema: { hide: true } }, async (_request, reply) => {
      const { script, frame } = firstMoments(page.path, [...(await files()).keys()]);
      return reply
        .headers({ ...common, 'content-type': 'text/html; charset=utf-8', 'referrer-policy': 'no-referrer' })
        .header('content-security-policy', policyOf(page.images, script))
        .send(htmlOf(page, script, frame));
    });
    app.get(`${page.path}/:file`, { schema: { hide: true } }, async (request, reply) => {
      const { file: name } = request.params as { file: string };
      const file = (await files()).get(name);
      if (file === undefined) throw notFound('no such route');
      return sendFile(request, reply, file);
    });
  }
};

/** Compressed if the client accepts it; 304 if the client has this version. */
export function sendFile(request: FastifyRequest, reply: FastifyReply, { type, bytes, gzipped, tag }: PageFile) {
  reply.headers({ ...common, etag: `"${tag}"`, vary: 'accept-encoding' });
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

function htmlOf({ path, title }: WebPage, script: string, frame: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="${path}/${styleSheet}">
<script type="module" src="${path}/main.js"></script>
<script>${script}</script>
<link rel="preload" as="font" type="font/woff2" crossorigin href="${path}/${typefaceName}">
</head>
<body>
${frame}<noscript>This page needs JavaScript. It loads scripts from this service only.</noscript>
</body>
</html>
`;
}
