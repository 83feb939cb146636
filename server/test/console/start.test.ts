import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { makeSecret } from '../../src/domain/secret.ts';
import { checkInBothThemes, openBrowser, openTab, signIn } from '../support/browser.ts';
import { type Service, startService } from '../support/harness.ts';

describe('the first steps', () => {
  const admin = makeSecret('admin');
  let service: Service;
  let browser: Browser;
  let page: Page;
  let pageErrors: string[];
  before(async () => {
    [service, browser] = await Promise.all([startService('sqlite'), openBrowser()]);
    await service.load([{ record: 'api_key', kind: 'admin', name: 'operator', secret: admin }]);
    ({ page, pageErrors } = await openTab(browser, service.base));
    await signIn(page, admin);
  });
  after(async () => {
    await browser.close();
    await service.close();
  });

  const step = (title: string) => page.getByRole('listitem').filter({ hasText: title });
  const isDone = (title: string) => step(title).getByText('done', { exact: true }).waitFor();
  /** Runs a command that the page offers to copy, as a user does in a shell. */
  const run = async (title: string) => {
    const command = (await step(title).locator('code').first().innerText()).trim();
    return (await promisify(execFile)('sh', ['-c', command])).stdout;
  };

  it('lead from an empty database to a message that is read, in four clicks', async () => {
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    await page.getByLabel('Name of the app').waitFor();
    // Only the next step has anything to do.
    assert.equal(await page.locator('.steps-to-do > li:has(> :nth-child(2))').count(), 1);
    await page.getByLabel('Name of the app').fill('Help desk');
    await page.getByRole('button', { name: 'Create the app' }).click();
    await isDone('Create an app');
    for (const [view, text] of [
      ['overview', 'No messages'],
      ['conversations', 'No conversations yet.'],
      ['knowledge', 'There are no datasets yet.'],
    ]) {
      await page.goto(`/console#/${view}`);
      await page
        .getByText(text as string)
        .getByRole('link', { name: 'First steps' })
        .waitFor();
    }
    await page.goto('/console');
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    await page.getByRole('button', { name: 'Create a writer key' }).click();
    await isDone('Create a writer key');
    assert.match(
      await step('Send the first message').locator('code').last().innerText(),
      /new OpenAI\(\{ baseURL: .*openai\/v1/,
    );
    assert.equal(JSON.parse(await run('Send the first message')).object, 'conversation');
    await isDone('Send the first message');
    await page.getByRole('button', { name: 'Create an app key' }).click();
    assert.match(await run('Read it'), /Hello! How can I help\?/);
    await page.getByRole('link', { name: 'Open the conversation' }).click();
    await page.getByText('Hello! How can I help?').first().waitFor();
    await page.goBack();
    await isDone('Read it');
    assert.deepEqual(pageErrors, []);
  });

  it('import a file of records, and report its first bad line', async () => {
    await page.goto('/console#/start');
    const choose = (text: string) =>
      page
        .getByLabel('File of records')
        .setInputFiles({ name: 'mine.ndjson', mimeType: 'text/plain', buffer: Buffer.from(text) });
    const record = { record: 'workspace', id: '7d9f5c1e-8f9e-4f0e-9f43-6a2f2b6f3a10', name: 'Mine' };
    await choose(`${JSON.stringify(record)}\nnonsense\n`);
    await page.getByRole('alert').getByText('line 2').waitFor();
    await choose(JSON.stringify(record));
    await page.getByText('mine.ndjson: 1 record imported.').waitFor();
    await page.getByRole('button', { name: 'Load the starter records' }).click();
    await page.getByText(/^Starter records: \d+ records imported\.$/).waitFor();
    assert.deepEqual(pageErrors, []);
  });

  it('can be used by everyone, in both themes and at every width', async () => {
    await page.goto('/console#/start');
    await page.getByRole('heading', { name: 'Read it' }).waitFor();
    await checkInBothThemes(page);
  });
});
