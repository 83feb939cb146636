import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Browser, Locator, Page } from 'playwright-core';
import { trafficSummary } from '../../../web/console/overview/traffic.ts';
import { checkAccessibility, checkInBothThemes, desktop, openBrowser, openTab, signIn } from '../support/browser.ts';
import { makeTwoTenants, message, type Service, startService } from '../support/harness.ts';
import { firstOrAll, itLong } from '../support/long.ts';
import { untilEqual, untilMatch } from '../support/until.ts';

const locale = 'en-GB';
const day = 86_400;

describe('Overview in the console', () => {
  const { one, other, admin, records } = makeTwoTenants();
  // Noon, so that no day ends while the test runs.
  const today = Math.floor(Date.now() / 1000 / day);
  const noon = today * day + 43_200;
  const talk = { record: 'conversation', id: randomUUID(), app_id: other.ids.app, user: 'bob', created_at: 1000 };
  let service: Service;
  let browser: Browser;
  let page: Page;
  let pageErrors: string[];

  before(async () => {
    [service, browser] = await Promise.all([startService('sqlite'), openBrowser()]);
    service.freezeClock();
    await service.load([...records, talk]);
    ({ page, pageErrors } = await openTab(browser, service.base));
    // Otherwise the test would wait ten seconds.
    await page.clock.install({ time: noon * 1000 });
    await signIn(page, admin);
  });
  after(async () => {
    await browser.close();
    await service.close();
  });

  const plot = (title: string): Locator =>
    page.getByRole('figure').filter({ has: page.getByRole('heading', { name: title, exact: true }) });
  const words = (title: string) => plot(title).locator('figcaption p').first().innerText();
  const numbers = async () =>
    (await page.locator('.numbers li').allInnerTexts()).map((text) => text.split('\n').filter((line) => line !== ''));
  const tile = (name: string): Locator => page.locator('.numbers').getByRole('link', { name, exact: true });
  const tableOf = async (name: string): Promise<string[][]> => {
    const rows = page.getByRole('table', { name, exact: true }).getByRole('row');
    await rows.nth(1).waitFor();
    return (await rows.allInnerTexts()).map((row) => row.split('\t').map((cell) => cell.trim()));
  };

  it('is the first view, and is empty at first', async () => {
    await page.waitForURL(/#\/overview$/);
    await page.getByText('No messages in this period.').waitFor();
    await page.getByText('Compared with the 30 days before').waitFor();
  });

  it('shows numbers and their change to the period before', async () => {
    const priced = { total_price: '0.5', currency: 'USD', answer_tokens: 10, model_provider: 'acme', model: 'swift-2' };
    const write = (count: number, conversation_id: string, at: number, more: object) =>
      Array.from({ length: count }, () => message(conversation_id, at, { ...priced, ...more }));
    const disliked = { feedback: { rating: 'dislike' }, feedback_content: 'It closes at six.' };
    await service.load([
      ...write(6, one.ids.conversation, noon - 2 * day, {}),
      ...write(2, one.ids.conversation, noon - 2 * day, { ...disliked, query: 'What was wrong?' }),
      ...write(1, talk.id, noon - day, { status: 'error', error: 'no model', answer: '', query: 'Why does it fail?' }),
      ...write(1, talk.id, noon, {}),
      ...write(5, one.ids.conversation, noon - 9 * day, { feedback: { rating: 'dislike' } }),
    ]);
    await page.getByRole('combobox', { name: 'Period' }).selectOption('Last 7 days');
    await page.getByText('+100% from 5', { exact: true }).waitFor();
    await untilEqual(numbers, [
      ['Messages', '10', '+100% from 5'],
      ['Cost', 'US$5.00', '+100% from US$2.50'],
      ['Users', '2', '+100% from 1', '5 messages each'],
      ['Tokens', '100', '+100% from 50'],
      ['Disliked', '20%', '−80 pp from 100%', '2 of 10'],
      ['Failed', '10%', '+10 pp from 0%', '1 of 10'],
    ]);
  });

  it('shows tables by app, by model and by user', async () => {
    await untilEqual(
      async () => (await tableOf('By model')).slice(1),
      [['swift-2', '10', '2 20.0%', '1 10.0%', '100', 'US$2.50 → US$5.00']],
    );
    await untilEqual(
      () => tableOf('By app'),
      [
        ['App', 'Messages', 'Disliked', 'Failed', 'Tokens', 'Cost, before → now'],
        ['app', '8', '2 25.0%', '0', '80', 'US$2.50 → US$4.00'],
        ['app', '2', '0', '1 50.0%', '20', 'US$1.00'],
      ],
    );
    await untilEqual(
      async () => (await tableOf('By user')).slice(1),
      [
        ['ann', '8', '2 25.0%', '0', '80', 'US$4.00'],
        ['bob', '2', '0', '1 50.0%', '20', 'US$1.00'],
      ],
    );
    const byUser = page.getByRole('table', { name: 'By user' });
    const order = () => byUser.getByRole('columnheader', { name: 'Disliked' }).getAttribute('aria-sort');
    await untilEqual(order, 'descending');
    await byUser.getByRole('button', { name: 'Failed' }).click();
    await untilEqual(async () => (await tableOf('By user'))[1]?.[0], 'bob');
    await byUser.getByRole('button', { name: 'Disliked' }).click();
    // Twice the median of two is never exceeded.
    assert.equal(await page.locator('.data .problem').count(), 0);
  });

  it('plots the number that is chosen per day, as a table too, with a list behind every bar', async () => {
    assert.equal(await words('Messages per day'), '10 in this period, at most 8 a day; a bar leads to its messages');
    await plot('Messages per day').getByText('As a table').click();
    const rows = plot('Messages per day').getByRole('row');
    await rows.nth(1).waitFor();
    assert.deepEqual(
      (await rows.allInnerTexts()).slice(1).map((row) => row.split('\t')[1]),
      ['1', '1', '8', '0', '0', '0', '0'],
    );
    await plot('Messages per day').getByText('As a table').click();
    assert.equal(await tile('Messages').getAttribute('aria-current'), 'true');
    await tile('Disliked').click();
    await untilMatch(() => words('Disliked per day'), /^20% in this period, at most 25% a day/);
    await tile('Users').press('Enter');
    await untilMatch(() => words('Users per day'), /^2 in this period, at most 1 a day/);
    await tile('Cost').click();
    await untilMatch(() => words('Cost, USD per day'), /^US\$5\.00 in this period/);
    await tile('Disliked').click();
    await page.waitForURL(/plot=disliked/);
    const slider = plot('Disliked per day').getByRole('slider');
    await slider.focus();
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    await untilMatch(() => slider.getAttribute('aria-valuetext'), /: Disliked 25%, period before 100%$/);
    await page.keyboard.press('Enter');
    const from = (today - 2) * day;
    await page.waitForURL(new RegExp(`#/conversations.*rating=dislike&from=${from}&to=${from + day}`));
    await page.goBack();
    await plot('Disliked per day').waitFor();
  });

  it('stacks what is added up by app, with a list of the part that is clicked', async () => {
    await page.goto('/console#/overview?days=7');
    await page.getByRole('link', { name: 'By app' }).click();
    await page.waitForURL(/by=app/);
    const legend = plot('Messages per day').locator('.legend li');
    await untilEqual(() => legend.allInnerTexts(), ['app', 'app', 'period before']);
    const box = plot('Messages per day').locator('svg[role=img]');
    const { width = 0 } = (await box.boundingBox()) ?? {};
    await box.click({ position: { x: 52 + (4.5 / 7) * (width - 60), y: 150 } });
    const from = (today - 2) * day;
    await page.waitForURL(new RegExp(`#/conversations.*app_id=${one.ids.app}&from=${from}&to=${from + day}`));
    await page.goto('/console#/overview?days=2');
    await plot('Messages per hour').waitFor();
    await tile('Disliked').click();
    await plot('Disliked per hour').waitFor();
    assert.equal(await page.getByRole('link', { name: 'By app' }).count(), 0);
    await page.goto('/console#/overview?days=7&plot=disliked');
    await plot('Disliked per day').waitFor();
  });

  it('lists the newest disliked and failed answers', async () => {
    const list = (title: string) =>
      page.locator('.pair .card').filter({ has: page.getByRole('heading', { name: title }) });
    await service.index();
    // By another view, so that the answers are read again.
    const place = page.url();
    await page.goto('/console#/models');
    await page.getByRole('heading', { name: 'Models' }).waitFor();
    await page.goto(place);
    await list('Newest disliked answers').getByRole('link', { name: '“It closes at six.”' }).first().waitFor();
    await list('Newest failed answers').getByRole('link', { name: 'Why does it fail?' }).click();
    await page.waitForURL(new RegExp(`#/conversations/${other.ids.app}/${talk.id}/.*status=error`));
    await page.goBack();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });

  it('leads to the disliked or failed answers of a week with two clicks', async () => {
    for (const [name, filter] of firstOrAll([
      ['Disliked', 'rating=dislike'],
      ['Failed', 'status=error'],
    ])) {
      await page.goto('/console#/overview');
      await page.getByRole('combobox', { name: 'Period' }).selectOption('Last 7 days');
      await page
        .locator('.numbers li')
        .filter({ hasText: name ?? '' })
        .getByRole('link', { name: 'show the messages' })
        .click();
      await page.waitForURL(new RegExp(`#/conversations.*${filter}&from=${(today - 6) * day}&to=${(today + 1) * day}`));
    }
  });

  itLong('opens the newest disliked answer of an app this week with two clicks', async () => {
    await page.goto('/console#/overview');
    await page.getByRole('combobox', { name: 'Period' }).selectOption('Last 7 days');
    const row = page.getByRole('table', { name: 'By app' }).getByRole('row').nth(1);
    await row.getByRole('link', { name: '2', exact: true }).click();
    await page.locator('article[aria-current]').getByText('What was wrong?').waitFor();
  });

  it('shows any days, and leads from an old address to itself', async () => {
    await page.goto('/console#/pulse');
    await page.waitForURL(/#\/overview$/);
    const text = (at: number) => new Date(at * day * 1000).toISOString().slice(0, 10);
    const choose = async (name: string, value: string) => {
      await page.getByLabel(name).fill(value);
      await page.keyboard.press('Enter');
    };
    await page.getByRole('combobox', { name: 'Period' }).selectOption('Choose dates');
    await choose('From,', text(today - 9));
    await page.waitForURL(new RegExp(`from=${(today - 9) * day}&`));
    await choose('To,', text(today - 8));
    await page.waitForURL(new RegExp(`from=${(today - 9) * day}&to=${(today - 7) * day}`));
    await page.getByText('No messages in the 2 days before').waitFor();
    await untilEqual(async () => (await numbers())[0], ['Messages', '5']);
    await page.reload();
    await page.getByText('No messages in the 2 days before').waitFor();
    await untilEqual(() => page.getByLabel('From,').inputValue(), text(today - 9));
    await choose('From,', 'no day');
    await choose('From,', '2020-01-01');
    await page.getByRole('alert').getByText('at most 366 days apart').waitFor();
    await page.getByRole('combobox', { name: 'Period' }).selectOption('Last 30 days');
    await page.getByRole('alert').waitFor({ state: 'detached' });
  });

  it('shows requests, latency and errors, refreshed every ten seconds', async () => {
    const path = `/v1/messages?conversation_id=${one.ids.conversation}`;
    for (let n = 0; n < 12; n += 1) await service.request('GET', path, { key: one.keys.app });
    for (let n = 0; n < 3; n += 1) await service.request('GET', `${path}&limit=0`, { key: one.keys.app });
    service.advanceClock(20);
    await page.getByRole('link', { name: 'Health' }).click();
    await plot('Requests per second').waitFor();
    const { body: traffic } = await service.request('GET', '/admin/traffic', { key: admin });
    const summary = trafficSummary(traffic, locale);
    // With the request for too long a period.
    assert.match(summary.requests.summary, /16 requests in the last hour/);
    assert.equal(summary.errors.figure, '4');
    assert.match(summary.errors.summary, /rejected 4 \(25%\), failed 0 \(0%\)/);
    const { body: failures } = await service.request('GET', '/admin/failures', { key: admin });
    assert.equal(
      failures.data.reduce((sum: number, { count }: { count: number }) => sum + count, 0),
      4,
    );
    const textOf = ({ figure, summary }: { figure: string; summary: string }) => `${figure}\n${summary}`;
    await untilEqual(() => words('Requests per second'), textOf(summary.requests));
    await untilEqual(() => words('Latency'), textOf(summary.latency));
    await untilEqual(() => words('Errors'), textOf(summary.errors));
  });

  it('says in one sentence how the installation is, with a dot in the bar', async () => {
    const sentence = page.getByRole('list', { name: 'Health' });
    const parts = async () => sentence.getByRole('listitem').allTextContents();
    const { body } = await service.request('GET', '/admin/health', { key: admin });
    const texts = body.verdicts.map(({ text }: { text: string }) => text);
    assert.deepEqual([texts[0], body.state], ['No backup yet', 'warn']);
    await untilEqual(async () => (await parts()).slice(0, 3), ['Look at this', `Look at this: ${texts[0]}`, texts[1]]);
    assert.equal(await sentence.getByRole('link', { name: texts[0] }).getAttribute('href'), '/docs#guide/backup');
    await service.index();
    await service.store.run('noteJob', { kind: 'store', at: Math.floor(Date.now() / 1000) });
    await page.clock.runFor(60_000);
    await page.getByRole('link', { name: 'Healthy', exact: true }).click();
    await untilEqual(async () => (await parts())[0], 'Healthy');
  });

  it('shows what failed: status, request, key, count, last time, and a request id to copy', async () => {
    const rows = await tableOf('Rejected and failed requests');
    const row =
      rows.find(([, request]) => request?.startsWith('GET /v1/messages')) ?? assert.fail(JSON.stringify(rows));
    assert.deepEqual(row.slice(0, 4), ['400', 'GET /v1/messages\n\ninvalid_param: limit must be >= 1', 'app', '3']);
    const { body } = await service.request('GET', '/admin/failures', { key: admin });
    const { request_id } = body.data.find(({ route }: { route: string }) => route === '/v1/messages');
    await page.getByRole('button', { name: `Copy ${request_id.slice(0, 8)}` }).waitFor();
  });

  itLong(
    'shows the users with most disliked answers first, in lines also on a phone, and the others on a click',
    async () => {
      const names = Array.from({ length: 12 }, (_, n) => `visitor-${n}`);
      const talks = names.map((user) => ({ ...talk, id: randomUUID(), user }));
      await service.load([
        ...talks,
        ...talks.map(({ id }, n) => message(id, noon, n === 11 ? { feedback: { rating: 'dislike' } } : {})),
      ]);
      await page.setViewportSize({ width: 390, height: 844 });
      await page.goto('/console#/overview?days=7');
      await page.getByRole('link', { name: 'visitor-11' }).waitFor();
      const rows = page.getByRole('table', { name: 'By user' }).getByRole('row');
      assert.deepEqual(
        (await rows.allInnerTexts()).slice(1, 5).map((row) => row.split(/\s+/)[0]),
        ['ann', 'visitor-11', 'bob', 'visitor-0'],
      );
      assert.equal(await rows.count(), 9);
      for (const row of await rows.all()) assert.ok(((await row.boundingBox())?.height ?? 99) < 70);
      await page.getByRole('button', { name: 'Show the 14 users with the most messages' }).click();
      await rows.nth(14).waitFor();
      await page.setViewportSize(desktop);
    },
  );

  itLong('shows an error, and tries again', async () => {
    await page.goto('/console#/overview/health');
    await plot('Latency').waitFor();
    await page.route('**/admin/traffic', (route) => route.abort(), { times: 1 });
    await page.clock.runFor(10_000);
    await page.getByRole('alert').getByText('The service cannot be reached.').waitFor();
    assert.equal(await plot('Latency').count(), 1);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('alert').waitFor({ state: 'detached' });
  });

  it('shows statistics of the upstream, if there is one', async () => {
    assert.equal(await page.getByRole('heading', { name: 'Upstream' }).count(), 0);
    const figures = {
      ...{ served: 12_000, passed_on: 340, in_doubt: 5, errors: 2, server_errors: 17, response_millis: 81.4 },
      ...{ doubts: 1, messages_lag_seconds: 3, others_lag_seconds: null },
      ...{ last_success_at: 1_700_000_000, last_error_at: 1_700_000_060, last_error: 'the upstream is too slow' },
    };
    await page.route('**/admin/traffic', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), upstream: figures } });
    });
    await page.clock.runFor(10_000);
    const row = ['12,000', '340', '5', '2', '17 (5%)', '81.4 ms', '1', '3 s', '–'];
    await untilEqual(async () => (await tableOf('Upstream'))[1], row);
    await page.getByText(/^Last success .+\. Last error .+: the upstream is too slow$/).waitFor();
    await untilMatch(
      () => plot('Lag').locator('figcaption').textContent(),
      /Dify copy 3 s, search \d+ m?s behind; since this page/,
    );
  });

  it('axe finds nothing serious, in both themes and at every width', async () => {
    await page.goto('/console#/overview?days=7');
    await plot('Messages per day').getByText('As a table').click();
    await checkInBothThemes(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    await checkAccessibility(page);
    await page.emulateMedia({ colorScheme: 'light' });
    assert.deepEqual(pageErrors, []);
  });
});
