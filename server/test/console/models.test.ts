import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { type ConsoleTab, checkInBothThemes, openBrowser, openConsole, openTab, signIn } from '../support/browser.ts';
import { makeTwoTenants, message, type Service, startService } from '../support/harness.ts';
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
const icon = (colour: string) =>
  `data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'><circle r='4' fill='${colour}'/></svg>`;
const records = [
  ...world.records.map((record) =>
    'record' in record && record.record === 'workspace' && 'id' in record
      ? { ...record, name: record.id === one ? 'Alder' : 'Birch' }
      : record,
  ),
  provider(one, 'Gull', {
    label: { zh_Hans: '海鸥', en_US: 'Gull' },
    icon_small: { zh_Hans: icon('red'), en_US: icon('black') },
    icon_small_dark: { en_US: icon('white') },
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
  provider(one, '鸭', {
    label: { zh_Hans: '鸭' },
    icon_small: { zh_Hans: 'data:image/png,broken' },
    status: 'no-configure',
  }),
  provider(one, 'Plain', { icon_small: { en_US: 'https://icons.example/plain.svg' }, icon_small_dark: 7 }),
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
  });
  after(async () => {
    await browser.close();
    await service.close();
  });

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

  it('shows the first letter of a provider, and requests no image of a record', async () => {
    const { page, pageErrors } = await openTab(browser, service.base, { colorScheme: 'light' });
    const requested: string[] = [];
    page.on('request', (request) => requested.push(request.url()));
    await signIn(page, world.admin, '/console#/models');
    const letter = (name: string) => row(page, name).locator('.provider-icon').innerText();
    assert.deepEqual(await Promise.all(['Gull', '鸭', 'Plain', '<b>Script</b>'].map(letter)), ['G', '鸭', 'P', '<']);
    assert.equal(await page.locator('main img').count(), 0);
    const foreign = requested.filter((url) => !url.startsWith(service.base));
    assert.deepEqual([foreign, pageErrors], [[], []]);
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

  it('shows what each model has answered, and compares two of them', async () => {
    const { page, pageErrors } = await atModels();
    const priced = (model: string, total_price: string, provider_response_latency: number) => ({
      ...{ model_provider: 'gull', model, total_price, currency: 'USD', provider_response_latency },
    });
    const now = Math.floor(Date.now() / 1000);
    const { conversation } = world.one.ids;
    await service.load([
      message(conversation, now, { ...priced('gull-large', '0.5', 2.5), feedback: { rating: 'dislike' } }),
      message(conversation, now, priced('gull-large', '1.5', 1.5)),
      message(conversation, now, priced('gull-old', '0.25', 0.25)),
    ]);
    await service.index();
    await page.reload();
    const table = (name: string) => page.getByRole('table', { name, exact: true });
    const textOf = async (name: string) =>
      (await table(name).getByRole('row').allInnerTexts()).map((row) => row.split('\t').map((cell) => cell.trim()));
    await table('Comparison').waitFor();
    const byModel = [
      ['gull-large', '2', '1 50.0%', '0', '0', 'US$2.00', '2 s'],
      ['gull-old', '1', '0', '0', '0', 'US$0.25', '250 ms'],
    ];
    await untilEqual(async () => (await textOf('By model')).slice(1), byModel);
    assert.deepEqual(await textOf('Comparison'), [
      ['Per model', 'gull-large', 'gull-old', 'Difference'],
      ['Messages', '2', '1', '−50%'],
      ['Disliked', '50.0%, 1', '0.0%, 0', '−100%'],
      ['Failed', '0.0%, 0', '0.0%, 0', ''],
      ['Cost', 'US$2.00', 'US$0.25', '−88%'],
      ['Cost of 1,000 messages', 'US$1,000.00', 'US$250.00', '−75%'],
      ['Tokens per message', '0', '0', ''],
      ['Latency, p50 of the newest 100', '2 s', '250 ms', ''],
    ]);
    await page.getByRole('combobox', { name: 'with', exact: true }).selectOption('gull-large');
    await page.waitForURL(/other=gull%?.*gull-large/);
    await page.getByText('Choose two different models.').waitFor();
    await page.getByRole('combobox', { name: 'Model', exact: true }).selectOption('gull-old');
    await untilEqual(async () => (await textOf('Comparison'))[1], ['Messages', '1', '2', '+100%']);
    // A third of 0.3 is less than 0.1, in the last digit.
    const cheap = (model: string) => message(conversation, now, priced(model, '0.1', 1));
    await service.load([cheap('gull-a'), cheap('gull-a'), cheap('gull-a'), cheap('gull-b')]);
    await page.reload();
    await page.getByRole('combobox', { name: 'Model', exact: true }).selectOption('gull-a');
    await page.getByRole('combobox', { name: 'with', exact: true }).selectOption('gull-b');
    const equal = ['Cost of 1,000 messages', 'US$100.00', 'US$100.00', 'equal'];
    await untilEqual(async () => (await textOf('Comparison'))[5], equal);
    await table('By model').getByRole('link', { name: 'gull-large' }).click();
    await page.waitForURL(/#\/conversations\?.*model_provider=gull&model=gull-large/);
    assert.deepEqual(pageErrors, []);
  });

  it('can be used by everyone, in both themes and at every width', async () => {
    const { page, pageErrors } = await atModels();
    await checkInBothThemes(page);
    assert.deepEqual(pageErrors, []);
  });
});
