import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { type ConsoleTab, checkAccessibilityOfVariant, openBrowser, openConsole } from '../support/browser.ts';
import { makeTwoTenants, message, type Service, startService } from '../support/harness.ts';
import { firstOrAll, itLong } from '../support/long.ts';
import { visitConversation } from '../support/transcript-scripts.ts';
import { until, untilEqual, untilMatch } from '../support/until.ts';

/** Whether the list shows the row of the open conversation. */
const isChosenVisible = `(() => {
  const box = document.querySelector('.conversation-list').getBoundingClientRect();
  const row = document.querySelector('.conversation-list [aria-current]').getBoundingClientRect();
  return row.height > 0 && row.top >= box.top - 1 && row.bottom <= box.bottom + 1;
})()`;

type Network = 'down' | 'silent' | 'up';

describe('the console, while records change', () => {
  const { one, admin, records } = makeTwoTenants();
  const { ids } = one;
  const now = Math.floor(Date.now() / 1000);
  const conversation = (user: string) => ({
    ...{ record: 'conversation', id: randomUUID(), app_id: ids.app, user, name: `about ${user}` },
    // Before the messages: the list is sorted by the latest of both.
    created_at: now - 7_200,
  });
  /** More than one page; the first of them is the latest. */
  const many = Array.from({ length: 70 }, (_, n) => conversation(`user-${n}`));
  let service: Service;
  let browser: Browser;
  let tab: ConsoleTab;
  before(async () => {
    [service, browser] = await Promise.all([startService('sqlite'), openBrowser()]);
    await service.load(records);
    await service.load(many.flatMap((row, n) => [row, message(row.id, now - 3_600 - n, { query: 'Hello' })]));
    tab = await openConsole(browser, service.base, admin);
  });
  after(async () => {
    await browser.close();
    await service.close();
  });

  const idOf = (n: number): string => many[n]?.id ?? '';
  const open = async (n: number): Promise<ConsoleTab> => {
    await visitConversation(tab, ids.app, idOf(n));
    return tab;
  };
  const entries = (page: Page) => page.getByRole('list', { name: 'Conversations' }).getByRole('link');
  const namesOf = (page: Page) => entries(page).locator('.name').allTextContents();
  const chosen = (page: Page) => page.locator('.conversation-list [aria-current]');
  const stream = /\/admin\/changes\?.*wait=/;

  it('shows a new message, and counts it below the transcript and in the list alike', async () => {
    const { page, pageErrors } = await open(20);
    const foot = page.locator('.transcript > footer');
    await foot.getByText('1 message', { exact: true }).waitFor();
    await service.load([message(idOf(20), now - 3_619, { query: 'One more' })]);
    await page.getByText('One more').waitFor();
    await foot.getByText('2 messages', { exact: true }).waitFor();
    await chosen(page).getByText('2 msgs', { exact: true }).waitFor();
    assert.deepEqual(pageErrors, []);
  });

  it('shows the newest of more new messages than a page has; elsewhere it counts them, and reads on from there', async () => {
    const { page, pageErrors } = await open(21);
    const say = (n: number) => message(idOf(21), now - 3_000 + n, { query: `New ${n}`, answer: 'word '.repeat(90) });
    await service.load(Array.from({ length: 30 }, (_, n) => say(n)));
    await page.getByText('New 29', { exact: true }).waitFor();
    const seen = (text: string) => page.locator('.query', { hasText: text }).count();
    await page.locator('.scroller').hover();
    await page.mouse.wheel(0, -4_000);
    await page.getByRole('button', { name: 'Newest' }).waitFor();
    await service.load(Array.from({ length: 40 }, (_, n) => say(100 + n)));
    await page.getByRole('button', { name: '20 new messages' }).waitFor();
    // None is left out between those that were loaded and the new ones.
    for (let n = 0; n < 40; n += 1)
      await until(async () => (await seen(`New ${100 + n}`)) > 0 || page.mouse.wheel(0, 600).then(() => false));
    await page.locator('.scroller').press('End');
    await page.getByText('New 139', { exact: true }).waitFor();
    assert.deepEqual(pageErrors, []);
  });

  it('shows a changed message, also one that is not on the newest page', async () => {
    const id = randomUUID();
    const listed = Array.from({ length: 150 }, (_, n) => message(id, now - 9_000 + n, { query: `Question ${n}` }));
    await service.load([{ ...conversation('changes'), id }, ...listed]);
    const { page } = tab;
    await visitConversation(tab, ids.app, `${id}/${listed[10]?.id}`);
    const badge = page.locator(`article[data-id="${listed[10]?.id}"]`).getByText('disliked');
    assert.equal(await badge.count(), 0);
    await service.load([{ ...listed[10], feedback: { rating: 'dislike' } }]);
    await badge.waitFor();
  });

  it('reads one stream, only while the page is visible, and polls nothing', async () => {
    const { page } = await open(0);
    const isOpen = page.waitForRequest(stream);
    await page.reload();
    await isOpen;
    await page.locator('article').last().waitFor();
    const requests: string[] = [];
    page.on('request', (request) => requests.push(new URL(request.url()).pathname));
    const hide = async (isHidden: boolean) => {
      await page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true })`);
      await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    };
    const closed = page.waitForEvent('requestfailed', (request) => stream.test(request.url()));
    await hide(true);
    await closed;
    await service.load([message(idOf(0), now, { query: 'While it was hidden' })]);
    assert.equal(await page.getByText('While it was hidden').count(), 0);
    const opened = page.waitForRequest(stream);
    await hide(false);
    await opened;
    await page.getByText('While it was hidden').first().waitFor();
    assert.equal(requests.filter((path) => path === '/admin/changes').length, 2);
  });

  /** Shows a conversation while the network is down, up, or silent. */
  const withNetwork = async (test: (page: Page, use: (state: Network) => Promise<void>) => Promise<void>) => {
    const { page, pageErrors } = await open(0);
    // It tries again after seconds.
    await page.evaluate(
      'globalThis.wait = setTimeout; globalThis.setTimeout = (call, millis) => wait(call, millis / 10)',
    );
    let network: Network = 'up';
    await page.route(/\/admin\/changes/, async (route) => {
      if (network === 'down') await route.abort();
      else if (network === 'up') await route.continue();
    });
    await page.evaluate(
      "Object.defineProperty(document, 'hidden', { get: () => globalThis.isHidden, configurable: true })",
    );
    await test(page, async (state) => {
      network = state;
      if (state === 'up') return;
      // The stream that is open ends with the tab's visibility.
      for (const isHidden of [true, false])
        await page.evaluate(`globalThis.isHidden = ${isHidden}; document.dispatchEvent(new Event('visibilitychange'))`);
    });
    await page.unrouteAll();
    await page.evaluate('globalThis.setTimeout = wait');
    assert.deepEqual(pageErrors, []);
  };
  const staleOf = (page: Page) => page.getByRole('status').getByText('Not up to date: the service cannot be reached.');

  it('shows that the service cannot be reached, from the second failure until it works again', () =>
    withNetwork(async (page, use) => {
      let requests = 0;
      const { promise: isChecked, resolve: goOn } = Promise.withResolvers<void>();
      await page.route(/\/admin\/changes/, async (route) => {
        requests += 1;
        if (requests === 2) await isChecked;
        await route.fallback();
      });
      await use('down');
      await until(() => requests === 2);
      assert.equal(await staleOf(page).count(), 0);
      goOn();
      await staleOf(page).waitFor();
      await checkAccessibilityOfVariant(page);
      await use('up');
      await staleOf(page).waitFor({ state: 'detached' });
    }));

  itLong('shows the same on a connection on which nothing arrives, although no one has closed it', () =>
    withNetwork(async (page, use) => {
      await use('silent');
      await staleOf(page).waitFor();
      await use('up');
      await staleOf(page).waitFor({ state: 'detached' });
    }),
  );

  for (const [n, where] of firstOrAll([
    [65, 'beyond the first page'],
    [40, 'further down on the first page'],
  ] as const))
    it(`scrolls the list to the conversation that the address names: ${where}`, async () => {
      const { page } = await open(n);
      await chosen(page).waitFor();
      await until(() => page.evaluate<boolean>(isChosenVisible));
      await untilMatch(() => chosen(page).innerText(), new RegExp(`about user-${n}\\b`));
      await entries(page).last().scrollIntoViewIfNeeded();
      await page.getByRole('link', { name: 'about user-69' }).waitFor();
      assert.equal((await namesOf(page)).filter((name) => name === `about user-${n}`).length, 1);
    });

  it('lists new conversations first, and keeps the choice, the focus and the rows of later pages', async () => {
    const { page, pageErrors } = await open(2);
    await entries(page).last().scrollIntoViewIfNeeded();
    await page.getByRole('link', { name: 'about user-69' }).waitFor();
    const before = await namesOf(page);
    await page.getByRole('link', { name: 'about user-60' }).focus();
    await page.evaluate("document.querySelector('.conversation-list').scrollTop = 0");
    // Not every browser moves a row without taking the focus from it.
    await page.evaluate('delete Element.prototype.moveBefore');
    const fresh = conversation('a new user');
    await service.load([
      fresh,
      message(fresh.id, now + 60, { query: 'Hello' }),
      message(idOf(3), now + 30, { query: 'And?' }),
      message(idOf(60), now + 10, { query: 'And?' }),
    ]);
    await page.getByText('about a new user').waitFor();
    const moved = ['about user-3', 'about user-60'];
    const expected = ['about a new user', ...moved, ...before.filter((name) => !moved.includes(name))];
    await untilEqual(() => namesOf(page), expected);
    await untilMatch(() => page.locator(':focus').innerText(), /^about user-60\n[\s\S]*2 msgs/);
    await untilMatch(() => chosen(page).innerText(), /^about user-2\n/);
    assert.deepEqual(pageErrors, []);
  });

  itLong('counts new messages, but moves no row, while the user reads further down', async () => {
    const { page } = await open(0);
    await entries(page).nth(49).waitFor();
    await page.evaluate("document.querySelector('.conversation-list').scrollTop = 100");
    const before = await namesOf(page);
    await service.load([message(idOf(30), now + 90, { query: 'Again' })]);
    await page.getByRole('link', { name: 'about user-30' }).getByText('2 msgs').waitFor();
    assert.deepEqual(await namesOf(page), before);
  });
});
