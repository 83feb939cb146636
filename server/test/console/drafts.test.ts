import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { accountButton, delayEffects, signOut } from '../support/browser.ts';
import { admin, chunkAt, KnowledgeFixture, segmentPlace, startEdit } from '../support/knowledge-fixture.ts';
import { itLong } from '../support/long.ts';

describe('drafts in the console', () => {
  let fixture: KnowledgeFixture;
  before(async () => {
    fixture = await KnowledgeFixture.open();
  });
  after(() => fixture.close());

  it('shows a concurrent edit as a conflict; mine can be discarded', async () => {
    const { page, dialogs } = await fixture.atChunks();
    const { entry, field, button } = await startEdit(page, 5);
    await field.fill('mine of five');
    await button('Review').click();
    await fixture.editElsewhere(5, 'theirs of five');
    await button('Save').click();
    await entry.getByText('This chunk was changed while you were editing').waitFor();
    assert.equal(
      await entry.getByRole('group', { name: 'The saved text', exact: true }).textContent(),
      'theirs of five',
    );
    assert.equal(await entry.getByRole('group', { name: 'Your text', exact: true }).textContent(), 'mine of five');
    assert.deepEqual(await entry.locator('del').allTextContents(), ['theirs']);
    assert.deepEqual(await entry.locator('ins').allTextContents(), ['mine']);
    assert.equal((await fixture.read(5)).content, 'theirs of five', 'nothing was overwritten');
    await button('Discard mine').click();
    await entry.getByText('Your text was discarded.').waitFor();
    await entry.getByText('theirs of five').waitFor();
    await page.getByRole('link', { name: 'Models' }).click();
    await page.getByRole('heading', { name: 'Models' }).waitFor();
    assert.deepEqual(dialogs, [], 'nothing unsaved is left');
  });

  itLong('allows editing mine on top of theirs, and compares it with theirs', async () => {
    const { page } = await fixture.atChunks();
    const { entry, field, button } = await startEdit(page, 6);
    await field.fill('mine of six');
    await button('Review').click();
    await fixture.editElsewhere(6, 'theirs of six');
    await button('Save').click();
    await button('Edit mine on top of theirs').click();
    assert.equal(await field.inputValue(), 'mine of six');
    await field.fill('theirs and mine of six');
    await button('Review').click();
    await button('Save').waitFor();
    assert.deepEqual(await entry.locator('ins').allTextContents(), ['and mine ']);
    await button('Save').click();
    await entry.getByText('Saved.').waitFor();
    assert.equal((await fixture.read(6)).content, 'theirs and mine of six');
  });

  it('overwrites theirs only on request, and nothing that was saved later', async () => {
    const { page } = await fixture.atChunks();
    const { entry, field, button } = await startEdit(page, 7);
    await field.fill('mine of seven');
    await button('Review').click();
    await fixture.editElsewhere(7, 'theirs of seven');
    await button('Save').click();
    await button('Save mine over theirs').waitFor();
    await fixture.editElsewhere(7, 'theirs again');
    await button('Save mine over theirs').click();
    await entry.getByRole('group', { name: 'The saved text', exact: true }).getByText('theirs again').waitFor();
    assert.equal((await fixture.read(7)).content, 'theirs again');
    await button('Save mine over theirs').click();
    await entry.getByText('Saved.').waitFor();
    assert.equal((await fixture.read(7)).content, 'mine of seven');
  });

  it('keeps typed text after a failed save and the end of a session', async () => {
    const { page } = await fixture.atChunks();
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
    await page.getByLabel('Admin key').fill(admin);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await field.waitFor();
    assert.equal(await field.inputValue(), 'typed with care');
    await button('Review').click();
    await button('Save').click();
    await entry.getByText('Saved.').waitFor();
    assert.equal((await fixture.read(8)).content, 'typed with care');
  });

  it('keeps no draft of a restore that was cancelled before the chunk was read', async () => {
    const { page, dialogs } = await fixture.atChunks();
    await fixture.editElsewhere(4, 'another text of four');
    const entry = chunkAt(page, 4);
    await entry.getByRole('button', { name: 'History' }).click();
    await entry.getByText('Revision 1', { exact: true }).click();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await page.route('**/child_chunks/*', (route) => released.then(() => route.continue()));
    await entry.getByRole('button', { name: 'Restore revision 1' }).click();
    const read = page.waitForResponse('**/child_chunks/*');
    const endDelay = await delayEffects(page);
    await entry.getByRole('button', { name: 'Cancel' }).click();
    release();
    await (await read).finished();
    await endDelay();
    await entry.getByRole('button', { name: 'Edit' }).click();
    assert.equal(await entry.getByLabel('Text', { exact: true }).inputValue(), 'another text of four');
    await page.getByRole('link', { name: 'Models' }).click();
    await page.getByRole('heading', { name: 'Models' }).waitFor();
    assert.deepEqual(dialogs, []);
  });

  it('keeps the focus where the user has put it while earlier segments are read', async () => {
    const { page } = fixture.tab;
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await page.route(/order=desc/, (route) => released.then(() => route.continue()));
    await fixture.atChunks();
    const { field } = await startEdit(page, 3);
    const earlier = page.waitForResponse(/order=desc/);
    const account = accountButton(page);
    await account.click();
    release();
    await (await earlier).finished();
    await (await delayEffects(page))();
    assert.equal(await account.evaluate((element) => element.matches(':focus')), true);
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    await page.unroute(/order=desc/);
    await page.keyboard.press('Escape');
    await field.waitFor();
  });

  it('asks before a draft is discarded', async () => {
    const { page, dialogs } = await fixture.atChunks([false, false, false, true]);
    const { field } = await startEdit(page, 9);
    await field.fill('not saved');
    await page.getByRole('link', { name: 'Models' }).click();
    await signOut(page);
    await page.goBack();
    await page.waitForURL(`**#/${segmentPlace}`);
    assert.equal(await field.inputValue(), 'not saved');
    assert.equal(dialogs.length, 3);
    await page.reload();
    assert.equal(dialogs[3], 'beforeunload');
    await chunkAt(page, 9).getByText('The kettle of chunk 9').waitFor();
  });
});
