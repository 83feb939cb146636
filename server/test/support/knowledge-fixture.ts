import { randomUUID } from 'node:crypto';
import type { Browser, Dialog, Page } from 'playwright-core';
import { type ConsoleTab, openBrowser, openConsole } from './browser.ts';
import { makeTwoTenants, message, type Service, startService } from './harness.ts';
import { citation } from './rich-messages.ts';

const tenants = makeTwoTenants();
const { keys, chunkPath } = tenants.one;
export const { ids } = tenants.one;
export const { admin } = tenants;
export const segmentPlace = `knowledge/${ids.dataset}/${ids.document}/${ids.segment}`;
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
  readonly tab: ConsoleTab;
  readonly #browser: Browser;
  /** Whether to accept the dialogs to come; others are dismissed. */
  #choices: boolean[] = [];
  #dialogs: string[] = [];

  private constructor(service: Service, browser: Browser, tab: ConsoleTab) {
    this.service = service;
    this.#browser = browser;
    this.tab = tab;
    tab.page.on('dialog', (dialog: Dialog) => {
      this.#dialogs.push(dialog.type() === 'confirm' ? dialog.message() : dialog.type());
      void (this.#choices.shift() ? dialog.accept() : dialog.dismiss());
    });
  }

  static async open(): Promise<KnowledgeFixture> {
    const [service, browser] = await Promise.all([startService('sqlite'), openBrowser()]);
    await service.load(records);
    return new KnowledgeFixture(service, browser, await openConsole(browser, service.base, admin));
  }

  async close(): Promise<void> {
    await this.#browser.close();
    await this.service.close();
  }

  async read(position: number): Promise<{ content: string; word_count: number; type: string }> {
    return (await this.service.as(keys.knowledge).get(pathOf(position))).body.data;
  }

  async editElsewhere(position: number, content: string): Promise<void> {
    await this.service.as(keys.knowledge).patch(pathOf(position), { content });
  }

  /** Adds an answer that cites a text of the segment; returns its address. */
  async cite(fields: object = {}, content = 'a text'): Promise<string> {
    const added = message(ids.conversation, 1, fields);
    const place = { dataset_id: ids.dataset, document_id: ids.document, segment_id: ids.segment };
    const retriever_resources = [{ ...citation(added.id), ...place, content }];
    await this.service.load([{ ...added, retriever_resources }]);
    await this.service.index();
    return `conversations/${ids.app}/${ids.conversation}/${added.id}`;
  }

  /** Shows the chunks again. `choices`: whether to accept each dialog in turn; else dismissed. */
  async atChunks(choices: boolean[] = []) {
    const { page, pageErrors, visit } = this.tab;
    // A text that another test has left is discarded.
    this.#choices = [true];
    await visit(segmentPlace);
    this.#choices = choices;
    this.#dialogs = [];
    await page.getByRole('heading', { name: 'Chunk 1', exact: true }).waitFor();
    return { page, pageErrors, dialogs: this.#dialogs };
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
