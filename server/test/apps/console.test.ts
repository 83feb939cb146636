import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { retain } from '../../src/domain/erasure/retention.ts';
import { makeSecret } from '../../src/domain/secret.ts';
import { type ConsoleTab, checkInBothThemes, openBrowser, openConsole } from '../support/browser.ts';
import { makeTwoTenants, message, type Service, startService } from '../support/harness.ts';

describe('apps in the console', () => {
  const { admin, records, one } = makeTwoTenants();
  const now = Math.floor(Date.now() / 1000);
  const viewer = makeSecret('admin');
  let service: Service;
  let browser: Browser;
  let tab: ConsoleTab;
  before(async () => {
    [service, browser] = await Promise.all([startService('sqlite'), openBrowser()]);
    const talks = [1, 2, 20, 40].map((days, n) => ({
      ...{ record: 'conversation', id: randomUUID() as string, app_id: one.ids.app, user: 'ann' },
      ...{ name: `talk ${n}`, created_at: now - days * 86_400 },
    }));
    const said = { total_price: '0.5', currency: 'USD', model: 'm-1', model_provider: 'p' };
    await service.load([
      ...records,
      { record: 'app', id: one.ids.app, workspace_id: one.ids.workspace, name: 'Help desk', mode: 'chat' },
      { record: 'api_key', kind: 'admin', role: 'viewer', name: 'v', secret: viewer },
      ...talks,
      ...talks.map(({ id, created_at }) => message(id, created_at, said)),
    ]);
    tab = await openConsole(browser, service.base, admin);
  });
  after(async () => {
    await browser.close();
    await service.close();
  });

  it('shows the numbers, keys, models and newest conversations of an app', async () => {
    const { page, visit, pageErrors } = tab;
    await visit('apps');
    await page
      .getByRole('row', { name: /Help desk/ })
      .getByText('Kept for ever')
      .waitFor();
    await page.getByRole('link', { name: 'Help desk' }).click();
    await page.getByRole('table', { name: 'By model' }).getByText('US$1.50').waitFor();
    // Three of the four messages are of the last 30 days.
    await page.locator('.facts').getByText('US$1.50').waitFor();
    assert.equal(await page.locator('.facts dd').first().innerText(), '3');
    const names = page.getByRole('table', { name: 'Newest conversations' }).getByRole('link');
    assert.deepEqual((await names.allInnerTexts()).slice(0, 4), ['talk 0', 'talk 1', 'talk 2', 'talk 3']);
    const keys = page.getByRole('table', { name: 'Keys' });
    await keys.getByRole('row').nth(1).waitFor();
    await page.getByRole('button', { name: 'New key' }).click();
    const dialog = page.getByRole('dialog');
    assert.equal(await dialog.getByRole('combobox', { name: 'App' }).inputValue(), one.ids.app);
    await dialog.getByRole('textbox', { name: 'Name' }).fill('front end');
    await dialog.getByRole('button', { name: 'Create the key' }).click();
    await dialog.getByRole('button', { name: 'I have copied it' }).click();
    await keys.getByRole('link', { name: 'front end' }).waitFor();
    assert.deepEqual(pageErrors, []);
  });

  it('tells what a period would erase before it is saved, and the run then erases just that', async () => {
    const { page, visit, pageErrors } = tab;
    await visit(`apps/${one.ids.app}`);
    await page.getByText('Nothing is erased by age.').waitFor();
    await page.getByLabel('For a period of its own').check();
    await page.getByLabel('Days after the last message').fill('10');
    // With the one of the fixture, from 1970.
    await page.getByText('The first run after saving would erase 3 conversations for good.').waitFor();
    await page.getByRole('button', { name: 'Save the period' }).click();
    await page.getByText('The next run, within an hour, erases 3 conversations for good.').waitFor();
    const erased: number[] = [];
    await retain(service.store, { now }, ({ conversations }) => erased.push(conversations));
    assert.deepEqual(erased, [3]);
    await visit('apps');
    await page
      .getByRole('row', { name: /Help desk/ })
      .getByText('10 days')
      .waitFor();
    await visit(`apps/${one.ids.app}`);
    await page.getByText('The next run, within an hour, erases nothing.').waitFor();
    await page.getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Support');
    await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('heading', { name: 'Support', level: 1 }).waitFor();
    await page
      .getByRole('row', { name: /Changed/ })
      .first()
      .waitFor();
    assert.deepEqual(pageErrors, []);
  });

  it('can be used by everyone, in both themes and at every width, and offers a viewer no change', async () => {
    const { page, visit } = tab;
    await visit(`apps/${one.ids.app}`);
    await page.getByRole('heading', { name: 'Retention' }).waitFor();
    await checkInBothThemes(page);
    const other = await openConsole(browser, service.base, viewer);
    await other.visit(`apps/${one.ids.app}`);
    await other.page.getByText('set by the role admin').waitFor();
    assert.equal(await other.page.getByRole('button', { name: /Rename|Save(?!d)|New key/ }).count(), 0);
    assert.equal(await other.page.getByLabel('As everywhere').isDisabled(), true);
    assert.deepEqual(other.pageErrors, []);
  });
});
