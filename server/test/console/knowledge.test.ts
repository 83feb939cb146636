import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { checkAccessibility, desktop, openTab, phone, scrollsHorizontally, signIn } from '../support/browser.ts';
import { admin, chunkAt, hostile, ids, KnowledgeFixture, startEdit } from '../support/knowledge-fixture.ts';

describe('knowledge in the console', () => {
  let fixture: KnowledgeFixture;
  before(async () => {
    fixture = await KnowledgeFixture.open();
  });
  after(() => fixture.close());

  it('leads from datasets to chunks by keyboard, each level with its own address', async () => {
    const { page, pageErrors } = await openTab(fixture.browser, fixture.service.base);
    await signIn(page, admin);
    await page.goto('/console#/knowledge');
    const links = page.locator('.places a');
    await links.nth(1).waitFor();
    await page.locator(`a[href$="${ids.dataset}"]`).press('Enter');
    await page.getByRole('link', { name: 'document' }).press('Enter');
    await page.getByRole('heading', { name: 'Segment 2', exact: true }).waitFor();
    assert.ok(page.url().endsWith(`/knowledge/${ids.dataset}/${ids.document}`));
    assert.equal(await page.getByText(hostile).count(), 1, 'text is shown as text');
    assert.equal(await page.getByRole('heading', { name: /Segment/ }).count(), 20);
    await page.getByRole('button', { name: 'Show more' }).press('Enter');
    await page.getByRole('heading', { name: 'Segment 24' }).waitFor();
    await page.getByRole('link', { name: 'Segment 1', exact: true }).press('Enter');
    await page.getByRole('heading', { name: 'Chunk 13' }).waitFor();
    await page.locator('h1:focus', { hasText: 'Segment 1' }).waitFor();
    await page.getByText('Text of the whole segment').click();
    await page.getByText('segment text').waitFor();
    await page.getByRole('navigation', { name: 'Breadcrumbs' }).getByRole('link', { name: 'dataset' }).click();
    await page.getByRole('heading', { name: 'dataset', exact: true }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Chunk 13' }).waitFor();
    assert.deepEqual(pageErrors, []);
  });

  it('opens at an address, with the names of the levels above; reports what does not exist', async () => {
    const { page } = await fixture.atChunks();
    const trail = page.getByRole('navigation', { name: 'Breadcrumbs' });
    await trail.getByRole('link', { name: 'document', exact: true }).waitFor();
    await trail.getByRole('link', { name: 'dataset', exact: true }).waitFor();
    await page.getByRole('heading', { name: 'Segment 1', exact: true }).waitFor();
    assert.deepEqual(await trail.getByRole('link').allTextContents(), ['Knowledge', 'dataset', 'document']);
    await page.goto(`/console#/knowledge/${ids.dataset}/${randomUUID()}`);
    await page.getByRole('alert').getByText('document not found').waitFor();
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
    await entry.getByText('13 words, changed').waitFor();
    await entry.getByText(text).waitFor();
    await entry.locator('button:focus', { hasText: 'Edit' }).waitFor();
    assert.deepEqual(pageErrors, []);
  });

  it('continues by Ctrl+Enter and goes back by Escape, which asks before it discards a text', async () => {
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

  it('does not offer to save what the service rejects', async () => {
    const { page } = await fixture.atChunks();
    const { entry, field, button } = await startEdit(page, 4);
    await field.fill('   ');
    await entry.getByText('The text is blank.').waitFor();
    assert.equal(await button('Review').isEnabled(), false);
    await field.fill('x'.repeat(100_003));
    await entry.getByText('3 characters too many').waitFor();
    assert.equal(await button('Review').isEnabled(), false);
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
    const revisions = entry.locator('summary');
    await revisions.nth(1).waitFor();
    assert.match(
      (await revisions.nth(0).textContent()) ?? '',
      /^Revision 2 replaced \d+ \w+ \d+, \d\d:\d\d by knowledge$/,
    );
    await entry.getByText('third text').waitFor();
    await revisions.nth(1).press('Enter');
    await entry.getByText('From revision 1 to the current text: 9 words removed, 2 added.').waitFor();
    await revisions.nth(0).click();
    await button('Restore revision 2').click();
    await button('Save').waitFor();
    assert.deepEqual(await entry.locator('ins').allTextContents(), ['second↵\r\n']);
    await fixture.editElsewhere(10, 'fourth text');
    await button('Save').click();
    await button('Save mine over theirs').click();
    await entry.getByText('Saved.').waitFor();
    assert.equal((await fixture.read(10)).content, 'second\r\ntext', 'line ends and all');
    await entry.getByRole('button', { name: 'History' }).click();
    await entry.getByText('Revision 4').waitFor();
    assert.match((await revisions.nth(0).textContent()) ?? '', /by admin$/);
    await entry.getByText('Revision 1').click();
    await button('Restore revision 1').click();
    await button('Save').click();
    await entry.getByText('Saved.').waitFor();
    assert.equal((await fixture.read(10)).content, first);
    assert.deepEqual(pageErrors, []);
  });

  it('leaves long unchanged passages out of a comparison, and keeps line ends', async () => {
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

  for (const options of [
    { colorScheme: 'light', viewport: desktop },
    { colorScheme: 'dark', viewport: phone },
  ] as const)
    it(`can be used by everyone: ${options.colorScheme}, ${options.viewport.width} wide`, async () => {
      const { page, pageErrors } = await fixture.atChunks([], options);
      const look = async () => {
        await checkAccessibility(page);
        assert.ok(!(await scrollsHorizontally(page)));
      };
      await look();
      const { entry, field, button } = await startEdit(page, 12);
      await field.fill('x'.repeat(100_001));
      await entry.getByRole('alert').waitFor();
      await look();
      await field.fill(`${randomUUID()} is what I wrote`);
      await button('Review').click();
      await look();
      await fixture.editElsewhere(12, `${randomUUID()} is what they wrote`);
      await button('Save').click();
      await button('Discard mine').waitFor();
      await look();
      await button('Discard mine').click();
      await entry.getByRole('button', { name: 'History' }).click();
      await entry.locator('summary').first().click();
      await entry.locator('.diff').waitFor();
      await look();
      for (const address of ['', `/${ids.dataset}`, `/${ids.dataset}/${ids.document}`]) {
        await page.goto(`/console#/knowledge${address}`);
        await page.locator('.knowledge li a').first().waitFor();
        await look();
      }
      assert.deepEqual(pageErrors, []);
    });
});
