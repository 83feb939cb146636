import { writeFile } from 'node:fs/promises';
import { loadStarter } from '../src/cli/starter.ts';
import { openBrowser, openTab, signIn } from '../test/support/browser.ts';
import { startService } from '../test/support/harness.ts';
import { animate } from './animated-png.ts';

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
await dark.getByRole('button', { name: 'Review', exact: true }).click();
await dark.getByRole('button', { name: 'Save', exact: true }).waitFor();
await dark.screenshot({ path: `${into}console-knowledge.png` });

await writeFile(`${into}console.png`, animate(await wayToTheCause()));

await browser.close();
await service.close();

/** From a disliked answer to the chunk that it cites, and to a better text. */
async function wayToTheCause(): Promise<{ png: Buffer; millis: number }[]> {
  const { page } = await openTab(browser, service.base, {
    viewport: { width: 1120, height: 640 },
    colorScheme: 'light',
  });
  await signIn(page, admin);
  const frames: { png: Buffer; millis: number }[] = [];
  const take = async (millis: number) => {
    // Until views have faded in and the window has scrolled.
    await page.waitForTimeout(700);
    await page.mouse.move(0, 0);
    frames.push({ png: await page.screenshot(), millis });
  };
  await page.goto('/console#/conversations');
  await page.getByText('tom.becker').first().waitFor();
  await take(700);
  await page.getByRole('searchbox').fill('rinse');
  await page.locator('.conversation-list mark').first().waitFor();
  await take(900);
  await page.getByRole('link', { name: /^Disliked/ }).click();
  await page.getByText('tom.becker').first().waitFor();
  await page.getByText('tom.becker').first().click();
  const citation = page.getByText('Tern 64 Grinder Guide.md').last();
  await citation.waitFor();
  await take(1_200);
  await citation.click();
  await take(900);
  await page
    .getByRole('link', { name: /^Open in Knowledge/ })
    .last()
    .click();
  const chunk = page.locator('main').getByRole('button', { name: /Edit/ }).first();
  await chunk.waitFor();
  await take(900);
  await chunk.click();
  const text = page.locator('textarea');
  await text.fill(`${await text.inputValue()} Never rinse the burrs with water: they rust.`);
  await take(800);
  await page.getByRole('button', { name: 'Review', exact: true }).click();
  await page.getByRole('button', { name: 'Save', exact: true }).waitFor();
  await take(1_100);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved').first().waitFor();
  await take(1_500);
  return frames;
}
