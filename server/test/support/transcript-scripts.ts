import type { Browser, BrowserContextOptions } from 'playwright-core';
import { closeTabs, openTab, signIn, type Tab } from './browser.ts';

/** The only tab, signed in, at a conversation of an app, once its newest message is seen. */
export async function openConversation(
  browser: Browser,
  base: string,
  key: string,
  [app, conversation]: readonly [string, string],
  options: BrowserContextOptions = {},
): Promise<Tab> {
  await closeTabs(browser);
  const tab = await openTab(browser, base, options);
  await signIn(tab.page, key);
  await tab.page.goto(`/console#/conversations/${app}/${conversation}`);
  await tab.page.locator('article').last().waitFor();
  return tab;
}

/*
 * What tests and the bench do inside of the page with the transcript, as text: these lines know the browser's names,
 * which the rest of this folder does not.
 */
const shared = `
  const scroller = document.querySelector('.scroller');
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const articles = () => [...scroller.querySelectorAll('article')];
  const { top, bottom } = scroller.getBoundingClientRect();
  const isInWindow = (item) => {
    const box = item.getBoundingClientRect();
    return box.bottom > top && box.top < bottom;
  };
`;
const script = (lines: string): string => `(async () => {${shared}${lines}})()`;

/** Scrolls up many times; gives how far a message in the window moved by itself after each. */
export const ownMoves = script(`
  const moves = [];
  for (let turn = 0; turn < 40; turn += 1) {
    scroller.scrollTop -= 700;
    const item = articles().find((one) => one.getBoundingClientRect().top >= top);
    const before = item.getBoundingClientRect().top;
    for (let frames = 0; frames < 6; frames += 1) await frame();
    moves.push(item.isConnected ? item.getBoundingClientRect().top - before : NaN);
  }
  return moves;
`);

/** Unfolds a message in the window, then scrolls down past it; gives how far others moved by themselves meanwhile. */
export const unfoldAndGoOn = script(`
  scroller.scrollTop -= 3000;
  for (let frames = 0; frames < 6; frames += 1) await frame();
  articles().find((one) => one.getBoundingClientRect().top >= top).querySelector('summary').click();
  for (let frames = 0; frames < 6; frames += 1) await frame();
  const moves = [];
  for (let turn = 0; turn < 12; turn += 1) {
    scroller.scrollTop += 250;
    const item = articles().findLast(isInWindow);
    const before = item.getBoundingClientRect().top;
    for (let frames = 0; frames < 6; frames += 1) await frame();
    moves.push(item.getBoundingClientRect().top - before);
  }
  return moves;
`);

/** Scrolls to the beginning by less than the window each time; gives the queries in the order they came into sight. */
export const walkBack = script(`
  const seen = [];
  let nodesMax = 0;
  for (;;) {
    const inWindow = articles().filter(isInWindow);
    for (const item of inWindow.toReversed()) {
      const { textContent } = item.querySelector('.query');
      if (!seen.slice(-20).includes(textContent)) seen.push(textContent);
    }
    nodesMax = Math.max(nodesMax, scroller.querySelectorAll('*').length);
    if (scroller.scrollTop === 0) return { seen, nodesMax };
    // Nobody looks further than what is there.
    if (inWindow.length > 0) scroller.scrollTop -= scroller.clientHeight * 0.8;
    await frame();
  }
`);

/** Leaps to the beginning; says whether it came there in time. */
export const leapBack = (pixels: number, millisMax = 60_000): string =>
  script(`
  const isThere = () => document.querySelector('.beginning') !== null && scroller.scrollTop === 0;
  const end = performance.now() + ${millisMax};
  while (!isThere() && performance.now() < end) {
    scroller.scrollTop -= ${pixels};
    await frame();
  }
  return isThere();
`);

/** Leaps forward until a query is drawn. */
export const leapTo = (query: string, pixels: number): string =>
  script(`
  while (articles().at(-1)?.querySelector('.query').textContent !== ${JSON.stringify(query)}) {
    scroller.scrollTop += ${pixels};
    await frame();
  }
`);

export const isAtEnd = script('return scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 2;');

/** Whether nothing in the transcript has to be looked for sideways. */
export const isNarrow = script('return scroller.scrollWidth <= scroller.clientWidth;');

/** Asks for news now, as when somebody comes back to the tab. */
export const refreshNow = "document.dispatchEvent(new Event('visibilitychange'))";

/** Draws long runs of every mark; gives those that lost what stands around them. */
export const drawRuns = (runs: readonly string[], units: number): string => `(async () => {
  const { Markdown } = await import(location.origin + '/console/markdown.js');
  const textOf = (node) =>
    Array.isArray(node) ? node.map(textOf).join('')
    : typeof node === 'object' && node !== null ? textOf(node.props.children)
    : typeof node === 'string' ? node : '';
  return ${JSON.stringify(runs)}.filter((run) => {
    const drawn = textOf(Markdown({ text: 'start ' + run.repeat(Math.ceil(${units} / run.length)) + 'x end' }));
    return !drawn.includes('start') || !drawn.includes('end');
  });
})()`;

/** Goes to the keys when the apps are there, just before the page acts on that: its effects wait for a timer. */
export const leaveInTheMoment = `
  const later = setTimeout;
  let hasLeft = false;
  window.setTimeout = (call, ...rest) =>
    later(() => {
      if (!hasLeft && document.querySelector('.app-choice select')) {
        hasLeft = true;
        location.hash = '#/keys';
      }
      call();
    }, ...rest);
`;
