import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { makeSecret } from '../../src/domain/secret.ts';
import { makeWorld, type Service, startService, type TestResponse } from '../support/harness.ts';
import { openapiFile } from '../support/openapi-check.ts';

/** What the contract opens to anybody. Whatever is not here takes a key. */
const openPaths = [
  /^\/health\/(?:live|ready)$/,
  /^\/openapi\.json$/,
  // Pages, and the files that belong to them.
  /^\/(?:docs|console)(?:\/:file|\/[\w-]+\.(?:js|css))?$/,
  // Redirects to pages.
  /^\/$|^\/(?:docs|console)\/$/,
];
/** Signing in takes its key in the body, and signing out harms nobody; see session.test.ts. */
const session = '/console/session';
const isOpen = (url: string) => openPaths.some((path) => path.test(url));

const document: { paths: Record<string, Record<string, { security?: object[] }>> } = JSON.parse(
  readFileSync(openapiFile, 'utf8'),
);
const described = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { security = [] }]) => ({
    method: method.toUpperCase(),
    url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
    // An empty requirement says that it can do without.
    takesKey: security.length > 0 && security.every((one) => Object.keys(one).length > 0),
  })),
);

describe('every route there is', () => {
  const { one, admin, records } = makeWorld();
  let service: Service;
  before(async () => {
    service = await startService('sqlite');
    await service.load(records);
  });
  after(() => service.close());
  const ask = (method: string, url: string, key?: string): Promise<TestResponse> => {
    // Requests from one address that fail too often would get 429.
    service.passTime(61);
    return service.request(method, url.replace(':file', 'main.js').replaceAll(/:\w+/g, 'x'), { key });
  };

  it('is seen by this test', () => {
    const routes = service.routes().map(({ method, url }) => `${method} ${url}`);
    for (const { method, url } of described) assert.ok(routes.includes(`${method} ${url}`), `${method} ${url}`);
    for (const url of ['/docs', '/docs/:file', '/openapi.json']) assert.ok(routes.includes(`GET ${url}`), url);
    assert.equal(new Set(routes).size, routes.length);
  });

  it('401: takes a key, unless the contract opens it', async () => {
    for (const { method, url } of service.routes()) {
      if (isOpen(url) || (url === session && method !== 'GET')) continue;
      for (const key of [undefined, 'x', makeSecret('admin')]) {
        const response = await ask(method, url, key);
        assert.equal(response.status, 401, `${method} ${url} ${response.text}`);
        assert.equal(response.headers['www-authenticate'], 'Bearer realm="api"');
      }
    }
  });

  it('401: has no key that opens it beside those that the OpenAPI document names', async () => {
    const keys: Record<string, string> = {
      appKey: one.keys.app,
      knowledgeKey: one.keys.knowledge,
      writerKey: one.keys.writer,
      adminKey: admin,
    };
    for (const { method, url } of described.filter(({ takesKey }) => takesKey)) {
      const { security = [] } = document.paths[url.replaceAll(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()] ?? {};
      const named = security.flatMap((one) => Object.keys(one));
      for (const [name, key] of Object.entries(keys)) {
        const { status } = await ask(method, url, key);
        assert.equal(status !== 401, named.includes(name), `${method} ${url} with ${name}: ${status}`);
      }
    }
  });

  it('200: is open only to be read, and only what the contract names', async () => {
    for (const { method, url } of service.routes().filter(({ url }) => isOpen(url))) {
      assert.ok(method === 'GET' || method === 'HEAD', `${method} ${url}`);
      assert.equal((await ask(method, url)).status, url.endsWith('/') ? 302 : 200, `${method} ${url}`);
    }
  });

  it('is described with a key exactly where it takes one, and described unless it serves a page', () => {
    for (const { method, url, takesKey } of described) {
      const isOpenTo = isOpen(url) || (url === session && method !== 'GET');
      assert.equal(takesKey, !isOpenTo, `${method} ${url}`);
    }
    const pages = /^\/(?:docs|console|openapi\.json|$)/;
    for (const { method, url } of service.routes()) {
      if (method === 'HEAD' || pages.test(url)) continue;
      assert.ok(
        described.some((one) => one.method === method && one.url === url),
        `${method} ${url}`,
      );
    }
  });

  it('200: a page may not be framed, sniffed or given scripts and styles; its files may not be sniffed', async () => {
    const seen: string[] = [];
    for (const { method, url } of service.routes()) {
      if ((method !== 'GET' && method !== 'HEAD') || url === session) continue;
      const { headers } = await ask(method, url, isOpen(url) ? undefined : admin);
      const type = headers['content-type'] ?? '';
      if (/^\/(?:docs|console)/.test(url)) assert.equal(headers['x-content-type-options'], 'nosniff', url);
      if (!/^text\/html\b/.test(type)) continue;
      seen.push(url);
      assert.equal(headers['x-content-type-options'], 'nosniff', url);
      const policy = new Map(
        String(headers['content-security-policy'])
          .split(';')
          .map((directive) => directive.trim().split(/\s+/))
          .map(([name = '', ...sources]) => [name, sources.join(' ')]),
      );
      for (const name of ['default-src', 'frame-ancestors', 'base-uri']) assert.equal(policy.get(name), "'none'", name);
      for (const name of ['script-src', 'style-src']) assert.equal(policy.get(name), "'self'", name);
    }
    for (const url of ['/docs', '/console']) assert.ok(seen.includes(url), url);
  });
});
