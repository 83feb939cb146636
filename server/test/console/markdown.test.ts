import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { build, stop } from 'esbuild';
import type { Browser } from 'playwright-core';
import { type ConsoleTab, openBrowser, openConsole } from '../support/browser.ts';
import { makeTwoTenants, type Service, shortOrLong, startService } from '../support/harness.ts';
import { richMessages } from '../support/rich-messages.ts';
import { visitConversation } from '../support/transcript-scripts.ts';

describe('messages in the console', () => {
  const { one, admin, records } = makeTwoTenants();
  const { ids } = one;
  const rich = richMessages(ids.conversation);
  let service: Service;
  let browser: Browser;
  let tab: ConsoleTab;
  before(async () => {
    [service, browser] = await Promise.all([startService('sqlite'), openBrowser()]);
    await service.load([...records, ...rich.records]);
    tab = await openConsole(browser, service.base, admin);
  });
  after(async () => {
    await browser.close();
    await service.close();
  });

  it('draws Markdown as elements', async () => {
    const { page } = tab;
    await visitConversation(tab, ids.app, ids.conversation);
    const response = page.locator(`article[data-id="${rich.formatted.id}"] .markdown`);
    await response.scrollIntoViewIfNeeded();
    const count = (selector: string) => response.locator(selector).count();
    assert.equal(await response.locator('h4').innerText(), 'Two things');
    assert.deepEqual(await response.locator('strong').allInnerTexts(), ['bold', 'both']);
    assert.deepEqual(await response.locator('em').allInnerTexts(), ['soft', 'both']);
    assert.equal(await count('ul > li > ol > li'), 2);
    assert.equal(await response.locator('pre').innerText(), 'if (a < b) {\n  run();\n}');
    assert.equal(await response.locator('blockquote blockquote').innerText(), 'said before');
    assert.deepEqual(await response.locator('td').allInnerTexts(), ['gasket', '8.50', 'a|b', '']);
    assert.equal(await count('hr'), 1);
    assert.equal(await count('s'), 1);
    assert.deepEqual(await Promise.all((await response.locator('a').all()).map((link) => link.getAttribute('href'))), [
      'https://example.com/a_(b)',
      'https://example.com/bare',
      'mailto:ann@example.com',
      'https://example.com/cat.png',
    ]);
    assert.equal(await page.locator('article img').count(), 0);
    assert.match(await response.innerText(), /snake_case_name and 2 \* 3 \* 4 and \*not this\*/);
  });

  it('runs, loads and hides nothing of a message', async () => {
    const asked: string[] = [];
    const { page, pageErrors } = tab;
    page.on('request', (request) => asked.push(request.url()));
    await visitConversation(tab, ids.app, ids.conversation);
    const response = page.locator(`article[data-id="${rich.hostile.id}"]`);
    await response.waitFor();
    const text = await response.innerText();
    for (const part of [
      '<script>alert(1)</script>',
      '<img src=x onerror=alert(1)>',
      'javascript:alert(2)',
      'data:text/html',
    ])
      assert.ok(text.includes(part), part);
    assert.equal(await page.locator('article :is(script, img, iframe, style, object)').count(), 0);
    assert.equal(await response.locator('section a').count(), 0);
    assert.deepEqual(
      asked.filter((url) => !url.startsWith(service.base) && !url.startsWith('data:')),
      [],
    );
    assert.deepEqual(pageErrors, []);
  });
});

/** Elements as a text that a test can compare: `ul(li("a"))`, without what only styles need. */
function outline(node: unknown): string {
  if (Array.isArray(node)) return node.map(outline).filter(Boolean).join(' ');
  if (typeof node === 'string') return JSON.stringify(node);
  if (typeof node !== 'object' || node === null) return '';
  const { type, props } = node as { type: string; props: Record<string, unknown> };
  const shown = ['class', 'start', 'checked', 'href', 'title', 'aria-label']
    .filter((name) => (props[name] ?? undefined) !== undefined)
    .map((name) => `${name}=${props[name]}`);
  return `${[type, ...shown].join(' ')}(${outline(props.children)})`;
}

type Markdown = (props: { text: string }) => { props: { children: unknown } };

/** Node.js does not read TSX, so the module is built as it is for the pages. */
async function buildMarkdown(): Promise<Markdown> {
  const entryPoint = new URL('../../../web/console/messages/markdown.tsx', import.meta.url).pathname;
  const { outputFiles } = await build({
    entryPoints: [entryPoint],
    bundle: true,
    format: 'esm',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    write: false,
  });
  await stop();
  return (await import(`data:text/javascript,${encodeURIComponent(outputFiles[0]?.text ?? '')}`)).Markdown;
}
const Markdown = await buildMarkdown();

/** The elements of a text, without the box around them. */
const drawn = (text: string): string => outline(Markdown({ text }).props.children);

describe('Markdown', () => {
  for (const [what, text, expected] of [
    [
      'task lists',
      '- [ ] open\n- [x] done',
      'ul(li class=task(input checked=false aria-label=Done() span("open")) li class=task(input checked=true aria-label=Done() span("done")))',
    ],
    [
      'centred columns',
      '|a|b|c|d|\n|:-:|--:|:--|---|\n|1|2|3|4|',
      'div class=scroll-x aria-label=Table(table(' +
        'thead(tr(th class=align-center("a") th class=align-right("b") th class=align-left("c") th("d"))) ' +
        'tbody(tr(td class=align-center("1") td class=align-right("2") td class=align-left("3") td("4")))))',
    ],
    ['underlined headings', 'One\n===\nTwo\n---', 'h3 class=level-1("One") h4 class=level-2("Two")'],
    ['lists that begin at a number', '3. a\n4. b', 'ol start=3(li(span("a")) li(span("b")))'],
    ['lines as they are', 'a\nb', 'p("a" br() "b")'],
    ['code with its language', '~~~ts\na < b\n~~~', 'pre aria-label=Code: ts(code("a < b"))'],
    [
      'links by reference, and where they lead',
      '[a][1]\n\n[1]: https://example.com/a',
      'p(a href=https://example.com/a("a")) p class=as-written("[1]: https://example.com/a")',
    ],
    [
      'HTML as text',
      '<b>a</b>\n\n<div>\n*a*\n</div>',
      'p("<b>" "a" "</b>") p class=as-written("<div>\\n*a*\\n</div>")',
    ],
    [
      'formulas without their dollar signs',
      'so $a_1 * b_1 * \\{c\\}$, and\n$$\nx^2\n$$',
      'p("so " code class=formula("a_1 * b_1 * \\\\{c\\\\}") ", and" br() code class=formula("x^2"))',
    ],
    [
      'formulas in escaped brackets',
      'so \\(a_1 \\{c\\}\\) and\n\\[\nx^2 * y_1 * z\n\\]\nnot \\[1\\](x)',
      'p("so " code class=formula("a_1 \\\\{c\\\\}") " and" br() code class=formula("x^2 * y_1 * z") br() "not " "[" "1" "]" "(x)")',
    ],
    ['amounts as they are', 'US$5, $5 to $10, $5-$10, $ 5 $ and $5', 'p("US$5, $5 to $10, $5-$10, $ 5 $ and $5")'],
    ['comments as text', 'a <!-- b -->', 'p("a " "<!-- b -->")'],
    ['an unsafe link as it is written', '[a](javascript:b) ![c](data:d)', 'p("[a](javascript:b)" " " "![c](data:d)")'],
    ['a link without an address as it is written', '[a](//) [b](x/y)', 'p("[a](//)" " " "[b](x/y)")'],
    [
      'pictures as links',
      '![](https://example.com/a.png)',
      'p(a class=badge href=https://example.com/a.png("Picture: " "https://example.com/a.png"))',
    ],
  ] as const)
    it(`draws ${what}`, () => assert.equal(drawn(text), expected));

  it('takes time proportional to the length of a text, and loses nothing', () => {
    const marks = [
      '*',
      '_',
      '`',
      '[',
      '](',
      '![',
      '<',
      '~',
      '>',
      '|',
      '#',
      '- ',
      '1. ',
      '\\',
      '**a ',
      '*a _b ',
      '[a](',
    ];
    const mixed = [
      '`a``',
      '> - ',
      'http://',
      'http://%',
      '<a@',
      '|-',
      '  - a\n',
      '> a\n',
      '|a\n',
      '```\n',
      '[[a]',
      '*a*_b_',
      '[a](()',
      '$a ',
      '$$',
      '$a$ ',
      '\\(a ',
      '\\[ a ',
    ];
    const blocks = [
      '**a* ',
      '- [ ] a\n',
      '> a\nb\n',
      'a|b\n-|-\n',
      '[a]: b\n',
      '    ',
      '<?',
      'a.b-c_',
      `${'*'.repeat(999)}\n\n`,
    ];
    const units = shortOrLong(3_000, 150_000);
    const before = process.cpuUsage();
    for (const mark of [...marks, ...mixed, ...blocks]) {
      const text = drawn(`start ${mark.repeat(Math.ceil(units / mark.length))}x end`);
      assert.ok(text.includes('start') && text.includes('end'), mark);
    }
    // Seconds in proportion to the length. In the square of it, this would take minutes, and hours for the long texts.
    const { user } = process.cpuUsage(before);
    assert.ok(user < units * 600, `${user / 1e6} s`);
  });

  it('draws what is nested deeper than people write as text', () => {
    for (const mark of ['> ', '- ', '1. ', '> - ']) {
      const text = drawn(`${mark.repeat(20_000)}end`);
      assert.ok(text.includes('end') && text.split('(').length < 60, mark);
    }
    const emphasis = drawn(`${'*a _b '.repeat(5_000)}end`);
    assert.ok(emphasis.includes('end'));
  });

  it('draws every paragraph of a text of megabytes, and goes on with code where it was read in parts', () => {
    const paragraphs = Array.from({ length: shortOrLong(3_000, 40_000) }, (_, n) => `**${n}** ${'word '.repeat(20)}`);
    const numbers = [...drawn(paragraphs.join('\n\n')).matchAll(/strong\("(\d+)"\)/g)].map(([, n]) => Number(n));
    assert.deepEqual(numbers, [...paragraphs.keys()]);
    const code = Array.from({ length: 30_000 }, (_, n) => `* line ${n}`);
    const { props } = Markdown({ text: ['a', '```', ...code, '```', 'b'].join('\n') });
    const [first, ...parts] = [props.children].flat() as {
      type: string;
      props: { children: { props: { children: string } } };
    }[];
    assert.equal(first?.type, 'p');
    assert.equal(parts.at(-1)?.type, 'p');
    assert.deepEqual(new Set(parts.slice(0, -1).map(({ type }) => type)), new Set(['pre']));
    const text = parts.slice(0, -1).map(({ props }) => props.children.props.children);
    assert.ok(text.length > 5);
    assert.equal(text.join('\n'), code.join('\n'));
  });
});
