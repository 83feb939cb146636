import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CDPSession, Page } from 'playwright-core';
import { openBrowser, openTab, signIn } from '../server/test/support/browser.ts';
import { jumpToStart } from '../server/test/support/transcript-scripts.ts';
import { adminSecret, app_id, baseRecords, conversationId, importLines, messageId } from './support/data.ts';
import { endAll, startOurs } from './support/servers.ts';
import { describeMachine } from './support/table.ts';

/**
 * Measures how smoothly the console scrolls through a long conversation in a real browser, from the newest message to
 * the oldest: first at the speed of a mouse wheel, then in jumps. Run by `npm run bench:console`.
 */
const messages = Number(process.argv[2] ?? 100_000);
const pixelsPerSecond = 3_000;
const seconds = 25;
const jumpPixels = 25_000;
const jumpMillisMax = 120_000;
const frameMillis = 1000 / 60;

const words = 'the grinder hums while water climbs toward ninety three degrees and a person asks which filter fits';

/** Answers of many different heights, in the Markdown that models write. */
function answer(at: number): string {
  const parts = [
    `Answer ${at}: **${words}**.`,
    ['1. Fill the tank', '2. Switch `on`', '3. Wait:', '   - for the light', '   - for the *click*'].join('\n'),
    `\`\`\`ts\nconst at = ${at};\nconsole.log(at);\n\`\`\``,
    '| part | price |\n|---|---:|\n| gasket | 8.50 |\n| screen | 12.00 |',
    `> ${words}, [see the guide](https://example.com/${at}).\n\n${words} ${words}.`,
  ];
  return parts.slice(0, 1 + (at % parts.length)).join('\n\n');
}

function* lines(): Generator<string> {
  for (const record of baseRecords) yield `${JSON.stringify(record)}\n`;
  const conversation_id = conversationId(0);
  yield `${JSON.stringify({ record: 'conversation', id: conversation_id, app_id, user: 'scroller' })}\n`;
  for (let at = 0; at < messages; at += 1) {
    const record = {
      record: 'message',
      id: messageId(0, at),
      conversation_id,
      query: `Question ${at}: ${words.slice(0, 20 + (at % 70))}?`,
      answer: answer(at),
      created_at: 1_790_000_000 + at,
      message_tokens: 200,
      answer_tokens: 300,
      provider_response_latency: 1.25,
      total_price: '0.0012890',
      currency: 'USD',
    };
    yield `${JSON.stringify(record)}\n`;
  }
}

type Observed = { frames: number[]; tasks: number[]; drawn: number[]; gaps: number; blank: number; nodesMax: number };

/** Runs in the page. Records for every frame its time, the drawn messages, gaps between them, and whether no message is visible. */
const observe = `(() => {
  const observed = { frames: [], tasks: [], drawn: [], gaps: 0, blank: 0, nodesMax: 0 };
  globalThis.observed = observed;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) observed.tasks.push(duration);
  }).observe({ type: 'longtask' });
  const scroller = document.querySelector('.scroller');
  const elements = document.getElementsByTagName('*');
  const numbers = new WeakMap();
  const seenNumbers = new Set();
  // Each item is read once, and its box only until a visible one is found, so that observing costs little.
  const numberOf = (item) => {
    if (!numbers.has(item)) numbers.set(item, Number(/\\d+/.exec(item.querySelector('.query').textContent)[0]));
    return numbers.get(item);
  };
  const recordFrame = (now) => {
    observed.frames.push(now);
    const { top, bottom } = scroller.getBoundingClientRect();
    let last;
    let isBlank = true;
    for (const item of scroller.querySelectorAll('.item')) {
      const at = numberOf(item);
      if (last !== undefined && at !== last + 1) observed.gaps += 1;
      last = at;
      if (isBlank) {
        const box = item.getBoundingClientRect();
        isBlank = box.bottom < top || box.top > bottom;
      }
      if (seenNumbers.has(at)) continue;
      seenNumbers.add(at);
      observed.drawn.push(at);
    }
    if (isBlank) observed.blank += 1;
    observed.nodesMax = Math.max(observed.nodesMax, elements.length);
    requestAnimationFrame(recordFrame);
  };
  requestAnimationFrame(recordFrame);
})()`;

const observedOf = (page: Page): Promise<Observed> => page.evaluate<Observed>('observed');

async function metricsOf(session: CDPSession): Promise<Record<string, number>> {
  const { metrics } = await session.send('Performance.getMetrics');
  return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
}

/** A summary of what happened between two observations. */
function summaryOf(
  from: Observed,
  to: Observed,
  before: Record<string, number>,
  after: Record<string, number>,
): string {
  const frames = to.frames.slice(from.frames.length);
  const gaps = frames.slice(1).map((at, i) => at - (frames[i] as number));
  const late = gaps.filter((gap) => gap > 1.5 * frameMillis);
  const lost = gaps.reduce((sum, gap) => sum + Math.max(Math.round(gap / frameMillis) - 1, 0), 0);
  const tasks = to.tasks.slice(from.tasks.length);
  const work = (name: string) => (((after[name] ?? 0) - (before[name] ?? 0)) * 1000) / Math.max(frames.length, 1);
  const share = ((100 * lost) / Math.max(frames.length + lost, 1)).toFixed(1);
  const blankFrames = to.blank - from.blank;
  return [
    `${frames.length} frames, ${blankFrames} of them without a message, ${lost} dropped (${share} %), ${late.length} late, longest ${Math.max(...gaps).toFixed(0)} ms`,
    `${tasks.length} tasks over 50 ms, longest ${Math.max(0, ...tasks).toFixed(0)} ms`,
    `work per frame: ${work('TaskDuration').toFixed(2)} ms, of which script ${work('ScriptDuration').toFixed(2)}, ` +
      `layout ${work('LayoutDuration').toFixed(2)}, style ${work('RecalcStyleDuration').toFixed(2)}`,
  ].join('\n  ');
}

/** Scrolls plain text without a script at the same speed: the baseline of dropped frames on this machine. */
async function scrollPlain(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const lines = Array.from({ length: 4_000 }, (_, at) => `<p>${at} ${words}</p>`).join('');
  await page.setContent(`<div class="scroller" style="height: 700px; overflow-y: auto">${lines}</div>`);
  await page.evaluate("document.querySelector('.scroller').scrollTop = 1e9");
  await page.evaluate(observe);
  const from = await observedOf(page);
  await session.send('Input.synthesizeScrollGesture', { ...wheel, yDistance: pixelsPerSecond * seconds });
  const to = await observedOf(page);
  console.log(
    `plain text at the same speed:\n  ${summaryOf(from, to, {}, {})
      .split('\n')[0]
      ?.replace(/, \d+ of them without a message/, '')}`,
  );
}

const wheel = { x: 800, y: 500, speed: pixelsPerSecond, gestureSourceType: 'mouse', preventFling: true } as const;

async function scrollThrough(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  const pagesRead: string[] = [];
  page.on('request', (request) => {
    const url = new URL(request.url());
    const first_id = url.searchParams.get('first_id');
    if (url.pathname.endsWith('/messages') && first_id !== null) pagesRead.push(first_id);
  });
  await page.goto(`/console#/conversations/${app_id}/${conversationId(0)}`);
  await page.locator('article').last().waitFor();
  await page.evaluate(observe);
  await page.waitForTimeout(1_000);

  let [before, from] = [await metricsOf(session), await observedOf(page)];
  await session.send('Input.synthesizeScrollGesture', { ...wheel, yDistance: pixelsPerSecond * seconds });
  let [after, to] = [await metricsOf(session), await observedOf(page)];
  const isComplete = isContiguous(to.drawn);
  console.log(
    `wheel: ${pixelsPerSecond} px/s for ${seconds} s, ${to.drawn.length - from.drawn.length} messages, none left out: ${isComplete}`,
  );
  console.log(`  ${summaryOf(from, to, before, after)}`);

  [before, from] = [after, to];
  const start = performance.now();
  const isAtStart = await page.evaluate<boolean>(jumpToStart(jumpPixels, jumpMillisMax));
  [after, to] = [await metricsOf(session), await observedOf(page)];
  console.log(
    `jumps of ${jumpPixels} px${isAtStart ? ' to the beginning' : ', not at the beginning after the time limit'}: ${((performance.now() - start) / 1000).toFixed(1)} s`,
  );
  console.log(`  ${summaryOf(from, to, before, after)}`);
  const read = new Set(pagesRead);
  console.log(`pages read: ${pagesRead.length}, each once: ${read.size === pagesRead.length}`);
  console.log(`drawn messages out of order: ${to.gaps}`);
  await session.send('HeapProfiler.collectGarbage');
  const { JSHeapUsedSize = 0, Nodes = 0 } = await metricsOf(session);
  console.log(`heap ${(JSHeapUsedSize / 1e6).toFixed(1)} MB; elements at most ${to.nodesMax}; nodes now ${Nodes}`);
}

function isContiguous(drawn: readonly number[]): boolean {
  const sorted = drawn.toSorted((a, b) => a - b);
  return sorted.every((at, i) => i === 0 || at === (sorted[i - 1] as number) + 1);
}

const folder = await mkdtemp(join(tmpdir(), 'backscroll-bench-'));
try {
  const database = `sqlite:${join(folder, 'scroll.db')}`;
  await importLines(database, lines());
  const { port } = await startOurs(folder, database);
  const browser = await openBrowser();
  try {
    const { page, pageErrors } = await openTab(browser, `http://127.0.0.1:${port}`);
    await signIn(page, adminSecret);
    console.log(`${messages} messages; ${describeMachine()}`);
    await scrollThrough(page);
    await scrollPlain((await openTab(browser, 'about:blank')).page);
    for (const error of pageErrors) console.log(`page error: ${error}`);
  } finally {
    await browser.close();
  }
} finally {
  await endAll();
  await rm(folder, { recursive: true, force: true });
}
