import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  accountButton,
  type ConsoleTab,
  checkInBothThemes,
  openBrowser,
  openConsole,
  openTab,
  signIn,
} from '../support/browser.ts';
import { makeTwoTenants, type Service, startService } from '../support/harness.ts';
import { itLong } from '../support/long.ts';
import { untilEqual } from '../support/until.ts';

const world = makeTwoTenants();
const one = world.one.ids.workspace;
const other = world.other.ids.workspace;

const model = (name: string, model_type: string, more: object = {}) => ({
  model: name,
  label: { en_US: `The ${name}` },
  model_type,
  features: null,
  fetch_from: 'predefined-model',
  model_properties: {},
  status: 'active',
  deprecated: false,
  load_balancing_enabled: false,
  has_invalid_load_balancing_configs: false,
  ...more,
});
const provider = (workspace_id: string, name: string, more: object = {}) => ({
  record: 'model_provider',
  workspace_id,
  provider: `harbour/${name}/${name}`,
  label: { en_US: name },
  icon_small: {},
  icon_small_dark: null,
  status: 'active',
  models: [],
  ...more,
});
const icon = (name: string) => `https://icons.example/${name}.svg`;
const records = [
  ...world.records.map((record) =>
    'record' in record && record.record === 'workspace' && 'id' in record
      ? { ...record, name: record.id === one ? 'Alder' : 'Birch' }
      : record,
  ),
  provider(one, 'Gull', {
    label: { zh_Hans: '海鸥', en_US: 'Gull' },
    icon_small: { zh_Hans: icon('gull-zh'), en_US: icon('gull') },
    icon_small_dark: { en_US: icon('gull-dark') },
    models: [
      model('gull-embed', 'text-embedding', { model_properties: { context_size: 8192 } }),
      model('gull-large', 'llm', {
        features: ['vision', 'tool-call'],
        model_properties: { mode: 'chat', context_size: 131072, voices: [{ name: 'a' }] },
        load_balancing_enabled: true,
        has_invalid_load_balancing_configs: true,
      }),
      model('gull-old', 'llm', { label: {}, deprecated: true, status: 'no-configure', features: { odd: true } }),
    ],
  }),
  provider(one, '鸭', { label: { zh_Hans: '鸭' }, icon_small: { zh_Hans: icon('broken') }, status: 'no-configure' }),
  provider(one, 'Plain', { icon_small: { en_US: 'http://icons.example/plain.svg' }, icon_small_dark: 7 }),
  provider(one, '<b>Script</b>', { icon_small: { en_US: 'javascript:alert(1)' } }),
  provider(other, 'Tern', { models: [model('tern-voice', 'tts')] }),
];

describe('models in the console', () => {
  let service: Service;
  let browser: Browser;
  let tab: ConsoleTab;
  before(async () => {
    [service, browser] = await Promise.all([startService('sqlite'), openBrowser()]);
    await service.load(records);
    tab = await openConsole(browser, service.base, world.admin);
    await serveIcons(tab.page);
  });
  after(async () => {
    await browser.close();
    await service.close();
  });

  /** Answers the requests for icons; returns their addresses. */
  async function serveIcons(page: Page): Promise<string[]> {
    const icons: string[] = [];
    const body = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><circle cx="4" cy="4" r="4"/></svg>';
    await page.route('**://icons.example/**', (route) => {
      icons.push(route.request().url());
      return route.request().url() === icon('broken')
        ? route.abort()
        : route.fulfill({ contentType: 'image/svg+xml', body });
    });
    return icons;
  }
  async function atModels(): Promise<ConsoleTab> {
    await tab.visit('models');
    await row(tab.page, 'Gull').first().waitFor();
    return tab;
  }
  /** The rows of a provider: its name, and its models. */
  const row = (page: Page, name: string) =>
    page.locator('.models tbody').filter({ has: page.getByRole('heading', { name, exact: true }) });
  const rowsOf = (page: Page) => page.locator('.models tbody tr:has(td)');
  /** The text of each cell, in one line. */
  const cellsOf = async (page: Page, at: number) =>
    (await rowsOf(page).nth(at).getByRole('cell').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ').trim());

  it('shows the models of the providers in the order of the records, by type, with state and properties', async () => {
    const { page, pageErrors } = await atModels();
    assert.deepEqual(await page.getByRole('columnheader').allTextContents(), [
      ...['Model', 'Type', 'Context', 'Features', 'More'],
    ]);
    assert.deepEqual(await cellsOf(page, 0), [
      'The gull-large gull-large Load balancing misconfigured',
      'Language model',
      '131,072',
      'vision tool call load balanced',
      'chat, voices [{"name":"a"}]',
    ]);
    assert.deepEqual(await cellsOf(page, 1), [
      ...['gull-old Not configured Deprecated', 'Language model', '', '{"odd":true}', ''],
    ]);
    assert.deepEqual((await cellsOf(page, 2)).slice(0, 2), ['The gull-embed gull-embed', 'Embedding']);
    await row(page, '鸭').getByText('No models.').waitFor();
    await row(page, '鸭').getByText('harbour/鸭/鸭').waitFor();
    await row(page, '鸭').getByText('not configured').waitFor();
    assert.deepEqual(await page.locator('.models h2').allInnerTexts(), ['Gull', '鸭', 'Plain', '<b>Script</b>']);
    assert.deepEqual(pageErrors, []);
  });

  itLong('shows icons of the theme, and a letter if none can be loaded', async () => {
    const { page } = await openTab(browser, service.base, { colorScheme: 'light' });
    const icons = await serveIcons(page);
    await signIn(page, world.admin, '/console#/models');
    await row(page, '鸭').locator('span.provider-icon', { hasText: '鸭' }).waitFor();
    await row(page, 'Plain').locator('span.provider-icon', { hasText: 'P' }).waitFor();
    await row(page, '<b>Script</b>').locator('span.provider-icon', { hasText: '<' }).waitFor();
    const image = row(page, 'Gull').locator('img');
    assert.equal(await image.getAttribute('src'), icon('gull'));
    await accountButton(page).click();
    const dark = page.waitForResponse(icon('gull-dark'));
    await page.getByLabel('Theme').selectOption('dark');
    await dark;
    assert.deepEqual(new Set(icons), new Set(['gull', 'broken', 'gull-dark'].map(icon)), 'nothing but https');
    await page.getByLabel('Theme').selectOption('system');
    await page
      .locator(`img[src="${icon('gull')}"]`)
      .first()
      .waitFor();
    await page.emulateMedia({ colorScheme: 'dark' });
    await page
      .locator(`img[src="${icon('gull-dark')}"]`)
      .first()
      .waitFor();
    await page.context().close();
  });

  it('opens at the first workspace with providers', async () => {
    await service.load([{ record: 'workspace', id: randomUUID(), name: 'Aardvark, without providers' }]);
    const { page, pageErrors } = await atModels();
    await untilEqual(() => page.getByLabel('Workspace').inputValue(), one);
    assert.deepEqual(pageErrors, []);
  });

  it('has the chosen workspace in the address', async () => {
    const { page } = await atModels();
    await page.getByLabel('Workspace').selectOption('Birch');
    await row(page, 'Tern').getByRole('cell', { name: 'Text to speech' }).waitFor();
    await page.waitForURL(`**#/models/${other}`);
    await page.goBack();
    await row(page, 'Gull').first().waitFor();
    await page.goto('/console#/models/nowhere');
    await page.getByRole('alert').getByText('workspace not found').waitFor();
  });

  it('filters models by words and type, in the address', async () => {
    const { page, pageErrors } = await atModels();
    const chip = page.getByRole('group', { name: 'Type' }).getByRole('link', { name: /^Embedding/ });
    assert.equal(await chip.innerText(), 'Embedding\n1');
    await chip.click();
    await row(page, 'Plain').waitFor({ state: 'detached' });
    await untilEqual(() => rowsOf(page).locator('strong').allTextContents(), ['The gull-embed']);
    await page.getByLabel('Search models').fill('LARGE');
    await page.getByText('No model matches these filters.').waitFor();
    await page.waitForURL(/#\/models\?type=text-embedding&q=LARGE$/);
    await chip.click();
    await rowsOf(page).getByText('The gull-large').waitFor();
    assert.deepEqual(pageErrors, []);
  });

  it('can be used by everyone, in both themes and at every width', async () => {
    const { page, pageErrors } = await atModels();
    await checkInBothThemes(page);
    assert.deepEqual(pageErrors, []);
  });
});
