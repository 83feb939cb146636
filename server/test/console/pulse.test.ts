import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Browser, Locator, Page } from 'playwright-core';
import { money, whole } from '../../../web/console/parts/figures.ts';
import { trafficSummary } from '../../../web/console/pulse/traffic.ts';
import { dayBefore } from '../../../web/console/pulse/usage.ts';
import {
  checkAccessibility,
  desktop,
  openBrowser,
  openTab,
  phone,
  scrollsHorizontally,
  signIn,
} from '../support/browser.ts';
import { makeTwoTenants, message, type Service, startService } from '../support/harness.ts';

const locale = 'en-GB';

describe('Pulse in the console', () => {
  const { one, admin, records } = makeTwoTenants();
  // Noon, so that no day ends while the test runs.
  const now = Math.floor(Date.now() / 86_400_000) * 86_400_000 + 43_200_000;
  let service: Service;
  let browser: Browser;
  let page: Page;
  let pageErrors: string[];

  before(async () => {
    [service, browser] = await Promise.all([startService('sqlite'), openBrowser()]);
    service.freezeClock();
    await service.load(records);
    ({ page, pageErrors } = await openTab(browser, service.base));
    // Otherwise the test would wait ten seconds.
    await page.clock.install({ time: now });
    await signIn(page, admin);
  });
  after(async () => {
    await browser.close();
    await service.close();
  });

  const plot = (title: string): Locator =>
    page.getByRole('figure').filter({ has: page.getByRole('heading', { name: title, exact: true }) });
  const words = (title: string) => plot(title).locator('figcaption p').innerText();

  /** Unfolds the table of a plot and folds it again; its rows as texts. */
  async function tableOf(title: string): Promise<string[][]> {
    await plot(title).getByText('As a table').click();
    await plot(title).getByRole('row').nth(1).waitFor();
    const rows = await plot(title).getByRole('row').allInnerTexts();
    await plot(title).getByText('As a table').click();
    return rows.map((row) => row.split('\t').map((cell) => cell.trim()));
  }

  it('says that there are no requests yet', async () => {
    await page.getByRole('link', { name: 'Pulse' }).click();
    await page.getByText('No requests in the last hour.').waitFor();
    await page.getByText('No messages in the last 30 days.').waitFor();
  });

  it('shows the requests, refreshed every ten seconds', async () => {
    const path = `/v1/messages?conversation_id=${one.ids.conversation}`;
    for (let n = 0; n < 12; n += 1) await service.request('GET', path, { key: one.keys.app });
    for (let n = 0; n < 3; n += 1) await service.request('GET', `${path}&limit=0`, { key: one.keys.app });
    service.advanceClock(20);
    await page.clock.runFor(10_000);
    await plot('Requests per second').waitFor();
    const { body: traffic } = await service.request('GET', '/admin/traffic', { key: admin });
    const said = trafficSummary(traffic, locale);
    assert.match(said.requests, /15 in the last hour/);
    assert.match(said.errors, /3 rejected \(20%\), 0 failed \(0%\)/);
    assert.equal(await words('Requests per second'), said.requests);
    assert.equal(await words('Latency'), said.latency);
    assert.equal(await words('Errors'), said.errors);
  });

  it('shows the same values in a table', async () => {
    const { body: traffic } = await service.request('GET', '/admin/traffic', { key: admin });
    const [head, ...rows] = await tableOf('Errors');
    assert.deepEqual(head, ['When', 'rejected (4xx)', 'failed (5xx)']);
    assert.deepEqual(
      rows.map(([, rejected, failed]) => [Number(rejected), Number(failed)]),
      traffic.data
        .map(({ client_errors, server_errors }: Record<string, number>) => [client_errors, server_errors])
        .toReversed(),
    );
  });

  it('shows messages, tokens and cost by app and currency, as the endpoint returns them', async () => {
    const apps = Array.from({ length: 8 }, (_, n) => ({ id: randomUUID(), name: `bot ${n}`, talk: randomUUID() }));
    const workspace_id = one.ids.workspace;
    const sent = apps.flatMap(({ id, name, talk }, n) => [
      { record: 'app', id, workspace_id, name, mode: 'chat' },
      { record: 'conversation', id: talk, app_id: id, user: 'ann', created_at: 1000 },
      // From the day before yesterday to almost three months ago.
      ...Array.from({ length: 9 }, (_, m) =>
        message(talk, Math.floor(now / 1000) - (2 + m * 10) * 86_400, {
          answer_tokens: 100 * (n + 1),
          total_price: n === 7 ? '0.25' : '0.0001',
          currency: n === 7 ? 'EUR' : 'USD',
        }),
      ),
    ]);
    await service.load(sent);
    for (const days of [30, 90]) {
      if (days === 30) await page.getByRole('button', { name: 'Refresh' }).click();
      else await page.getByRole('combobox', { name: 'Days' }).selectOption('Last 90 days');
      await page.getByText(`in ${days} days`).first().waitFor();
      const since = dayBefore(now, days - 1);
      const { data } = (await service.request('GET', `/admin/usage?since=${since}&limit=100`, { key: admin })).body;
      const total = (of: (use: { messages: number; tokens: number; price: number; currency: string }) => number) =>
        data.reduce((sum: number, use: Parameters<typeof of>[0]) => sum + of(use), 0);
      const costIn = (currency: string) => total((use) => (use.currency === currency ? use.price : 0));
      const sentence = (format: (value: number) => string, value: number) =>
        `today ${format(0)}; ${format(value)} in ${days} days`;
      const number = (value: number) => whole(value, locale);
      assert.equal(
        await words('Messages per day'),
        sentence(
          number,
          total(({ messages }) => messages),
        ),
      );
      assert.equal(
        await words('Tokens per day'),
        sentence(
          number,
          total(({ tokens }) => tokens),
        ),
      );
      for (const currency of ['EUR', 'USD'])
        assert.equal(
          await words(`Cost per day, ${currency}`),
          sentence((value) => money(value, currency, locale), costIn(currency)),
        );
    }
    assert.equal(await words('Messages per day'), 'today 0; 72 in 90 days');
    const [head, ...rows] = await tableOf('Messages per day');
    assert.equal(head?.length, 1 + 6 + 1);
    assert.equal(head?.at(-1), 'others');
    assert.deepEqual([rows.length, rows[0]?.[0], rows[2]?.slice(1)], [90, dayBefore(now, 0), '1111112'.split('')]);
  });

  it('shows the values at a point by pointer and by keyboard', async () => {
    const messages = plot('Messages per day');
    await messages.getByRole('slider').focus();
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    await messages.locator('.legend .at').getByText(dayBefore(now, 2)).waitFor();
    assert.equal((await messages.locator('.legend b').allInnerTexts()).join(''), '2111111');
    const told = await messages.getByRole('slider').getAttribute('aria-valuetext');
    assert.match(told ?? '', new RegExp(`^${dayBefore(now, 2)}: .* 1, others 2$`));
    await page.keyboard.press('Tab');
    await messages.getByRole('img').hover({ position: { x: 55, y: 60 } });
    await messages.locator('.legend .at').getByText(dayBefore(now, 89)).waitFor();
  });

  it('shows an error, and tries again', async () => {
    await page.route('**/admin/traffic', (route) => route.abort(), { times: 1 });
    await page.clock.runFor(10_000);
    await page.getByRole('alert').getByText('The service cannot be reached.').waitFor();
    assert.equal(await plot('Latency').count(), 1);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('alert').waitFor({ state: 'detached' });
  });

  it('axe finds nothing serious, in both themes and at the width of a phone', async () => {
    await plot('Cost per day, EUR').getByText('As a table').click();
    for (const [colorScheme, viewport] of [
      ['light', desktop],
      ['dark', phone],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize(viewport);
      await checkAccessibility(page);
      assert.equal(await scrollsHorizontally(page), false);
    }
    assert.deepEqual(pageErrors, []);
  });
});
