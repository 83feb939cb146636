import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { inline } from '../../../web/console/conversations/markdown-inline.ts';
import { openBrowser, openTab, signIn } from '../support/browser.ts';
import { makeWorld, type Service, startService } from '../support/harness.ts';
import { richMessages } from '../support/rich-messages.ts';
import { drawRuns, openConversation } from '../support/transcript-scripts.ts';

describe('messages in the console', () => {
  const { one, admin, records } = makeWorld();
  const { ids } = one;
  const rich = richMessages(ids.conversation);
  let service: Service;
  let browser: Browser;
  before(async () => {
    [service, browser] = await Promise.all([startService('sqlite'), openBrowser()]);
    await service.load([...records, ...rich.records]);
  });
  after(async () => {
    await browser.close();
    await service.close();
  });

  it('draws Markdown as elements', async () => {
    const { page } = await openConversation(browser, service.base, admin, [ids.app, ids.conversation]);
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

  it('lets no message run, load or hide anything', async () => {
    const asked: string[] = [];
    const { page, complaints } = await openTab(browser, service.base);
    page.on('request', (request) => asked.push(request.url()));
    await signIn(page, admin);
    await page.goto(`/console#/conversations/${ids.app}/${ids.conversation}`);
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
    assert.equal(await response.locator('a').count(), 0);
    assert.deepEqual(
      asked.filter((url) => !url.startsWith(service.base) && !url.startsWith('data:')),
      [],
    );
    assert.deepEqual(complaints, []);
  });

  it('takes what looks like an address and is none for text as a whole, so that it is looked at once', () => {
    const text = 'http://%http://example.com/a';
    assert.deepEqual(inline(`${text} b`), [`${text} b`]);
  });

  it('takes time in proportion to a text, whatever is in it, and loses nothing', { timeout: 120_000 }, async () => {
    const { page } = await openTab(browser, service.base);
    await page.goto('/console');
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
    ];
    // A moment's work in proportion; the square of it would not end today.
    assert.deepEqual(await page.evaluate(drawRuns([...marks, ...mixed], 150_000)), []);
  });
});
