import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  type ConsoleTab,
  checkAccessibilityOfVariant,
  highlightsOf,
  openBrowser,
  openConsole,
  phone,
  pressShortcut,
  scrollsHorizontally,
} from '../support/browser.ts';
import { makeTwoTenants, message, type Service, startService } from '../support/harness.ts';
import { firstOrAll, isLong, itLong } from '../support/long.ts';
import { until, untilEqual, untilMatch } from '../support/until.ts';

const day = 86_400;

describe('finding a conversation in the console', () => {
  const { one, other, admin, records } = makeTwoTenants();
  const now = Math.floor(Date.now() / 1000);
  /** An id without the numbers of the users: a search finds ids, too. */
  const idApart = (): string => {
    const id = randomUUID();
    return id.includes('88') ? idApart() : id;
  };
  const conversation = (app_id: string, user: string, days: number) => ({
    ...{ record: 'conversation', id: idApart(), app_id, user, name: `about ${user}` },
    created_at: now - days * day,
  });
  const talks = [
    conversation(one.ids.app, 'user-8811', 2),
    conversation(other.ids.app, 'User-8812', 3),
    conversation(one.ids.app, 'user-8813', 20),
  ] as const;
  const disliked = { feedback: { rating: 'dislike' } };
  /** 300 messages each; every hundredth answer is bad, and says the word. */
  const messages = talks.map(({ id, created_at }) =>
    Array.from({ length: 300 }, (_, n) =>
      message(id, created_at + n, {
        id: idApart(),
        query: `Question ${n}`,
        answer: n % 100 === 50 ? `The **Häfen** was closed, ${n}.` : `Answer ${n}. ${'word '.repeat((n * 37) % 100)}`,
        ...(n % 100 === 50 && disliked),
        ...(n === 200 && { status: 'error', error: 'no answer' }),
      }),
    ),
  );
  const idAt = (talk: number, n: number): string => messages[talk]?.[n]?.id ?? '';
  let service: Service;
  let browser: Browser;
  let tab: ConsoleTab;
  before(async () => {
    [service, browser] = await Promise.all([startService('sqlite'), openBrowser()]);
    await service.load([...records, ...talks, ...messages.flat()]);
    await service.index();
    tab = await openConsole(browser, service.base, admin);
  });
  after(async () => {
    await browser.close();
    await service.close();
  });

  const open = async (look?: Parameters<ConsoleTab['visit']>[1]) => {
    await tab.visit('conversations', look);
    await entriesOf(tab.page).first().waitFor();
    return tab;
  };
  const entriesOf = (page: Page) => page.getByRole('list', { name: 'Conversations' }).getByRole('link');
  const namesOf = (page: Page) => entriesOf(page).locator('.name').allTextContents();
  /** Waits until the message that the address names is shown. */
  const isAt = (page: Page, id: string) =>
    until(() =>
      page.evaluate<boolean>(`(() => {
        const scroller = document.querySelector('.scroller')?.getBoundingClientRect();
        const current = document.querySelector('article[aria-current][data-id="${id}"]')?.getBoundingClientRect();
        return current !== undefined && current.top >= scroller.top && current.top < scroller.bottom;
      })()`),
    );

  it('finds the conversation of a user by one search, in any app', async () => {
    const { page, pageErrors } = await open();
    await pressShortcut(page, '/');
    await page.keyboard.type('8812');
    await page.getByRole('link', { name: 'about user-8811' }).waitFor({ state: 'detached' });
    await untilEqual(() => namesOf(page), ['about User-8812']);
    await page.waitForURL(new RegExp(`#/conversations/${other.ids.app}/${talks[1].id}/.*q=8812`));
    await page.getByRole('searchbox').fill('no such user');
    await page.getByText('Nothing matches').waitFor();
    // Without a search, the open conversation stays.
    await page.getByRole('searchbox').fill('');
    await page.getByRole('link', { name: 'about user-8811' }).waitFor();
    assert.deepEqual(pageErrors, []);
  });

  itLong('finds a user in any case, and a conversation by its id', async () => {
    const { page, pageErrors } = await open();
    await page.getByRole('searchbox').fill('USER-8812');
    await page.waitForURL(/q=USER-8812/);
    await untilEqual(() => namesOf(page), ['about User-8812']);
    await untilEqual(() => entriesOf(page).first().locator('.statistics mark').allTextContents(), ['User', '8812']);
    await page.getByRole('searchbox').fill(talks[1].id);
    await entriesOf(page).getByText('matches an ID').waitFor();
    assert.deepEqual(pageErrors, []);
  });

  it('finds a word that was said: it opens the newest hit, highlights it, and steps through the others', async () => {
    const { page, pageErrors } = await open();
    await page.getByRole('searchbox').fill('hafen clos');
    await isAt(page, idAt(0, 250));
    await untilEqual(async () => [...new Set(await highlightsOf(page))], ['Häfen', 'clos']);
    await untilEqual(() => namesOf(page), ['about user-8811', 'about User-8812', 'about user-8813']);
    await untilEqual(() => entriesOf(page).first().locator('mark').allTextContents(), ['Häfen', 'closed']);
    const steps = page.getByRole('group', { name: 'Hits in this conversation' });
    await steps.getByText('Hit 3 of 3').waitFor();
    await steps.getByRole('button', { name: 'Previous hit' }).click();
    await isAt(page, idAt(0, 150));
    await steps.getByText('Hit 2 of 3').waitFor();
    await steps.getByRole('button', { name: 'Next hit' }).click();
    await isAt(page, idAt(0, 250));
    await steps.getByRole('button', { name: 'Next hit', disabled: true }).waitFor();
    await checkAccessibilityOfVariant(page);
    if (isLong) await stepByKeys(page);
    await entriesOf(page).nth(1).click();
    await isAt(page, idAt(1, 250));
    assert.deepEqual(pageErrors, []);
  });

  /** From the last hit of the first conversation; they begin again after it. A reload stays at the hit. */
  async function stepByKeys(page: Page): Promise<void> {
    await pressShortcut(page, ']');
    await isAt(page, idAt(0, 50));
    for (const key of ['Enter', 'Escape']) {
      await pressShortcut(page, '/');
      await page.keyboard.press(key);
      await untilEqual(() => page.evaluate<string>('document.activeElement.ariaLabel'), 'Transcript', key);
      await pressShortcut(page, '[');
      await isAt(page, idAt(0, 250));
      await pressShortcut(page, ']');
      await isAt(page, idAt(0, 50));
      assert.equal(await page.getByRole('searchbox').inputValue(), 'hafen clos');
    }
    await page.reload();
    await isAt(page, idAt(0, 50));
  }

  itLong('keeps a filter that was chosen in the same moment as the period', async () => {
    const { page, pageErrors } = await open();
    // Both before the view is drawn again, as on a slow machine.
    const choosePeriod = `(() => {
      const period = [...document.querySelectorAll('.scope select')].at(-1);
      period.value = '7';
      period.dispatchEvent(new Event('change', { bubbles: true }));
    })()`;
    await page.evaluate(`location.hash = '#/conversations?rating=dislike'; ${choosePeriod}`);
    await page.waitForURL(/rating=dislike&days=7/);
    await isAt(page, idAt(0, 250));
    // The period is chosen while the search waits for another letter.
    await page.getByRole('combobox', { name: 'Period' }).selectOption('Last 30 days');
    await page.waitForURL(/days=30/);
    await page.getByRole('searchbox').fill('hafen');
    await page.evaluate(choosePeriod);
    await page.waitForURL(/rating=dislike&days=7&q=hafen/);
    await isAt(page, idAt(0, 250));
    assert.deepEqual(pageErrors, []);
  });

  it('lists the disliked answers of a week by two clicks, with counts, in the address', async () => {
    const { page, pageErrors } = await open();
    const filters = page.getByRole('group', { name: 'Filters' });
    await filters.getByRole('link', { name: 'Disliked 9' }).click();
    await isAt(page, idAt(0, 250));
    await page.getByRole('combobox', { name: 'Period' }).selectOption('Last 7 days');
    await filters.getByRole('link', { name: 'Disliked 6' }).waitFor();
    await isAt(page, idAt(0, 250));
    // The counts and the list come with responses of their own.
    await untilEqual(() => namesOf(page), ['about user-8811', 'about User-8812']);
    const { hash } = new URL(page.url());
    assert.match(hash, /\?rating=dislike&days=7$/);
    await untilMatch(() => entriesOf(page).first().innerText(), /300 msgs[\s\S]*3 hits/);
    for (const sign of ['3 disliked', '1 failed'])
      await untilEqual(() => entriesOf(page).first().getByRole('img', { name: sign }).count(), 1, sign);
    await tab.visit(hash.slice(2));
    await isAt(page, idAt(0, 250));
    await filters.getByRole('link', { name: 'Disliked 6' }).click();
    await filters.getByRole('link', { name: 'Failed 2' }).click();
    await isAt(page, idAt(0, 200));
    assert.deepEqual(pageErrors, []);
  });

  itLong('lists the bad answers, disliked or failed, by one click', async () => {
    const { page, pageErrors } = await open();
    await page.getByRole('group', { name: 'Filters' }).getByRole('link', { name: 'Bad answers 12' }).click();
    await page.waitForURL(/\?has=bad_answer$/);
    await isAt(page, idAt(0, 250));
    await untilMatch(() => entriesOf(page).first().innerText(), /4 hits/);
    assert.deepEqual(pageErrors, []);
  });

  itLong('reports that the index is being built, until it is', async () => {
    const { page, pageErrors } = await open();
    const note = page.getByText('The search index is being built. Results are incomplete.');
    assert.equal(await note.count(), 0);
    await service.store.search.reset('other rules');
    await open();
    await note.waitFor();
    await service.index();
    await open();
    await page.getByRole('link', { name: 'Disliked 9' }).waitFor();
    await note.waitFor({ state: 'detached' });
    assert.deepEqual(pageErrors, []);
  });

  itLong('starts another search at its first hit, although the search before has more pages', async () => {
    const { page, pageErrors } = await open();
    // A page has two of the three conversations, and the next one is still being read when another search starts.
    const twoTalks = ['about user-8811', 'about User-8812'];
    const requests: string[] = [];
    const pages = '**/admin/search?*group=conversation*';
    await page.route(pages, async (route) => {
      const url = route.request().url();
      const [, query, cursor] = /\?(.*)&limit=50&group=conversation(&cursor=)?/.exec(url) ?? [];
      requests.push(`${query} ${cursor ? 'next' : 'first'}`);
      if (!cursor) await route.continue({ url: url.replace('limit=50', 'limit=2') });
    });
    const readsFirst = async (query: string, change: () => Promise<void>) => {
      await change();
      await until(() => requests.includes(`${query} next`));
      await untilEqual(() => page.getByText('300 hits').count(), 2);
      await untilEqual(() => namesOf(page), twoTalks);
      await isAt(page, idAt(0, 299));
    };
    const field = page.getByRole('searchbox');
    await readsFirst('q=questio', () => field.fill('questio'));
    await readsFirst('q=question', () => field.fill('question'));
    await readsFirst('q=question&from=1', () => page.goto('/console#/conversations?q=question&from=1').then());
    const searches = ['q=questio', 'q=question', 'q=question&from=1'];
    assert.deepEqual(
      requests,
      searches.flatMap((query) => [`${query} first`, `${query} next`]),
    );
    await page.unroute(pages);
    assert.deepEqual(pageErrors, []);
  });

  it('shows all conversations of a user, and moves to bad answers by a key', async () => {
    const { page } = await open({ viewport: { width: 1440, height: 900 } });
    await entriesOf(page).first().click();
    const aside = page.getByRole('complementary', { name: 'About this conversation' });
    await aside.getByRole('link', { name: 'user-8811' }).click();
    await page.getByRole('heading', { name: 'user-8811' }).waitFor();
    await page.locator('.facts').getByRole('link').first().click();
    await page.getByRole('link', { name: 'User: user-8811 (remove)' }).waitFor();
    await page.getByRole('link', { name: 'about User-8812' }).waitFor({ state: 'detached' });
    await untilEqual(() => namesOf(page), ['about user-8811']);
    await page.locator(`article[data-id="${idAt(0, 299)}"]`).waitFor();
    for (const n of firstOrAll([50, 150, 200, 250, 50], 2)) {
      await pressShortcut(page, 'n');
      await isAt(page, idAt(0, n));
    }
    assert.equal(await aside.getByRole('button', { name: 'Next file' }).count(), 0, 'no message has files');
    await aside.getByRole('button', { name: 'Next failed' }).click();
    await isAt(page, idAt(0, 200));
    await aside.getByRole('button', { name: 'Beginning' }).click();
    await page.getByText('The beginning of this conversation').waitFor();
  });

  it('shows the best matches first, if the user wants them', async () => {
    const { page, pageErrors } = await open();
    const best = page.getByRole('link', { name: 'Best match' });
    assert.equal(await best.count(), 0, 'without words');
    await page.goto('/console#/conversations?q=was+question');
    await best.click();
    await page.waitForURL(/order=best/);
    await untilEqual(() => namesOf(page).then((names) => names.length), 3);
    assert.equal(await best.getAttribute('aria-current'), 'true');
    await page.getByText('The best of the newest 200 hits, on one page').waitFor();
    await best.click();
    await page.waitForURL(/q=was\+question$/);
    assert.deepEqual(pageErrors, []);
  });

  it('has the other filters in a form', async () => {
    const { page } = await open();
    await page.getByText('More filters').click();
    const date = (days: number) => new Date((now - days * day) * 1000).toISOString().slice(0, 10);
    await page.getByLabel('To,').fill(date(10));
    await page.getByLabel('To,').press('Enter');
    await page.getByRole('link', { name: 'about user-8811' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'about user-8813' }).waitFor();
    const others = async () => (await namesOf(page)).filter((name) => name.startsWith('about'));
    await untilEqual(others, ['about user-8813'], 'by last activity');
    await page.getByLabel('User, exactly').fill('user-8811');
    await page.getByLabel('User, exactly').press('Enter');
    await page.getByText('Nothing matches').waitFor();
    await page.waitForURL(/to=\d+&user=user-8811/);
    await page.getByRole('combobox', { name: 'Period' }).selectOption('All time');
    await page.getByRole('link', { name: 'about user-8811' }).waitFor();
  });

  itLong('shows the list on a phone, and a hit after a tap', async () => {
    const { page, pageErrors } = await open({ viewport: phone, colorScheme: 'dark' });
    await page.getByRole('searchbox').fill('hafen');
    // Before the search, the list has these and others.
    await untilEqual(() => namesOf(page), ['about user-8811', 'about User-8812', 'about user-8813']);
    await checkAccessibilityOfVariant(page);
    assert.ok(!(await scrollsHorizontally(page)));
    await entriesOf(page).nth(1).click();
    await isAt(page, idAt(1, 250));
    await checkAccessibilityOfVariant(page);
    assert.ok(!(await scrollsHorizontally(page)));
    await page.getByRole('link', { name: 'Back to conversations' }).click();
    await entriesOf(page).nth(2).waitFor();
    await untilEqual(() => page.getByRole('searchbox').inputValue(), 'hafen');
    assert.deepEqual(pageErrors, []);
  });
});
