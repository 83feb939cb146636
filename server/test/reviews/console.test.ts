import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import {
  type ConsoleTab,
  checkInBothThemes,
  openBrowser,
  openConsole,
  phone,
  pressShortcut,
} from '../support/browser.ts';
import { makeTwoTenants, message, type Service, startService } from '../support/harness.ts';
import { citation } from '../support/rich-messages.ts';
import { untilEqual, untilMatch } from '../support/until.ts';

describe('the review queue in the console', () => {
  const { admin, records, one, other } = makeTwoTenants();
  const now = Math.floor(Date.now() / 1000);
  const { conversation, dataset, document, segment } = one.ids;
  const place = { dataset_id: dataset, document_id: document, segment_id: segment };
  const bad = ['newest', 'middle', 'oldest'].map((query, n) =>
    message(conversation, now - n, {
      ...{ query, answer: `answer ${n}`, feedback: { rating: 'dislike' } },
      feedback_content: n === 0 ? 'You open at nine!' : null,
      retriever_resources: n === 0 ? [{ ...citation(randomUUID()), ...place, content: 'text' }] : [],
    }),
  );
  const [newest, middle, oldest] = bad.map(({ id }) => id);
  const failed = message(other.ids.conversation, now - 9, { status: 'error' });
  const fine = message(conversation, now - 20, { answer: 'fine answer' });
  const colleague = '11111111-1111-4111-8111-111111111111';
  let service: Service;
  let browser: Browser;
  let tab: ConsoleTab;
  before(async () => {
    [service, browser] = await Promise.all([startService('sqlite'), openBrowser()]);
    await service.load([...records, ...bad, failed, fine]);
    tab = await openConsole(browser, service.base, admin);
  });
  after(async () => {
    await browser.close();
    await service.close();
  });

  const reviews = async () => {
    const { body } = await service.as(admin).get('/admin/reviews');
    return new Map<string, { state: string; assignee: string | null; labels: string[]; expected_answer: string }>(
      body.data.map((row: { message: { id: string }; review: object }) => [row.message.id, row.review]),
    );
  };
  const put = (id: string | undefined, body: object) =>
    service.as(admin).put(`/admin/apps/${one.ids.app}/conversations/${conversation}/messages/${id}/review`, body);
  const status = () => tab.page.locator('.review-item').getByRole('status').first();

  it('j claims the first answer, and l, d and i write its review', async () => {
    const { page, pageErrors, visit } = tab;
    await visit('review');
    await page.getByText('4 left this week').waitFor();
    const queue = page.getByRole('list', { name: 'Answers' });
    await untilEqual(
      () => queue.getByRole('listitem').locator('span:first-child').first().innerText(),
      '“You open at nine!”',
    );
    await pressShortcut(page, 'j');
    await page.waitForURL(new RegExp(`at=${newest}`));
    await page.locator('.review-item').getByText('answer 0').waitFor();
    await status().getByText('Open, assigned to admin').waitFor();
    await pressShortcut(page, 'l');
    await page.getByLabel('Labels, with commas').fill('hours, hours, tone');
    await page.keyboard.press('Enter');
    await page.getByLabel('What the answer should have been').fill('At nine.');
    await page.keyboard.press('d');
    await page.keyboard.press('Escape');
    await checkInBothThemes(page);
    await pressShortcut(page, 'd');
    await status().getByText('Done.').waitFor();
    await page.getByText('3 left this week').waitFor();
    const written = (await reviews()).get(`${newest}`);
    assert.deepEqual(
      [written?.state, written?.labels, written?.expected_answer],
      ['done', ['hours', 'tone'], 'At nine.d'],
    );
    await page.getByRole('link', { name: /^hours/ }).waitFor();
    assert.deepEqual(pageErrors, []);
  });

  it('j skips an answer that a colleague has claimed, also one that was claimed just now', async () => {
    const { page, pageErrors } = tab;
    assert.equal((await put(middle, { assignee: colleague })).status, 200);
    await pressShortcut(page, 'j');
    await page.waitForURL(new RegExp(`at=${oldest}`));
    assert.equal((await reviews()).get(`${middle}`)?.assignee, colleague);
    await page.getByLabel('Note').fill('ask the shop');
    await page.getByLabel('Note').press('Escape');
    await pressShortcut(page, 'i');
    await status().getByText('Ignored.').waitFor();
    assert.equal((await reviews()).get(`${oldest}`)?.state, 'ignored');
    assert.deepEqual(pageErrors, []);
  });

  it('says when the review has changed, keeps what was typed, and assigns it', async () => {
    const { page, pageErrors, visit } = tab;
    await visit('review?state=all');
    await page.getByRole('link', { name: /middle/ }).click();
    await page.getByLabel('Note').fill('typed');
    await page.getByLabel('Note').press('Escape');
    await put(middle, { assignee: colleague, note: 'from elsewhere' });
    await pressShortcut(page, 'a');
    await page.getByRole('alert').getByText('the review has changed since it was read').waitFor();
    await visit('review?state=all');
    await page.getByRole('link', { name: /middle/ }).click();
    assert.equal(await page.getByLabel('Note').inputValue(), 'typed');
    await pressShortcut(page, 'a');
    await status().getByText('Assigned to you.').waitFor();
    assert.equal((await reviews()).get(`${middle}`)?.state, 'open');
    await page.getByText(/^History \(3\)/).click();
    await page.getByText('Open admin').first().waitFor();
    assert.deepEqual(pageErrors, []);
  });

  it('j takes an answer whose claim is 15 minutes old, and skips one with a younger claim', async () => {
    const { page, pageErrors, visit } = tab;
    const claim = { record: 'review', app_id: one.ids.app, conversation_id: conversation, message_id: middle };
    for (const [age, taken] of [
      [600, failed.id],
      [901, middle],
    ] as const) {
      await service.load([{ ...claim, assignee: colleague, updated_at: Math.floor(Date.now() / 1000) - age }]);
      await visit('review');
      await page.getByRole('link', { name: /middle/ }).waitFor();
      await pressShortcut(page, 'j');
      await page.waitForURL(new RegExp(`at=${taken}`));
    }
    assert.deepEqual(pageErrors, []);
  });

  it('e edits the cited text beside the answer', async () => {
    const { page, pageErrors, visit } = tab;
    await visit(`review?state=done&at=${newest}`);
    await page.locator('.review-item').getByText('answer 0').waitFor();
    await pressShortcut(page, 'e');
    await page
      .getByRole('textbox', { name: /Text|Chunk/i })
      .first()
      .waitFor();
    await page.getByLabel('Text', { exact: true }).fill('You open at eight.');
    const editor = page.locator('.editor');
    await editor.getByRole('button', { name: 'Review', exact: true }).click();
    await editor.getByRole('button', { name: 'Save', exact: true }).click();
    const changed = page.getByRole('list', { name: 'Changed during this review' });
    await untilMatch(() => changed.innerText(), /^Changed: document, segment 1, chunk 1, revision 1, /);
    await checkInBothThemes(page, page.locator('.review-item'));
    await changed.getByRole('link').click();
    await page.getByRole('button', { name: 'History of chunk 1' }).click();
    await page.getByRole('link', { name: 'review of an answer' }).click();
    await page.waitForURL(new RegExp(`at=${newest}`));
    await page.locator('.review-item').getByText('answer 0').waitFor();
    assert.deepEqual(pageErrors, []);
  });

  it('a document leads to the reviews of the answers that cite it', async () => {
    const { page, pageErrors, visit } = tab;
    await visit(`knowledge/${dataset}/${document}`);
    await page.getByRole('link', { name: 'reviews' }).click();
    const answers = page.getByRole('list', { name: 'Answers' }).getByRole('listitem');
    await untilEqual(() => answers.count(), 1);
    await answers.getByText('You open at nine!').waitFor();
    await page.getByRole('link', { name: 'Cites a document' }).click();
    await answers.nth(1).waitFor();
    assert.deepEqual(pageErrors, []);
  });

  it('Review in a conversation opens any answer here, and saving gives it a review', async () => {
    const { page, pageErrors, visit } = tab;
    await visit(`conversations/${one.ids.app}/${conversation}/${fine.id}`);
    const article = page.getByRole('article', { name: `Message ${fine.id}` });
    assert.equal(await article.getByRole('link', { name: 'Review' }).getAttribute('href'), `#/review?at=${fine.id}`);
    await pressShortcut(page, 'r');
    await page.waitForURL(new RegExp(`#/review\\?at=${fine.id}`));
    await page.locator('.review-item').getByText('fine answer').waitFor();
    assert.equal(await page.locator('.review-item').getByRole('link', { name: 'Review' }).count(), 0);
    await page.getByLabel('Note').fill('keep this one');
    await page.getByLabel('Note').press('Escape');
    await pressShortcut(page, 'd');
    await status().getByText('Done.').waitFor();
    assert.equal((await reviews()).get(fine.id)?.state, 'done');
    await visit(`review?at=${randomUUID()}`);
    await page.getByText('There is no such answer.').waitFor();
    assert.deepEqual(pageErrors, []);
  });

  it('on a phone shows the queue or the answer; filters by label, state and app', async () => {
    const { page, pageErrors, visit } = tab;
    await visit('review?state=all', { viewport: phone, colorScheme: 'dark' });
    const queue = page.getByRole('list', { name: 'Answers' });
    await queue.getByRole('listitem').nth(3).waitFor();
    await checkInBothThemes(page);
    await page.setViewportSize(phone);
    await queue.getByRole('link', { name: /middle/ }).click();
    await page.getByRole('link', { name: 'Back to the queue' }).click();
    await queue.waitFor();
    await visit('overview');
    await page.getByRole('group', { name: 'Reviews' }).getByRole('link', { name: /^tone/ }).click();
    await untilEqual(() => queue.getByRole('listitem').count(), 1);
    await visit(`review?app_id=${other.ids.app}`);
    await untilEqual(() => queue.getByRole('listitem').count(), 1);
    await visit('review?label=none');
    await page.getByText('Nothing to review').waitFor();
    assert.deepEqual(pageErrors, []);
  });
});
