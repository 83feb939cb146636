import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import type { Browser } from 'playwright-core';
import { welcome } from '../../src/cli/starter.ts';
import { createSignInToken } from '../../src/domain/keys/open-session.ts';
import { digestOf } from '../../src/domain/secret.ts';
import { accountButton, openBrowser, openTab } from '../support/browser.ts';
import { type Engine, makeTwoTenants, onEveryEngine, type Service, startService } from '../support/harness.ts';

const path = '/console/session';

async function storedSessions(engine: Engine, url: string): Promise<string> {
  if (engine === 'sqlite') {
    const db = new DatabaseSync(url.replace('sqlite:', ''), { readOnly: true });
    const rows = db.prepare('SELECT * FROM console_sessions').all();
    db.close();
    return JSON.stringify(rows);
  }
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query('SELECT * FROM console_sessions');
  await client.end();
  return JSON.stringify(rows);
}

onEveryEngine('a sign-in link', (engine) => {
  const { admin, records } = makeTwoTenants();
  let service: Service;
  let browser: Browser;
  let key_id: string;
  before(async () => {
    [service, browser] = await Promise.all([startService(engine), openBrowser()]);
    await service.load(records);
    key_id = (await service.store.listKeys()).find(({ kind }) => kind === 'admin')?.id ?? '';
  });
  after(async () => {
    await browser.close();
    await service.close();
  });
  let advanced = 0;
  const now = () => Math.floor(Date.now() / 1000) + advanced;
  const createToken = () => createSignInToken(service.store, { key_id, key_digest: digestOf(admin) }, now());
  const exchange = (key: string) => service.request('POST', path, { body: { key } });

  it('200: is exchanged once for a session of its key, also by two requests at once', async () => {
    const token = await createToken();
    const responses = await Promise.all([exchange(token), exchange(token)]);
    assert.deepEqual(responses.map(({ status }) => status).toSorted(), [200, 401]);
    const { body, headers } = responses.find(({ status }) => status === 200) ?? assert.fail();
    assert.equal(body.key_id, key_id);
    const cookie = String(headers['set-cookie']).split(';')[0] ?? '';
    const session = { cookie, 'backscroll-console': '1' };
    assert.equal((await service.request('GET', '/admin/keys', { headers: session })).status, 200);
    assert.equal((await exchange(token)).status, 401);
    assert.deepEqual(
      service.logs.filter((line) => line.includes(token)),
      [],
    );
  });

  it('only its digest is stored', async () => {
    const token = await createToken();
    const stored = await storedSessions(engine, service.config.database_url);
    assert.ok(stored.includes(digestOf(`link:${token}`)));
    assert.ok(!stored.includes(token));
  });

  it('401: after ten minutes', async () => {
    const token = await createToken();
    service.advanceClock(600);
    advanced += 600;
    assert.equal((await exchange(token)).status, 401);
  });

  it('401: is neither a key nor a session, and does nothing by GET', async () => {
    const token = await createToken();
    const { status } = await service.as(token).get('/admin/keys');
    assert.equal(status, 401);
    for (const value of [token, encodeURIComponent(`link:${token}`)]) {
      const headers = { cookie: `backscroll_session=${value}`, 'backscroll-console': '1' };
      assert.equal((await service.request('GET', path, { headers })).status, 401);
    }
    assert.equal((await service.request('GET', `${path}?key=${token}`)).status, 401);
    assert.equal((await exchange(token)).status, 200);
  });

  it('signs in by one click, and is neither in the address nor in a request before it', async () => {
    const { page, pageErrors } = await openTab(browser, service.base);
    const token = await createToken();
    const sent: string[] = [];
    page.on('request', (request) => sent.push(`${request.method()} ${request.url()} ${request.postData() ?? ''}`));
    await page.goto(`/console#sign-in=${token}`);
    await page.getByText('signs you in once').waitFor();
    assert.ok(!page.url().includes(token));
    assert.deepEqual(
      sent.filter((line) => line.startsWith('POST')),
      [],
    );
    await page.getByRole('button', { name: 'Sign in' }).click();
    await accountButton(page).waitFor();
    assert.equal(sent.filter((line) => line.includes(token) && !line.startsWith('GET')).length, 1);
    await page.context().clearCookies();
    await page.goto('about:blank');
    await page.goto(`/console#sign-in=${token}`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('This link was used already').waitFor();
    await page.getByLabel('Admin key').waitFor();
    assert.deepEqual(pageErrors, []);
  });
});

describe('the welcome of the first start', () => {
  const secrets = { app: 'a', knowledge: 'k', writer: 'w', feed: 'f', admin: 'x' };
  it('has the sign-in link only on a terminal', () => {
    assert.match(welcome('http://x', secrets, 'signin-1'), /^http:\/\/x\/console#sign-in=signin-1$/m);
    assert.doesNotMatch(welcome('http://x', secrets), /sign-in=/);
  });
});
