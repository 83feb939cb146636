import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { type ConsoleTab, checkInBothThemes, openBrowser, openConsole } from '../support/browser.ts';
import { makeTwoTenants, message, type Service, startService } from '../support/harness.ts';
import { itLong } from '../support/long.ts';
import { untilEqual } from '../support/until.ts';

const { one, admin, records } = makeTwoTenants();
const { dataset, document, segment, chunk, conversation } = one.ids;

describe('activity in the console', () => {
  let service: Service;
  let browser: Browser;
  let tab: ConsoleTab;
  before(async () => {
    [service, browser] = await Promise.all([startService('sqlite'), openBrowser()]);
    const texts = Array.from({ length: 15 }, (_, at) => message(conversation, at, { query: 'How do I descale it?' }));
    await service.load([...records, ...texts]);
    const body = { content: 'edited' };
    const { status } = await service.request('PATCH', one.chunkPath, { key: one.keys.knowledge, body });
    assert.equal(status, 200);
    tab = await openConsole(browser, service.base, admin);
  });
  after(async () => {
    await browser.close();
    await service.close();
  });

  async function open() {
    const { page, pageErrors, visit } = tab;
    await visit('activity');
    await page.getByRole('cell').first().waitFor();
    // Without the headings of the days.
    return { page, pageErrors, rows: page.locator('tbody tr:has(td)') };
  }

  it('shows who changed what, with names; one click leads to the record', async () => {
    const { page, pageErrors, rows } = await open();
    const cells = () => rows.first().getByRole('cell').allTextContents();
    await untilEqual(
      async () => (await cells()).slice(0, -1),
      ['document, segment 1, chunk 1Old → new', 'Changed', '1 chunk', 'knowledge'],
    );
    assert.match((await cells()).at(-1) ?? '', /^\d\d:\d\d$/);
    const imported = rows.filter({ hasText: '15 messages' });
    await untilEqual(() => imported.count(), 0, 'appends are hidden');
    await page.getByRole('checkbox', { name: 'With stored messages' }).click();
    await untilEqual(() => imported.getByRole('cell').nth(3).textContent(), 'command line');
    await untilEqual(() => imported.getByRole('link', { name: 'How do I descale it?' }).count(), 1);
    await imported.getByText('14 more').click();
    await untilEqual(() => imported.getByRole('link').count(), 10);
    await imported.getByText('and 5 others').waitFor();
    await rows.first().getByRole('link', { name: 'document, segment 1, chunk 1' }).click();
    await page.waitForURL(`**#/knowledge/${dataset}/${document}/${segment}/${chunk}`);
    assert.deepEqual(pageErrors, []);
  });

  it('shows the text of a chunk before and after a change, in its row', async () => {
    const { pageErrors, rows } = await open();
    await rows.first().getByText('Old → new').click();
    const diff = rows.first().locator('.diff');
    await untilEqual(() => diff.locator('ins').allTextContents(), ['edited']);
    await diff.getByText('Old → new: ').waitFor();
    await rows.first().getByText('Old → new', { exact: true }).click();
    await diff.waitFor({ state: 'detached' });
    assert.deepEqual(pageErrors, []);
  });

  it('shows each entry in one line, and leads from a key to that key', async () => {
    const { page, rows } = await open();
    await rows.first().getByText('document, segment 1, chunk 1').waitFor();
    for (const row of await rows.all())
      assert.ok(((await row.boundingBox())?.height ?? 99) < 45, await row.innerText());
    const imported = rows.filter({ hasText: / keys/ });
    await imported.getByText(/ keys, /).click();
    await imported.locator('.parts > div').filter({ hasText: / keys/ }).getByRole('link').first().click();
    await page.waitForURL(/#\/keys\/[\w-]{36}$/);
  });

  it('filters by person, action, kind and id, in the address', async () => {
    const { page, rows } = await open();
    const hash = () => page.evaluate(() => (globalThis as unknown as { location: { hash: string } }).location.hash);
    await rows.first().getByRole('link', { name: 'knowledge', exact: true }).click();
    await page.waitForURL(`**#/keys/${one.keyIds.knowledge}`);
    await page.getByRole('heading', { name: 'knowledge', exact: true }).waitFor();
    await page.goBack();
    await page.getByRole('combobox', { name: 'By', exact: true }).selectOption(one.keyIds.knowledge);
    await rows.nth(1).waitFor({ state: 'detached' });
    assert.equal(await hash(), `#/activity?key_id=${one.keyIds.knowledge}`);
    assert.equal(await page.getByRole('combobox', { name: 'By', exact: true }).inputValue(), one.keyIds.knowledge);
    await page.getByRole('combobox', { name: 'By', exact: true }).selectOption('By anyone');
    await rows.nth(1).waitFor();
    await page.getByRole('combobox', { name: 'Action', exact: true }).selectOption('Imported');
    await rows.filter({ hasText: 'Changed' }).waitFor({ state: 'detached' });
    await page.getByRole('combobox', { name: 'Records', exact: true }).selectOption('message');
    await rows.nth(1).waitFor({ state: 'detached' });
    assert.equal(await hash(), '#/activity?action=import&record=message');
    await tab.visit((await hash()).slice(2));
    await rows.filter({ hasText: '15 messages' }).waitFor();
    await page.goto('/console#/activity');
    await page.getByRole('searchbox').fill(chunk);
    await page.waitForURL(`**record_id=${chunk}`);
    await rows.nth(2).waitFor({ state: 'detached' });
    await page.getByRole('searchbox').fill('no such id');
    await page.getByText('The audit log has no changes').waitFor();
  });

  itLong('shows a period, or one day', async () => {
    const { page, rows } = await open();
    await page.getByRole('combobox', { name: 'When', exact: true }).selectOption('Last 7 days');
    await page.waitForURL('**#/activity?days=7');
    await page.getByRole('rowheader', { name: 'Today' }).waitFor();
    await page.getByRole('combobox', { name: 'When', exact: true }).selectOption('One day');
    await page.waitForURL(/#\/activity\?day=\d{4}-\d\d-\d\d$/);
    await rows.nth(1).waitFor();
    await page.getByLabel('Day, such as').fill('2020-02-29');
    await page.keyboard.press('Enter');
    await page.waitForURL('**#/activity?day=2020-02-29');
    await page.getByText('The audit log has no changes').waitFor();
    await page.getByLabel('Day, such as').fill('');
    await page.keyboard.press('Enter');
    await rows.nth(1).waitFor();
  });

  it('shows what a name was before, in its row', async () => {
    const key = { key: admin, body: { name: 'front end' } };
    assert.equal((await service.request('PATCH', `/admin/keys/${one.keyIds.app}`, key)).status, 200);
    const { pageErrors, rows } = await open();
    await untilEqual(() => rows.first().getByRole('cell').first().textContent(), 'front endname app → front end');
    assert.deepEqual(pageErrors, []);
  });

  it('can be used by everyone, in both themes and at every width', async () => {
    const { page, pageErrors } = await open();
    await checkInBothThemes(page);
    assert.deepEqual(pageErrors, []);
  });
});
