import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Browser, Dialog, Page } from 'playwright-core';
import { checkAccess, desk, openBrowser, openTab, phone, signIn } from './browser.ts';
import { makeWorld, type Service, startService } from './harness.ts';

const world = makeWorld();
const { ids, keys, chunkPath } = world.one;
const segmentAddress = `/console#/knowledge/${ids.dataset}/${ids.document}/${ids.segment}`;
const hostile = '<img src=x onerror="document.title=1"> **not bold**';

/** More segments than a page shows, and a few chunks to edit, one for each test. */
const chunkIds = Array.from({ length: 12 }, () => randomUUID());
const records = [
  ...world.records,
  ...Array.from({ length: 23 }, (_, at) => ({
    record: 'segment',
    id: randomUUID(),
    document_id: ids.document,
    position: at + 2,
    content: at === 0 ? hostile : `text of segment ${at + 2}`,
  })),
  ...chunkIds.map((id, at) => ({
    record: 'child_chunk',
    id,
    segment_id: ids.segment,
    position: at + 2,
    content: `The kettle of chunk ${at + 2} boils at ninety degrees.`,
    created_at: 1000,
  })),
];
/** The path of the chunk at a position; 1 is the one of `makeWorld`. */
const pathOf = (position: number): string => chunkPath.replace(ids.chunk, chunkIds[position - 2] ?? ids.chunk);

describe('knowledge in the console', () => {
  let service: Service;
  let browser: Browser;
  before(async () => {
    [service, browser] = await Promise.all([startService('sqlite'), openBrowser()]);
    await service.load(records);
  });
  after(async () => {
    await browser.close();
    await service.close();
  });

  const read = async (position: number) =>
    (await service.ask('GET', pathOf(position), { key: keys.knowledge })).body.data;
  /** Another client edits. */
  const editElsewhere = (position: number, content: string) =>
    service.ask('PATCH', pathOf(position), { key: keys.knowledge, body: { content } });

  /** A signed-in tab at the chunks; `answers` says what to reply where the page asks, one question after the other. */
  async function atChunks(answers: boolean[] = [], options: Parameters<typeof openTab>[2] = {}) {
    const { page, complaints } = await openTab(browser, service.base, options);
    const asked: string[] = [];
    page.on('dialog', (dialog: Dialog) => {
      asked.push(dialog.type() === 'confirm' ? dialog.message() : dialog.type());
      void (answers.shift() ? dialog.accept() : dialog.dismiss());
    });
    await signIn(page, world.admin);
    await page.goto(segmentAddress);
    await page.getByRole('heading', { name: 'Chunk 1', exact: true }).waitFor();
    return { page, complaints, asked };
  }
  const chunk = (page: Page, position: number) =>
    page.locator('.chunk', { has: page.getByRole('heading', { name: `Chunk ${position}`, exact: true }) });
  async function startEdit(page: Page, position: number) {
    const entry = chunk(page, position);
    await entry.getByRole('button', { name: 'Edit' }).click();
    const field = entry.getByLabel('Text', { exact: true });
    await field.waitFor();
    const button = (name: string) => entry.getByRole('button', { name, exact: true });
    return { entry, field, button };
  }

  it('leads from datasets to chunks by the keyboard, each level with its address', async () => {
    const { page, complaints } = await openTab(browser, service.base);
    await signIn(page, world.admin);
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
    await page.getByRole('navigation', { name: 'Way up' }).getByRole('link', { name: 'dataset' }).click();
    await page.getByRole('heading', { name: 'dataset', exact: true }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Chunk 13' }).waitFor();
    assert.deepEqual(complaints, []);
  });

  it('opens at an address, with the names of what lies above; tells what does not exist', async () => {
    const { page } = await atChunks();
    const trail = page.getByRole('navigation', { name: 'Way up' });
    await trail.getByRole('link', { name: 'document', exact: true }).waitFor();
    assert.deepEqual(await trail.getByRole('link').allTextContents(), ['Knowledge', 'dataset', 'document']);
    await page.goto(`/console#/knowledge/${ids.dataset}/${randomUUID()}`);
    await page.getByRole('alert').getByText('document not found').waitFor();
  });

  it('edits a chunk in place: words counted, the change reviewed, then saved', async () => {
    const { page, complaints } = await atChunks();
    const { entry, field, button } = await startEdit(page, 2);
    assert.equal(await field.inputValue(), 'The kettle of chunk 2 boils at ninety degrees.');
    assert.equal(await button('Review').isEnabled(), false, 'there is nothing to review yet');
    const text = 'The kettle of chunk 2 boils at one hundred degrees. 水开了。';
    await field.fill(text);
    await entry.getByText('13 words').waitFor();
    await entry.getByText(`${(100_000 - text.length).toLocaleString('en')} characters left`).waitFor();
    await button('Review').click();
    assert.deepEqual(await entry.locator('del').allTextContents(), ['ninety']);
    assert.deepEqual(await entry.locator('ins').allTextContents(), ['one hundred', ' 水开了。']);
    assert.equal((await read(2)).type, 'automatic', 'nothing is saved before');
    await button('Save').click();
    await entry.getByText('Saved.').waitFor();
    const { content, word_count } = await read(2);
    assert.deepEqual({ content, word_count }, { content: text, word_count: 13 });
    await entry.getByText('13 words, changed').waitFor();
    await entry.getByText(text).waitFor();
    await entry.locator('button:focus', { hasText: 'Edit' }).waitFor();
    assert.deepEqual(complaints, []);
  });

  it('goes on by Ctrl+Enter and back by Escape, which asks before it drops a text', async () => {
    const { page, asked } = await atChunks([false, true]);
    const { entry, field, button } = await startEdit(page, 3);
    await field.press('Escape');
    await entry.getByRole('button', { name: 'Edit' }).click();
    assert.deepEqual(asked, [], 'where nothing is changed there is nothing to ask');
    await field.fill('changed');
    await field.press('Control+Enter');
    await button('Save').waitFor();
    await page.keyboard.press('Escape');
    await field.press('Escape');
    assert.equal(await field.inputValue(), 'changed', 'the answer was no');
    await field.press('Escape');
    await entry.getByText('The kettle of chunk 3').waitFor();
    assert.equal(asked.length, 2);
    await entry.getByRole('button', { name: 'Edit' }).click();
    await field.fill('by keys alone');
    await field.press('Control+Enter');
    await entry.locator('ins').waitFor();
    await page.keyboard.press('Control+Enter');
    await entry.getByText('Saved.').waitFor();
    assert.equal((await read(3)).content, 'by keys alone');
  });

  it('does not offer to save what the service refuses', async () => {
    const { page } = await atChunks();
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

  it('shows a concurrent edit as a conflict; theirs can be taken', async () => {
    const { page, asked } = await atChunks();
    const { entry, field, button } = await startEdit(page, 5);
    await field.fill('mine of five');
    await button('Review').click();
    await editElsewhere(5, 'theirs of five');
    await button('Save').click();
    await entry.getByText('This chunk was changed while you were editing').waitFor();
    assert.equal(
      await entry.getByRole('group', { name: 'What stands now', exact: true }).textContent(),
      'theirs of five',
    );
    assert.equal(await entry.getByRole('group', { name: 'What you wrote', exact: true }).textContent(), 'mine of five');
    assert.deepEqual(await entry.locator('del').allTextContents(), ['theirs']);
    assert.deepEqual(await entry.locator('ins').allTextContents(), ['mine']);
    assert.equal((await read(5)).content, 'theirs of five', 'nothing was overwritten');
    await button('Take theirs').click();
    await entry.getByText('Theirs was kept.').waitFor();
    await entry.getByText('theirs of five').waitFor();
    await page.getByRole('link', { name: 'Models' }).click();
    await page.getByRole('heading', { name: 'Models' }).waitFor();
    assert.deepEqual(asked, [], 'nothing unsaved is left');
  });

  it('lets mine be edited on top of theirs, and reviewed against it', async () => {
    const { page } = await atChunks();
    const { entry, field, button } = await startEdit(page, 6);
    await field.fill('mine of six');
    await button('Review').click();
    await editElsewhere(6, 'theirs of six');
    await button('Save').click();
    await button('Edit mine on top of theirs').click();
    assert.equal(await field.inputValue(), 'mine of six');
    await field.fill('theirs and mine of six');
    await button('Review').click();
    assert.deepEqual(await entry.locator('ins').allTextContents(), ['and mine ']);
    await button('Save').click();
    await entry.getByText('Saved.').waitFor();
    assert.equal((await read(6)).content, 'theirs and mine of six');
  });

  it('saves over theirs only knowingly, and over nothing that came after', async () => {
    const { page } = await atChunks();
    const { entry, field, button } = await startEdit(page, 7);
    await field.fill('mine of seven');
    await button('Review').click();
    await editElsewhere(7, 'theirs of seven');
    await button('Save').click();
    await button('Save mine over theirs').waitFor();
    await editElsewhere(7, 'theirs again');
    await button('Save mine over theirs').click();
    await entry.getByRole('group', { name: 'What stands now', exact: true }).getByText('theirs again').waitFor();
    assert.equal((await read(7)).content, 'theirs again');
    await button('Save mine over theirs').click();
    await entry.getByText('Saved.').waitFor();
    assert.equal((await read(7)).content, 'mine of seven');
  });

  it('loses nothing typed by a failed save or the end of a session', async () => {
    const { page } = await atChunks();
    const { entry, field, button } = await startEdit(page, 8);
    await field.fill('typed with care');
    await button('Review').click();
    await page.route('**/child_chunks/*', (route) => route.abort());
    await button('Save').click();
    await entry.getByRole('alert').getByText('The service cannot be reached.').waitFor();
    await page.unroute('**/child_chunks/*');
    await page.context().clearCookies();
    await button('Save').click();
    await page.getByText('You were signed out').waitFor();
    await page.getByLabel('Admin key').fill(world.admin);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await field.waitFor();
    assert.equal(await field.inputValue(), 'typed with care');
    await button('Review').click();
    await button('Save').click();
    await entry.getByText('Saved.').waitFor();
    assert.equal((await read(8)).content, 'typed with care');
  });

  it('asks before unsaved text is left', async () => {
    const { page, asked } = await atChunks([false, false, false, true]);
    const { field } = await startEdit(page, 9);
    await field.fill('not saved');
    await page.getByRole('link', { name: 'Models' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.goBack();
    await page.waitForURL(`**${segmentAddress}`);
    assert.equal(await field.inputValue(), 'not saved');
    assert.equal(asked.length, 3);
    await page.reload();
    assert.equal(asked[3], 'beforeunload');
    await chunk(page, 9).getByText('The kettle of chunk 9').waitFor();
  });

  it('shows the history with who replaced what, and restores a text through the same review', async () => {
    const { page, complaints } = await atChunks();
    const first = (await read(10)).content;
    await editElsewhere(10, 'second\r\ntext');
    await editElsewhere(10, 'third text');
    const entry = chunk(page, 10);
    const button = (name: string) => entry.getByRole('button', { name, exact: true });
    await entry.getByRole('button', { name: 'History' }).click();
    const revisions = entry.locator('summary');
    await revisions.nth(1).waitFor();
    assert.match((await revisions.nth(0).textContent()) ?? '', /^Revision 2 replaced just now by knowledge$/);
    await entry.getByText('third text').waitFor();
    await revisions.nth(1).press('Enter');
    await entry.getByText('From revision 1 to what stands now: 9 words removed, 2 added.').waitFor();
    await revisions.nth(0).click();
    await button('Restore revision 2').click();
    assert.deepEqual(await entry.locator('ins').allTextContents(), ['second↵\r\n']);
    await editElsewhere(10, 'fourth text');
    await button('Save').click();
    await button('Save mine over theirs').click();
    await entry.getByText('Saved.').waitFor();
    assert.equal((await read(10)).content, 'second\r\ntext', 'line ends and all');
    await entry.getByRole('button', { name: 'History' }).click();
    await entry.getByText('Revision 4').waitFor();
    assert.match((await revisions.nth(0).textContent()) ?? '', /by admin$/);
    await entry.getByText('Revision 1').click();
    await button('Restore revision 1').click();
    await button('Save').click();
    await entry.getByText('Saved.').waitFor();
    assert.equal((await read(10)).content, first);
    assert.deepEqual(complaints, []);
  });

  it('leaves long stretches out of a comparison, and keeps line ends that nobody typed', async () => {
    const { page } = await atChunks();
    const long = `start\r\n${'the same words again\r\n'.repeat(100)}end`;
    await editElsewhere(11, long);
    const { entry, field, button } = await startEdit(page, 11);
    await field.press('Control+End');
    await field.pressSequentially(' of it');
    await button('Review').click();
    await entry.getByText(/⋯ 2,\d\d\d characters stay ⋯/).waitFor();
    assert.deepEqual(await entry.locator('ins').allTextContents(), [' of it']);
    await button('Save').click();
    await entry.getByText('Saved.').waitFor();
    assert.equal((await read(11)).content, `${long} of it`);
  });

  for (const options of [
    { colorScheme: 'light', viewport: desk },
    { colorScheme: 'dark', viewport: phone },
  ] as const)
    it(`can be used by everyone: ${options.colorScheme}, ${options.viewport.width} wide`, async () => {
      const { page, complaints } = await atChunks([], options);
      const look = async () => {
        await checkAccess(page);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'it fits');
      };
      await look();
      const { entry, field, button } = await startEdit(page, 12);
      await field.fill('x'.repeat(100_001));
      await entry.getByRole('alert').waitFor();
      await look();
      await field.fill(`${randomUUID()} is what I wrote`);
      await button('Review').click();
      await look();
      await editElsewhere(12, `${randomUUID()} is what they wrote`);
      await button('Save').click();
      await button('Take theirs').waitFor();
      await look();
      await button('Take theirs').click();
      await entry.getByRole('button', { name: 'History' }).click();
      await entry.locator('summary').first().click();
      await entry.locator('.diff').waitFor();
      await look();
      for (const address of ['', `/${ids.dataset}`, `/${ids.dataset}/${ids.document}`]) {
        await page.goto(`/console#/knowledge${address}`);
        await page.locator('.knowledge li a').first().waitFor();
        await look();
      }
      assert.deepEqual(complaints, []);
    });
});
