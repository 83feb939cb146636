import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { type Role, roles } from '../../src/contract/people/roles.ts';
import { freePort } from '../support/cli-helpers.ts';
import { onEveryEngine, type Service, startService } from '../support/harness.ts';
import { makeIsolationFixture } from '../support/isolation-fixture.ts';
import { makeRows, operations, requireRow } from '../support/isolation-matrix.ts';
import { type FakeIssuer, startFakeIssuer, startSignIn } from './fake-issuer.ts';
import { Visitor } from './identity-provider.ts';

/** The matrix of keys has a column for each kind of key and role; a person has one for each role. */
onEveryEngine('roles of people', (engine) => {
  const fixture = makeIsolationFixture();
  const rows = makeRows(fixture);
  let service: Service;
  let issuer: FakeIssuer;
  const cookies = new Map<Role, string>();
  before(async () => {
    const port = await freePort();
    issuer = await startFakeIssuer();
    const base = `http://127.0.0.1:${port}`;
    const settings = { OIDC_ROLE_CLAIM: 'groups', OIDC_ROLES: roles.map((role) => `${role}s=${role}`).join() };
    service = await startService(engine, {
      PORT: `${port}`,
      ...issuer.settings(base),
      ...settings,
      OIDC_DEFAULT_ROLE: '',
    });
    await service.load(fixture.records);
    for (const role of roles) cookies.set(role, await signIn(role));
  });
  after(async () => {
    await service?.close();
    issuer?.stop();
  });

  async function signIn(role: Role): Promise<string> {
    const visitor = new Visitor();
    const asked = await startSignIn(visitor, service.base);
    const claims = issuer.claims({ nonce: asked.get('nonce'), sub: role, groups: [`${role}s`] });
    const tokens = { access_token: 'x', token_type: 'bearer', id_token: await issuer.sign(claims) };
    issuer.state.tokens = () => tokens;
    await visitor.get(`${service.base}/console/oidc/callback?code=c&state=${asked.get('state')}`);
    return visitor.allCookies(service.base);
  }

  const ofRoles = operations.filter(({ role, id }) => role !== undefined && id !== 'metrics');

  it('there are operations of each role', () => {
    assert.deepEqual(new Set(ofRoles.map(({ role }) => role)), new Set(roles));
  });

  for (const { name, role } of ofRoles)
    it(`${name}: requires the role ${role}`, async () => {
      const [target] = requireRow(rows, name).targets;
      for (const own of roles) {
        const { method, path, headers, body } = target.request();
        const cookie = { cookie: cookies.get(own) ?? '', 'backscroll-console': '1' };
        const send = (more: object) => service.request(method, path, { body, headers: { ...headers, ...more } });
        const response = await send(cookie);
        const isAllowed = roles.indexOf(own) >= roles.indexOf(role as Role);
        if (isAllowed) assert.ok(response.status < 400 || response.status === 404, `${own}: ${response.text}`);
        else assert.deepEqual([response.status, response.body.message], [403, `this operation needs the role ${role}`]);
        assert.equal((await send({ ...cookie, 'sec-fetch-site': 'cross-site' })).status, 401, 'of another site');
        service.advanceClock(1);
      }
    });

  it('401: a session is for the console, not for what only keys allow', async () => {
    const headers = { cookie: cookies.get('admin') ?? '', 'backscroll-console': '1' };
    for (const path of ['/metrics', `/v1/messages?conversation_id=${fixture.one.ids.conversation}`, '/v1/datasets'])
      assert.equal((await service.request('GET', path, { headers })).status, 401, path);
    assert.equal((await service.request('POST', '/mcp', { headers, body: {} })).status, 401);
  });
});
