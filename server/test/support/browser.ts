import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import chromiumFiles from '@sparticuz/chromium';
import {
  type Browser,
  type BrowserContextOptions,
  type BrowserServer,
  chromium,
  type LaunchOptions,
  type Locator,
  type Page,
} from 'playwright-core';

/** In one process, tabs share their cookies, and closing one ends all; and the web's security is what is tested here. */
const unwanted = ['--single-process', '--disable-web-security', '--allow-running-insecure-content'];

/** A real browser from the npm registry: Chromium as packaged by `@sparticuz/chromium`. */
async function launchOptions(): Promise<LaunchOptions> {
  const executablePath = await chromiumFiles.executablePath();
  const args = chromiumFiles.args.filter((one) => !unwanted.includes(one));
  return { executablePath, args, headless: true };
}

/** A browser that several processes connect to. */
export async function startBrowser(): Promise<BrowserServer> {
  return chromium.launchServer(await launchOptions());
}

/** A connection to the browser of the global setup, with its own contexts; without one, a new browser. */
export async function openBrowser(): Promise<Browser> {
  const url = process.env.TEST_BROWSER_URL;
  return url ? chromium.connect(url) : chromium.launch(await launchOptions());
}

export type Theme = 'light' | 'dark';
export const phone = { width: 375, height: 740 };
export const desk = { width: 1280, height: 800 };

export type Tab = {
  page: Page;
  /** What went wrong in the page: errors, refused requests of its own, violations of its policy. */
  complaints: string[];
};

/** A tab that remembers nothing of others. Whatever a page complains about fails the test that asks for `complaints`. */
export async function openTab(browser: Browser, base: string, options: BrowserContextOptions = {}): Promise<Tab> {
  const context = await browser.newContext({
    baseURL: base,
    viewport: desk,
    locale: 'en-GB',
    timezoneId: 'UTC',
    ...options,
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(`${error.message}\n${error.stack}`));
  page.on('console', (message) => {
    // A 401 or 412 that a test provokes is logged by the browser as well; it is no fault of the page.
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) complaints.push(message.text());
  });
  return { page, complaints };
}

/** Tabs that are left open go on asking and drawing, and take the time of the next one. */
export async function closeTabs(browser: Browser): Promise<void> {
  for (const context of browser.contexts()) await context.close();
}

/** Signs in the way a person does. */
export async function signIn(page: Page, key: string): Promise<void> {
  await page.goto('/console');
  await page.getByLabel('Admin key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Views' }).waitFor();
}

/** Throws where axe finds anything serious or critical in what the page shows now; tells how many rules it held to. */
export async function checkAccess(page: Page): Promise<{ passes: number; minor: string[] }> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) {
    // Not as a script of the page, which its policy would refuse.
    await page.evaluate(await readFile(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8'));
  }
  const { violations, passes } = await page.evaluate(() =>
    (globalThis as unknown as { axe: { run(): Promise<Found> } }).axe.run(),
  );
  const grave = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  assert.deepEqual(
    grave.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' | ')}`),
    [],
  );
  return { passes: passes.length, minor: violations.map(({ id }) => id) };
}

/** Clicks a copy button and sees it say so. It does for two seconds: whoever begins to look after the click may miss it. */
export async function copies(part: Locator, name: string): Promise<void> {
  const said = part.getByRole('button', { name: 'Copied' }).waitFor();
  await Promise.all([said, part.getByRole('button', { name }).first().click()]);
}

/** Whether the page, or a dialog on it, is wider than the window lets one see. */
export function scrollsSideways(page: Page): Promise<boolean> {
  return page.evaluate<boolean>(
    "[document.documentElement, ...document.querySelectorAll('dialog')].some((box) => box.scrollWidth > box.clientWidth)",
  );
}

type Found = {
  passes: unknown[];
  violations: { id: string; impact: string; help: string; nodes: { html: string }[] }[];
};
