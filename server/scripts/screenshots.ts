import { loadStarter } from '../src/cli/starter.ts';
import { openBrowser, openTab, signIn } from '../test/support/browser.ts';
import { startService } from '../test/support/harness.ts';

/** The pictures of the README, taken of a service with the starter records. */
const segment =
  'knowledge/99c3347d-f3ad-4d0e-8b28-833bdfae48c2/5472522e-dd15-42d1-b208-958d8ab250ed/f31b80d8-0bc6-4049-abe7-30c8ff6a73e6';
const viewport = { width: 1280, height: 760 };
const into = new URL('../../docs/', import.meta.url).pathname;

const service = await startService('sqlite', { LOG_LEVEL: 'silent' });
const { admin } = await loadStarter(service.store);
await service.index();
const browser = await openBrowser();

const light = (await openTab(browser, service.base, { viewport, colorScheme: 'light' })).page;
await signIn(light, admin);
await light.goto('/console#/overview');
await light.getByRole('heading', { name: 'Newest disliked answers' }).waitFor();
await light.getByText('tom.becker').first().waitFor();
await light.screenshot({ path: `${into}console-overview.png` });
await light.goto('/console#/conversations?q=boiler');
await light.getByText(/^Hit \d+ of \d+$/).waitFor();
// The window scrolls to the hit.
await light.waitForTimeout(1_000);
await light.screenshot({ path: `${into}console-conversations.png` });

const dark = (await openTab(browser, service.base, { viewport, colorScheme: 'dark' })).page;
await signIn(dark, admin);
await dark.goto(`/console#/${segment}`);
const chunk = dark.getByText('Usual settings are').last().locator('xpath=ancestor::*[.//button][1]');
await chunk.getByRole('button', { name: /Edit/ }).click();
await dark
  .locator('textarea')
  .fill(
    'Usual settings are 8 to 18 for espresso, 20 to 28 for a moka pot, 32 to 44 for pour-over and 50 to 56 for a French press.',
  );
await dark.getByRole('button', { name: 'Review' }).click();
await dark.getByRole('button', { name: 'Save' }).waitFor();
await dark.screenshot({ path: `${into}console-knowledge.png` });

await browser.close();
await service.close();
