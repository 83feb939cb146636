import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { generateKeyPair, SignJWT } from 'jose';
import { freePort } from '../support/cli-helpers.ts';
import { makeTwoTenants, type Service, startService } from '../support/harness.ts';
import { type FakeIssuer, startFakeIssuer, startSignIn } from './fake-issuer.ts';
import { Visitor } from './identity-provider.ts';

/** `undefined` leaves a claim out. */
type Claims = Record<string, unknown>;

const event = { 'http://schemas.openid.net/event/backchannel-logout': {} };

describe('attacks on sign-in by name', () => {
  const { admin, records } = makeTwoTenants();
  let service: Service;
  let issuer: FakeIssuer;
  before(async () => {
    const port = await freePort();
    issuer = await startFakeIssuer();
    service = await startService('sqlite', { PORT: `${port}`, ...issuer.settings(`http://127.0.0.1:${port}`) });
    await service.load(records);
  });
  after(async () => {
    await service?.close();
    issuer?.stop();
  });
  beforeEach(() => {
    issuer.state.metadata = {};
    // Too many failed sign-ins from one address would get 429, and what is cached of the provider is read again.
    service.advanceClock(61);
  });

  const callback = (query: object) => `${service.base}/console/oidc/callback?${new URLSearchParams({ ...query })}`;
  const placeOf = (response: Response) => response.headers.get('location');
  const lastWarning = () => service.logs.filter((line) => line.includes('"level":40')).at(-1) ?? '';

  /** A whole sign-in, with what the token endpoint and the callback get changed. */
  async function signIn(change: {
    claims?: Claims;
    token?: (nonce: string) => string | Promise<string>;
    query?: object;
  }) {
    const visitor = new Visitor();
    const asked = await startSignIn(visitor, service.base);
    const nonce = asked.get('nonce') ?? '';
    issuer.state.tokens = async () => ({
      access_token: 'x',
      token_type: 'bearer',
      id_token: await (change.token?.(nonce) ?? issuer.sign(issuer.claims({ nonce, ...change.claims }))),
    });
    const response = await visitor.get(callback({ code: 'c', state: asked.get('state') ?? '', ...change.query }));
    return { visitor, place: placeOf(response), response, asked };
  }
  const unsigned = (claims: Claims, header: object) =>
    `${[header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`;

  it('an honest sign-in works, with PKCE, state and nonce, and cookies that scripts and other sites do not get', async () => {
    const visitor = new Visitor();
    const started = await visitor.get(`${service.base}/console/oidc/start`);
    const [cookie = ''] = started.headers.getSetCookie();
    assert.match(cookie, /^backscroll_sign_in=[\w.-]+; Path=\/console\/oidc; HttpOnly; SameSite=Lax; Max-Age=600$/);
    assert.equal(started.headers.get('cache-control'), 'no-store');
    const asked = new URL(placeOf(started) ?? '').searchParams;
    assert.equal(asked.get('code_challenge_method'), 'S256');
    assert.equal(asked.get('redirect_uri'), `${service.base}/console/oidc/callback`);
    const { place, response } = await signIn({});
    assert.equal(place, '/console#signed-in');
    const cookies = response.headers.getSetCookie();
    assert.equal(cookies.length, 2);
    assert.match(cookies[0] ?? '', /^backscroll_sign_in=; .*Max-Age=0/);
    assert.match(
      cookies[1] ?? '',
      /^backscroll_session=[\w-]{40,}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/,
    );
    assert.ok((issuer.state.exchanged.at(-1)?.get('code_verifier') ?? '').length >= 43);
  });

  it('tokens that are for another client, of another issuer, of another sign-in, old, or not signed by the provider', async () => {
    const now = Math.floor(Date.now() / 1000);
    const other = await generateKeyPair('RS256');
    const wrong: [string, Parameters<typeof signIn>[0], RegExp][] = [
      ['audience', { claims: { aud: 'other' } }, /for another client/],
      ['two audiences', { claims: { aud: ['backscroll', 'other'] } }, /for another client/],
      ['issuer', { claims: { iss: 'https://id.example' } }, /from another issuer/],
      ['nonce', { claims: { nonce: 'other' } }, /of another sign-in/],
      [
        'expired',
        { claims: { iat: now - 900, exp: now - 600 } },
        /the clock of this machine or of the provider is wrong/,
      ],
      ['not valid yet', { claims: { nbf: now + 600 } }, /the clock of this machine or of the provider is wrong/],
      ['algorithm none', { token: (nonce) => unsigned(issuer.claims({ nonce }), { alg: 'none' }) }, /sign-in by name/],
      ['another key', { token: (nonce) => issuer.sign(issuer.claims({ nonce }), other) }, /sign-in by name/],
      [
        'an unknown key',
        { token: (nonce) => issuer.sign(issuer.claims({ nonce }), other, { kid: 'two' }) },
        /the provider has no such key/,
      ],
      ['no subject', { claims: { sub: undefined } }, /sign-in by name/],
      ['no token', { token: () => '' }, /sign-in by name/],
    ];
    for (const [name, change, line] of wrong) {
      const { place, visitor } = await signIn(change);
      assert.equal(place, '/console#problem=failed', name);
      assert.match(lastWarning(), line, name);
      assert.equal(visitor.cookie(service.base, 'backscroll_session'), undefined, name);
    }
    const { place } = await signIn({ claims: { iat: now - 320, exp: now - 20 } });
    assert.equal(place, '/console#signed-in', 'clocks may differ by 30 seconds');
  });

  it('login CSRF: a code of another browser, with its state or another one', async () => {
    const attacker = await startSignIn(new Visitor(), service.base);
    const victim = new Visitor();
    const query = { code: 'c', state: attacker.get('state') ?? '' };
    assert.equal(placeOf(await victim.get(callback(query))), '/console#problem=expired');
    await startSignIn(victim, service.base);
    assert.equal(placeOf(await victim.get(callback(query))), '/console#problem=failed');
    const { place } = await signIn({ query: { state: 'other' } });
    assert.equal(place, '/console#problem=failed');
    assert.equal((await signIn({ query: { error: 'access_denied' } })).place, '/console#problem=failed');
    assert.match(lastWarning(), /access_denied/);
  });

  it('a replayed code: the sign-in ends with its first use', async () => {
    const { visitor, asked, place } = await signIn({});
    assert.equal(place, '/console#signed-in');
    const again = await visitor.get(callback({ code: 'c', state: asked.get('state') ?? '' }));
    assert.equal(placeOf(again), '/console#problem=expired');
  });

  it('mixed-up issuers: a response that names another one, and a provider that says it is another', async () => {
    issuer.state.metadata = { authorization_response_iss_parameter_supported: true };
    assert.equal((await signIn({ query: { iss: 'https://id.example' } })).place, '/console#problem=failed');
    assert.equal((await signIn({})).place, '/console#problem=failed', 'without the parameter that it announces');
    assert.equal((await signIn({ query: { iss: issuer.issuer } })).place, '/console#signed-in');
    service.advanceClock(61);
    issuer.state.metadata = { issuer: 'https://id.example' };
    const response = await new Visitor().get(`${service.base}/console/oidc/start`);
    assert.equal(placeOf(response), '/console#problem=failed');
    assert.match(lastWarning(), /OIDC_ISSUER is not the issuer that the provider names/);
  });

  it('open redirect: no address of a request is used', async () => {
    for (const more of [{ return_to: 'https://evil.example' }, { redirect_uri: 'https://evil.example' }]) {
      const { place } = await signIn({ query: more });
      assert.equal(place, '/console#signed-in');
    }
    const response = await fetch(`${service.base}/console/oidc/start?redirect_uri=https://evil.example`, {
      redirect: 'manual',
      headers: { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' },
    });
    assert.equal(
      new URL(placeOf(response) ?? '').searchParams.get('redirect_uri'),
      `${service.base}/console/oidc/callback`,
    );
  });

  it('session fixation: a sign-in replaces the session that the browser had', async () => {
    const visitor = new Visitor();
    const planted = `session-${'x'.repeat(40)}`;
    const asked = await startSignIn(visitor, service.base);
    visitor.setCookie(service.base, 'backscroll_session', planted);
    issuer.state.tokens = async () => ({
      ...{ access_token: 'x', token_type: 'bearer' },
      id_token: await issuer.sign(issuer.claims({ nonce: asked.get('nonce') ?? '' })),
    });
    await visitor.get(callback({ code: 'c', state: asked.get('state') ?? '' }));
    assert.notEqual(visitor.cookie(service.base, 'backscroll_session'), planted);
    assert.equal((await visitor.api(service.base, '/console/session')).status, 200);
    visitor.setCookie(service.base, 'backscroll_session', planted);
    assert.equal((await visitor.api(service.base, '/console/session')).status, 401);
  });

  it('CSRF: a session is not enough for a request of another site', async () => {
    const { visitor } = await signIn({});
    const cookie = visitor.allCookies(service.base);
    const send = (headers: Record<string, string>) => service.request('DELETE', '/console/session', { headers });
    await send({ cookie });
    await send({ cookie, 'backscroll-console': '1', 'sec-fetch-site': 'cross-site' });
    assert.equal((await visitor.api(service.base, '/console/session')).status, 200);
  });

  describe('logout tokens', () => {
    const send = (token: string, type = 'application/x-www-form-urlencoded') =>
      service.request('POST', '/console/oidc/logout', {
        headers: { 'content-type': type },
        body: `${new URLSearchParams({ logout_token: token })}`,
      });
    const logout = (more: Claims = {}) => {
      const { name: _, ...claims } = issuer.claims({ jti: randomUUID(), events: event, ...more });
      return claims;
    };

    it('200: ends the session that it names, or all of the person, once', async () => {
      const sessions = [
        (await signIn({ claims: { sid: 's1' } })).visitor,
        (await signIn({ claims: { sid: 's2' } })).visitor,
      ];
      const statuses = () =>
        Promise.all(sessions.map(async (one) => (await one.api(service.base, '/console/session')).status));
      const token = await issuer.sign(logout({ sub: undefined, sid: 's1' }));
      assert.equal((await send(token)).status, 200);
      assert.deepEqual(await statuses(), [401, 200]);
      assert.equal((await send(token)).status, 400, 'replayed');
      assert.equal((await send(await issuer.sign(logout({ sid: 's3' })))).status, 200);
      assert.deepEqual(await statuses(), [401, 200]);
      assert.equal((await send(await issuer.sign(logout()))).status, 200);
      assert.deepEqual(await statuses(), [401, 401]);
    });

    it('400: forged, old, for another client, or no logout token at all', async () => {
      const { visitor } = await signIn({ claims: { sid: 's4' } });
      const now = Math.floor(Date.now() / 1000);
      const other = await generateKeyPair('RS256');
      const hmac = await new SignJWT(logout())
        .setProtectedHeader({ alg: 'HS256' })
        .sign(Buffer.from('secret'.padEnd(32, '-')));
      const forged: [string, string][] = [
        ['another key', await issuer.sign(logout(), other)],
        ['algorithm none', unsigned(logout(), { alg: 'none' })],
        ['the secret of the client as the key', hmac],
        ['another issuer', await issuer.sign(logout({ iss: 'https://id.example' }))],
        ['another audience', await issuer.sign(logout({ aud: 'other' }))],
        ['old', await issuer.sign(logout({ iat: now - 3_600, exp: now + 60 }))],
        ['expired', await issuer.sign(logout({ iat: now - 300, exp: now - 60 }))],
        ['no event', await issuer.sign(logout({ events: {} }))],
        ['no jti', await issuer.sign(logout({ jti: undefined }))],
        ['no session and no person', await issuer.sign(logout({ sub: undefined }))],
        ['a nonce, as an ID token has', await issuer.sign(logout({ nonce: 'n' }))],
        ['an ID token', await issuer.sign(issuer.claims({ sid: 's4' }))],
        ['nothing', ''],
        ['no token', 'x.y.z'],
      ];
      for (const [name, token] of forged) {
        const { status, body } = await send(token);
        assert.deepEqual([status, body.code], [400, 'invalid_param'], name);
        assert.match(lastWarning(), /sign-out by the provider: the logout token is not valid/);
      }
      assert.equal((await visitor.api(service.base, '/console/session')).status, 200);
      assert.equal((await send('x', 'application/json')).status, 415);
      assert.equal((await send('x'.repeat(65_536))).status, 413);
    });

    it('429: after a hundred failed ones in a minute from one address', async () => {
      const statuses = new Set<number>();
      for (let at = 0; at <= 100; at += 1) statuses.add((await send('x')).status);
      assert.deepEqual([...statuses], [400, 429]);
    });
  });

  it('no token, code or secret is in the log, and keys work all the time', async () => {
    assert.doesNotMatch(service.logs.join(''), /eyJ[\w-]+|code=|verifier/);
    assert.equal((await service.as(admin).get('/admin/people')).status, 200);
  });
});
