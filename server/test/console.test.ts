import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { checkAccess, openBrowser, openTab } from './browser.ts';
import { makeWorld, type Service, startService } from './harness.ts';

describe('the console', () => {
  const { records } = makeWorld();
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

  it('asks whoever comes for an admin key', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, complaints } = await openTab(browser, service.base, { colorScheme });
      await page.route('**/console/session', (route) => route.fulfill({ status: 401, body: '{}' }));
      await page.goto('/console');
      await page.getByRole('button', { name: 'Sign in' }).waitFor();
      await checkAccess(page);
      assert.deepEqual(complaints, []);
    }
  });
});
