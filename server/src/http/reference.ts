import { readFile } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Backscroll API reference</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<main id="reference"></main>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

const start = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
});
`;

/** Swagger UI sets styles through the DOM, which needs no 'unsafe-inline'. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** A file is taken for what its type says, not for what it looks like. */
const asTyped = { 'x-content-type-options': 'nosniff' };

const types: Record<string, string> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
};

/** The API reference, from our own origin. Its files are read when somebody first looks. */
export function referenceRoutes(app: FastifyInstance): void {
  app.get('/docs', { schema: { hide: true } }, async (_request, reply) =>
    reply
      .headers({ 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy })
      .headers({ ...asTyped, 'referrer-policy': 'no-referrer' })
      .send(page),
  );
  app.get('/docs/start.js', { schema: { hide: true } }, async (_request, reply) =>
    reply.headers({ 'content-type': 'text/javascript; charset=utf-8', ...asTyped }).send(start),
  );
  const folder = new URL('static/', import.meta.resolve('@fastify/swagger-ui'));
  for (const [name, type] of Object.entries(types)) {
    let file: Promise<Buffer> | undefined;
    app.get(`/docs/${name}`, { schema: { hide: true } }, async (_request, reply) => {
      file ??= readFile(new URL(name, folder));
      const headers = { 'content-type': type, 'cache-control': 'public, max-age=86400', ...asTyped };
      return reply.headers(headers).send(await file);
    });
  }
}
