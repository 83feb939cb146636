import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Browser, Locator, Page, Request } from 'playwright-core';
import {
  accountButton,
  checkInBothThemes,
  closeTabs,
  openBrowser,
  openBrowserWithScrollbars,
  openTab,
  phone,
  scrollsHorizontally,
  signIn,
  signInByForm,
  signOut,
} from '../support/browser.ts';
import { makeTwoTenants, onOneEngine, type Service, startService, useService } from '../support/harness.ts';
import { describeLong, isLong, itLong } from '../support/long.ts';
import { until, untilEqual } from '../support/until.ts';

/** A view reads the service through its API alone, which other tests prove on every engine. */
onOneEngine('the console', (engine) => {
  const { admin, one, records } = makeTwoTenants();
  let service: Service;
  let browser: Browser;
  before(async () => {
    [service, browser] = await Promise.all([startService(engine), openBrowser()]);
    await service.load(records);
  });
  afterEach(() => closeTabs(browser));
  after(async () => {
    await browser.close();
    await service.close();
  });
  const views = (page: Page) => page.getByRole('navigation', { name: 'Views' });
  const signInButton = (page: Page) => page.getByRole('button', { name: 'Sign in' });

  it('requires an admin key, and rejects others', async () => {
    const { page, pageErrors } = await openTab(browser, service.base);
    await page.goto('/console');
    await signInButton(page).waitFor();
    await untilEqual(() => page.title(), 'Sign in · Backscroll');
    for (const key of ['nonsense', one.keys.app]) {
      await page.getByLabel('Admin key').fill(key);
      const response = page.waitForResponse('**/console/session');
      await page.keyboard.press('Enter');
      assert.equal((await response).status(), 401);
      await page.getByRole('alert').filter({ hasText: 'This key does not allow signing in' }).waitFor();
    }
    await checkInBothThemes(page);
    assert.deepEqual(pageErrors, []);
  });

  it('stays signed in after a reload, without the key in any place that a script can read', async () => {
    const { page, pageErrors } = await openTab(browser, service.base);
    await signInByForm(page, admin);
    await page.reload();
    await accountButton(page).waitFor();
    const readable = await page.evaluate<string>(
      'JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }, document.documentElement.outerHTML])',
    );
    assert.ok(!readable.includes(admin));
    assert.ok(!readable.includes('backscroll_session'));
    const [cookie, ...others] = await page.context().cookies();
    assert.deepEqual(others, []);
    const { name, httpOnly, sameSite } = cookie ?? {};
    assert.deepEqual({ name, httpOnly, sameSite }, { name: 'backscroll_session', httpOnly: true, sameSite: 'Strict' });
    assert.notEqual(cookie?.value, admin);
    assert.deepEqual(pageErrors, []);
  });

  it('requests all files of a view together when the address changes', async () => {
    const { page, pageErrors } = await openTab(browser, service.base);
    await signIn(page, admin, '/console#/models');
    await page.evaluate("location.hash = '#/review'");
    await page.getByRole('heading', { name: 'Review' }).waitFor();
    const preloaded = "[...document.querySelectorAll('link[rel=modulepreload]')].map((link) => link.href)";
    const names = (await page.evaluate<string[]>(preloaded)).map((file) => /(\w+)-\w+\.js$/.exec(file)?.[1]);
    assert.deepEqual(names, ['models', 'review', 'chunk']);
    assert.deepEqual(pageErrors, []);
  });

  it('signs out, and ends the session', async () => {
    const { page } = await openTab(browser, service.base);
    await signIn(page, admin);
    const [cookie] = await page.context().cookies();
    await signOut(page);
    await signInButton(page).waitFor();
    await untilEqual(() => page.evaluate<string>('document.activeElement.name'), 'key');
    assert.deepEqual(await page.context().cookies(), []);
    const headers = { cookie: `backscroll_session=${cookie?.value}`, 'backscroll-console': '1' };
    assert.equal((await service.request('GET', '/admin/apps', { headers })).status, 401);
    await page.reload();
    await signInButton(page).waitFor();
  });

  itLong('reports that signing out failed, and retries it', async () => {
    const { page } = await openTab(browser, service.base);
    await signIn(page, admin);
    await page.route('/console/session', (route) => route.abort());
    await signOut(page);
    await page.getByText('You are still signed in.').waitFor();
    await page.unroute('/console/session');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('You are signed out.').waitFor();
    assert.deepEqual(await page.context().cookies(), []);
  });

  // In `npm test`, drafts.test.ts goes on after a session has ended.
  itLong('requires a key again after the session has ended, and says why', async () => {
    const { page } = await openTab(browser, service.base);
    await signIn(page, admin);
    service.advanceClock(13 * 3600);
    // Not by a click: a response that is under way may end the session first.
    await page.evaluate("location.hash = '#/models'");
    await page.getByText('You were signed out').waitFor();
    await signInButton(page).waitFor();
  });

  it('makes at most 5 requests until the form to sign in is usable, none fails, and loads under 125 KB until a view is shown', async (test) => {
    const { page, pageErrors } = await openTab(browser, service.base);
    const requested: string[] = [];
    const messages: string[] = [];
    // Not of responses: the one of the change feed has no end, so its size is never known.
    const finished: Request[] = [];
    page.on('request', (request) => requested.push(request.url()));
    page.on('requestfinished', (request) => finished.push(request));
    page.on('console', (message) => messages.push(message.text()));
    await page.goto('/console', { waitUntil: 'networkidle' });
    await untilEqual(() => page.evaluate<string>('document.activeElement.name'), 'key');
    const fromNetwork = requested.filter((url) => url.startsWith('http'));
    assert.ok(fromNetwork.length <= 5, fromNetwork.join(' '));
    assert.deepEqual([messages, pageErrors], [[], []]);
    await page.keyboard.type(admin);
    await page.keyboard.press('Enter');
    await accountButton(page).waitFor();
    await page.locator('main > *').first().waitFor();
    const requests = finished.filter((request) => request.url().startsWith('http'));
    const sizes = await Promise.all(requests.map((request) => request.sizes()));
    const bytes = sizes.reduce((sum, { responseBodySize }) => sum + responseBodySize, 0);
    test.diagnostic(`${bytes} bytes in ${requests.length} responses`);
    assert.ok(bytes > 20_000 && bytes < 125_000, `${bytes} bytes`);
  });

  it('makes at most 15 requests for a view, in three round trips, and shows its frame before the modules', async () => {
    const { page, pageErrors } = await openTab(browser, service.base);
    await page.context().request.post('/console/session', { data: { key: admin } });
    await page.addInitScript("localStorage.setItem('backscroll-signed-in', 'yes')");
    let release: () => void = () => undefined;
    const isReleased = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/console/*.js', async (route) => {
      await isReleased;
      await route.continue();
    });
    const requested: string[] = [];
    page.on('request', (request) => requested.push(new URL(request.url()).pathname));
    await page.goto('/console#/conversations', { waitUntil: 'commit' });
    await page.locator('.first-frame .skeleton').first().waitFor();
    // The second round trip has all modules, the third one the session and the data.
    await until(() => requested.some((path) => path.startsWith('/console/conversations-')));
    assert.ok(!requested.some((path) => path === '/console/session' || path.startsWith('/admin')), requested.join(' '));
    release();
    await page.locator('.conversation-list a').first().waitFor();
    const data = ['/console/session', '/admin/conversations', '/admin/search/counts'];
    assert.ok(data.every((path) => requested.includes(path)));
    // Once the change feed has started, the list is read again, sooner or later than its first row is seen.
    assert.ok(new Set(requested).size <= 15, requested.join(' '));
    const files = requested.filter((path) => /^\/console\/.+\./.test(path));
    assert.deepEqual(files, [...new Set(files)]);
    await page.locator('.first-frame').waitFor({ state: 'detached' });
    assert.deepEqual(pageErrors, []);
  });

  it('loads again, once, when the file of a view is gone after an upgrade', async () => {
    const { page, pageErrors } = await openTab(browser, service.base);
    const failure = page.getByText('This part of the page could not be loaded.');
    let loads = 0;
    let isUpgraded = false;
    await page.route('/console', (route) => {
      if (route.request().resourceType() === 'document') loads += 1;
      else if (isUpgraded) return route.fulfill({ body: 'another version' });
      return route.continue();
    });
    await page.route('**/console/{keys,users}-*.js*', (route) => route.fulfill({ status: 404 }));
    await signIn(page, admin, '/console#/models');
    // The service still has this version, so loading the page again would not help.
    await page.evaluate("location.hash = '#/keys'");
    await failure.waitFor();
    assert.equal(loads, 1);
    isUpgraded = true;
    await page.evaluate("location.hash = '#/users'");
    await until(() => loads === 2);
    await failure.waitFor();
    assert.equal(loads, 2);
    await page.unroute('**/console/{keys,users}-*.js*');
    await page.getByRole('heading', { name: 'Users' }).waitFor();
    assert.deepEqual([loads, pageErrors], [2, []]);
  });

  it('shows a view in place once the network is back, without a click', async () => {
    const { page } = await openTab(browser, service.base);
    await signIn(page, admin, '/console#/models');
    await page.getByRole('heading', { name: 'Models' }).waitFor();
    await page.context().setOffline(true);
    await page.evaluate("location.hash = '#/keys'");
    await page.getByText('This part of the page could not be loaded.').waitFor();
    await page.evaluate("location.hash = '#/models'");
    await page.getByRole('alert').getByText('The service cannot be reached. It is tried again').first().waitFor();
    await page.evaluate("location.hash = '#/keys'");
    await page.context().setOffline(false);
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    await page.getByRole('row').nth(1).waitFor();
    await page.context().close();
  });

  itLong('can be used by keyboard alone', async () => {
    const { page } = await openTab(browser, service.base, { viewport: phone });
    await page.goto('/console');
    await signInButton(page).waitFor();
    await page.keyboard.type(admin);
    await page.keyboard.press('Enter');
    await accountButton(page).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await untilEqual(() => page.evaluate<string>('document.activeElement.id'), 'main');
    await page.goto('/console#/keys');
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    await page.getByRole('button', { name: 'Menu' }).focus();
    await page.keyboard.press('Enter');
    assert.equal(await views(page).getByRole('link', { name: 'Keys' }).getAttribute('aria-current'), 'page');
  });

  it('names the view in the title of the page, and shows the whole menu at every width', async () => {
    const { page } = await openTab(browser, service.base);
    await signIn(page, admin);
    for (const [hash, title] of [
      ['conversations', 'Conversations'],
      ['knowledge', 'Knowledge'],
      ['models', 'Models'],
      ['keys', 'Keys'],
      ['overview', 'Overview'],
      ['pulse', 'Overview'],
      [`knowledge/${one.ids.dataset}`, 'dataset · Knowledge'],
      [`conversations/${one.ids.app}/${one.ids.conversation}`, 'ann · Conversations'],
    ] as const) {
      await page.goto(`/console#/${hash}`);
      await until(async () => (await page.title()).endsWith(`${title} · Backscroll`));
    }
    const menu = page.getByRole('button', { name: 'Menu' });
    for (const width of isLong ? [375, 560, 700, 780, 862, 1000, 1199, 1200, 1280] : [375, 1199, 1200]) {
      await page.setViewportSize({ width, height: 800 });
      const isFolded = width < 1200;
      await menu.waitFor({ state: isFolded ? 'visible' : 'hidden' });
      await views(page).waitFor({ state: isFolded ? 'hidden' : 'visible' });
      if (isFolded) await menu.click();
      await views(page).waitFor();
      const places = await views(page).getByRole('link').evaluateAll(placesOf);
      assert.equal(places.length, 8);
      for (const { name, left, right } of places) assert.ok(left >= 0 && right <= width, `${name} at ${width}`);
      assert.ok(!(await scrollsHorizontally(page)), `${width}`);
      if (isFolded) await page.keyboard.press('Escape');
    }
  });

  itLong('links to the reference and back, also on a phone', async () => {
    const { page, pageErrors } = await openTab(browser, service.base, { viewport: phone });
    await signIn(page, admin);
    await accountButton(page).click();
    await page.getByRole('link', { name: 'API reference' }).click();
    const back = page.getByRole('link', { name: 'Console', exact: true });
    await back.waitFor();
    assert.ok(!(await scrollsHorizontally(page)));
    await back.click();
    await accountButton(page).waitFor();
    assert.ok(!(await scrollsHorizontally(page)));
    assert.deepEqual(pageErrors, []);
  });
});

describeLong('the frame of the console, with scrollbars', () => {
  const { admin, records } = makeTwoTenants();
  let service: Service;
  let browser: Browser;
  before(async () => {
    [service, browser] = await Promise.all([startService('sqlite'), openBrowserWithScrollbars()]);
    await service.load(records);
  });
  after(async () => {
    await browser.close();
    await service.close();
  });

  it('has the same edges in every view, a menu that stays in its place, and a header up to the right edge', async () => {
    const { page } = await openTab(browser, service.base, { viewport: { width: 1280, height: 300 } });
    await signIn(page, admin);
    const places = new Set<string>();
    const edgesOfViews = new Set<string>();
    const scrollbars = new Set<number>();
    const scrolls = 'document.documentElement.clientWidth < innerWidth';
    const views = page.getByRole('navigation', { name: 'Views' });
    for (const link of await views.getByRole('link').all()) {
      await link.click();
      await link.and(page.locator('[aria-current]')).waitFor();
      if (scrollbars.size === 0) await until(() => page.evaluate<boolean>(scrolls));
      // Null while the view before it is replaced.
      let box: Awaited<ReturnType<Locator['boundingBox']>> = null;
      while (box === null) box = await page.locator('main > *').first().boundingBox();
      const frame = [...(await views.getByRole('link').all()), accountButton(page)].map((part) => part.boundingBox());
      // The panes of the conversations have the whole window.
      const edges = page.url().includes('#/conversations') ? [] : [box.x, box.width];
      edgesOfViews.add(edges.join());
      places.add(JSON.stringify([(await Promise.all(frame)).map((part) => [part?.x, part?.y])]));
      const [windowWidth, width, header] = await page.evaluate<[number, number, number]>(
        "[innerWidth, document.documentElement.clientWidth, document.querySelector('header').offsetWidth]",
      );
      scrollbars.add(windowWidth - width);
      assert.equal(header, width, page.url());
    }
    assert.equal(places.size, 1, [...places].join(' '));
    assert.equal(edgesOfViews.size, 2, [...edgesOfViews].join(' '));
    assert.deepEqual([...scrollbars].sort(), [0, 15], 'some views scroll, others do not');
    await page.goto('/console#/overview');
    await page.getByText('No messages in this period.').waitFor();
    const place = await views.boundingBox();
    await until(() => page.evaluate<boolean>('scrollTo(0, 40), scrollY === 40'));
    assert.deepEqual(await views.boundingBox(), place);
  });
});

describe('a page whose files could not be read', () => {
  it('500: is not cached; 200 as soon as they can be read', async () => {
    const service = await startService('sqlite');
    const { readFile } = fs;
    const paths = ['/docs', '/openapi.json'];
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

describe('the files of the pages', () => {
  const service = useService('sqlite');

  /** The script of a page: its path, its text, and the headers it is sent with. */
  async function mainFile(page: string) {
    const html = (await service.request('GET', page)).text;
    const path = /<script type="module" src="([^"]+)"/.exec(html)?.[1] ?? '';
    return { html, path, ...(await service.request('GET', path)) };
  }

  it('200: have names that change with their content and are cached for a year, and their digests are in the page', async () => {
    for (const page of ['/console', '/docs']) {
      const { html, path, headers, text } = await mainFile(page);
      assert.match(path, /-[A-Z0-9]{8}\.js$/);
      assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable');
      assert.doesNotMatch(text, /sourceMappingURL/);
      const [, map = ''] = /<script type="importmap">(.+?)<\/script>/.exec(html) ?? [];
      const { integrity } = JSON.parse(map) as { integrity: Record<string, string> };
      const style = /<link rel="stylesheet" href="([^"]+)" integrity="([^"]+)">/.exec(html) ?? [];
      for (const [file, digest] of [...Object.entries(integrity), [String(style[1]), style[2]]] as const) {
        const content = await service.request('GET', file);
        assert.equal(digest, `sha256-${createHash('sha256').update(content.text).digest('base64')}`, file);
      }
      assert.ok(path in integrity);
      const loadedLater = [...text.matchAll(/import\("\.\/([^"]+)"\)/g)].map(([, file]) => `${page}/${file}`);
      assert.ok(loadedLater.length > 0 && loadedLater.every((file) => file in integrity));
      // What several views need is in the main file, so that a view is one more file; for messages, two more.
      const shared = Object.keys(integrity).filter((file) => file !== path && !loadedLater.includes(file));
      assert.equal(shared.length, page === '/console' ? 1 : 0, shared.join());
      if (page !== '/console') continue;
      const files = JSON.parse(/var p=(\{.+?\}),/.exec(html)?.[1] ?? '') as Record<string, string[]>;
      const larger = Object.entries(files).filter(([, names]) => names.length > 1);
      assert.deepEqual(larger.map(([view, [, other]]) => [view, `/console/${other}`]).sort(), [
        ['conversations', shared[0]],
        ['review', shared[0]],
      ]);
    }
    const page = await service.request('GET', '/console');
    assert.equal(page.headers['cache-control'], 'no-cache');
    const known = { 'if-none-match': String(page.headers.etag) };
    assert.equal((await service.request('GET', '/console', { headers: known })).status, 304);
    assert.equal((await service.request('GET', '/docs/guides.json')).headers['cache-control'], 'no-cache');
  });

  it('302: addresses that people type lead to the pages, without a key', async () => {
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
  });

  it('200: are compressed, equal to the uncompressed ones, and revalidated by ETag', async () => {
    const html = (await service.request('GET', '/console')).text;
    const files = [...html.matchAll(/(?:href|src)="(\/console\/[^"]+)"/g)].map(([, path]) => path ?? '');
    assert.ok(files.some((path) => path.endsWith('.js')) && files.length >= 3);
    for (const path of files) {
      const response = await fetch(`${service.base}${path}`, { headers: { 'accept-encoding': 'gzip' } });
      assert.equal(response.headers.get('content-encoding'), 'gzip', path);
      assert.equal(await response.text(), (await service.request('GET', path)).text, path);
      const tag = String(response.headers.get('etag'));
      // A proxy that compresses makes the ETag weak.
      for (const known of [tag, `W/${tag}`, `"other", ${tag}`])
        assert.equal((await service.request('GET', path, { headers: { 'if-none-match': known } })).status, 304, path);
    }
  });

  it('200: are compressed only for clients that accept it', async () => {
    const { path = '', text } = await mainFile('/console');
    for (const [accepted, encoding] of [
      ['gzip;q=0', null],
      ['br, GZIP; q=0.000', null],
      ['x-gzip', null],
      ['br, gzip;q=0.1', 'gzip'],
      ['gzip , deflate', 'gzip'],
    ] as const) {
      const response = await fetch(`${service.base}${path}`, { headers: { 'accept-encoding': accepted } });
      assert.equal(response.headers.get('content-encoding'), encoding, accepted);
      assert.equal(await response.text(), text);
    }
  });

  it('404: other files are not served', async () => {
    const { path = '' } = await mainFile('/console');
    for (const name of [
      'nothing.js',
      'main.tsx',
      '..%2Fshared%2Fcontrols.tsx',
      'constructor',
      '__proto__',
      `${path.slice('/console/'.length)}.map`,
    ])
      assert.equal((await service.request('GET', `/console/${name}`)).status, 404, name);
  });
});

type Place = { name: string; left: number; right: number };
type Box = { textContent: string; getBoundingClientRect(): { left: number; right: number } };

/** Where elements begin and end. Runs inside the page. */
const placesOf = (elements: readonly unknown[]): Place[] =>
  (elements as Box[]).map((box) => {
    const { left, right } = box.getBoundingClientRect();
    return { name: box.textContent, left, right };
  });
