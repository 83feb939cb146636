import assert from 'node:assert/strict';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import type { Request } from 'playwright-core';
import { openBrowser, openTab } from '../support/browser.ts';
import { freePort, newFolder, repository, serve } from '../support/cli-helpers.ts';
import { describeLong } from '../support/long.ts';
import { untilEqual } from '../support/until.ts';

/** What `npm run dev` needs of a checkout. */
const parts = [
  'package.json',
  'server/src',
  'server/bin',
  'server/package.json',
  'server/tsconfig.json',
  'server/starter',
  'web',
  'client/src',
];

describeLong('development mode', () => {
  it('builds the pages again when a file changes, and open pages load again, with several workers', async (t) => {
    const checkout = await newFolder(t);
    for (const part of [...parts, 'docs/use', 'docs/run', 'docs/integrate'])
      cpSync(join(repository, part), join(checkout, part), { recursive: true });
    symlinkSync(join(repository, 'node_modules'), join(checkout, 'node_modules'));
    const { scripts } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));
    const words: string[] = scripts.dev.split(' ');
    const before = words.slice(words.indexOf('node') + 1, words.indexOf('serve'));
    const env = { PORT: String(await freePort()), WORKERS: '2', LOG_LEVEL: 'debug' };
    const service = await serve(t, { cwd: checkout, env, command: process.execPath, before });
    const browser = await openBrowser();
    t.after(() => browser.close());
    const { page } = await openTab(browser, service.base);
    // The page looks for another version only after the change.
    const isLook = (request: Request) => request.resourceType() === 'fetch' && request.url().endsWith('/console');
    await page.route('**/console', (route) => (isLook(route.request()) ? route.abort() : route.continue()));
    let loads = 0;
    page.on('load', () => loads++);
    await page.goto('/console');
    await page.getByRole('heading', { name: 'Backscroll' }).waitFor();
    const file = join(checkout, 'web', 'console', 'sign-in.tsx');
    writeFileSync(file, readFileSync(file, 'utf8').replace('<h1>Backscroll</h1>', '<h1>Another title</h1>'));
    await untilEqual(async () => service.output().split('"msg":"opened"').length - 1, 2);
    await page.unroute('**/console');
    await page.getByRole('heading', { name: 'Another title' }).waitFor();
    // It looks again and stays.
    for (let looks = 0; looks < 2; looks++) await page.waitForResponse((response) => isLook(response.request()));
    assert.equal(loads, 2);
    // The main thread builds them for both workers.
    await untilEqual(async () => service.output().split('built the web pages').length - 1, 2);
    await service.end('SIGTERM');
  });
});
