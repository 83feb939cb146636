import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  type ConsoleTab,
  checkAccessibilityOfVariant,
  openBrowser,
  openConsole,
  pressShortcut,
  scrollsHorizontally,
} from '../support/browser.ts';
import { makeTwoTenants, message, parseLines, type Service, startService } from '../support/harness.ts';
import { firstOrAll } from '../support/long.ts';
import { richMessages } from '../support/rich-messages.ts';
import { visitConversation } from '../support/transcript-scripts.ts';
import { until } from '../support/until.ts';

const day = 86_400;

describe('a transcript in the console', () => {
  const { one, admin, records } = makeTwoTenants();
  const { ids } = one;
  const rich = richMessages(ids.conversation);
  const long = randomUUID();
  const length = 1_100;
  const start = 1_790_000_000 - (1_790_000_000 % day);
  /** A message every hour. */
  const messages = Array.from({ length }, (_, n) =>
    message(long, start + n * 3_600, {
      query: `Question ${n}`,
      answer: `Answer ${n}. ${'word '.repeat((n * 37) % 300)}`,
      provider_response_latency: 1 + (n % 3),
    }),
  );
  const idAt = (n: number): string => messages[n]?.id ?? '';
  const short = randomUUID();
  /** Lower than the console expects. Every second answer failed: more than one page of a search. */
  const shortMessages = Array.from({ length: 300 }, (_, n) =>
    message(short, start + n, {
      query: `Question ${n}`,
      answer: '',
      ...(n % 2 === 0 && { status: 'error', error: 'no answer' }),
    }),
  );
  const shortIdAt = (n: number): string => shortMessages[n]?.id ?? '';
  let service: Service;
  let browser: Browser;
  let tab: ConsoleTab;
  before(async () => {
    [service, browser] = await Promise.all([
      startService('sqlite', { TRACE_URL: 'https://traces.example.org/{trace_id}' }),
      openBrowser(),
    ]);
    const parent_message_id = idAt(length - 10);
    for (const n of [length - 9, length - 5, length - 1]) Object.assign(messages[n] ?? {}, { parent_message_id });
    Object.assign(messages[length - 2] ?? {}, { model_provider: 'openai', model: 'gpt-test', trace_id: 'trace 1' });
    await service.load([
      ...records,
      ...rich.records,
      { record: 'conversation', id: long, app_id: ids.app, user: 'reader', name: 'A long story', created_at: start },
      ...messages,
      { record: 'conversation', id: short, app_id: ids.app, user: 'reader', name: 'A short story', created_at: start },
      ...shortMessages,
    ]);
    await service.index();
    tab = await openConsole(browser, service.base, admin);
    await tab.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  });
  after(async () => {
    await browser.close();
    await service.close();
  });

  const open = async (place: string): Promise<ConsoleTab> => {
    await visitConversation(tab, ids.app, place);
    return tab;
  };
  /** Waits until the message that the address names is at the top of the window, or as near as the end allows. */
  const isAt = (page: Page, n: number) => {
    let found: { query: string; distance: number; isAtEnd: boolean } | undefined;
    return until(
      async () => {
        found = await page.evaluate<typeof found>(currentMessage);
        return found?.query === `Question ${n}` && (Math.abs(found.distance) < 130 || found.isAtEnd);
      },
      () => `Question ${n} at the top: ${JSON.stringify(found)}`,
    );
  };
  const currentMessage = `(() => {
    const scroller = document.querySelector('.scroller');
    const current = scroller?.querySelector('article[aria-current]');
    if (!current) return undefined;
    return {
      query: current.querySelector('.query').textContent,
      distance: current.getBoundingClientRect().top - scroller.getBoundingClientRect().top,
      isAtEnd: scroller.scrollTop + scroller.clientHeight >= scroller.scrollHeight - 2,
    };
  })()`;

  it('shows the model of an answer, and links to its trace', async () => {
    const { page } = await open(long);
    const answered = page.locator(`[data-id="${idAt(length - 2)}"] footer`);
    await answered.getByText('gpt-test').waitFor();
    assert.equal(
      await answered.getByRole('link', { name: 'Trace' }).getAttribute('href'),
      'https://traces.example.org/trace%201',
    );
    assert.equal(
      await page
        .locator(`[data-id="${idAt(length - 1)}"] footer`)
        .getByText('Trace')
        .count(),
      0,
    );
  });

  it('opens at the message that the address names, by one page, wherever it is', async () => {
    const { page, pageErrors } = await open(`${long}/${idAt(700)}`);
    await isAt(page, 700);
    const pages: string[] = [];
    page.on('request', (request) => request.url().includes('/messages?') && pages.push(request.url()));
    for (const n of firstOrAll([0, length - 6, 300, 3, length - 1], 2)) {
      pages.length = 0;
      await page.goto(`/console#/conversations/${ids.app}/${long}/${idAt(n)}`);
      await isAt(page, n);
      assert.ok(pages.length <= 1, `${pages}`);
    }
    await page.goto(`/console#/conversations/${ids.app}/${long}/${randomUUID()}`);
    await page.getByRole('alert').getByText('message not exists').waitFor();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText(`Question ${length - 1}`).waitFor();
    assert.deepEqual(pageErrors, []);
  });

  it('stays at a message while the messages around it are read', async () => {
    const place = `/console#/conversations/${ids.app}/${short}`;
    const isThere = Promise.withResolvers<void>();
    // The newest messages are read after the window got there: then there is less room for messages that are not loaded.
    await tab.page.route(/newer=99/, (route) => isThere.promise.then(() => route.continue()));
    const { page } = await open(`${short}/${shortIdAt(150)}`);
    await isAt(page, 150);
    await page.goto(`${place}/${shortIdAt(200)}`);
    await isAt(page, 200);
    const before = await page.evaluate(currentMessage);
    isThere.resolve();
    await until(() => page.evaluate<boolean>("document.querySelector('.scroller').scrollHeight < 200_000"));
    assert.deepEqual(await page.evaluate(currentMessage), before);
    await page.unroute(/newer=99/);
  });

  it('goes to the next bad answer, also if there are hundreds of newer ones', async () => {
    const { page } = await open(`${short}/${shortIdAt(10)}`);
    await isAt(page, 10);
    await pressShortcut(page, 'n');
    await isAt(page, 12);
  });

  it('goes to a message after an error, when the user tries again', async () => {
    const { page } = await open(`${long}/${idAt(700)}`);
    await isAt(page, 700);
    await page.route(new RegExp(`message_id=${idAt(300)}`), (route) => route.abort(), { times: 1 });
    await page.goto(`/console#/conversations/${ids.app}/${long}/${idAt(300)}`);
    await page.getByRole('button', { name: 'Try again' }).click();
    await isAt(page, 300);
  });

  it('goes to the message that was asked for last, although another is read later', async () => {
    const { page } = await open(`${long}/${idAt(700)}`);
    await isAt(page, 700);
    const isThere = Promise.withResolvers<void>();
    const isOf300 = new RegExp(`message_id=${idAt(300)}`);
    await page.route(isOf300, (route) => isThere.promise.then(() => route.continue()));
    await page.goto(`/console#/conversations/${ids.app}/${long}/${idAt(300)}`);
    await page.goto(`/console#/conversations/${ids.app}/${long}/${idAt(50)}`);
    await isAt(page, 50);
    const pageOf300 = page.waitForResponse(new RegExp(`first_id=${idAt(351)}`));
    isThere.resolve();
    await (await pageOf300).finished();
    await page.unroute(isOf300);
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))');
    await isAt(page, 50);
  });

  it('goes on in both directions from there, with every message once', async () => {
    const { page } = await open(`${long}/${idAt(700)}`);
    await isAt(page, 700);
    const seen = await page.evaluate<number[]>(`(async () => {
      const scroller = document.querySelector('.scroller');
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      const numbers = new Set();
      for (const direction of [1, -1])
        for (let steps = 0; steps < 300 && !numbers.has(direction === 1 ? 801 : 649); steps += 1) {
          for (const query of scroller.querySelectorAll('.query')) numbers.add(Number(/\\d+/.exec(query.textContent)[0]));
          scroller.scrollTop += direction * 800;
          await frame();
          while (scroller.querySelector('article') === null) await frame();
        }
      return [...numbers].sort((one, other) => one - other);
    })()`);
    assert.ok((seen.at(-1) ?? 0) > 800 && (seen[0] ?? 0) < 650, `${seen[0]} to ${seen.at(-1)}`);
    assert.deepEqual(
      seen,
      Array.from({ length: seen.length }, (_, n) => n + (seen[0] ?? 0)),
    );
    await page.getByRole('button', { name: 'Newest' }).click();
    await page.getByText(`Question ${length - 1}`).waitFor();
    await page.getByRole('button', { name: 'Beginning' }).click();
    await page.getByText('The beginning of this conversation').waitFor();
  });

  it('moves by keys, and the address follows', async () => {
    const { page } = await open(`${long}/${idAt(100)}`);
    await isAt(page, 100);
    for (const [key, n] of [
      ['j', 101],
      ['j', 102],
      ['k', 101],
    ] as const) {
      await pressShortcut(page, key);
      await isAt(page, n);
      await page.waitForURL(`**/${idAt(n)}`);
    }
    await page.getByRole('searchbox').focus();
    await page.keyboard.press('j');
    assert.equal(await page.getByRole('searchbox').inputValue(), 'j');
  });

  it('separates days', async () => {
    const { page } = await open(`${long}/${idAt(24)}`);
    await isAt(page, 24);
    const item = page.locator('.item', { has: page.locator(`article[data-id="${idAt(24)}"]`) });
    const name = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeZone: 'UTC' }).format((start + day) * 1000);
    const words = (text: string) => text.replaceAll(',', '').split(' ');
    assert.deepEqual(words(await item.locator('.day').innerText()), words(name));
    assert.equal(
      await page
        .locator('.item', { has: page.locator(`[data-id="${idAt(25)}"]`) })
        .locator('.day')
        .count(),
      0,
    );
  });

  it('shows which sibling a message is, and leads to the others', async () => {
    const { page } = await open(`${long}/${idAt(length - 5)}`);
    await isAt(page, length - 5);
    const article = page.locator(`article[data-id="${idAt(length - 5)}"]`);
    await article.getByText('2 of 3').waitFor();
    await article.getByRole('button', { name: 'Previous sibling' }).click();
    await isAt(page, length - 9);
    const first = page.locator(`article[data-id="${idAt(length - 9)}"]`);
    assert.ok(await first.getByRole('button', { name: 'Previous sibling' }).isDisabled());
    assert.equal(
      await page
        .locator(`article[data-id="${idAt(length - 10)}"]`)
        .getByText(/\d of \d/)
        .count(),
      0,
    );
  });

  it('copies the address, the answer and the JSON of a message', async () => {
    const { page } = await open(`${long}/${idAt(7)}`);
    await isAt(page, 7);
    const article = page.locator(`article[data-id="${idAt(7)}"]`);
    // Tests in other processes share the browser, and so the clipboard: what one of them copies meanwhile is replaced.
    const copy = (name: string, isExpected: (text: string) => boolean) =>
      until(async () => {
        const button = article.getByRole('button', { name });
        // Its label is another one, for two seconds, when the text is copied.
        await Promise.all([button.waitFor({ state: 'detached' }), button.click()]);
        return isExpected(await page.evaluate<string>('navigator.clipboard.readText()'));
      });
    const link = `${service.base}/console#/conversations/${ids.app}/${long}/${idAt(7)}`;
    await copy('Copy link', (text) => text === link);
    await copy('Copy answer', (text) => text === messages[7]?.answer);
    await article.locator('summary', { hasText: 'JSON' }).click();
    const { data } = (
      await service.request(
        'GET',
        `/admin/apps/${ids.app}/conversations/${long}/messages?first_id=${idAt(8)}&limit=1`,
        {
          key: admin,
        },
      )
    ).body;
    await copy('Copy JSON', (text) => text === JSON.stringify(data[0], null, 2));
    assert.deepEqual(JSON.parse(await article.getByLabel('Message as JSON').innerText()), data[0]);
    await checkAccessibilityOfVariant(page);
  });

  it('shows an inspector in a wide window, else behind a button', async () => {
    const { page } = await open(long);
    const aside = page.getByRole('complementary', { name: 'About this conversation' });
    assert.match(
      await until(async () => {
        const text = await aside.innerText();
        return text.includes('median') && text.includes('gpt-test') && text;
      }),
      /User\s+reader[\s\S]*Messages\s+1,100\s+Disliked\s+0\s+Failed\s+0[\s\S]*Model\s+gpt-test, 1 answer[\s\S]*Latency\s+median 2 s, max 3 s/,
    );
    assert.equal(await aside.getByRole('link', { name: 'reader' }).getAttribute('href'), '#/users/reader');
    assert.equal(await aside.getByRole('button', { name: 'Next disliked' }).count(), 0, 'there is none');
    assert.equal(await page.getByText('Details').count(), 0);
    await page.setViewportSize({ width: 820, height: 1000 });
    await page.getByText('Details').click();
    await page.getByRole('button', { name: 'Export as Markdown' }).waitFor();
    assert.equal(await aside.count(), 0);
    assert.ok(!(await scrollsHorizontally(page)));
    await checkAccessibilityOfVariant(page);
  });

  it('exports all messages, oldest first, and shows how far it is', async () => {
    const { page, pageErrors } = await open(long);
    const save = async (format: string, progress?: RegExp): Promise<string> => {
      const saved = page.waitForEvent('download');
      const { promise: isShown, resolve: goOn } = Promise.withResolvers<void>();
      // Nothing more is read until the progress is shown.
      const pages = /first_id=.*page_order=oldest_first/;
      if (progress) await page.route(pages, (route) => isShown.then(() => route.continue()));
      await page.getByRole('button', { name: `Export as ${format}` }).click();
      if (progress) await page.getByText(progress).waitFor();
      goOn();
      const file = join(await mkdtemp(join(tmpdir(), 'backscroll-test-')), 'export');
      await (await saved).saveAs(file);
      await page.unroute(pages);
      const text = await readFile(file, 'utf8');
      await rm(dirname(file), { recursive: true });
      return text;
    };
    const recordsOf = (lines: string) => parseLines(lines);
    const exported = recordsOf(await save('JSON lines', /of 1,100 messages/));
    assert.deepEqual(
      exported.map(({ record, id }) => [record, id]),
      [['conversation', long], ...messages.map(({ id }) => ['message', id])],
    );
    const text = await save('Markdown');
    assert.match(text, /^# A long story\n\n- App: [^\n]+\n- User: reader\n/);
    assert.deepEqual(
      [...text.matchAll(/^Question (\d+)$/gm)].map(([, n]) => Number(n)),
      Array.from({ length }, (_, n) => n),
    );
    await page.goto(`/console#/conversations/${ids.app}/${ids.conversation}`);
    await page.getByRole('link', { name: 'Open in Knowledge: guide.md, segment 1' }).waitFor();
    await service.load(recordsOf(await save('JSON lines')));
    assert.match(await save('Markdown'), /^- File: .+\n[\s\S]*^- Cites: guide\.md \(.+\), segment 1\n/m);
    assert.deepEqual(pageErrors, []);
  });

  it('leads from an answer to the segment it cites by one click', async () => {
    const { page } = await open(`${ids.conversation}/${rich.full.id}`);
    const [resource] = rich.full.retriever_resources;
    await page.getByRole('link', { name: 'Open in Knowledge: guide.md, segment 1' }).click();
    await page.waitForURL(
      new RegExp(`#/knowledge/${resource?.dataset_id}/${resource?.document_id}/${resource?.segment_id}`),
    );
  });

  it('aligns the columns of a table as it says', async () => {
    const id = randomUUID();
    const answer = '|a|b|c|\n|:---:|---:|---|\n|1|2|3|';
    await service.load([
      { record: 'conversation', id, app_id: ids.app, user: 'table' },
      message(id, start, { answer: `${answer}\n\n- [x] done\n\n$a_1$` }),
    ]);
    const { page } = await open(id);
    const aligned = await page.evaluate(
      "[...document.querySelectorAll('td')].map((cell) => getComputedStyle(cell).textAlign)",
    );
    assert.deepEqual(aligned, ['center', 'right', 'left']);
    assert.ok(await page.getByRole('checkbox', { name: 'Done' }).isChecked());
    assert.equal(await page.locator('.formula').innerText(), 'a_1');
    const row = await page.getByRole('link', { name: 'table' }).locator('.words').innerText();
    assert.match(row, /^a b c 1 2 3 /);
  });
});
