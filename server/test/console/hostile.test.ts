import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { type ConsoleTab, checkAccessibilityOfVariant, openBrowser, openConsole } from '../support/browser.ts';
import { makeTwoTenants, message, ndjson, type Service, startService } from '../support/harness.ts';
import { itLong } from '../support/long.ts';
import { pendingForm } from '../support/rich-messages.ts';

/** Nothing that a writer key can write may make the console unusable. */
describe('the console, with hostile records', () => {
  const { one, admin, records } = makeTwoTenants();
  const { ids } = one;
  const never = Number.MAX_SAFE_INTEGER;
  let service: Service;
  let browser: Browser;
  let tab: ConsoleTab;
  before(async () => {
    [service, browser] = await Promise.all([startService('sqlite'), openBrowser()]);
    await service.load(records);
    tab = await openConsole(browser, service.base, admin);
  });
  after(async () => {
    await browser.close();
    await service.close();
  });

  const write = async (...written: object[]) => {
    const headers = { 'content-type': 'application/x-ndjson' };
    const body = ndjson(written);
    const response = await service.request('POST', '/admin/records', { key: one.keys.writer, headers, body });
    assert.equal(response.status, 200, response.text);
  };
  const conversation = (user: string) => ({ record: 'conversation', id: randomUUID(), app_id: ids.app, user });
  const visit = async (place: string) => {
    await tab.visit(place);
    return tab;
  };

  it('shows times that no date can express', async () => {
    const far = conversation('from afar');
    const form = pendingForm();
    const endless = { ...form, form_definition: { ...form.form_definition, expiration_time: -never } };
    await write(far, message(far.id, never, { query: 'When?', extra_contents: [endless] }));
    const { page, pageErrors } = await visit(`conversations/${ids.app}/${far.id}`);
    await page.getByRole('link', { name: 'from afar' }).getByText(`${never} s`).waitFor();
    await page.locator('article').getByText('When?').waitFor();
    await page.getByText(`Expired: -${never} s`).waitFor();
    const key = { kind: 'admin', name: 'for ever', expires_at: never };
    assert.equal((await service.request('POST', '/admin/keys', { key: admin, body: key })).status, 201);
    await page.goto('/console#/keys');
    await page.getByRole('link', { name: 'for ever' }).waitFor();
    assert.deepEqual(pageErrors, []);
  });

  it('shows the beginning of a huge form, and all of it on request', async () => {
    const huge = conversation('huge');
    const form = pendingForm();
    const form_content = `${'*a* '.repeat(100_000)}The end.`;
    const content = { ...form, form_definition: { ...form.form_definition, form_content } };
    await write(huge, message(huge.id, 5_000, { query: 'How long?', extra_contents: [content] }));
    const { page, pageErrors } = await visit(`conversations/${ids.app}/${huge.id}`);
    const region = page.getByRole('region', { name: 'Form: Book a visit' });
    await region.getByRole('button', { name: 'Show all 400,008 characters' }).waitFor();
    const shown = await region.locator('em').count();
    assert.ok(shown > 9_000 && shown <= 10_000, `${shown} of 100,000`);
    assert.deepEqual(pageErrors, []);
  });

  // In `npm test`, markdown.test.ts draws such texts.
  itLong('shows long answers that nest without end or consist of marks', async () => {
    const units = 1_000_000;
    const repeated = (mark: string) => `${mark.repeat(units / mark.length)}The end.`;
    const showAll = `Show all ${(units + 8).toLocaleString('en')}`;
    const nested = conversation('nested');
    const deep = message(nested.id, 5_000, { answer: repeated('> - ') });
    const marked = message(nested.id, 5_001, { answer: repeated('**a* ') });
    await write(nested, deep, marked);
    const { page, pageErrors } = await visit(`conversations/${ids.app}/${nested.id}`);
    for (const { id } of [marked, deep])
      await page.locator(`article[data-id="${id}"]`).getByRole('button', { name: showAll }).waitFor();
    await page.locator(`article[data-id="${deep.id}"]`).getByRole('button', { name: 'Show all' }).click();
    await page.getByText('The end.').waitFor();
    assert.deepEqual(pageErrors, []);
  });

  itLong('plots cost in a few of thousands of currencies', async () => {
    const costly = conversation('costly');
    const now = Math.floor(Date.now() / 1000);
    const price = (n: number) => message(costly.id, now, { total_price: '1', currency: `c${n}` });
    await write(costly, ...Array.from({ length: 2_000 }, (_, n) => price(n)));
    const { page, pageErrors } = await visit('overview');
    await page.getByText('and 17 more currencies').waitFor();
    await page.getByRole('link', { name: 'Cost', exact: true }).click();
    const currencies = page.getByRole('link', { name: /^Cost, c/ });
    await currencies.nth(2).waitFor();
    assert.equal(await currencies.count(), 3);
    assert.deepEqual(pageErrors, []);
  });

  it('reports that a view cannot be shown, keeps the other views, and tries again on request or at another address', async () => {
    const { page, pageErrors } = await visit('models');
    const keys = /\/admin\/keys\?/;
    const broken = page.getByRole('alert').getByText('This view cannot be shown');
    const title = (name: string) => page.getByRole('heading', { name, exact: true });
    await page.route(keys, (route) =>
      route.fulfill({ json: { limit: 1, has_more: false, next_cursor: null, data: [{ name: 1 }] } }),
    );
    await page.getByRole('link', { name: 'Keys' }).click();
    await broken.waitFor();
    assert.match(pageErrors.join(), /TypeError/);
    await page.getByRole('link', { name: 'Models' }).click();
    await title('Models').waitFor();
    await broken.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Keys' }).click();
    await broken.waitFor();
    await checkAccessibilityOfVariant(page);
    await page.unroute(keys);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('link', { name: 'for ever' }).waitFor();

    await page.route(/\/conversations\?/, (route) => route.fulfill({ json: { data: [null] } }));
    await page.goto(`/console#/conversations/${ids.app}`);
    await broken.waitFor();
    await page.unroute(/\/conversations\?/);
    await page.goto(`/console#/conversations/${ids.app}/${ids.conversation}`);
    await page.getByText('No messages yet.').waitFor();
    await broken.waitFor({ state: 'detached' });
  });
});
