import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import type { Secrets } from '../../src/cli/starter.ts';
import {
  checkAccessibility,
  checkAccessibilityOfVariant,
  clickCopy,
  desktop,
  openBrowser,
  openTab,
  phone,
  type Tab,
} from '../support/browser.ts';
import { repository } from '../support/cli-helpers.ts';
import type { Service } from '../support/harness.ts';
import { firstOrAll, isLong, itLong } from '../support/long.ts';
import { startStarter } from '../support/openapi/record-examples.ts';
import { openapiFile } from '../support/openapi-check.ts';
import { until, untilEqual, untilMatch } from '../support/until.ts';

const document = JSON.parse(readFileSync(openapiFile, 'utf8'));
type RecordSchema = { properties: object; required: string[] };
type Named = { operationId: string; summary: string };
const operations = Object.values<Record<string, Named>>(document.paths).flatMap((methods) => Object.values(methods));

describe('the reference', () => {
  let service: Service;
  let secrets: Secrets;
  let browser: Browser;
  let tab: Tab;
  before(async () => {
    [{ service, secrets }, browser] = await Promise.all([startStarter(), openBrowser()]);
    tab = await openTab(browser, service.base);
  });
  after(async () => {
    await browser.close();
    await service.close();
  });

  /**
   * The page at a place; what it complains about fails the test. It is not loaded again, which would take several times the
   * processor time: keys that were typed and the chosen language stay.
   */
  async function open(place: string, use: (page: Page) => Promise<void>): Promise<void> {
    const { page, pageErrors } = tab;
    pageErrors.length = 0;
    // By another place, because a place that stays is not shown again.
    await page.goto('/docs#about-keys');
    await page.getByRole('searchbox').fill('');
    await page.goto(`/docs${place}`);
    await page.locator('main h2').first().waitFor();
    await use(page);
    assert.deepEqual(pageErrors, []);
  }
  /** The same on a page that was loaded again, without a key. */
  async function load(place: string, use: (page: Page) => Promise<void>): Promise<void> {
    await tab.page.goto('about:blank');
    await open(place, use);
  }
  const article = (page: Page, id: string) => page.locator(`article#${id}`);
  const linksOf = (page: Page) => page.getByRole('navigation', { name: 'Reference' }).getByRole('link');

  it('links to every operation, those of the public API first', () =>
    open('', async (page) => {
      assert.equal(await linksOf(page).filter({ hasText: 'List keys' }).count(), 0, 'admin operations are folded');
      for (const group of await page.locator('nav details summary').all()) await group.click();
      const hrefs = await linksOf(page).evaluateAll((all) =>
        all.map((one) => String(one.getAttribute('href')).slice(1)),
      );
      const guides = ['about-quick-start', 'about-keys', 'about-paging', 'about-errors', 'about-records'];
      const ids = hrefs.filter((id) => !guides.includes(id) && !id.startsWith('guide/'));
      assert.deepEqual(ids.toSorted(), operations.map(({ operationId }) => operationId).toSorted());
      assert.deepEqual((await page.locator('nav .tag').allTextContents()).slice(0, 4), [
        'Conversations',
        'Apps',
        'Knowledge',
        'Models',
      ]);
      for (const { operationId, summary } of isLong ? operations : operations.filter((_, n) => n % 20 === 0)) {
        await page.evaluate(`location.hash = '${operationId}'`);
        await article(page, operationId).getByRole('heading', { name: summary, exact: true }).waitFor();
        await untilEqual(() => page.title(), `${summary} · Backscroll API reference`);
      }
      await page.getByRole('link', { name: 'Keys', exact: true }).click();
      for (const title of ['Keys', 'Paging', 'Errors', 'Record fields'])
        await page.getByRole('heading', { name: title, exact: true }).waitFor();
      assert.equal(await page.getByRole('link', { name: 'openapi.json' }).getAttribute('href'), '/openapi.json');
    }));

  it('describes every error code', () =>
    open('#about-errors', async (page) => {
      const codes = await page.locator('#about-errors tbody code').allTextContents();
      const { enum: known } = document.components.schemas.Error.properties.code;
      assert.deepEqual(
        known.filter((code: string) => !codes.includes(code)),
        [],
      );
    }));

  it('filters operations, and goes to the first on Enter', () =>
    open('', async (page) => {
      const filter = page.getByRole('searchbox', { name: 'Filter operations and guides' });
      await filter.fill('patch chunk');
      await linksOf(page).filter({ hasText: 'Get Available Models' }).waitFor({ state: 'detached' });
      await untilMatch(() => linksOf(page).first().textContent(), /^Update Child Chunk/);
      await filter.press('Enter');
      await article(page, 'updateChildChunk').waitFor();
      await filter.fill('no such wordz');
      await page.getByText('Nothing matches.').waitFor();
      await filter.fill('retriever_resources');
      await linksOf(page).filter({ hasText: 'Record fields' }).waitFor();
      for (const word of ['python', 'overwriting a text']) {
        await filter.fill(word);
        await linksOf(page)
          .filter({ hasText: word === 'python' ? 'Keys' : 'Paging' })
          .waitFor();
      }
      const found = {
        append: 'Import records',
        like: 'Submit Message Feedback',
        'rate limit': 'Keys, sessions and limits',
      };
      for (const [words, title] of Object.entries(found)) {
        await filter.fill(words);
        await linksOf(page).filter({ hasText: 'Get Available Models' }).waitFor({ state: 'detached' });
        await linksOf(page).filter({ hasText: title }).waitFor();
      }
      for (const keys of ['/', 'Control+k']) {
        await page.getByRole('heading', { level: 1 }).click();
        await page.locator('main').focus();
        await page.keyboard.press(keys);
        await untilEqual(() => filter.evaluate((field) => field === document.activeElement), true, keys);
      }
      await filter.fill('cursor_gone');
      await filter.press('Enter');
      await page.waitForURL('**/docs#about-errors');
    }));

  it('describes every field of every kind of record, with an example, and names both versions', () =>
    open('#about-records', async (page) => {
      const guide = page.locator('#about-records');
      const kinds: { kind: string; schema: RecordSchema }[] = document['x-records'];
      // All are drawn by the same rules.
      for (const { kind, schema } of isLong ? kinds : kinds.filter((_, n) => n % 5 === 0)) {
        const part = guide.locator('> details').filter({ has: page.locator(`> summary:text-is("${kind}")`) });
        await part.locator('> summary').click();
        await part.locator('> div > .fields').waitFor();
        const names = await part.locator('> div > .fields > li > .field .name').allTextContents();
        assert.deepEqual(
          names,
          Object.keys(schema.properties).filter((name) => name !== 'record'),
          kind,
        );
        const required = part.locator('> div > .fields > li > .field').filter({ hasText: 'required' }).locator('.name');
        assert.deepEqual(
          (await required.allTextContents()).sort(),
          schema.required.filter((name: string) => name !== 'record').sort(),
        );
        assert.match((await part.locator('pre').textContent()) ?? '', new RegExp(`"record": "${kind}"`));
      }
      const lead = (await page.locator('.lead').textContent()) ?? '';
      const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
      assert.ok(
        lead.includes(`version ${document.info.version} of the API`) &&
          lead.includes(`version ${version} of Backscroll`),
      );
      await checkAccessibilityOfVariant(page);
    }));

  it('opens what the address names, and goes back and forward', () =>
    open('#getAvailableModels', async (page) => {
      await article(page, 'getAvailableModels').waitFor();
      const current = page.locator('nav a[aria-current]');
      await untilMatch(() => current.textContent(), /^Get Available Models/);
      await page.getByRole('link', { name: '← Delete Child Chunk' }).click();
      await article(page, 'deleteChildChunk').waitFor();
      await page.goBack();
      await article(page, 'getAvailableModels').waitFor();
      await page.goto('/docs#about-errors');
      await page.getByRole('heading', { name: 'Errors' }).waitFor();
      await until(() => page.evaluate<boolean>('scrollY > 0'));
      await page.goto('/docs#nothing-of-the-kind');
      await page.getByRole('heading', { name: 'Keys' }).waitFor();
    }));

  it('describes parameters and fields, expands nested fields, and has code to copy', () =>
    open('#getConversationHistory', async (page) => {
      const part = article(page, 'getConversationHistory');
      const limit = part
        .getByRole('listitem')
        .filter({ has: page.getByText('limit', { exact: true }) })
        .first();
      assert.match((await limit.textContent()) ?? '', /integer.*1 to 100\.Default: 20\./);
      assert.equal(await part.getByText('retriever_resources', { exact: true }).count(), 0);
      await part.getByText('Fields of data').click();
      await part.getByText('Fields of feedback').click();
      const rating = part
        .getByRole('listitem')
        .filter({ has: page.getByText('rating', { exact: true }) })
        .last();
      assert.match((await rating.textContent()) ?? '', /string.*One of like, dislike/);
      await part.getByText('Feedback or null').waitFor();
      await part.getByRole('button', { name: 'TypeScript' }).click();
      await part.getByText('backscroll.listMessages').waitFor();
      await clickCopy(part, 'Copy');
      await part.getByText('Requires a key of kind app').waitFor();
    }));

  it('sends a request and shows the response; the key is stored nowhere', () =>
    load('#getConversationHistory', async (page) => {
      const part = article(page, 'getConversationHistory');
      await part.getByText('Try it').click();
      await part.getByRole('button', { name: 'Send' }).click();
      await part.getByText('401 Unauthorized').waitFor();
      const key = part.getByLabel('Key of kind app');
      assert.equal(await key.getAttribute('type'), 'password');
      await key.fill(secrets.app);
      await part.getByLabel('limit').fill('2');
      await untilMatch(() => part.locator('pre').first().textContent(), /limit=2/);
      await part.getByRole('button', { name: 'Send' }).click();
      await part.getByText('200 OK').waitFor();
      for (const name of ['x-request-id', 'etag', 'link']) await part.locator('dt', { hasText: name }).waitFor();
      const shown = await part.getByRole('region', { name: 'The response' }).textContent();
      assert.equal(JSON.parse(shown ?? '').data.length, 2);
      const held = await page.evaluate('JSON.stringify([localStorage, sessionStorage, document.cookie])');
      assert.ok(!String(held).includes(secrets.app));
      assert.ok(!(await page.locator('pre').allTextContents()).some((text) => text.includes(secrets.app)));
      await part.getByRole('button', { name: 'Reset to the example' }).click();
      await untilEqual(() => part.getByLabel('limit').inputValue(), '1');
    }));

  it('begins with a quick start in three languages: keys, append, read', () =>
    open('', async (page) => {
      const start = page.locator('section#about-quick-start');
      const texts = async () => (await start.locator('pre').allTextContents()).join('\n');
      assert.match(await page.locator('main h2').first().innerText(), /^Quick start$/);
      const id = '6f0c7a0e-54f0-4f4e-8a0f-0c1f6f6a2b61';
      for (const [language, words] of [
        ['curl', ['curl -sS', '$WRITER_KEY', '$APP_KEY']],
        ['TypeScript', ['await fetch(', 'process.env.WRITER_KEY', 'listMessages(']],
        ['Python', ['import', 'WRITER_KEY', 'APP_KEY']],
      ] as const) {
        await start.getByRole('button', { name: language }).first().click();
        for (const word of [...words, 'keys create --kind writer', id])
          await until(
            async () => (await texts()).includes(word),
            () => `${word} in ${language}`,
          );
      }
      await start.getByRole('button', { name: 'curl' }).first().click();
    }));

  it('has the guides of the documentation, offline, with links between them', () =>
    open('', async (page) => {
      const folders = ['use', 'run', 'integrate'].flatMap((folder) =>
        readdirSync(join(repository, 'docs', folder)).map((name) => name.replace(/\.md$/, '')),
      );
      await linksOf(page).filter({ hasText: 'Monitoring' }).click();
      const guide = page.locator('article#guide-monitoring');
      await guide.getByRole('heading', { name: 'Audit log' }).waitFor();
      await guide.getByText('backscroll_build_info').waitFor();
      await untilMatch(() => page.title(), /^Monitoring · /);
      // A link to a heading of another guide.
      await guide.getByRole('link', { name: 'failed keys' }).first().click();
      await page.waitForURL('**/docs#guide/keys/failed-keys');
      await page.locator('article#guide-keys #failed-keys').waitFor();
      const hrefs = await linksOf(page).evaluateAll((all) => all.map((one) => String(one.getAttribute('href'))));
      const listed = hrefs.filter((href) => href.startsWith('#guide/'));
      assert.deepEqual(listed.toSorted(), folders.map((name) => `#guide/${name}`).toSorted());
      for (const href of firstOrAll(listed, 2)) {
        await page.goto(`/docs${href}`);
        // Its title, and what follows it: not every guide has parts.
        await page.locator(`article#${href.slice(1).replace('/', '-')} > h1 + *`).waitFor();
      }
      await page.goto(`/docs#guide/keys`);
      await page.locator('article#guide-keys').waitFor();
      await checkAccessibilityOfVariant(page);
    }));

  it('says that the part for guides could not be loaded, and loads it again', async () => {
    const { page } = await openTab(browser, service.base);
    await page.route('**/docs/guide-page-*.js*', (route) => route.fulfill({ status: 404 }));
    await page.goto('/docs#guide/keys');
    await page.getByText('This part of the page could not be loaded.').waitFor();
    await page.unroute('**/docs/guide-page-*.js*');
    await page.locator('article#guide-keys').waitFor();
    await page.context().close();
  });

  it('sends a request without a key as the session of the console', () =>
    load('#listKeys', async (page) => {
      const created = await page.context().request.post('/console/session', { data: { key: secrets.admin } });
      assert.equal(created.status(), 200);
      await article(page, 'listKeys').getByText('Try it').click();
      await article(page, 'listKeys').getByRole('button', { name: 'Send' }).click();
      await article(page, 'listKeys').getByText('200 OK').waitFor();
      await page.context().clearCookies();
    }));

  it('marks operations that change data, and sends them', () =>
    open('#updateChildChunk', async (page) => {
      const part = article(page, 'updateChildChunk');
      await part.getByText('Try it').click();
      await part.getByText('changes data').waitFor();
      await part.getByLabel('Key of kind knowledge').fill(secrets.knowledge);
      await part.getByLabel(/^Body/).fill('{"content":"<b>five</b> plain words here"}');
      await part.getByRole('button', { name: 'Send' }).click();
      await part.getByText('200 OK').waitFor();
      const shown = await part.getByRole('region', { name: 'The response' }).textContent();
      assert.equal(JSON.parse(shown ?? '').data.content, '<b>five</b> plain words here');
      // A key that was typed once opens the other operations of its kind.
      await page.getByRole('link', { name: 'Get Child Chunk →' }).click();
      const other = article(page, 'getChildChunk');
      await other.getByText('Try it').click();
      assert.equal(await other.getByLabel('Key of kind knowledge').inputValue(), secrets.knowledge);
    }));

  itLong('reports that the service, or its document, cannot be reached', () =>
    open('#live', async (page) => {
      const part = article(page, 'live');
      await part.getByText('Try it').click();
      await page.route('**/health/live', (route) => route.abort());
      await part.getByRole('button', { name: 'Send' }).click();
      await part.getByText('The service cannot be reached.').waitFor();
      await page.unroute('**/health/live');
      await page.route('**/openapi.json', (route) => route.fulfill({ status: 503, body: '{}' }));
      await page.reload();
      await page.getByText('The OpenAPI document cannot be loaded.').waitFor();
      await page.unroute('**/openapi.json');
      await page.getByRole('button', { name: 'Try again' }).click();
      await article(page, 'live').waitFor();
    }),
  );

  it('works in both themes, on a phone and by keyboard; axe finds nothing serious', () =>
    open('#updateChildChunk', async (page) => {
      const part = article(page, 'updateChildChunk');
      await part.getByText('Try it').click();
      await part.getByText('Fields of data').click();
      await part.getByRole('button', { name: 'TypeScript' }).click();
      const check = async (axe = checkAccessibilityOfVariant) => {
        await axe(page);
        const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
        assert.ok(Number(overflow) <= 0, `${overflow} pixels too wide`);
      };
      await check(checkAccessibility);
      await page.emulateMedia({ colorScheme: 'dark' });
      await page.setViewportSize(phone);
      await check();
      const menu = page.getByRole('button', { name: 'Menu' });
      await menu.press('Enter');
      await page.getByRole('link', { name: 'Get Available Models GET' }).waitFor();
      await page.keyboard.press('Escape');
      await untilEqual(() => menu.getAttribute('aria-expanded'), 'false');
      await page.setViewportSize(desktop);
      await page.goto('/docs#about-keys');
      await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor();
      await check();
      await page.emulateMedia({ colorScheme: 'light' });
    }));

  it('loads less than 40 kB with 49 kB of the typeface, and 70 kB for the document with its examples and records', async () => {
    const sizeOf = async (path: string) => {
      const response = await fetch(`${service.base}${path}`, { headers: { 'accept-encoding': 'gzip' } });
      await response.body?.cancel();
      assert.equal(response.headers.get('content-encoding'), 'gzip', path);
      return Number(response.headers.get('content-length'));
    };
    const page = await service.request('GET', '/docs');
    const files = [...page.text.matchAll(/(?:src|href)="(\/docs\/[^"]+)"/g)].map(([, path = '']) => path);
    assert.ok(files.length >= 3);
    const sizes = await Promise.all(files.map(sizeOf));
    const bytes = sizes.reduce((sum, size) => sum + size, page.text.length);
    assert.ok(bytes < 89_000, `${bytes} bytes`);
    const described = await sizeOf('/openapi.json');
    assert.ok(described < 60_000, `${described} bytes`);
  });
});
