import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { checkAccessibility, openBrowser, openTab, phone, scrollsHorizontally, signIn } from '../support/browser.ts';
import { makeTwoTenants, onEveryEngine, type Service, startService } from '../support/harness.ts';

onEveryEngine('the console', (engine) => {
  const { admin, one, records } = makeTwoTenants();
  let service: Service;
  let browser: Browser;
  before(async () => {
    [service, browser] = await Promise.all([startService(engine), openBrowser()]);
    await service.load(records);
  });
  after(async () => {
    await browser.close();
    await service.close();
  });
  const views = (page: Page) => page.getByRole('navigation', { name: 'Views' });
  const signInButton = (page: Page) => page.getByRole('button', { name: 'Sign in' });

  it('asks whoever comes for an admin key, and takes no other', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, pageErrors } = await openTab(browser, service.base, { colorScheme });
      await page.goto('/console');
      await signInButton(page).waitFor();
      for (const key of ['nonsense', one.keys.app]) {
        await page.getByLabel('Admin key').fill(key);
        await page.keyboard.press('Enter');
        await page.getByRole('alert').filter({ hasText: 'This key does not open the console' }).waitFor();
      }
      await checkAccessibility(page);
      assert.deepEqual(pageErrors, []);
    }
  });

  it('keeps one signed in over a reload, with nothing of the key where a script could read it', async () => {
    const { page, pageErrors } = await openTab(browser, service.base);
    await signIn(page, admin);
    await page.reload();
    await views(page).waitFor();
    const held = await page.evaluate<string>(
      'JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }, document.documentElement.outerHTML])',
    );
    assert.ok(!held.includes(admin));
    assert.ok(!held.includes('backscroll_session'));
    const [cookie, ...others] = await page.context().cookies();
    assert.deepEqual(others, []);
    const { name, httpOnly, sameSite } = cookie ?? {};
    assert.deepEqual({ name, httpOnly, sameSite }, { name: 'backscroll_session', httpOnly: true, sameSite: 'Strict' });
    assert.notEqual(cookie?.value, admin);
    assert.deepEqual(pageErrors, []);
  });

  it('lets one out, for good', async () => {
    const { page } = await openTab(browser, service.base);
    await signIn(page, admin);
    const [cookie] = await page.context().cookies();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signInButton(page).waitFor();
    assert.equal(await page.evaluate<string>('document.activeElement.name'), 'key');
    assert.deepEqual(await page.context().cookies(), []);
    const headers = { cookie: `backscroll_session=${cookie?.value}`, 'backscroll-console': '1' };
    assert.equal((await service.request('GET', '/admin/apps', { headers })).status, 401);
    await page.reload();
    await signInButton(page).waitFor();
  });

  it('says that one is still signed in where the way out is closed, and tries it again', async () => {
    const { page } = await openTab(browser, service.base);
    await signIn(page, admin);
    await page.route('/console/session', (route) => route.abort());
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You are still signed in.').waitFor();
    await page.unroute('/console/session');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('You are signed out.').waitFor();
    assert.deepEqual(await page.context().cookies(), []);
  });

  it('asks for a key again once the session has ended, and says why', async () => {
    const { page } = await openTab(browser, service.base);
    await signIn(page, admin);
    service.advanceClock(13 * 3600);
    // Not by a click: what is still being loaded may end it first.
    await page.evaluate("location.hash = '#/models'");
    await page.getByText('You were signed out').waitFor();
    await signInButton(page).waitFor();
  });

  it('is reached by the keyboard alone', async () => {
    const { page } = await openTab(browser, service.base, { viewport: phone });
    await page.goto('/console');
    await signInButton(page).waitFor();
    await page.keyboard.type(admin);
    await page.keyboard.press('Enter');
    await views(page).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate<string>('document.activeElement.id'), 'main');
    await page.goto('/console#/keys');
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    assert.equal(await views(page).getByRole('link', { name: 'Keys' }).getAttribute('aria-current'), 'page');
  });

  it('leads to the reference and back, on a phone too', async () => {
    const { page, pageErrors } = await openTab(browser, service.base, { viewport: phone });
    await signIn(page, admin);
    await page.getByRole('link', { name: 'API', exact: true }).click();
    await page.getByRole('heading', { name: 'Backscroll' }).waitFor();
    assert.ok(!(await scrollsHorizontally(page)));
    await page.getByRole('link', { name: 'Console', exact: true }).click();
    await views(page).waitFor();
    assert.ok(!(await scrollsHorizontally(page)));
    assert.deepEqual(pageErrors, []);
  });
});

describe('a page whose files could not be read', () => {
  it('500 the first time, 200 as soon as they can be', async () => {
    const service = await startService('sqlite');
    const { readFile } = fs;
    const paths = ['/console', '/docs', '/openapi.json'];
    try {
      fs.readFile = () => Promise.reject(new Error('EMFILE: too many open files'));
      syncBuiltinESMExports();
      for (const path of paths) assert.equal((await service.request('GET', path)).status, 500, path);
      fs.readFile = readFile;
      syncBuiltinESMExports();
      for (const path of paths) assert.equal((await service.request('GET', path)).status, 200, path);
    } finally {
      fs.readFile = readFile;
      syncBuiltinESMExports();
      await service.close();
    }
  });
});

describe('addresses that people type', () => {
  it('302: lead to the console and the reference, without a key', async () => {
    const service = await startService('sqlite');
    try {
      for (const [path, target] of [
        ['/', '/console'],
        ['/console/', '/console'],
        ['/docs/', '/docs'],
      ] as const)
        for (const method of ['GET', 'HEAD']) {
          const { status, headers } = await service.request(method, path);
          assert.deepEqual([status, headers.location], [302, target], `${method} ${path}`);
        }
      assert.equal((await service.request('POST', '/')).status, 405);
      assert.equal((await service.request('GET', '//')).status, 404);
    } finally {
      await service.close();
    }
  });
});

describe('the files of the console', () => {
  let service: Service;
  before(async () => {
    service = await startService('sqlite');
  });
  after(() => service.close());

  it('200: are under 150 KB compressed together, the same as plain ones, and asked about again with tags', async (test) => {
    const html = (await service.request('GET', '/console')).text;
    const files = [...html.matchAll(/(?:href|src)="(\/console\/[^"]+)"/g)].map(([, path]) => path ?? '');
    assert.ok(files.includes('/console/main.js') && files.length > 20);
    let bytes = html.length;
    for (const path of files) {
      const response = await fetch(`${service.base}${path}`, { headers: { 'accept-encoding': 'gzip' } });
      assert.equal(response.headers.get('content-encoding'), 'gzip', path);
      assert.equal(await response.text(), (await service.request('GET', path)).text, path);
      bytes += Number(response.headers.get('content-length'));
      const tag = String(response.headers.get('etag'));
      // A proxy that packs calls the tag weak.
      for (const held of [tag, `W/${tag}`, `"other", ${tag}`])
        assert.equal((await service.request('GET', path, { headers: { 'if-none-match': held } })).status, 304, path);
    }
    test.diagnostic(`${bytes} bytes in ${files.length + 1} files`);
    assert.ok(bytes < 150_000, `${bytes} bytes`);
  });

  it('200: are packed for those who take that alone', async () => {
    for (const [accepted, encoding] of [
      ['gzip;q=0', null],
      ['br, GZIP; q=0.000', null],
      ['x-gzip', null],
      ['br, gzip;q=0.1', 'gzip'],
      ['gzip , deflate', 'gzip'],
    ] as const) {
      const response = await fetch(`${service.base}/console/main.js`, { headers: { 'accept-encoding': accepted } });
      assert.equal(response.headers.get('content-encoding'), encoding, accepted);
      assert.match(await response.text(), /import/);
    }
  });

  it('404: a file that is not the page’s does not exist', async () => {
    for (const name of ['nothing.js', 'main.ts', '..%2Fshared%2Fdom.ts', 'constructor', '__proto__', 'models.js.map'])
      assert.equal((await service.request('GET', `/console/${name}`)).status, 404, name);
  });
});
