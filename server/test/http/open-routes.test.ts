import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, describe, it } from 'node:test';
import { makeSecret } from '../../src/domain/secret.ts';
import { makeTwoTenants, type TestResponse, useService } from '../support/harness.ts';
import { openapiFile } from '../support/openapi-check.ts';

/** Routes that the contract serves without a key. All others require one. */
const openPaths = [
  /^\/health\/(?:live|ready)$/,
  /^\/(?:openapi\.json|llms\.txt)$/,
  // Pages and their files.
  /^\/(?:docs|console)(?:\/:file|\/[\w-]+\.(?:js|css|ndjson))?$/,
  // Redirects to pages.
  /^\/$|^\/(?:docs|console)\/$/,
];
/** Sign-in has its key in the body, and sign-out needs none; see session.test.ts. */
const session = '/console/session';
const isOpen = (url: string) => openPaths.some((path) => path.test(url));

const document: { paths: Record<string, Record<string, { security?: object[] }>> } = JSON.parse(
  readFileSync(openapiFile, 'utf8'),
);
const describedRoutes = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { security = [] }]) => ({
    method: method.toUpperCase(),
    url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
    // An empty requirement makes the key optional.
    requiresKey: security.length > 0 && security.every((scheme) => Object.keys(scheme).length > 0),
  })),
);

describe('every registered route', () => {
  const { one, admin, records } = makeTwoTenants();
  /** A file of each page. */
  const files = new Map<string, string>();
  const service = useService('sqlite', records);
  before(async () => {
    for (const page of ['/console', '/docs']) {
      const { text } = await service.request('GET', page);
      files.set(`${page}/:file`, /<script type="module" src="([^"]+)"/.exec(text)?.[1] ?? '');
    }
  });
  const send = (method: string, url: string, key?: string): Promise<TestResponse> => {
    // Too many failed requests from one address would get 429.
    service.advanceClock(61);
    return service.request(method, (files.get(url) ?? url).replaceAll(/:\w+/g, 'x'), { key });
  };

  it('is known to this test', () => {
    const routes = service.routes().map(({ method, url }) => `${method} ${url}`);
    for (const { method, url } of describedRoutes) assert.ok(routes.includes(`${method} ${url}`), `${method} ${url}`);
    for (const url of ['/docs', '/docs/:file', '/openapi.json']) assert.ok(routes.includes(`GET ${url}`), url);
    assert.equal(new Set(routes).size, routes.length);
  });

  it('401: requires a key, unless the contract serves it without one', async () => {
    for (const { method, url } of service.routes()) {
      if (isOpen(url) || (url === session && method !== 'GET')) continue;
      for (const key of [undefined, 'x', makeSecret('admin')]) {
        const response = await send(method, url, key);
        assert.equal(response.status, 401, `${method} ${url} ${response.text}`);
        assert.equal(response.headers['www-authenticate'], 'Bearer realm="api"');
      }
    }
  });

  it('401: allows only the kinds of key that the OpenAPI document names', async () => {
    const keys: Record<string, string> = {
      appKey: one.keys.app,
      knowledgeKey: one.keys.knowledge,
      writerKey: one.keys.writer,
      adminKey: admin,
    };
    for (const { method, url } of describedRoutes.filter(({ requiresKey }) => requiresKey)) {
      const { security = [] } = document.paths[url.replaceAll(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()] ?? {};
      const schemeNames = security.flatMap((scheme) => Object.keys(scheme));
      for (const [name, key] of Object.entries(keys)) {
        const { status } = await send(method, url, key);
        assert.equal(status !== 401, schemeNames.includes(name), `${method} ${url} with ${name}: ${status}`);
      }
    }
  });

  it('200 and 302: is read-only where it requires no key', async () => {
    for (const { method, url } of service.routes().filter(({ url }) => isOpen(url))) {
      assert.ok(method === 'GET' || method === 'HEAD', `${method} ${url}`);
      assert.equal((await send(method, url)).status, url.endsWith('/') ? 302 : 200, `${method} ${url}`);
    }
  });

  it('is described unless it serves a page, with a key exactly where it requires one', () => {
    for (const { method, url, requiresKey } of describedRoutes) {
      const needsNoKey = isOpen(url) || (url === session && method !== 'GET');
      assert.equal(requiresKey, !needsNoKey, `${method} ${url}`);
    }
    // Sending a message is an operation of an upstream: without one, the route only rejects it. `/mcp` describes itself.
    const pages = /^\/(?:docs|console|openapi\.json|llms\.txt|v1\/chat-messages|mcp|$)/;
    for (const { method, url } of service.routes()) {
      if (method === 'HEAD' || pages.test(url)) continue;
      assert.ok(
        describedRoutes.some((route) => route.method === method && route.url === url),
        `${method} ${url}`,
      );
    }
  });

  it('200: headers of a page forbid framing, sniffing and foreign scripts and styles; those of its files forbid sniffing', async () => {
    const checkedPages: string[] = [];
    for (const { method, url } of service.routes()) {
      if ((method !== 'GET' && method !== 'HEAD') || url === session) continue;
      const { headers } = await send(method, url, isOpen(url) ? undefined : admin);
      const type = headers['content-type'] ?? '';
      if (/^\/(?:docs|console)/.test(url)) assert.equal(headers['x-content-type-options'], 'nosniff', url);
      if (!/^text\/html\b/.test(type)) continue;
      checkedPages.push(url);
      assert.equal(headers['x-content-type-options'], 'nosniff', url);
      const policy = new Map(
        String(headers['content-security-policy'])
          .split(';')
          .map((directive) => directive.trim().split(/\s+/))
          .map(([name = '', ...sources]) => [name, sources.join(' ')]),
      );
      for (const name of ['default-src', 'frame-ancestors', 'base-uri']) assert.equal(policy.get(name), "'none'", name);
      assert.equal(policy.get('style-src'), "'self'");
      // The page has one script of its own, and the digests of its modules.
      assert.match(policy.get('script-src') ?? '', /^'self'(?: 'sha256-[\w+/]{43}='){2}$/);
    }
    for (const url of ['/docs', '/console']) assert.ok(checkedPages.includes(url), url);
  });
});
