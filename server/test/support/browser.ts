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
  type ViewportSize,
} from 'playwright-core';
import { isLong } from './long.ts';
import { until } from './until.ts';

/** A single process would share cookies between tabs and end with any of them. Web security is under test. */
const excludedArguments = ['--single-process', '--disable-web-security', '--allow-running-insecure-content'];

/** A real browser from the npm registry: Chromium as packaged by `@sparticuz/chromium`. */
async function launchOptions(): Promise<LaunchOptions> {
  const executablePath = await chromiumFiles.executablePath();
  const args = chromiumFiles.args.filter((argument) => !excludedArguments.includes(argument));
  // Drawing on an emulated graphics card takes a quarter of the processor time.
  return { executablePath, args: [...args, '--disable-gpu'], headless: true };
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

/** A browser of its own whose scrollbars take room, as on most desktops. */
export async function openBrowserWithScrollbars(): Promise<Browser> {
  return chromium.launch({ ...(await launchOptions()), ignoreDefaultArgs: ['--hide-scrollbars'] });
}

/** Far more than a step needs on a busy machine. */
const actionMillisMax = 120_000;

export type Theme = 'light' | 'dark';
export const phone = { width: 375, height: 740 };
export const tablet = { width: 820, height: 1000 };
export const desktop = { width: 1280, height: 800 };

export type Tab = {
  page: Page;
  /** Uncaught exceptions and console errors of the page, such as violations of its content security policy. */
  pageErrors: string[];
};

/** A tab with its own cookies and storage. Tests assert that `pageErrors` is empty. */
export async function openTab(browser: Browser, base: string, options: BrowserContextOptions = {}): Promise<Tab> {
  const context = await browser.newContext({
    baseURL: base,
    viewport: desktop,
    locale: 'en-GB',
    timezoneId: 'UTC',
    // Colours are measured, and elements are pressed, at rest.
    reducedMotion: 'reduce',
    ...options,
  });
  context.setDefaultTimeout(actionMillisMax);
  const page = await context.newPage();
  const pageErrors: string[] = [];
  page.on('pageerror', (error) => pageErrors.push(`${error.message}\n${error.stack}`));
  page.on('console', (message) => {
    // A 401 or 412 that a test provokes is logged by the browser as well; it is not an error of the page.
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) pageErrors.push(message.text());
  });
  return { page, pageErrors };
}

/** Open tabs keep polling and rendering, which slows down the next test. */
export async function closeTabs(browser: Browser): Promise<void> {
  for (const context of browser.contexts()) await context.close();
}

/** Opens the console with a session that is created without the form, so that one page is loaded instead of two. */
export async function signIn(page: Page, key: string, address = '/console'): Promise<void> {
  const created = await page.context().request.post('/console/session', { data: { key } });
  assert.equal(created.status(), 200, await created.text());
  // The console asks for a session only if it has stored in this origin that there may be one.
  const hint = await page.addInitScript("localStorage.setItem('backscroll-signed-in', 'yes')");
  await page.goto(address);
  await hint.dispose();
  await accountButton(page).waitFor();
}

export type ConsoleTab = Tab & {
  /**
   * Shows a place again, on a desktop in the light theme if nothing else is said. The page is not loaded again, which would take
   * several times the processor time: names that it has read and parts that were opened stay.
   */
  visit(place: string, look?: { viewport?: ViewportSize; colorScheme?: Theme }): Promise<void>;
};

/** The console in a signed-in tab that several tests use. A test of a first visit, a session or storage has its own tab. */
export async function openConsole(browser: Browser, base: string, key: string): Promise<ConsoleTab> {
  const { page, pageErrors } = await openTab(browser, base);
  await signIn(page, key, '/console#/models');
  const visit: ConsoleTab['visit'] = async (place, { viewport = desktop, colorScheme = 'light' } = {}) => {
    pageErrors.length = 0;
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    await page.evaluate(leaveAndVisit(place));
  };
  return { page, pageErrors, visit };
}

/**
 * By another view, because a view that stays is not shown again. Ends when the other view is gone. Fails, and does not wait for
 * ever, if the page stays where it is, for example because text would be lost. A page that draws no frames still has timers.
 */
const leaveAndVisit = (place: string): string => `(async () => {
  const other = '#/${place.startsWith('models') ? 'keys' : 'models'}';
  const isAtOther = () => document.querySelector('nav [aria-current]')?.hash === other;
  const end = performance.now() + ${actionMillisMax};
  const until = async (isThere) => {
    while (!isThere()) {
      if (performance.now() > end) throw new Error('stays at ' + location.hash + ' for ' + ${JSON.stringify(place)});
      await new Promise((resolve) => setTimeout(resolve, 16));
    }
  };
  location.hash = other;
  await until(isAtOther);
  location.hash = '#/' + ${JSON.stringify(place)};
  await until(() => !isAtOther());
})()`;

/** Signs in through the form, as a user does. */
export async function signInByForm(page: Page, key: string): Promise<void> {
  await page.goto('/console');
  await page.getByLabel('Admin key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await accountButton(page).waitFor();
}

/** The button of the account menu, which only a signed-in page has. */
export const accountButton = (page: Page): Locator => page.getByRole('button', { name: 'Account' });

export async function signOut(page: Page): Promise<void> {
  await accountButton(page).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
}

/** Fails if axe reports a serious or critical violation on the page, or in a part of it. */
export async function checkAccessibility(page: Page, part: Locator = page.locator(':root')): Promise<void> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) {
    // Evaluated, not added as a script element, which the page's content security policy would block.
    await page.evaluate(await readFile(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8'));
  }
  // Without the elements that passed, which would be a report of megabytes.
  const { violations, rules } = await part.evaluate(async (box) => {
    const { axe } = globalThis as unknown as { axe: Axe };
    const { violations, passes } = await axe.run(box, {
      resultTypes: ['violations'],
      // Targets have 24 pixels at least.
      rules: { 'target-size': { enabled: true } },
    });
    return { violations, rules: passes.length };
  });
  assert.ok(rules > 5, `${rules} rules were checked`);
  const severe = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  assert.deepEqual(
    severe.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' | ')}`),
    [],
  );
}

/** Checks a state of a view that is checked elsewhere, in `npm run test:all`. */
export async function checkAccessibilityOfVariant(page: Page, part?: Locator): Promise<void> {
  if (isLong) await checkAccessibility(page, part);
}

/**
 * Checks a view as it is: on a desktop, a tablet and a phone it does not scroll horizontally, and axe finds nothing, once per
 * theme; only in a part of it if the rest has been checked. In `npm test` axe checks the light theme alone, which is drawn by
 * the same rules with other colours; overview.test.ts checks the dark one.
 */
export async function checkInBothThemes(
  page: Page,
  part?: Locator,
  checkAtWidth?: () => Promise<unknown>,
): Promise<void> {
  for (const [colorScheme, viewport] of [
    ['dark', phone],
    ['light', tablet],
    ['light', desktop],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(viewport);
    await untilItFits(page);
    await checkAtWidth?.();
    if (viewport === desktop) await checkAccessibility(page, part);
    if (viewport === phone) await checkAccessibilityOfVariant(page, part);
  }
}

/** Presses a shortcut of what is shown. A component listens to its shortcuts after it was drawn, on a busy machine much later. */
export async function pressShortcut(page: Page, key: string): Promise<void> {
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))');
  await page.keyboard.press(key);
}

/**
 * Delays what components do after the next paint, as a busy machine does, until the returned function is called. It ends when all of
 * that was done.
 */
export async function delayEffects(page: Page): Promise<() => Promise<void>> {
  await page.evaluate(`(() => {
    const [frame, timer, delay] = [requestAnimationFrame, setTimeout, 300];
    globalThis.requestAnimationFrame = (work) => frame(() => timer(work, delay));
    globalThis.setTimeout = (work, millis = 0, ...rest) => timer(work, millis + delay, ...rest);
    globalThis.endDelay = async () => {
      for (let times = 0; times < 3; times += 1) await new Promise((done) => setTimeout(done));
      Object.assign(globalThis, { requestAnimationFrame: frame, setTimeout: timer });
    };
  })()`);
  return () => page.evaluate('endDelay()');
}

/** Clicks a copy button and waits for `Copied`, from before the click, because it shows for two seconds only. */
export async function clickCopy(part: Locator, name: string): Promise<void> {
  const confirmation = part.getByRole('button', { name: 'Copied' }).waitFor();
  await Promise.all([confirmation, part.getByRole('button', { name }).first().click()]);
}

/** The texts that the page highlights. */
export function highlightsOf(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(
    "[...CSS.highlights.get('hit') ?? []].map((range) => range.startContainer.data.slice(range.startOffset, range.endOffset))",
  );
}

/** Whether the page, or a dialog on it, scrolls horizontally. */
export function scrollsHorizontally(page: Page): Promise<boolean> {
  return page.evaluate<boolean>(
    "[document.documentElement, ...document.querySelectorAll('dialog')].some((box) => box.scrollWidth > box.clientWidth)",
  );
}

/** After a change of the width, some parts are drawn again: waits until nothing scrolls horizontally. */
export const untilItFits = (page: Page): Promise<true> =>
  until(
    async () => !(await scrollsHorizontally(page)),
    () => `nothing scrolls horizontally, ${page.viewportSize()?.width} wide`,
  );

type Axe = {
  run(
    box: unknown,
    options: { resultTypes: string[]; rules: Record<string, { enabled: boolean }> },
  ): Promise<{
    passes: unknown[];
    violations: { id: string; impact: string; help: string; nodes: { html: string }[] }[];
  }>;
};
