import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { type ConsoleTab, checkInBothThemes, openBrowser, openConsole } from '../support/browser.ts';
import { makeTwoTenants, message, type Service, startService } from '../support/harness.ts';
import { itLong } from '../support/long.ts';
import { untilEqual } from '../support/until.ts';

describe('users in the console', () => {
  const { admin, records, one, other } = makeTwoTenants();
  const now = 1_790_000_000;
  const user = 'ann@example.org';
  const talks = [one, one, other].map(({ ids }, n) => ({
    ...{ record: 'conversation', id: randomUUID(), app_id: ids.app, user },
    ...{ name: `talk ${n}`, created_at: now + n },
  }));
  let service: Service;
  let browser: Browser;
  let tab: ConsoleTab;
  before(async () => {
    [service, browser] = await Promise.all([startService('sqlite'), openBrowser()]);
    const priced = { total_price: '0.5', currency: 'USD' };
    const messages = talks.flatMap(({ id }, n) =>
      Array.from({ length: n + 1 }, (_, at) => message(id, now + 10 * n + at, { ...priced, query: `said ${n} ${at}` })),
    );
    await service.load([...records, ...talks, ...messages]);
    tab = await openConsole(browser, service.base, admin);
  });
  after(async () => {
    await browser.close();
    await service.close();
  });

  it('lists users with their totals over all apps or one, sorted by the service, and finds them by a part of the name', async () => {
    const { page, visit } = tab;
    await visit('users');
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: user }) });
    await row.waitFor();
    const cells = async () => (await row.getByRole('cell').allInnerTexts()).slice(1, 6).map((text) => text.trim());
    assert.deepEqual(await cells(), ['3', '6', '0', '0', 'US$3.00']);
    await page.getByRole('button', { name: 'Messages' }).click();
    await page.waitForURL(/sort=-messages/);
    await page.getByRole('columnheader', { name: 'Messages' }).and(page.locator('[aria-sort="descending"]')).waitFor();
    await page.getByLabel('Search users').fill('EXAMPLE.org');
    await page.getByRole('row').nth(2).waitFor({ state: 'detached' });
    await page.getByRole('combobox', { name: 'App' }).selectOption(other.ids.app);
    await row.getByRole('cell', { name: '1', exact: true }).waitFor();
    assert.deepEqual(await cells(), ['1', '3', '0', '0', 'US$1.50']);
  });

  it('shows all conversations of a user by one click, and saves a copy of all of it', async () => {
    const { page, pageErrors, visit } = tab;
    await visit('users');
    await page.getByRole('combobox', { name: 'App' }).selectOption('');
    await page.getByRole('link', { name: user }).click();
    const table = page.getByRole('table', { name: 'Conversations' });
    await table.getByRole('row').nth(3).waitFor();
    assert.deepEqual(await table.getByRole('link').allInnerTexts(), ['talk 2', 'talk 1', 'talk 0']);
    for (const [label, expected] of [
      ['Export records', 9],
      ['Export CSV', 7],
      ['Export with who read it', 9],
    ] as const) {
      if (label !== 'Export records') await page.getByRole('button', { name: 'More actions' }).click();
      const [saved] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: label }).click(),
      ]);
      const bytes = Buffer.concat(await (await saved.createReadStream()).toArray());
      const lines = bytes.toString().trim().split(/\r?\n/);
      const own = lines.filter((line) => !/"record":"(?:workspace|app)"|^\{"read":/.test(line));
      assert.equal(own.length, expected, label);
      assert.ok(own.some((line) => line.includes('said 2 2')));
    }
    await checkInBothThemes(page);
    await page.locator('.facts').getByRole('link').first().click();
    const list = page.getByRole('list', { name: 'Conversations' });
    await list.getByRole('link').nth(2).waitFor();
    assert.deepEqual(await list.locator('.name').allTextContents(), ['talk 2', 'talk 1', 'talk 0']);
    assert.deepEqual(pageErrors, []);
  });

  it('shows how much a user has written in the last days', async () => {
    const { page, pageErrors, visit } = tab;
    const today = Math.floor(Date.now() / 86_400_000) * 86_400;
    const talk = { record: 'conversation', id: randomUUID(), app_id: one.ids.app, user: 'writer', created_at: today };
    const times = [today, today - 86_400, today - 86_400, today - 59 * 86_400, today - 60 * 86_400];
    await service.load([talk, ...times.map((time, n) => message(talk.id, time + n))]);
    await visit('users/writer');
    const region = page.getByRole('region', { name: 'Last 60 days' });
    await region.getByText('4 messages, at most 2 a day').waitFor();
    assert.equal((await region.locator('svg').boundingBox())?.height, 40);
    await visit('users/nobody');
    await page.getByText('This user has no conversations.').waitFor();
    await untilEqual(() => region.count(), 0);
    assert.deepEqual(pageErrors, []);
  });

  // In `npm test`, parts.test.ts finds a user.
  itLong('finds all conversations of a user by one search', async () => {
    const { page, visit } = tab;
    await visit('overview');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: /^Go to/ }).fill('ann@');
    await page.getByRole('option', { name: user }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('table', { name: 'Conversations' }).getByRole('row').nth(3).waitFor();
  });

  it('leads from the finder to the dialog that erases a user', async () => {
    const { page, pageErrors, visit } = tab;
    await visit('overview');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: /^Go to/ }).fill('erase');
    await page.getByRole('option', { name: 'Erase user…' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Erase a user' }).waitFor();
    await page.getByRole('combobox', { name: /^Name of the user/ }).fill('ann@');
    await page.getByRole('option', { name: user }).waitFor();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: `Erase ${user}?` });
    await dialog.getByText('3 conversations with 6 messages in 2 apps are erased for good').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.waitForURL(/#\/users\/[^?]+$/);
    assert.deepEqual(pageErrors, []);
  });

  it('erases a user by four clicks and the typed name, with the audit entries as the receipt', async () => {
    const { page, pageErrors, visit } = tab;
    await visit('users');
    await page.getByRole('link', { name: user }).click();
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('button', { name: 'Erase…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.locator('input:focus').waitFor();
    await dialog.getByText('3 conversations with 6 messages in 2 apps are erased for good').waitFor();
    const erase = dialog.getByRole('button', { name: 'Erase for good' });
    await dialog.getByLabel(`Type ${user} to confirm`).fill('somebody else');
    assert.ok(await erase.isDisabled());
    await dialog.getByLabel(`Type ${user} to confirm`).fill(user);
    await erase.click();
    await dialog.getByText(`Erased 3 conversations with 6 messages of ${user}, `).waitFor();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.getByText('This user has no conversations.').waitFor();
    await visit('activity?action=purge&days=1');
    const entries = page.getByRole('row').filter({ hasText: 'Erased' });
    await untilEqual(() => entries.count(), 2);
    await entries.first().getByRole('cell', { name: /^of / }).waitFor();
    assert.deepEqual(pageErrors, []);
  });

  it('shows the disliked answers of a user, those with a comment first', async () => {
    const { page, pageErrors, visit } = tab;
    const talk = { record: 'conversation', id: randomUUID(), app_id: one.ids.app, user: 'critic', created_at: now };
    const disliked = { feedback: { rating: 'dislike' } };
    const commented = message(talk.id, now, { ...disliked, feedback_content: 'It closes at six.' });
    await service.load([talk, commented, message(talk.id, now + 1, { ...disliked, answer: '**At nine.**' })]);
    await service.index();
    await visit('users/critic');
    const rows = page.getByRole('region', { name: 'Disliked answers' }).getByRole('listitem');
    await untilEqual(
      () => rows.locator('.one-line:first-child').allTextContents(),
      ['“It closes at six.”', 'At nine.'],
    );
    await rows.first().getByRole('link').click();
    await page.waitForURL(new RegExp(`/${commented.id}\\?user=critic&rating=dislike$`));
    assert.deepEqual(pageErrors, []);
  });

  it('Back shows the rows of the list as they were left, at their place, without reading them again', async () => {
    const { page, pageErrors, visit } = tab;
    const talk = (n: number) => ({
      ...{ record: 'conversation', id: randomUUID(), app_id: one.ids.app, user: `person ${n}` },
      created_at: 1_000_000 + n,
    });
    await service.load(Array.from({ length: 170 }, (_, n) => talk(n)));
    await visit('users');
    await page.getByRole('combobox', { name: 'App' }).selectOption('');
    const { total } = (await service.request('GET', '/admin/users', { key: admin })).body;
    await page.locator('.page-head').getByText(`${total}`, { exact: true }).waitFor();
    const rows = page.getByRole('table', { name: 'Users' }).getByRole('row');
    // The next page is read before the end of this one is seen.
    for (const n of [130, 100, 80, 60]) await page.getByRole('link', { name: `person ${n}` }).scrollIntoViewIfNeeded();
    const scrolled = () => page.evaluate<number>('Math.round(scrollY)');
    const [place, count] = [await scrolled(), await rows.count()];
    assert.ok(place > 1_000 && count > 101);
    await page.getByRole('link', { name: 'person 60' }).click();
    await page.getByRole('heading', { name: 'person 60' }).waitFor();
    const asked: string[] = [];
    page.on('request', (request) => request.url().includes('/admin/users') && asked.push(request.url()));
    await page.goBack();
    await untilEqual(scrolled, place);
    assert.deepEqual([await rows.count(), asked], [count, []]);
    assert.deepEqual(pageErrors, []);
  });
});
