import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { chunkPath, message, ndjson, type Tenant } from '../../server/test/support/harness.ts';
import { Client, type ClientResponse } from './client.ts';

/** Writes sent by clients of one tenant, and those acknowledged. Each tenant has one editor and one appender. */
type Ledger = { tenant: Tenant; edits: number[]; sentEdits: number; messages: string[]; sentMessages: string[] };

const pauseMillis = 20;

/** Clients of many tenants, whose data is on all nodes of a cluster. They check every response against what they sent. */
export class ClusterLoad {
  readonly responses: Record<number, number> = {};
  /** Responses with another status than 200 and 503, or without Retry-After. */
  readonly unexpected: string[] = [];
  /** Responses with data that contradicts an acknowledged write. */
  readonly wrong: string[] = [];
  readonly exports = { complete: 0, failed: 0 };
  readonly #ledgers: Ledger[];
  readonly #client = new Client();
  readonly #admin: string;
  readonly #base: string;
  #isRunning = true;
  #clients: Promise<void>[];

  constructor(base: string, tenants: readonly Tenant[], admin: string) {
    this.#base = base;
    this.#admin = admin;
    this.#ledgers = tenants.map((tenant) => ({ tenant, edits: [], sentEdits: 0, messages: [], sentMessages: [] }));
    this.#clients = this.#ledgers.flatMap((ledger) => [
      this.#loop(() => this.#edit(ledger)),
      this.#loop(() => this.#append(ledger)),
      this.#loop(() => this.#read(ledger)),
    ]);
    this.#clients.push(this.#loop(() => this.#export()));
  }

  get acknowledged(): { edits: number; messages: number } {
    const sum = (countOf: (ledger: Ledger) => number) => this.#ledgers.reduce((all, one) => all + countOf(one), 0);
    return { edits: sum(({ edits }) => edits.length), messages: sum(({ messages }) => messages.length) };
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    await Promise.all(this.#clients);
    this.#client.close();
  }

  async #loop(step: () => Promise<unknown>): Promise<void> {
    while (this.#isRunning) {
      await step();
      await sleep(pauseMillis * Math.random() * 2);
    }
  }

  /** Counts a response. Returns true if the request succeeded. */
  #count(what: string, { status, text, cut, headers }: ClientResponse): boolean {
    this.responses[status] = (this.responses[status] ?? 0) + 1;
    const isExpected = status === 200 || (status === 503 && /^[1-9]/.test(headers['retry-after'] ?? ''));
    if (!isExpected) this.unexpected.push(`${what}: ${status} ${cut ?? ''} ${text.slice(0, 200)}`);
    return status === 200;
  }

  async #edit(ledger: Ledger): Promise<void> {
    const { ids, keys } = ledger.tenant;
    const number = (ledger.sentEdits += 1);
    const request = { method: 'PATCH', key: keys.knowledge, json: { content: `text ${number}` } };
    const response = await this.#client.request(this.#base, chunkPath(ids), request);
    if (this.#count('PATCH', response)) ledger.edits.push(number);
  }

  async #append(ledger: Ledger): Promise<void> {
    const { ids, keys } = ledger.tenant;
    const added = [1, 2].map(() => message(ids.conversation, 1_000 + ledger.sentMessages.length));
    ledger.sentMessages.push(...added.map(({ id }) => id));
    const request = { method: 'POST', key: keys.writer, lines: ndjson(added) };
    const response = await this.#client.request(this.#base, '/admin/records', request);
    if (this.#count('POST', response)) ledger.messages.push(...added.map(({ id }) => id));
  }

  /** An acknowledged write must be visible to every later request. */
  async #read({ tenant: { ids, keys }, edits, messages, sentEdits }: Ledger): Promise<void> {
    const [lastEdit = 0, lastMessage] = [edits.at(-1), messages.at(-1)];
    const page = await this.#client.request(this.#base, `/v1/messages?conversation_id=${ids.conversation}&limit=100`, {
      key: keys.app,
    });
    if (this.#count('GET /messages', page) && lastMessage !== undefined && !page.text.includes(lastMessage))
      this.wrong.push(`a page without the acknowledged message ${lastMessage}`);
    const chunk = await this.#client.request(this.#base, chunkPath(ids), { key: keys.knowledge });
    if (!this.#count('GET chunk', chunk)) return;
    const number = numberOf(JSON.parse(chunk.text).data.content);
    if (number < lastEdit) this.wrong.push(`text ${number} after text ${lastEdit} was acknowledged, sent ${sentEdits}`);
  }

  async #export(): Promise<void> {
    const before = this.#ledgers.flatMap(({ messages }) => messages);
    const response = await this.#client.request(this.#base, '/admin/records', { key: this.#admin });
    // A response that has begun can only be cut off.
    if (response.cut !== undefined || !this.#count('export', response)) {
      this.exports.failed += 1;
      return;
    }
    this.exports.complete += 1;
    const problem = problemOf(response.text, before);
    if (problem !== undefined) this.wrong.push(problem);
  }

  /** Compares an export with what was acknowledged, after the clients have stopped. */
  compare(exported: string): { lost: string[]; torn: string[] } {
    const records = parse(exported);
    const stored = new Set(records.filter(({ record }) => record === 'message').map(({ id }) => id));
    const lost: string[] = [];
    const torn: string[] = [];
    for (const { tenant, edits, messages, sentMessages } of this.#ledgers) {
      const { chunk } = tenant.ids;
      const texts = records.filter(({ id, child_chunk_id }) => id === chunk || child_chunk_id === chunk);
      const numbers = texts.map(({ content }) => numberOf(content));
      for (const number of edits) if (!numbers.includes(number)) lost.push(`text ${number} of ${chunk}`);
      if (new Set(numbers).size !== numbers.length) torn.push(`a text of ${chunk} is stored twice`);
      for (const id of messages) if (!stored.has(id)) lost.push(`message ${id}`);
      // Two messages of one append are stored together.
      for (let at = 0; at < sentMessages.length; at += 2)
        if (stored.has(sentMessages[at]) !== stored.has(sentMessages[at + 1])) torn.push(`append ${sentMessages[at]}`);
    }
    return { lost, torn };
  }
}

type Line = Record<string, unknown>;
const parse = (exported: string): Line[] =>
  exported
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
const numberOf = (content: unknown): number => Number(/^text (\d+)$/.exec(String(content))?.[1] ?? 0);
export const newName = () => `faults_${randomUUID().replaceAll('-', '')}`;

const parents: Record<string, string> = {
  app: 'workspace_id',
  dataset: 'workspace_id',
  document: 'dataset_id',
  segment: 'document_id',
  child_chunk: 'segment_id',
  child_chunk_revision: 'child_chunk_id',
  conversation: 'app_id',
  message: 'conversation_id',
};

/** Every record must follow its parent, and all that was acknowledged before must be there. */
function problemOf(exported: string, acknowledged: readonly string[]): string | undefined {
  const seen = new Set<unknown>();
  for (const line of parse(exported)) {
    const field = parents[String(line.record)];
    if (field !== undefined && !seen.has(line[field])) return `export: ${line.record} without its ${field}`;
    seen.add(line.id);
  }
  const missing = acknowledged.filter((id) => !seen.has(id));
  return missing.length === 0 ? undefined : `export without ${missing.length} acknowledged messages`;
}
