import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { type ConsoleTab, openBrowser, openConsole, openTab, signIn } from '../support/browser.ts';
import { makeTwoTenants, message, type Service, startService } from '../support/harness.ts';
import { firstOrAll } from '../support/long.ts';
import { visitConversation } from '../support/transcript-scripts.ts';

describe('the console, in other languages', () => {
  const { one, admin, records } = makeTwoTenants();
  const { ids } = one;
  const response = 'أهلاً بك! **يمكنك** ذلك.\n\n- أولاً\n\n```\nconst x = 1;\n```';
  const now = Math.floor(Date.now() / 1000);
  let service: Service;
  let browser: Browser;
  let tab: ConsoleTab;
  before(async () => {
    [service, browser] = await Promise.all([startService('sqlite'), openBrowser()]);
    await service.load([
      ...records,
      message(ids.conversation, now - 7_300, { query: 'مرحبا\nHello', answer: response, message_tokens: 1_234 }),
      message(ids.conversation, now - 7_200, { query: '', answer: '' }),
    ]);
    tab = await openConsole(browser, service.base, admin);
  });
  after(async () => {
    await browser.close();
    await service.close();
  });
  const address = `/console#/conversations/${ids.app}/${ids.conversation}`;
  const open = async (): Promise<Page> => {
    await visitConversation(tab, ids.app, ids.conversation);
    return tab.page;
  };

  it('is in English throughout, in the user’s variant of it', async () => {
    for (const locale of firstOrAll(['ar-EG', 'en-US'])) {
      const { page, pageErrors } = await openTab(browser, service.base, { locale });
      await signIn(page, admin, address);
      const footer = page.locator('article').filter({ hasText: 'مرحبا' }).locator('footer');
      await footer.getByTitle(/ UTC \(2 hours ago\)$/).waitFor();
      await footer.getByText('1,234 tokens').waitFor();
      assert.deepEqual(pageErrors, []);
      await page.context().close();
    }
  });

  it('works with a language tag that is not valid, as Chromium has it under LANG=C.UTF-8', async () => {
    const { page, pageErrors } = await openTab(browser, service.base);
    for (const tags of firstOrAll([['en-US@posix'], ['en-US@posix', 'en-US'], []])) {
      await page.addInitScript(`
        Object.defineProperty(navigator, 'languages', { get: () => ${JSON.stringify(tags)}, configurable: true });
        Object.defineProperty(navigator, 'language', { get: () => ${JSON.stringify(tags[0])}, configurable: true });
      `);
      if (page.url() === 'about:blank') await signIn(page, admin, address);
      else await page.reload();
      await page.getByText('1,234 tokens').waitFor();
    }
    assert.deepEqual(pageErrors, []);
    await page.context().close();
  });

  it('shows right-to-left texts, with code left-to-right', async () => {
    const page = await open();
    const direction = (selector: string) =>
      page.evaluate<string>(`getComputedStyle(document.querySelector('.markdown ${selector}')).direction`);
    assert.equal(await direction('li'), 'rtl');
    assert.equal(await direction('pre'), 'ltr');
    // The two lines of the question begin at opposite sides.
    const [arabic, english] = await page.evaluate<[number, number]>(`(() => {
      const said = [...document.querySelectorAll('.query .as-written')].find(({ textContent }) => textContent.includes('Hello'));
      const { left, right } = said.getBoundingClientRect();
      const range = document.createRange();
      range.selectNodeContents(said);
      const [first, second] = [...range.getClientRects()].filter(({ width }) => width > 0);
      return [right - first.right, second.left - left];
    })()`);
    assert.ok(arabic < 2 && english < 2, `${arabic} ${english}`);
  });

  it('says so if there is no query or no answer', async () => {
    const page = await open();
    const article = page.locator('article').filter({ hasText: 'no query' });
    await article.getByText('no answer').waitFor();
    assert.equal(await page.getByText('no answer').count(), 1);
  });
});
