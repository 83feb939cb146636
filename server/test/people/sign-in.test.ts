import assert from 'node:assert/strict';
import { after, before, beforeEach, it } from 'node:test';
import { personId } from '../../src/domain/author.ts';
import { freePort } from '../support/cli-helpers.ts';
import { makeTwoTenants, onEveryEngine, type Service, startService } from '../support/harness.ts';
import { until } from '../support/until.ts';
import { type IdentityProvider, startProvider, Visitor } from './identity-provider.ts';

const roles = { OIDC_ROLE_CLAIM: 'groups', OIDC_ROLES: 'support=viewer,cn=editors,o=x=editor,ops=admin' };
const ann = { sub: 'ann', name: 'Ann', email: 'ann@example.com', groups: ['support'] };

onEveryEngine('sign-in by name', (engine) => {
  const { one, admin, records } = makeTwoTenants();
  let service: Service;
  let provider: IdentityProvider;
  before(async () => {
    const port = await freePort();
    provider = await startProvider({ base: `http://127.0.0.1:${port}` });
    service = await startService(engine, { PORT: `${port}`, ...provider.settings, ...roles, OIDC_SESSION: '2h' });
    await service.load(records);
  });
  after(async () => {
    await service?.close();
    await provider?.stop();
  });
  beforeEach(() => {
    provider.state.account = { ...ann };
    provider.state.inToken = true;
  });

  const start = () => `${service.base}/console/oidc/start`;
  /** Signs in and returns the visitor and where they end up. */
  async function signIn(account: object = {}, visitor = new Visitor()) {
    provider.state.account = { ...ann, ...account };
    const { url } = await visitor.follow(start());
    const api = (path: string, options = {}) => visitor.api(service.base, path, options);
    return { visitor, api, place: url.slice(service.base.length) };
  }
  const idOf = (sub: string) => personId({ issuer: provider.issuer, subject: sub });
  const sessionOf = async (api: (path: string) => Promise<{ body: object }>) => (await api('/console/session')).body;
  const people = async () => (await service.as(admin).get('/admin/people')).body.data;
  const warnings = () => service.logs.filter((line) => line.includes('"level":40'));

  it('a person signs in, with the role of a group, and is listed', async () => {
    const now = Math.floor(Date.now() / 1000);
    const { api, place } = await signIn();
    assert.equal(place, '/console#signed-in');
    const { expires_at, ...session } = (await sessionOf(api)) as { expires_at: number };
    assert.ok(expires_at >= now + 7_200 && expires_at <= now + 7_260);
    assert.deepEqual(session, { key_id: null, person_id: idOf('ann'), name: 'Ann', read_only: false, role: 'viewer' });
    assert.equal((await api('/admin/conversations')).status, 200);
    const refused = await api('/admin/keys');
    assert.equal(refused.status, 403);
    assert.match(refused.body.message, /role admin/);
    const { last_seen_at, sessions, ...listed } = (await people()).find(
      (one: { id: string }) => one.id === idOf('ann'),
    );
    assert.ok(last_seen_at >= now && sessions >= 1);
    assert.deepEqual(listed, {
      ...{ id: idOf('ann'), issuer: provider.issuer, subject: 'ann', name: 'Ann', email: 'ann@example.com' },
      ...{ role: 'viewer', role_source: 'support', blocked: false },
    });
  });

  it('the role is read again at the next sign-in, and holds for the sessions before it', async () => {
    const first = await signIn({ sub: 'bob', groups: ['ops', 'support'] });
    assert.equal((await first.api('/admin/keys')).status, 200);
    assert.equal((await signIn({ sub: 'bob' })).place, '/console#signed-in');
    assert.equal((await first.api('/admin/keys')).status, 403);
  });

  it('the role and the name may come from userinfo, and the value may be a distinguished name', async () => {
    provider.state.inToken = false;
    const { api } = await signIn({ sub: 'eve', groups: 'cn=editors,o=x' });
    assert.partialDeepStrictEqual(await sessionOf(api), { name: 'Ann', role: 'editor' });
  });

  /** What Entra ID sends about someone in too many groups. */
  const overage = { _claim_names: { groups: 'src1' } };

  it('no entry without a role: the console and the log say so, and nothing is stored', async () => {
    for (const [sub, groups, line] of [
      ['many', undefined, /groups is too large for the token \(an overage claim, _claim_names\)/],
      ['none', ['sales'], /no value of the claim groups is in OIDC_ROLES: \[\\"sales\\"\]/],
      ['gone', undefined, /the claim groups is missing/],
      ['odd', { a: 1 }, /the claim groups is neither a text nor a list of texts/],
    ] as const) {
      const { place, visitor } = await signIn({ sub, groups, ...(sub === 'many' && overage) });
      assert.equal(place, '/console#problem=no_role');
      assert.equal(visitor.cookie(service.base, 'backscroll_session'), undefined);
      assert.match(warnings().at(-1) ?? '', line);
    }
    assert.ok(!(await people()).some(({ subject }: { subject: string }) => subject === 'none'));
  });

  it('what a person does is in the audit log, and in revisions, with the name', async () => {
    const { api } = await signIn({ sub: 'cat', name: 'Cat', groups: ['ops'] });
    const path = one.chunkPath.replace('/v1/', '/admin/');
    assert.equal((await api(path, { method: 'PATCH', body: { content: 'by Cat' } })).status, 200);
    const author = { key_id: null, key_name: null, person_id: idOf('cat'), person_name: 'Cat' };
    assert.partialDeepStrictEqual((await api(`${path}/revisions`)).body.data[0], author);
    const entries = (await api(`/admin/activity?person_id=${idOf('cat')}`)).body.data;
    assert.deepEqual(
      entries.map(({ action, record }: Record<string, string>) => `${action} ${record}`),
      ['update child_chunk', 'create person'],
    );
    assert.partialDeepStrictEqual(entries[0], author);
    const created = await api('/admin/keys', { method: 'POST', body: { kind: 'admin', name: 'of Cat' } });
    assert.equal(created.status, 201);
    assert.partialDeepStrictEqual((await api('/admin/activity?limit=1')).body.data[0], { ...author, action: 'create' });
    const { app, conversation } = one.ids;
    await api(`/admin/apps/${app}/conversations/${conversation}/messages`);
    const reads = async () => (await api(`/admin/reads?person_id=${idOf('cat')}`)).body.data;
    await until(async () => (await reads()).length === 1);
    assert.partialDeepStrictEqual((await reads())[0], { ...author, conversation_id: conversation, user: 'ann' });
    await service.saveUses();
    assert.ok((await people()).find(({ name }: { name: string }) => name === 'Cat').last_seen_at > 0);
  });

  it('a blocked person is signed out, and gets no session', async () => {
    const { api } = await signIn({ sub: 'dan' });
    const change = (blocked: boolean) => service.as(admin).patch(`/admin/people/${idOf('dan')}`, { blocked });
    assert.deepEqual([(await change(true)).body.sessions, (await api('/console/session')).status], [0, 401]);
    assert.equal((await signIn({ sub: 'dan' })).place, '/console#problem=blocked');
    await change(false);
    assert.equal((await signIn({ sub: 'dan' })).place, '/console#signed-in');
    const admins = await signIn({ sub: 'root', groups: ['ops'] });
    const own = await admins.api(`/admin/people/${idOf('root')}`, { method: 'PATCH', body: { blocked: true } });
    assert.equal(own.status, 403);
  });

  it('signing out ends the session here and at the provider, which then signs out other services', async () => {
    const { api, visitor } = await signIn({ sub: 'fay' });
    assert.equal((await api('/console/session', { method: 'DELETE' })).status, 204);
    assert.equal((await api('/console/session')).status, 401);
    const { visited } = await visitor.follow(`${service.base}/console/oidc/sign-out`);
    const url = new URL(visited[1] ?? '');
    assert.equal(url.origin, provider.issuer);
    assert.equal(url.searchParams.get('post_logout_redirect_uri'), `${service.base}/console`);
  });

  it('back-channel logout: the provider ends the session', async () => {
    const { api, visitor } = await signIn({ sub: 'gil' });
    const other = await signIn({ sub: 'gil' });
    assert.equal((await api('/console/session')).status, 200);
    const form = await visitor.follow(`${provider.issuer}/session/end`);
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(form.text)?.[1] ?? '';
    const cookie = visitor.allCookies(provider.issuer);
    await fetch(`${provider.issuer}/session/end/confirm`, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ xsrf, logout: 'yes' }),
    });
    await until(async () => (await api('/console/session')).status === 401);
    assert.equal((await other.api('/console/session')).status, 200, 'another session of the same person');
  });

  it('the provider down: sessions and keys go on, and a sign-in says why not', async () => {
    const { api } = await signIn();
    await provider.stop();
    service.advanceClock(61);
    assert.equal((await api('/admin/conversations')).status, 200);
    const { place } = await signIn();
    assert.equal(place, '/console#problem=failed');
    assert.match(warnings().at(-1) ?? '', /ECONNREFUSED.*sign-in by name: the provider cannot be used now/);
    assert.equal((await service.request('POST', '/console/session', { body: { key: admin } })).status, 200);
    await provider.start();
    assert.equal((await signIn()).place, '/console#signed-in');
  });

  it('new keys of the provider are followed', async () => {
    await signIn();
    await provider.rotate();
    service.advanceClock(61);
    assert.equal((await signIn()).place, '/console#signed-in');
  });

  it('no token is in the log', () => {
    assert.doesNotMatch(service.logs.join(''), /eyJ[\w-]+\.|code=|"id_token"|"access_token"/);
  });
});
