import type { ConsoleTab } from './browser.ts';

/** Shows a conversation of an app again, at a message if the place names one. Resolves when its newest message is shown. */
export async function visitConversation(
  { page, visit }: ConsoleTab,
  app: string,
  place: string,
  look?: Parameters<ConsoleTab['visit']>[1],
): Promise<void> {
  await visit(`conversations/${app}/${place}`, look);
  await page.locator('article').last().waitFor();
}

/*
 * Scripts that tests and the bench run inside the page. They are strings because they use browser globals, which are not
 * typed in this folder.
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

/** Scrolls up many times; returns how far a visible message moved by itself after each scroll. */
export const unexpectedMoves = script(`
  const moves = [];
  for (let scrolls = 0; scrolls < 40; scrolls += 1) {
    // A page sees the scroll of a user together with its event. Without it, a page that loads could go back to its end.
    scroller.scrollTop -= 700;
    scroller.dispatchEvent(new Event('scroll'));
    let item;
    while (!(item = articles().find((article) => article.getBoundingClientRect().top >= top))) await frame();
    const before = item.getBoundingClientRect().top;
    for (let frames = 0; frames < 6; frames += 1) await frame();
    moves.push(item.isConnected ? item.getBoundingClientRect().top - before : NaN);
  }
  return moves;
`);

/** Expands a visible message, then scrolls down past it; returns how far other messages moved by themselves. */
export const expandAndScroll = script(`
  scroller.scrollTop -= 3000;
  for (let frames = 0; frames < 6; frames += 1) await frame();
  articles().find((article) => article.getBoundingClientRect().top >= top).querySelector('summary').click();
  for (let frames = 0; frames < 6; frames += 1) await frame();
  const moves = [];
  for (let scrolls = 0; scrolls < 12; scrolls += 1) {
    scroller.scrollTop += 250;
    let item;
    while (!(item = articles().findLast(isInWindow))) await frame();
    const before = item.getBoundingClientRect().top;
    for (let frames = 0; frames < 6; frames += 1) await frame();
    moves.push(item.getBoundingClientRect().top - before);
  }
  return moves;
`);

/** Scrolls to the beginning in steps smaller than the window; returns the queries in the order they became visible. */
export const scrollToStart = script(`
  const seen = [];
  let nodesMax = 0;
  for (;;) {
    const inWindow = articles().filter(isInWindow);
    for (const item of inWindow.toReversed()) {
      const { textContent } = item.querySelector('.query');
      if (!seen.slice(-20).includes(textContent)) seen.push(textContent);
    }
    nodesMax = Math.max(nodesMax, scroller.querySelectorAll('*').length);
    // At the top without the beginning, older messages are being read.
    if (scroller.scrollTop === 0 && document.querySelector('.beginning')) return { seen, nodesMax };
    // A user does not scroll on while nothing is shown.
    if (inWindow.length > 0) scroller.scrollTop -= scroller.clientHeight * 0.8;
    await frame();
  }
`);

/** Scrolls to the beginning in large steps; returns whether it got there in time. */
export const jumpToStart = (pixels: number, millisMax = 60_000): string =>
  script(`
  const isAtBeginning = () => document.querySelector('.beginning') !== null && scroller.scrollTop === 0;
  const end = performance.now() + ${millisMax};
  while (!isAtBeginning() && performance.now() < end) {
    scroller.scrollTop -= ${pixels};
    await frame();
  }
  return isAtBeginning();
`);

/** Scrolls forward in large steps until a query is rendered. */
export const jumpToQuery = (query: string, pixels: number): string =>
  script(`
  while (articles().at(-1)?.querySelector('.query').textContent !== ${JSON.stringify(query)}) {
    scroller.scrollTop += ${pixels};
    await frame();
  }
`);

export const isAtEnd = script('return scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 2;');

/** Whether the transcript does not scroll horizontally. */
export const isNarrow = script('return scroller.scrollWidth <= scroller.clientWidth;');

/** Navigates to the keys after the list has loaded, just before the page's effects run, which wait for a timer. */
export const leaveBeforeEffects = `
  const originalSetTimeout = setTimeout;
  let hasLeft = false;
  window.setTimeout = (call, ...rest) =>
    originalSetTimeout(() => {
      if (!hasLeft && document.querySelector('.conversation-list a')) {
        hasLeft = true;
        location.hash = '#/keys';
      }
      call();
    }, ...rest);
`;
