import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { checkAccessibility, openBrowser } from '../support/browser.ts';
import { makeTwoTenants, message, type Service, startService } from '../support/harness.ts';
import { openConversation, refreshNow } from '../support/transcript-scripts.ts';

describe('the console, while records change', () => {
  const { one, admin, records } = makeTwoTenants();
  const { ids } = one;
  const now = Math.floor(Date.now() / 1000);
  const conversation = (user: string) => ({
    ...{ record: 'conversation', id: randomUUID(), app_id: ids.app, user },
    // Before the messages: the list is sorted by the latest of both.
    created_at: now - 7_200,
  });
  /** More than one page; the first of them is the latest. */
  const many = Array.from({ length: 70 }, (_, n) => conversation(`user-${n}`));
  let service: Service;
  let browser: Browser;
  before(async () => {
    [service, browser] = await Promise.all([startService('sqlite'), openBrowser()]);
    await service.load(records);
    await service.load(many.flatMap((row, n) => [row, message(row.id, now - 3_600 - n, { query: 'Hello' })]));
  });
  after(async () => {
    await browser.close();
    await service.close();
  });

  const idOf = (n: number): string => many[n]?.id ?? '';
  const open = (n: number) => openConversation(browser, service.base, admin, [ids.app, idOf(n)]);
  const entries = (page: Page) => page.getByRole('list', { name: 'Conversations' }).getByRole('link');
  const namesOf = (page: Page) => entries(page).locator('.user').allTextContents();
  /** Has the page refresh once, as its timer does; the request succeeds, or fails. */
  const refresh = async (page: Page, path: RegExp, isDown = false) => {
    const { promise: isHeard, resolve: hear } = Promise.withResolvers<void>();
    const asked = page.waitForRequest(path);
    let isAsked = false;
    await page.route(
      path,
      async (route) => {
        isAsked = true;
        await isHeard;
        await (isDown ? route.abort() : route.continue());
      },
      { times: 1 },
    );
    // There is no second request while the page handles the response before.
    while (!isAsked) await page.evaluate(refreshNow);
    hear();
    await (await asked).response();
  };
  const messages = /\/messages\?/;
  const list = /\/conversations\?/;

  it('shows in the transcript that refreshing fails, from the second failure until it works again', async () => {
    const { page, pageErrors } = await open(0);
    const stale = page.getByRole('status').getByText('Not up to date: the service cannot be reached.');
    for (const isDown of [true, false, true]) await refresh(page, messages, isDown);
    assert.equal(await stale.count(), 0);
    await refresh(page, messages, true);
    await stale.waitFor();
    await checkAccessibility(page);
    await refresh(page, messages);
    await stale.waitFor({ state: 'detached' });
    assert.deepEqual(pageErrors, []);
  });

  it('counts a new message in the header too', async () => {
    const { page, pageErrors } = await open(20);
    const header = page.locator('.open-conversation > header');
    await header.getByText('1 message', { exact: true }).waitFor();
    await service.load([message(idOf(20), now - 3_619, { query: 'One more' })]);
    await refresh(page, messages);
    await page.getByText('One more').waitFor();
    await header.getByText('2 messages', { exact: true }).waitFor();
    assert.deepEqual(pageErrors, []);
  });

  it('scrolls the list to the conversation that the address names', async () => {
    const { page } = await open(40);
    const chosen = page.locator('.conversation-list [aria-current]');
    await chosen.waitFor();
    const isVisible = `(() => {
      const box = document.querySelector('.conversation-list').getBoundingClientRect();
      const row = document.querySelector('.conversation-list [aria-current]').getBoundingClientRect();
      return row.top >= box.top && row.bottom <= box.bottom;
    })()`;
    assert.equal(await page.evaluate(isVisible), true);
    assert.ok((await page.evaluate<number>("document.querySelector('.conversation-list').scrollTop")) > 0);
  });

  it('lists new conversations first, and keeps the choice, the focus and the rows of later pages', async () => {
    const { page, pageErrors } = await open(2);
    await entries(page).last().scrollIntoViewIfNeeded();
    await entries(page).nth(70).waitFor();
    const before = await namesOf(page);
    await page.getByRole('link', { name: idOf(60) }).focus();
    await page.evaluate("document.querySelector('.conversation-list').scrollTop = 0");
    // Not every browser moves a row without taking the focus from it.
    await page.evaluate('delete Element.prototype.moveBefore');
    const fresh = conversation('somebody new');
    await service.load([
      fresh,
      message(fresh.id, now + 60, { query: 'Hello' }),
      message(idOf(3), now + 30, { query: 'And?' }),
      message(idOf(60), now, { query: 'And?' }),
    ]);
    await refresh(page, list);
    await page.getByText('somebody new').waitFor();
    const moved = ['user-3', 'user-60'];
    assert.deepEqual(await namesOf(page), [
      'somebody new',
      ...moved,
      ...before.filter((name) => !moved.includes(name)),
    ]);
    assert.match(await page.locator(':focus').innerText(), /^user-60\n[\s\S]*2 messages$/);
    assert.match(await page.locator('[aria-current="true"]').innerText(), /^user-2\n/);
    assert.deepEqual(pageErrors, []);
  });

  it('does not change the list while the user reads further down, or searches', async () => {
    const { page } = await open(0);
    await entries(page).nth(49).waitFor();
    const asked: string[] = [];
    page.on('request', (request) => list.test(request.url()) && asked.push(request.url()));
    await page.evaluate("document.querySelector('.conversation-list').scrollTop = 100");
    await refresh(page, messages);
    assert.deepEqual(asked, []);
    await page.getByLabel('Search by conversation id or user').fill('user-1');
    await page.getByRole('link', { name: 'user-20' }).waitFor({ state: 'detached' });
    asked.length = 0;
    await refresh(page, messages);
    assert.deepEqual(asked, []);
    await page.evaluate("document.querySelector('.conversation-list').scrollTop = 10");
    await page.getByRole('button', { name: 'Clear' }).click();
    await entries(page).nth(49).waitFor();
    // It begins at the top again.
    await refresh(page, list);
  });
});
