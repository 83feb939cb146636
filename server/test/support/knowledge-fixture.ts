import { randomUUID } from 'node:crypto';
import type { Browser, BrowserContextOptions, Dialog, Page } from 'playwright-core';
import { closeTabs, openBrowser, openTab, signIn } from './browser.ts';
import { makeTwoTenants, message, type Service, startService } from './harness.ts';
import { citation } from './rich-messages.ts';

const tenants = makeTwoTenants();
const { keys, chunkPath } = tenants.one;
export const { ids } = tenants.one;
export const { admin } = tenants;
export const segmentAddress = `/console#/knowledge/${ids.dataset}/${ids.document}/${ids.segment}`;
export const hostile = '<img src=x onerror="document.title=1"> **not bold**';

/** More segments than one page shows, and twelve more chunks, so that each test edits its own. */
const chunkIds = Array.from({ length: 12 }, () => randomUUID());
const records = [
  ...tenants.records,
  ...Array.from({ length: 23 }, (_, at) => ({
    record: 'segment',
    id: randomUUID(),
    document_id: ids.document,
    position: at + 2,
    content: at === 0 ? hostile : `text of segment ${at + 2}`,
  })),
  ...chunkIds.map((id, at) => ({
    record: 'child_chunk',
    id,
    segment_id: ids.segment,
    position: at + 2,
    content: `The kettle of chunk ${at + 2} boils at ninety degrees.`,
    created_at: 1000,
  })),
];
/** The path of the chunk at a position; position 1 is the chunk of `makeTwoTenants`. */
const pathOf = (position: number): string => chunkPath.replace(ids.chunk, chunkIds[position - 2] ?? ids.chunk);

/** A knowledge base, a browser that shows it, and another client that reads and edits it. */
export class KnowledgeFixture {
  readonly service: Service;
  readonly browser: Browser;

  private constructor(service: Service, browser: Browser) {
    this.service = service;
    this.browser = browser;
  }

  static async open(): Promise<KnowledgeFixture> {
    const [service, browser] = await Promise.all([startService('sqlite'), openBrowser()]);
    await service.load(records);
    return new KnowledgeFixture(service, browser);
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.service.close();
  }

  async read(position: number): Promise<{ content: string; word_count: number; type: string }> {
    return (await this.service.request('GET', pathOf(position), { key: keys.knowledge })).body.data;
  }

  async editElsewhere(position: number, content: string): Promise<void> {
    await this.service.request('PATCH', pathOf(position), { key: keys.knowledge, body: { content } });
  }

  /** Adds an answer that cites the segment. */
  async cite(): Promise<void> {
    const added = message(ids.conversation, 1);
    const place = { dataset_id: ids.dataset, document_id: ids.document, segment_id: ids.segment };
    const retriever_resources = [{ ...citation(added.id), ...place }];
    await this.service.load([{ ...added, retriever_resources }]);
    await this.service.index();
  }

  /** Opens the only tab, signed in, at the chunks. `choices`: whether to accept each dialog in turn; else dismissed. */
  async atChunks(choices: boolean[] = [], options: BrowserContextOptions = {}) {
    await closeTabs(this.browser);
    const { page, pageErrors } = await openTab(this.browser, this.service.base, options);
    const dialogs: string[] = [];
    page.on('dialog', (dialog: Dialog) => {
      dialogs.push(dialog.type() === 'confirm' ? dialog.message() : dialog.type());
      void (choices.shift() ? dialog.accept() : dialog.dismiss());
    });
    await signIn(page, admin, segmentAddress);
    await page.getByRole('heading', { name: 'Chunk 1', exact: true }).waitFor();
    return { page, pageErrors, dialogs };
  }
}

export const chunkAt = (page: Page, position: number) =>
  page.locator('.chunk', { has: page.getByRole('heading', { name: `Chunk ${position}`, exact: true }) });

/** Opens the editor of a chunk. */
export async function startEdit(page: Page, position: number) {
  const entry = chunkAt(page, position);
  await entry.getByRole('button', { name: 'Edit' }).click();
  const field = entry.getByLabel('Text', { exact: true });
  await field.waitFor();
  const button = (name: string) => entry.getByRole('button', { name, exact: true });
  return { entry, field, button };
}
