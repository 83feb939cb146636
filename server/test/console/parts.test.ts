import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { hrefOf, hrefWith, readFilters, readRoute, withFilters } from '../../../web/console/state/address.ts';
import { dayName, relativeText, timeText } from '../../../web/console/state/times.ts';
import { makeSecret } from '../../src/domain/secret.ts';
import {
  accountButton,
  type ConsoleTab,
  checkAccessibility,
  openBrowser,
  openConsole,
  openTab,
  phone,
  pressShortcut,
  signIn,
  untilItFits,
} from '../support/browser.ts';
import { makeTwoTenants, type Service, startService } from '../support/harness.ts';
import { firstOrAll } from '../support/long.ts';
import { untilEqual } from '../support/until.ts';

describe('addresses of the console', () => {
  it('have parts and filters, both encoded', () => {
    const href = hrefWith(['conversations', 'a/b?c'], { q: 'two words & "more"', user: 'ж', from: 7 });
    assert.equal(href, '#/conversations/a%2Fb%3Fc?q=two+words+%26+%22more%22&user=%D0%B6&from=7');
    assert.deepEqual(readRoute(href), ['conversations', 'a/b?c']);
    assert.deepEqual(readFilters(href), { q: 'two words & "more"', user: 'ж', from: '7' });
    assert.deepEqual([readRoute('#/keys?'), readFilters('#/keys?')], [['keys'], {}]);
    assert.deepEqual([readRoute(''), readFilters('')], [[], {}]);
    assert.deepEqual(readRoute('#/%E0%A4%A'), ['%E0%A4%A']);
  });

  it('change some filters, and lose those without a value', () => {
    const href = hrefWith(['keys'], { kind: 'app', state: 'active', q: '' });
    assert.equal(href, '#/keys?kind=app&state=active');
    assert.equal(withFilters(href, { state: 'expired' }), '#/keys?kind=app&state=expired');
    assert.equal(withFilters(href, { kind: undefined, state: '' }), hrefOf('keys'));
    assert.equal(withFilters('', { q: 'x' }), '#/?q=x');
  });
});

describe('times of the console', () => {
  it('are in the zone of the reader, in one format', () => {
    const at = Date.UTC(2026, 10, 16, 5, 4, 33) / 1000;
    assert.match(timeText(at), /16.* 2026.*05:04$|Nov 16, 2026.*05:04$/);
    assert.match(timeText(at, 'longDay'), /^Monday/);
    assert.equal(timeText(at - 5 * 3600, 'clock'), '00:04');
    assert.match(timeText(at, 'utc'), /05:04 UTC$/);
    assert.equal(timeText(at, 'shortDay'), timeText(at - 5 * 3600, 'shortDay'), 'usage is counted by days in UTC');
    assert.deepEqual(
      [at, at - 86_400, at - 2 * 86_400].map((time) => dayName(time, at).split(',')[0]),
      ['Today', 'Yesterday', 'Saturday'],
    );
    assert.equal(timeText(9e15), '9000000000000000 s');
    assert.deepEqual(
      [at, at - 7300, at + 3 * 86_400, at - 400 * 86_400].map((time) => relativeText(time, at)),
      ['just now', '2 hours ago', 'in 3 days', 'last year'],
    );
  });
});

/** Times and words in a table, between spaces and hyphens, that are on more than one line. */
const brokenWords = `[...document.querySelectorAll('.data td, .data time')].flatMap((box) => {
  const texts = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  const broken = [];
  while (texts.nextNode())
    for (const word of texts.currentNode.data.matchAll(box.tagName === 'TIME' ? /.+/g : /[^\\s-]+/g)) {
      const range = new Range();
      range.setStart(texts.currentNode, word.index);
      range.setEnd(texts.currentNode, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) broken.push(word[0]);
    }
  return broken;
})`;

describe('the console, in any view', () => {
  const { admin, records, one } = makeTwoTenants();
  const name = 'chat-backend-production-europe';
  let service: Service;
  let browser: Browser;
  let tab: ConsoleTab;
  before(async () => {
    [service, browser] = await Promise.all([startService('sqlite'), openBrowser()]);
    const key = { record: 'api_key', kind: 'admin', name, secret: makeSecret('admin') };
    await service.load([...records, { ...key, expires_at: 4_102_444_800 }]);
    tab = await openConsole(browser, service.base, admin);
  });
  after(async () => {
    await browser.close();
    await service.close();
  });

  it('are local in the browser, or in UTC if the user chooses so', async () => {
    const { page } = await openTab(browser, service.base, { timezoneId: 'America/Los_Angeles' });
    await signIn(page, admin, '/console#/keys');
    const ends = page
      .getByRole('row')
      .filter({ has: page.getByRole('link', { name }) })
      .locator('time')
      .first();
    assert.equal(await ends.innerText(), '31 Dec 2099');
    assert.match((await ends.getAttribute('title')) ?? '', /^1 Jan 2100, 00:00 UTC /);
    await accountButton(page).click();
    await page.getByLabel('Times').selectOption('UTC');
    await untilEqual(() => ends.innerText(), '1 Jan 2100');
    await page.context().close();
  });

  it('breaks no word and no time in a table, at every width', async () => {
    const { page, visit } = tab;
    await visit('keys');
    await page.getByRole('link', { name }).waitFor();
    for (const width of firstOrAll([820, 390, 1440, 1024, 720], 2)) {
      await page.setViewportSize({ width, height: 900 });
      await untilItFits(page);
      await untilEqual(() => page.evaluate<string[]>(brokenWords), [], `${width}`);
    }
  });

  it('lists its shortcuts with ?, but not while the user types', async () => {
    const { page, pageErrors, visit } = tab;
    await visit('keys');
    await page.getByRole('searchbox').first().fill('why');
    await page.keyboard.press('?');
    assert.equal(await page.getByRole('searchbox').first().inputValue(), 'why?');
    assert.equal(await page.getByRole('dialog').count(), 0);
    await page.getByRole('main').focus();
    await page.keyboard.press('?');
    const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await help.getByText('Show these shortcuts').waitFor();
    const views = ['o', 'c', 'r', 'u', 'k', 'm', 'a', 'y'].map((letter) => `g then ${letter}`);
    await untilEqual(() => help.getByRole('term').allTextContents(), [...views, '/', '?', 'Ctrl K']);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await accountButton(page).click();
    await page.getByRole('button', { name: 'Keyboard shortcuts' }).click();
    await help.waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await untilEqual(() => page.evaluate<string>('document.activeElement.ariaLabel'), 'Account');
    assert.deepEqual(pageErrors, []);
  });

  it('goes to a view with g and a letter, and from row to row with the arrows', async () => {
    const { page, pageErrors, visit } = tab;
    await visit('models');
    await page.getByRole('main').focus();
    await pressShortcut(page, 'g');
    await page.keyboard.press('y');
    await page.waitForURL(/#\/keys$/);
    const names = page.getByRole('table', { name: 'Keys' }).locator('td:first-child a');
    await names.nth(1).waitFor();
    await pressShortcut(page, '/');
    await page.locator('input:focus').waitFor();
    await page.keyboard.press('ArrowDown');
    const focused = () => page.locator(':focus').innerText();
    const [first, second] = await names.allInnerTexts();
    await untilEqual(focused, first);
    await page.keyboard.press('ArrowDown');
    await untilEqual(focused, second);
    await page.keyboard.press('ArrowUp');
    await untilEqual(focused, first);
    assert.deepEqual(pageErrors, []);
  });

  it('finds views, apps, users and messages with Ctrl-K, also while the user types', async () => {
    const { page, pageErrors, visit } = tab;
    await visit('keys');
    await page.getByRole('searchbox').first().focus();
    await page.keyboard.press('Control+k');
    const field = page.getByRole('combobox', { name: /^Go to/ });
    await field.fill('act');
    const options = page.getByRole('option');
    await options.filter({ hasText: 'Activity' }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/#\/activity$/);
    await page.getByRole('button', { name: 'Go to' }).click();
    await field.fill('ann');
    await options.filter({ hasText: /^ann$/ }).waitFor();
    await checkAccessibility(page, page.getByRole('dialog'));
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.deepEqual(pageErrors, []);
  });

  it('saves a view under a name for everyone, and leads there from its menu and from Ctrl-K', async () => {
    const { page, pageErrors, visit } = tab;
    await visit('users?q=ann');
    await page.getByRole('link', { name: 'ann', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Saved views' }).click();
    await page.getByLabel('Save this view as').fill('Only Ann');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('link', { name: 'Only Ann' }).waitFor();
    await visit('users/ann');
    await page.getByRole('heading', { name: 'ann' }).waitFor();
    await visit('keys');
    await page.keyboard.press('Control+k');
    const group = (name: string) => page.getByRole('group', { name }).getByRole('option');
    await group('Recent').filter({ hasText: 'ann' }).first().waitFor();
    await checkAccessibility(page, page.getByRole('dialog'));
    await group('Saved views').filter({ hasText: 'Only Ann' }).click();
    await page.waitForURL('**#/users?q=ann');
    await page.getByRole('button', { name: 'Saved views' }).click();
    await page.getByRole('button', { name: 'Delete the view Only Ann' }).click();
    await page.getByRole('link', { name: 'Only Ann' }).waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await group('Actions').filter({ hasText: 'Theme: dark' }).click();
    await untilEqual(() => page.evaluate<string>('document.documentElement.dataset.theme'), 'dark');
    await page.keyboard.press('Control+k');
    await group('Actions').filter({ hasText: 'Theme: system' }).click();
    await page.keyboard.press('Control+k');
    await group('Actions').filter({ hasText: 'New key' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await page.waitForURL(/#\/keys$/);
    assert.deepEqual(pageErrors, []);
  });

  it('has targets of 44 pixels for fingers', async () => {
    const { page } = await openTab(browser, service.base, { viewport: phone, hasTouch: true, isMobile: true });
    await signIn(page, admin, '/console#/keys');
    const small = `[...document.querySelectorAll('button, .button, select, input, summary, .chip, nav a')]
      .filter((one) => one.checkVisibility() && !one.closest('.hidden-label, label') && one.type !== 'range')
      .map((one) => [one.outerHTML.slice(0, 120), Math.round(one.getBoundingClientRect().height)])
      .filter(([, height]) => height < 44)`;
    const { dataset, document } = one.ids;
    const pages = [`knowledge/${dataset}`, 'users/ann', `keys/${one.keyIds.app}`];
    const views = ['overview', 'users', 'knowledge', 'models', 'activity', 'start', ...pages];
    for (const view of firstOrAll(['keys', 'conversations', `knowledge/${dataset}/${document}`, ...views], 3)) {
      await page.goto(`/console#/${view}`);
      await page.locator('main :is(h1, h2)').first().waitFor();
      await untilItFits(page);
      await untilEqual(() => page.evaluate(small), [], view);
    }
    await page.context().close();
  });
});
