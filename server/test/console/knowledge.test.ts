import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { checkAccessibility, checkInBothThemes, highlightsOf, pressShortcut } from '../support/browser.ts';
import { chunkAt, hostile, ids, KnowledgeFixture, startEdit } from '../support/knowledge-fixture.ts';
import { isLong, itLong } from '../support/long.ts';
import { until, untilEqual, untilMatch } from '../support/until.ts';

/** States of a view that is checked in both themes and at every width: one with most parts, and others. */
const checkState = isLong ? checkInBothThemes : checkAccessibility;
const checkOtherState = isLong ? checkInBothThemes : async () => undefined;

describe('knowledge in the console', () => {
  let fixture: KnowledgeFixture;
  before(async () => {
    fixture = await KnowledgeFixture.open();
  });
  after(() => fixture.close());

  it('leads from datasets to chunks by keyboard, each level with its own address', async () => {
    const { page, pageErrors, visit } = fixture.tab;
    await visit('knowledge');
    const table = page.getByRole('table');
    const row = table.getByRole('row').filter({ has: page.locator(`a[href$="${ids.dataset}"]`) });
    const cells = async () => (await row.getByRole('cell').allTextContents()).slice(0, 4);
    await untilEqual(cells, ['dataset', 'workspace', '24', '0']);
    await row.getByRole('link').press('Enter');
    const documents = page.getByRole('table', { name: 'Documents' });
    const documentCells = documents.getByRole('row').nth(1).getByRole('cell');
    await untilEqual(async () => (await documentCells.allTextContents()).slice(0, 3), ['document', '24', '0']);
    await page.getByRole('link', { name: 'document', exact: true }).press('Enter');
    await page.getByRole('heading', { name: 'Segment 2', exact: true }).waitFor();
    await page.locator('h1:focus', { hasText: 'document' }).waitFor();
    assert.ok(page.url().endsWith(`/knowledge/${ids.dataset}/${ids.document}`));
    await page.getByRole('heading', { name: 'Chunk 13' }).waitFor();
    assert.equal(await page.getByText(hostile).count(), 1, 'text is shown as text');
    assert.equal(await page.getByRole('heading', { name: /Segment/ }).count(), 20);
    for (const part of ['24 segments', '98 words', 'changed '])
      await page.locator('.page-head').getByText(part).waitFor();
    await page.getByRole('button', { name: 'Show more' }).press('Enter');
    await page.getByRole('heading', { name: 'Segment 24' }).waitFor();
    await page.getByText('Text of the whole segment').click();
    await page.getByText('segment text', { exact: true }).waitFor();
    const outline = page.getByRole('navigation', { name: 'Segments' }).getByRole('link');
    assert.equal(await outline.first().innerText(), '1. segment text');
    assert.equal(await outline.count(), 24, 'the segments that are loaded');
    await page.getByRole('navigation', { name: 'Breadcrumbs' }).getByRole('link', { name: 'dataset' }).click();
    await page.getByRole('heading', { name: 'dataset', exact: true }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Chunk 13' }).waitFor();
    assert.deepEqual(pageErrors, []);
  });

  it('opens at an address, with the names of the levels above; reports what does not exist', async () => {
    const { page } = await fixture.atChunks();
    const trail = page.getByRole('navigation', { name: 'Breadcrumbs' });
    await trail.getByRole('link', { name: 'dataset', exact: true }).waitFor();
    await page.getByRole('heading', { name: 'document', exact: true }).waitFor();
    await untilEqual(() => trail.getByRole('link').allTextContents(), ['Knowledge', 'dataset']);
    await page.goto(`/console#/knowledge/${ids.dataset}/${randomUUID()}`);
    await page.getByRole('alert').getByText('document not found').waitFor();
  });

  it('scrolls to the segment or chunk in the address, and shows some segments before it', async () => {
    const { page, pageErrors } = await fixture.atChunks();
    const isAtTop = async (name: string) => {
      const top = (await page.getByRole('heading', { name, exact: true }).boundingBox())?.y ?? -1;
      return top >= 0 && top < 200;
    };
    await page.getByRole('button', { name: 'Show more' }).click();
    const twentieth = page.getByRole('heading', { name: 'Segment 22', exact: true }).getByRole('link');
    const address = await twentieth.getAttribute('href');
    await page.goto(`/console${address}`);
    await page.reload();
    await page.getByRole('heading', { name: 'Segment 24' }).waitFor();
    await page.getByRole('heading', { name: 'Segment 17' }).waitFor();
    assert.equal(await page.getByRole('heading', { name: /Segment/ }).count(), 8, 'five before it and two after it');
    await page.locator('li:focus').getByRole('heading', { name: 'Segment 22' }).waitFor();
    await page.getByRole('button', { name: 'Show earlier segments' }).click();
    await page.getByRole('heading', { name: 'Segment 12' }).waitFor();
    await page.goto(`/console#/knowledge/${ids.dataset}/${ids.document}/${ids.segment}/${ids.chunk}`);
    await page.locator('.chunk:focus').getByRole('heading', { name: 'Chunk 1', exact: true }).waitFor();
    await until(() => isAtTop('Chunk 1'));
    assert.deepEqual(pageErrors, []);
  });

  it('finds words in all knowledge bases; a hit leads to its chunk', async () => {
    const { page, pageErrors } = await fixture.atChunks();
    await fixture.editElsewhere(13, 'A Zürich espresso needs nine bars.');
    await fixture.service.index();
    await page.goto('/console#/knowledge');
    await page.getByRole('heading', { name: 'Knowledge', exact: true }).waitFor();
    await pressShortcut(page, '/');
    await page.locator('input:focus').waitFor();
    await page.keyboard.type('zurich espr');
    // The search for the first letters, before a pause while typing, finds it too.
    const link = page.locator('a[href$="?words=zurich+espr"]');
    const hit = page.getByRole('list', { name: 'Hits' }).getByRole('listitem').filter({ has: link });
    await hit.waitFor();
    await untilEqual(() => hit.locator('mark').allTextContents(), ['Zürich', 'espresso']);
    assert.ok(page.url().endsWith('#/knowledge?q=zurich+espr'));
    await hit.getByRole('link').click();
    await page.locator('.chunk:focus', { hasText: 'Zürich' }).waitFor();
    await untilEqual(() => highlightsOf(page), ['Zürich', 'espr'], 'the words of the search, where it found them');
    assert.deepEqual(pageErrors, []);
  });

  it('shows recent changes with names, and steps to the next document', async () => {
    const { page } = await fixture.atChunks();
    await fixture.editElsewhere(13, 'An edit for the list.');
    await page.getByText('Recent changes').click();
    const edit = page.getByRole('table', { name: 'Activity' }).getByRole('row').nth(2);
    await untilEqual(
      async () => (await edit.getByRole('cell').allTextContents()).slice(1, 4),
      ['Changed', '1 chunk', 'knowledge'],
    );
    assert.equal(await page.getByRole('link', { name: 'Next', exact: true }).count(), 0);
    const next = { record: 'document', id: randomUUID(), dataset_id: ids.dataset, name: 'the next one' };
    await fixture.service.load([next]);
    await page.reload();
    await page.getByRole('link', { name: 'Next', exact: true }).click();
    await page.getByRole('heading', { name: 'the next one' }).waitFor();
    await page.getByText('This document has no segments.').waitFor();
    await page.getByRole('link', { name: 'Previous', exact: true }).click();
    await page.getByRole('heading', { name: 'Chunk 1', exact: true }).waitFor();
  });

  it('counts the answers that cite a segment, with a link to them', async () => {
    const { page } = await fixture.atChunks();
    const segment = page.locator('.segment').first();
    await segment.getByText('not cited').waitFor();
    await fixture.cite();
    await fixture.atChunks();
    const link = segment.getByRole('link', { name: 'cited in 1 answer' });
    await link.click();
    await page.getByRole('link', { name: 'Cites a segment (remove)' }).waitFor();
    await page.getByRole('link', { name: 'Open the segment' }).click();
    await page.waitForURL(new RegExp(`#/knowledge/${ids.dataset}/${ids.document}/${ids.segment}$`));
  });

  it('opens with the texts that most disliked answers cite; numbers lead to the answers', async () => {
    const { page, visit, pageErrors } = fixture.tab;
    await visit('knowledge');
    await page.getByRole('table', { name: 'Datasets' }).waitFor();
    assert.equal(await page.getByText('most disliked').count(), 0);
    const created_at = Math.floor(Date.now() / 1000);
    await fixture.cite({ created_at, feedback: { rating: 'dislike' } });
    await fixture.cite({ created_at });
    const other = { record: 'dataset', id: randomUUID(), name: 'a base without answers', workspace_id: ids.workspace };
    await fixture.service.load([other]);
    await fixture.service.index();
    await page.reload();
    await page.getByText('100% of the 1 disliked answer of the last 30 days cites this text.').waitFor();
    const rows = page.getByRole('table', { name: 'Datasets' }).getByRole('row');
    const cells = async () => (await rows.nth(1).getByRole('cell').allTextContents()).filter((_, at) => at !== 1);
    await untilMatch(async () => (await cells()).join('|'), /^dataset\|24\|2\|1 50%\|/);
    assert.match((await rows.nth(2).textContent()) ?? '', /^a base without answers/, 'worst first, then by name');
    await checkState(page);
    await rows.nth(1).getByRole('link', { name: '1 50%' }).click();
    await page.getByRole('link', { name: 'Cites a knowledge base (remove)' }).waitFor();
    await untilEqual(() => page.locator('.conversation-list li').count(), 1);
    await page.goBack();
    await page.getByRole('listitem').filter({ hasText: '1 disliked' }).getByRole('link').click();
    await page.getByRole('heading', { name: 'Segment 1', exact: true }).waitFor();
    await page.locator('.page-head').getByRole('link', { name: '1 disliked' }).click();
    await page.getByRole('link', { name: 'Cites a document (remove)' }).waitFor();
    assert.deepEqual(pageErrors, []);
  });

  it('marks the chunk that an answer cites, with the way back to the answer', async () => {
    const { page, visit, pageErrors } = fixture.tab;
    const text = 'The kettle of chunk 5 boils at ninety degrees.';
    const answer = await fixture.cite({ query: 'How hot?', feedback: { rating: 'dislike' } }, text);
    const openCited = async (address: string) => {
      await visit(address);
      await page
        .locator(`[data-id="${address.split('/').at(-1)}"]`)
        .getByRole('link', { name: 'Open in' })
        .click();
    };
    await visit(answer);
    const cited = page.locator('.inspector .loaded li').filter({ hasText: 'guide.md' });
    await untilMatch(async () => `${await cited.textContent()}`, /\d answers?, \d disliked$/);
    await openCited(answer);
    await page.locator('.chunk.target button:focus', { hasText: 'Edit' }).waitFor();
    assert.equal(await page.locator('.chunk.target').count(), 1);
    await page.locator('.chunk.target', { hasText: 'chunk 5' }).waitFor();
    await page.locator('.cited-by', { hasText: 'How hot?' }).waitFor();
    await page
      .locator('.segment')
      .getByText(/^\d disliked$/)
      .first()
      .waitFor();
    await checkState(page);
    await page.getByRole('link', { name: 'Back to the answer' }).click();
    await page.waitForURL(new RegExp(`#/${answer}$`));
    // The text has changed since: the chunk that has most of its words.
    await openCited(await fixture.cite({}, 'The kettle of chunk 7 boils at eighty degrees, as I said.'));
    await page.locator('.chunk.target button:focus', { hasText: 'Edit' }).waitFor();
    await page.locator('.chunk.target', { hasText: 'chunk 7' }).waitFor();
    assert.deepEqual(pageErrors, []);
  });

  it('edits the cited chunk beside the answer, and takes a save back', async () => {
    const { page, visit, pageErrors } = fixture.tab;
    const text = 'The kettle of chunk 6 boils at ninety degrees.';
    const address = await fixture.cite({}, text);
    await visit(address);
    const answer = page.locator(`[data-id="${address.split('/').at(-1)}"]`);
    await answer.getByText('guide.md').click();
    await answer.getByRole('button', { name: 'Edit here' }).click();
    await answer.getByText('cited in').waitFor();
    const field = answer.getByLabel('Text', { exact: true });
    assert.equal(await field.inputValue(), text);
    await field.fill('The kettle of chunk 6 boils at one hundred degrees.');
    await field.press('Control+Enter');
    await answer.locator('ins').waitFor();
    await checkState(page);
    await page.keyboard.press('Control+Enter');
    await answer.getByText('Saved.').waitFor();
    assert.match((await fixture.read(6)).content, /one hundred/);
    assert.ok(page.url().endsWith(`#/${address}`));
    await answer.getByRole('button', { name: 'Undo' }).click();
    await answer.getByText('The earlier text is back.').waitFor();
    assert.equal((await fixture.read(6)).content, text);
    assert.equal(await answer.getByRole('button', { name: 'Undo' }).count(), 0);
    assert.deepEqual(pageErrors, []);
  });

  it('edits a chunk in place: counts words, reviews the change, saves it', async () => {
    const { page, pageErrors } = await fixture.atChunks();
    const { entry, field, button } = await startEdit(page, 2);
    assert.equal(await field.inputValue(), 'The kettle of chunk 2 boils at ninety degrees.');
    assert.equal(await button('Review').isEnabled(), false, 'there is nothing to review yet');
    const text = 'The kettle of chunk 2 boils at one hundred degrees. 水开了。';
    await field.fill(text);
    await entry.getByText('13 words').waitFor();
    await entry.getByText(`${(100_000 - text.length).toLocaleString('en')} characters left`).waitFor();
    await button('Review').click();
    await button('Save').waitFor();
    assert.deepEqual(await entry.locator('del').allTextContents(), ['ninety']);
    assert.deepEqual(await entry.locator('ins').allTextContents(), ['one hundred', ' 水开了。']);
    assert.equal((await fixture.read(2)).type, 'automatic', 'nothing is saved before');
    await button('Save').click();
    await entry.getByText('Saved.').waitFor();
    const { content, word_count } = await fixture.read(2);
    assert.deepEqual({ content, word_count }, { content: text, word_count: 13 });
    await entry.getByText('13 words').waitFor();
    await entry.getByText(text).waitFor();
    await entry.locator('button:focus', { hasText: 'Edit' }).waitFor();
    assert.deepEqual(pageErrors, []);
  });

  itLong('continues by Ctrl+Enter and goes back by Escape, which asks before it discards a text', async () => {
    const { page, dialogs } = await fixture.atChunks([false, true]);
    const { entry, field, button } = await startEdit(page, 3);
    await field.press('Escape');
    await entry.getByRole('button', { name: 'Edit' }).click();
    assert.deepEqual(dialogs, [], 'where nothing is changed there is nothing to ask');
    await field.fill('changed');
    await field.press('Control+Enter');
    await button('Save').waitFor();
    await page.keyboard.press('Escape');
    await field.press('Escape');
    assert.equal(await field.inputValue(), 'changed', 'the answer was no');
    await field.press('Escape');
    await entry.getByText('The kettle of chunk 3').waitFor();
    assert.equal(dialogs.length, 2);
    await entry.getByRole('button', { name: 'Edit' }).click();
    await field.fill('by keys alone');
    await field.press('Control+Enter');
    await entry.locator('ins').waitFor();
    await page.keyboard.press('Control+Enter');
    await entry.getByText('Saved.').waitFor();
    assert.equal((await fixture.read(3)).content, 'by keys alone');
  });

  it('e edits the chunk that has the focus, j and k move it; the last change is shown after saving', async () => {
    const { page, pageErrors } = await fixture.atChunks();
    const button = (name: string) => page.getByRole('button', { name, exact: true });
    await chunkAt(page, 2).waitFor();
    const header = page.locator('.page-head').getByText('changed ');
    await header.waitFor();
    const requested = page.waitForResponse((response) => response.url().endsWith(`/documents/${ids.document}`));
    for (const key of ['j', 'j', 'k', 'e']) await pressShortcut(page, key);
    await page.getByLabel('Text', { exact: true }).fill('edited by keyboard');
    await button('Review').click();
    await button('Save').click();
    await page.getByText('Saved.').waitFor();
    assert.equal((await requested).status(), 200);
    assert.deepEqual(pageErrors, []);
  });

  it('does not offer to save what the service rejects', async () => {
    const { page } = await fixture.atChunks();
    const { entry, field, button } = await startEdit(page, 4);
    await field.fill('   ');
    await entry.getByText('The text is blank.').waitFor();
    assert.equal(await button('Review').isEnabled(), false);
    await field.fill('x'.repeat(100_003));
    await entry.getByText('3 characters too many').waitFor();
    assert.equal(await button('Review').isEnabled(), false);
  });

  itLong('reviews the longest text', async () => {
    const { page } = await fixture.atChunks();
    const { entry, field, button } = await startEdit(page, 4);
    await field.fill('x '.repeat(50_000));
    await entry.getByText('50,000 words').waitFor();
    await button('Review').click();
    await button('Save').waitFor();
  });

  it('shows the history with the key of each change, and restores a text through the same review', async () => {
    const { page, pageErrors } = await fixture.atChunks();
    const first = (await fixture.read(10)).content;
    await fixture.editElsewhere(10, 'second\r\ntext');
    await fixture.editElsewhere(10, 'third text');
    const entry = chunkAt(page, 10);
    const button = (name: string) => entry.getByRole('button', { name, exact: true });
    await entry.getByRole('button', { name: 'History' }).click();
    const versions = entry.locator('summary');
    // Who wrote it is one click away.
    await untilMatch(() => versions.nth(0).textContent(), /^Current text written .* by knowledge$/);
    await untilMatch(() => versions.nth(1).textContent(), /^Revision 2 written .* by knowledge$/);
    await untilMatch(() => versions.nth(2).textContent(), /^Revision 1 written .*, the first text$/);
    await entry.getByText('From revision 2 to the current text: 1 word removed, 1 added.').waitFor();
    await versions.nth(1).press('Enter');
    await entry.getByText('From revision 1 to revision 2: 9 words removed, 2 added.').waitFor();
    await button('Restore revision 2').click();
    await button('Save').waitFor();
    assert.deepEqual(await entry.locator('ins').allTextContents(), ['second↵\r\n']);
    await fixture.editElsewhere(10, 'fourth text');
    await button('Save').click();
    await button('Save mine over theirs').click();
    await entry.getByText('Saved.').waitFor();
    assert.equal((await fixture.read(10)).content, 'second\r\ntext', 'line ends and all');
    await entry.getByRole('button', { name: 'History' }).click();
    await entry.getByText('Revision 4', { exact: true }).waitFor();
    await untilMatch(() => versions.nth(0).textContent(), /^Current text .*by admin$/);
    await entry.getByText('Revision 1', { exact: true }).click();
    await button('Restore revision 1').click();
    await button('Save').click();
    await entry.getByText('Saved.').waitFor();
    assert.equal((await fixture.read(10)).content, first);
    assert.deepEqual(pageErrors, []);
  });

  itLong('leaves long unchanged passages out of a comparison, and keeps line ends', async () => {
    const { page } = await fixture.atChunks();
    const long = `start\r\n${'the same words again\r\n'.repeat(100)}end`;
    await fixture.editElsewhere(11, long);
    const { entry, field, button } = await startEdit(page, 11);
    await field.press('Control+End');
    await field.pressSequentially(' of it');
    await button('Review').click();
    await entry.getByText(/⋯ 2,\d\d\d characters unchanged ⋯/).waitFor();
    assert.deepEqual(await entry.locator('ins').allTextContents(), [' of it']);
    await button('Save').click();
    await entry.getByText('Saved.').waitFor();
    assert.equal((await fixture.read(11)).content, `${long} of it`);
  });

  it('can be used by everyone, in both themes and at every width', async () => {
    const { page, pageErrors } = await fixture.atChunks();
    // At the segment, the links above it are partly behind the bar.
    await checkInBothThemes(page, undefined, () => page.evaluate('scrollTo(0, 0)'));
    const { entry, field, button } = await startEdit(page, 12);
    await field.fill('x'.repeat(100_001));
    await entry.getByRole('alert').waitFor();
    await checkOtherState(page, entry);
    await field.fill('This is what I wrote');
    await button('Review').click();
    await checkOtherState(page, entry);
    await fixture.editElsewhere(12, 'That is what they wrote');
    await button('Save').click();
    await button('Discard mine').waitFor();
    await checkState(page, entry);
    await button('Discard mine').click();
    await entry.getByRole('button', { name: 'History' }).click();
    await entry.locator('.diff').first().waitFor();
    await checkOtherState(page, entry);
    for (const address of ['', `/${ids.dataset}`]) {
      await page.goto(`/console#/knowledge${address}`);
      await page.locator('.knowledge td a').first().waitFor();
      await checkInBothThemes(page);
    }
    assert.deepEqual(pageErrors, []);
  });
});
