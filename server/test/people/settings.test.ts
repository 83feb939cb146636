import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { makeSecret } from '../../src/domain/secret.ts';
import { call, newFolder, oneLine, serve } from '../support/cli-helpers.ts';
import { newMigratedUrl, onOneEngine, startService } from '../support/harness.ts';

const settings = {
  OIDC_ISSUER: 'https://id.example',
  OIDC_CLIENT_ID: 'backscroll',
  OIDC_DEFAULT_ROLE: 'viewer',
  PUBLIC_URL: 'https://backscroll.example',
};

describe('settings of sign-in by name', () => {
  const wrong: [Record<string, string>, RegExp][] = [
    [{ PUBLIC_URL: '' }, /^backscroll: PUBLIC_URL is required with OIDC_ISSUER/],
    [{ PUBLIC_URL: 'http://backscroll.example' }, /PUBLIC_URL=http:\/\/backscroll\.example: must be https/],
    [{ OIDC_ISSUER: 'http://id.example' }, /OIDC_ISSUER=http:\/\/id\.example: must be the https/],
    [{ OIDC_ISSUER: 'https://ann:x@id.example' }, /OIDC_ISSUER=https:\/\/…@id\.example: must be/],
    [{ OIDC_ISSUER: 'https://id.example/.well-known/openid-configuration' }, /OIDC_ISSUER=/],
    [{ OIDC_CLIENT_ID: '' }, /OIDC_CLIENT_ID is required/],
    [{ OIDC_CLIENT_SECRET: 'a b' }, /OIDC_CLIENT_SECRET=…: must be/],
    [{ OIDC_CLIENT_SECRET_FILE: '/nowhere' }, /OIDC_CLIENT_SECRET_FILE=\/nowhere: /],
    [{ OIDC_SCOPES: 'profile' }, /OIDC_SCOPES=profile: must be scopes with `openid`/],
    [
      { OIDC_ROLES: 'a=boss', OIDC_ROLE_CLAIM: 'groups' },
      /OIDC_ROLES=a=boss: must be VALUE=ROLE,… with the roles viewer/,
    ],
    [{ OIDC_ROLES: 'a=viewer,b', OIDC_ROLE_CLAIM: 'groups' }, /OIDC_ROLES=a=viewer,b: must be/],
    [{ OIDC_ROLES: 'a=viewer' }, /OIDC_ROLES and OIDC_ROLE_CLAIM are required together/],
    [{ OIDC_ROLE_CLAIM: 'groups' }, /OIDC_ROLES and OIDC_ROLE_CLAIM are required together/],
    [{ OIDC_DEFAULT_ROLE: '' }, /OIDC_ROLES or OIDC_DEFAULT_ROLE is required .*: otherwise no one may enter/],
    [{ OIDC_DEFAULT_ROLE: 'boss' }, /OIDC_DEFAULT_ROLE=boss: must be one of viewer, editor, admin/],
    [{ OIDC_SESSION: '31d' }, /OIDC_SESSION=31d: must be a time from 5m to 30d/],
    [{ SIGN_IN: 'oidc', OIDC_ISSUER: '' }, /SIGN_IN=oidc: requires OIDC_ISSUER/],
    [{ SIGN_IN: 'none' }, /SIGN_IN=none: must be one of any, oidc, key/],
  ];

  it('a wrong one stops the start with one line that names it', async (t) => {
    const cwd = await newFolder(t);
    for (const [change, line] of wrong) {
      const { code, stderr } = await call(['serve'], { cwd, env: { ...settings, ...change } });
      assert.equal(code, 1, stderr);
      assert.match(stderr, oneLine);
      assert.match(stderr, line);
    }
  });

  it('the service starts without the provider, and loads what sign-in needs with the first sign-in', async (t) => {
    const cwd = await newFolder(t);
    const preload = join(cwd, 'loads.mjs');
    await writeFile(
      preload,
      `import { registerHooks } from 'node:module';
       registerHooks({ load(url, context, next) {
         if (/(openid-client|oauth4webapi|jose)[/]/.test(url)) console.error('loads ' + url);
         return next(url, context);
       } });`,
    );
    for (const env of [{}, { ...settings, OIDC_ISSUER: 'http://127.0.0.1:9', PUBLIC_URL: 'http://127.0.0.1:9' }]) {
      const server = await serve(t, { cwd, env: { ...env, NODE_OPTIONS: `--import=${preload}` } });
      const { stdout } = await call(['keys', 'create', '--kind', 'admin', '--json'], { cwd });
      const authorization = `Bearer ${JSON.parse(stdout).secret}`;
      assert.equal((await fetch(`${server.base}/admin/people`, { headers: { authorization } })).status, 200);
      assert.equal((await fetch(`${server.base}/console`)).status, 200);
      assert.doesNotMatch(server.output(), /loads /);
      const started = await fetch(`${server.base}/console/oidc/start`, { redirect: 'manual' });
      assert.equal(started.status, 'OIDC_ISSUER' in env ? 302 : 404);
      assert.equal(/loads .*openid-client/.test(server.output()), 'OIDC_ISSUER' in env);
      await server.end();
    }
  });
});

onOneEngine('what opens the console', (engine) => {
  it('SIGN_IN=oidc: no key does, and its sessions have ended; keys work elsewhere', async () => {
    const { url, remove } = await newMigratedUrl(engine);
    const key = makeSecret('admin');
    const before = await startService(engine, settings, url);
    await before.load([{ record: 'api_key', kind: 'admin', name: 'admin', secret: key }]);
    const session = await before.request('POST', '/console/session', { body: { key } });
    const [cookie = ''] = session.headers['set-cookie'] ?? [];
    await before.close();
    const service = await startService(engine, { ...settings, SIGN_IN: 'oidc' }, url);
    try {
      const headers = { cookie: cookie.split(';', 1)[0] ?? '', 'backscroll-console': '1' };
      assert.equal((await service.request('GET', '/console/session', { headers })).status, 401);
      const { status, body } = await service.request('POST', '/console/session', { body: { key } });
      assert.deepEqual([status, body.message], [401, 'no key opens the console: sign in by name']);
      assert.equal((await service.as(key).get('/admin/keys')).status, 200);
    } finally {
      await service.close();
      await remove();
    }
  });

  it('SIGN_IN=key: there is no sign-in by name', async (t) => {
    const service = await startService(engine, { ...settings, SIGN_IN: 'key' });
    t.after(() => service.close());
    assert.equal((await service.request('GET', '/console/oidc/start')).status, 404);
  });
});
