import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  type ConsoleTab,
  checkAccessibilityOfVariant,
  checkInBothThemes,
  openBrowser,
  openConsole,
  phone,
  untilItFits,
} from '../support/browser.ts';
import { makeTwoTenants, message, type Service, startService } from '../support/harness.ts';
import { isLong, itLong, shortOrLong } from '../support/long.ts';
import { pendingForm, richMessages } from '../support/rich-messages.ts';
import {
  expandAndScroll,
  isAtEnd,
  isNarrow,
  jumpToQuery,
  jumpToStart,
  leaveBeforeEffects,
  scrollToStart,
  unexpectedMoves,
  visitConversation,
} from '../support/transcript-scripts.ts';
import { until, untilEqual } from '../support/until.ts';

describe('the console, conversations', () => {
  const { one, other, admin, records } = makeTwoTenants();
  const { ids } = one;
  const rich = richMessages(ids.conversation);
  const long = randomUUID();
  /** Some pages of messages; and more than are held at once. */
  const length = 250;
  const longer = randomUUID();
  const short = randomUUID();
  const odd = randomUUID();
  const oldest = randomUUID();
  const users = Array.from({ length: 60 }, (_, i) => `user-${`${i}`.padStart(2, '0')}`);
  let service: Service;
  let browser: Browser;
  let tab: ConsoleTab;

  const numbered = (conversation_id: string, count: number) =>
    Array.from({ length: count }, (_, i) =>
      message(conversation_id, 5_000 + i, { query: `Question ${i}`, answer: 'word '.repeat(1 + ((i * 37) % 90)) }),
    );

  before(async () => {
    [service, browser] = await Promise.all([startService('sqlite'), openBrowser()]);
    const conversation = (id: string, user: string | null, created_at = 1_000) => ({
      record: 'conversation',
      id,
      app_id: ids.app,
      user,
      created_at,
    });
    await service.load([
      ...records,
      { record: 'app', id: ids.app, workspace_id: ids.workspace, name: 'Harbour', mode: 'chat' },
      { record: 'app', id: other.ids.app, workspace_id: other.ids.workspace, name: 'Island', mode: 'agent' },
      ...rich.records,
      conversation(long, 'long'),
      ...numbered(long, length),
      conversation(longer, null),
      ...numbered(longer, isLong ? 2_200 : 0),
      conversation(short, 'short'),
      ...numbered(short, 40).map((record) => ({ ...record, inputs: { notes: 'line\n'.repeat(60) } })),
      { ...conversation(odd, 'odd'), app_id: other.ids.app },
      message(odd, Number.MAX_SAFE_INTEGER, { query: 'When was this?' }),
      ...users.map((user) => conversation(randomUUID(), user)),
      conversation(oldest, 'oldest', 500),
    ]);
    tab = await openConsole(browser, service.base, admin);
  });
  after(async () => {
    await browser.close();
    await service.close();
  });

  const open = async (conversation: string): Promise<ConsoleTab> => {
    await visitConversation(tab, ids.app, conversation);
    // Beside the transcript, which gets narrower by it.
    await tab.page.locator('.inspector').waitFor();
    return tab;
  };

  const entriesOf = (page: Page) => page.getByRole('list', { name: 'Conversations' }).getByRole('link');

  it('opens the newest conversation', async () => {
    const { page, pageErrors, visit } = tab;
    await visit('conversations');
    await page.waitForURL(new RegExp(`#/conversations/${other.ids.app}/${odd}$`));
    await page.getByText('When was this?').first().waitFor();
    const { name } = await textOf(page);
    await untilEqual(() => page.title(), `${name} · odd · Conversations · Backscroll`);
    assert.deepEqual(pageErrors, []);
  });

  itLong('opens no conversation after the user has gone to another view', async () => {
    const { page, pageErrors } = tab;
    const script = await page.addInitScript(leaveBeforeEffects);
    await page.goto('about:blank');
    await page.goto('/console#/conversations');
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    await script.dispose();
    assert.deepEqual(pageErrors, []);
  });

  const textOf = async (page: Page) => ({ name: await page.locator('#transcript-title').innerText() });

  it('lists the conversations of all apps, more of them by scrolling, or those of one app', async () => {
    const { page, pageErrors, visit } = tab;
    await visit('conversations');
    const entries = entriesOf(page);
    await entries.nth(49).waitFor();
    assert.equal(await entries.count(), 50);
    await entries.last().scrollIntoViewIfNeeded();
    await entries.nth(60).waitFor();
    assert.match((await entries.allInnerTexts()).join('\n\n'), /\nann\n?·?[\s\S]*\d+ msgs/);
    await page.getByRole('combobox', { name: 'App' }).selectOption('Island');
    await page.waitForURL(new RegExp(`app_id=${other.ids.app}`));
    await entries.nth(2).waitFor({ state: 'detached' });
    await entries.nth(1).waitFor();
    assert.equal(await entries.count(), 2);
    // The address of the list of an app, as it was before.
    await page.goto(`/console#/conversations/${other.ids.app}`);
    await page.waitForURL(new RegExp(`#/conversations/${other.ids.app}/.*app_id=${other.ids.app}$`));
    assert.deepEqual(pageErrors, []);
  });

  itLong('lists a conversation of the address first, until the part of the list that has it is read', async () => {
    const { page, pageErrors, visit } = tab;
    await visit(`conversations/${ids.app}/${oldest}`);
    const entries = entriesOf(page);
    const current = page.locator('.conversation-list [aria-current]');
    await current.getByText('Not in the part of the list that was read.').waitFor();
    assert.match(await entries.first().innerText(), /oldest/);
    assert.equal(await current.count(), 1);
    await entries.nth(50).scrollIntoViewIfNeeded();
    await current.getByText('Not in the part').waitFor({ state: 'detached' });
    assert.match(await entries.last().innerText(), /oldest/);
    assert.equal(await current.count(), 1);
    await page.goto(`/console#/conversations/${ids.app}/${oldest}?app_id=${other.ids.app}`);
    await current.getByText('Not in this list.').waitFor();
    assert.deepEqual(pageErrors, []);
  });

  it('shows the text of feedback, also of older messages and when it changes', async () => {
    const id = randomUUID();
    const liked = { feedback: { rating: 'like' } };
    const old = message(id, 5_000, { ...liked, feedback_content: 'The first answer helped.\n<b>Thanks</b>' });
    const newest = message(id, 9_000, { feedback: { rating: 'dislike' } });
    await service.load([
      { record: 'conversation', id, app_id: ids.app },
      old,
      // The old message is on another page.
      ...Array.from({ length: shortOrLong(1, 120) }, (_, n) => message(id, 6_000 + n)),
      newest,
    ]);
    const { page, pageErrors } = await open(id);
    const footer = (record: { id: string }) => page.locator(`article[data-id="${record.id}"] footer`);
    await footer(newest).getByText('disliked').waitFor();
    assert.equal(await footer(newest).getByLabel('Feedback').count(), 0);
    await service.load([{ ...newest, feedback_content: 'Wrong product.' }]);
    await footer(newest).getByLabel('Feedback').getByText('Wrong product.').waitFor();
    await page.locator('.inspector').getByRole('link', { name: '“Wrong product.”' }).waitFor();
    assert.ok(await page.evaluate(jumpToStart(4_000)));
    await footer(old).getByText('liked').waitFor();
    const feedback = footer(old).getByLabel('Feedback');
    await untilEqual(() => feedback.textContent(), 'The first answer helped.\n<b>Thanks</b>');
    assert.deepEqual(pageErrors, []);
  });

  it('can be used by everyone, in both themes and at every width', async () => {
    const { page, pageErrors } = await open(ids.conversation);
    const parts = [page.getByText('guide.md').first(), page.getByText('2 steps')];
    for (const part of parts) await part.click();
    await checkInBothThemes(page, undefined, () => until(() => page.evaluate<boolean>(isNarrow)));
    for (const part of parts) await part.click();
    // On a phone, list and transcript take turns.
    await page.setViewportSize(phone);
    await page.emulateMedia({ colorScheme: 'dark' });
    const list = page.getByRole('list', { name: 'Conversations' });
    await list.waitFor({ state: 'hidden' });
    await page.getByRole('link', { name: 'Back to conversations' }).click();
    await list.waitFor();
    await untilItFits(page);
    await checkAccessibilityOfVariant(page);
    assert.deepEqual(pageErrors, []);
  });

  it('shows all parts of a message', async () => {
    const { page, pageErrors } = await open(ids.conversation);
    const article = (id: string) => page.locator(`article[data-id="${id}"]`);
    await page.getByText('The beginning of this conversation').waitFor();
    await page.locator('.inspector').getByText('ann', { exact: true }).waitFor();

    const huge = article(rich.huge.id);
    assert.equal(await huge.getByText('The end.').count(), 0);
    await huge.getByRole('button', { name: 'Show all 100,008 characters' }).click();
    await huge.getByText('The end.').waitFor();
    await page.locator('.scroller').press('End');

    const full = article(rich.full.id);
    await full.scrollIntoViewIfNeeded();
    const file = full.getByRole('link', { name: 'counter.jpg' });
    assert.equal(await file.getAttribute('href'), 'https://example.com/counter.jpg');
    assert.equal(await file.getAttribute('rel'), 'noopener noreferrer nofollow');
    assert.match((await full.getByRole('list', { name: 'Files' }).first().innerText()) ?? '', /image\/jpeg, 1\.8 MB/);
    for (const text of ['1,234 tokens', 'US$0.0013', '1.25 s', 'Liked', rich.full.parent_message_id.slice(0, 8)])
      assert.ok((await full.innerText()).includes(text), text);

    assert.equal(await full.getByText('Remove the orange screw.').count(), 0);
    await full.getByText('guide.md').click();
    await full.getByText('Remove the orange screw.').waitFor();
    assert.match(await full.innerText(), /Handbook · score 0\.948/);
    assert.match(await full.innerText(), /segment 1, 70 words, 8 hits, upload_file, ID /);
    assert.equal(await full.locator('footer').getByText('US$0.0013').getAttribute('title'), '0.0012890 USD');
    assert.match((await full.locator('footer time').getAttribute('title')) ?? '', /1970.* UTC \(/);
    await full.getByText('2 steps').click();
    const steps = full.locator('.steps > li');
    assert.match((await steps.first().innerText()) ?? '', /^3 s\b/);
    assert.match((await steps.first().innerText()) ?? '', /Knowledge search[\s\S]*"query": "screw"[\s\S]*one section/);
    await full.getByText('Inputs').click();
    await full.getByText('en-GB').waitFor();

    const booking = page.getByRole('region', { name: 'Form: Book a visit' });
    await booking.scrollIntoViewIfNeeded();
    assert.match(await booking.innerText(), /^Book a visit\s+Expired[\s\S]*Expired: /);
    assert.match(await booking.innerText(), /problem\s+five red blinks[\s\S]*Actions: /);
    assert.equal(await booking.locator('input, select, textarea, button').count(), 0, 'the console does not submit it');
    const submitted = page.getByRole('region', { name: 'Form: Order' });
    assert.match(await submitted.innerText(), /Submitted[\s\S]*one gasket[\s\S]*Answered with: Confirm/);

    const failed = article(rich.failed.id);
    assert.match(await failed.innerText(), /Error: The model did not answer\.[\s\S]*Disliked/);
    assert.match(await failed.locator('.note').getAttribute('class').then(String), /bad/);
    assert.deepEqual(pageErrors, []);
  });

  it('shows whether a form waits, and its title once', async () => {
    const forms = randomUUID();
    const form = pendingForm();
    const later = Math.floor(Date.now() / 1000) + 3_600;
    const withText = (form_content: string) => ({
      ...form,
      form_definition: { ...form.form_definition, form_content, expiration_time: later },
    });
    await service.load([
      { record: 'conversation', id: forms, app_id: ids.app, user: 'forms' },
      message(forms, 6_000, { extra_contents: [withText('### Book a visit\n\nWhen?'), withText('When, please?')] }),
    ]);
    const { page } = await open(forms);
    const regions = page.getByRole('region', { name: 'Form: Book a visit' });
    await regions.nth(1).waitFor();
    const texts = await regions.allInnerTexts();
    assert.equal(texts.length, 2);
    for (const text of texts) {
      assert.match(text, /Waiting[\s\S]*Expires: /);
      assert.equal(text.match(/Book a visit/g)?.length, 1);
    }
  });

  it('keeps the messages in the window in their place while older ones are loaded', async () => {
    const { page } = await open(long);
    const moves = await page.evaluate<number[]>(unexpectedMoves);
    assert.ok((await firstNumber(page)) < length - 100, 'older pages were read');
    assert.deepEqual(
      moves.filter((move) => !(Math.abs(move) < 2)),
      [],
    );
  });

  itLong('keeps them in their place also after a collapsible was opened, which stays visible', async () => {
    const { page, pageErrors } = await open(short);
    const last = page.locator('article').last();
    await last.getByText('Inputs').click();
    await page.getByRole('button', { name: 'Newest' }).waitFor();
    assert.ok(await last.getByText('Inputs').isVisible());
    await last.getByText('Inputs').click();
    await page.getByRole('button', { name: 'Newest' }).waitFor({ state: 'detached' });
    const moves = await page.evaluate<number[]>(expandAndScroll);
    assert.deepEqual(
      moves.filter((move) => !(Math.abs(move) < 2)),
      [],
    );
    assert.deepEqual(pageErrors, []);
  });

  // In `npm test`, transcript.test.ts scrolls in both directions.
  itLong('shows every message once, from the newest to the first', async () => {
    const { page, pageErrors } = await open(long);
    const { seen, nodesMax } = await page.evaluate<{ seen: string[]; nodesMax: number }>(scrollToStart);
    assert.deepEqual(
      seen,
      Array.from({ length }, (_, i) => `Question ${length - 1 - i}`),
    );
    assert.ok(nodesMax < 2_000, `${nodesMax} elements`);
    await page.getByText('The beginning of this conversation').waitFor();
    assert.deepEqual(pageErrors, []);
  });

  itLong('drops messages that are far away, and reads them again', async () => {
    const { page, pageErrors } = await open(longer);
    assert.ok(await page.evaluate(jumpToStart(40_000)));
    assert.equal(await firstNumber(page), 0);
    await page.evaluate(jumpToQuery('Question 2199', 40_000));
    assert.ok(await page.evaluate(jumpToStart(40_000)));
    await page.getByRole('button', { name: 'Newest' }).click();
    await page.getByText('Question 2199').waitFor();
    await page.locator('.scroller').press('Home');
    await page.getByText('Question 2199').waitFor({ state: 'detached' });
    await page.locator('.scroller').press('End');
    await page.getByText('Question 2199').waitFor();
    assert.deepEqual(pageErrors, []);
  });

  it('follows new messages at the newest end, and only counts them elsewhere', async () => {
    const { page } = await open(long);
    const say = (query: string, created_at: number) => service.load([message(long, created_at, { query })]);
    await say('One more', 9_000);
    await page.getByText('One more').waitFor();
    await until(() => page.evaluate<boolean>(isAtEnd));
    await page.locator('.scroller').hover();
    await page.mouse.wheel(0, -2_000);
    await page.getByRole('button', { name: 'Newest' }).waitFor();
    await say('And another', 9_001);
    await page.getByRole('button', { name: '1 new message' }).click();
    await page.getByText('And another').waitFor();
    await until(() => page.evaluate<boolean>(isAtEnd));
  });

  // In `npm test`, live.test.ts counts a new message.
  itLong('shows a new message of a short conversation once', async () => {
    const { page } = await open(short);
    for (const query of ['One more', 'And another']) {
      await service.load([message(short, 9_000, { query })]);
      await page.getByText(query).first().waitFor();
      assert.equal(await page.getByText(query).count(), 1);
    }
  });

  it('shows a time that no date can express as a number', async () => {
    const { page, pageErrors } = tab;
    await visitConversation(tab, other.ids.app, odd);
    await page.locator('article').getByText('When was this?').waitFor();
    // In the list, in the inspector and below the message; each of them arrives with a response of its own.
    const times = page.getByText(`${Number.MAX_SAFE_INTEGER}`);
    await times.nth(2).waitFor();
    assert.equal(await times.count(), 3);
    assert.deepEqual(pageErrors, []);
  });

  itLong('shows an error, and tries again', async () => {
    const { page } = tab;
    await page.route(/first_id=/, (route) => route.abort(), { times: 1 });
    await open(long);
    await page.locator('.scroller').press('Home');
    await page.getByRole('alert').getByText('The service cannot be reached.').waitFor();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('alert').waitFor({ state: 'detached' });
    for (const message of ['', `/${randomUUID()}`]) {
      await page.goto(`/console#/conversations/${ids.app}/${randomUUID()}${message}`);
      await page.getByRole('alert').getByText('This conversation does not exist or was deleted.').waitFor();
      await page.getByText('Loading older messages…').waitFor({ state: 'detached' });
    }
  });
});

const firstNumber = async (page: Page): Promise<number> =>
  Number(/\d+/.exec(await page.locator('.query').first().innerText())?.[0]);
