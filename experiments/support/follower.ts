import { randomInt } from 'node:crypto';
import { changeKinds } from '../../server/src/contract/change.ts';
import { Client } from './client.ts';

type Entry = {
  cursor: string;
  kind: string;
  id: string;
  gone: boolean;
  path: { conversation_id?: string };
  record: object | null;
};

export type ExportedRecord = { record: string; id: string; [field: string]: unknown };

/** A consumer of the change feed: it stores records by kind and id, and its cursor with them. */
export class Follower {
  readonly #client = new Client();
  readonly #base: () => string | undefined;
  readonly #key: string;
  readonly #query: Record<string, string>;
  readonly #records = new Map<string, string>();
  cursor: string | undefined;
  entries = 0;
  /** Responses other than 200 and 503. */
  readonly unexpected: string[] = [];

  /** `base` returns the address of the service, or undefined while none is running. */
  constructor(base: () => string | undefined, key: string, query: Record<string, string> = {}) {
    this.#base = base;
    this.#key = key;
    this.#query = query;
  }

  /**
   * Reads one page, by default of random size. Sometimes the page is lost before it is stored, as if the consumer had been
   * killed. Returns whether more may follow; undefined if there was no response.
   */
  async step(limit = randomInt(1, 200), isLost = randomInt(10) === 0): Promise<boolean | undefined> {
    const base = this.#base();
    if (base === undefined) return undefined;
    const after = this.cursor && { after: this.cursor };
    const query = new URLSearchParams({ ...this.#query, limit: `${limit}`, ...after });
    const response = await this.#client.request(base, `/admin/changes?${query}`, { key: this.#key });
    if (response.status !== 200) {
      if (response.status !== 503 && response.cut === undefined)
        this.unexpected.push(`${response.status} ${response.text}`);
      return undefined;
    }
    const page = JSON.parse(response.text) as { data: Entry[]; has_more: boolean; cursor: string };
    if (isLost) return true;
    for (const entry of page.data) this.#store(entry);
    this.cursor = page.cursor;
    return page.has_more;
  }

  #store({ kind, id, gone, path, record }: Entry): void {
    this.entries += 1;
    const key = `${kind} ${path.conversation_id ?? ''} ${id}`;
    if (gone) this.#records.delete(key);
    else this.#records.set(key, JSON.stringify(record));
    if (!gone || kind !== 'conversation') return;
    for (const other of [...this.#records.keys()]) {
      if (other.startsWith(`message ${id} `)) this.#records.delete(other);
    }
  }

  /** Reads until nothing was new for a few pages. */
  async catchUp(): Promise<void> {
    for (let idle = 0; idle < 3; ) idle = (await this.step()) === false ? idle + 1 : 0;
  }

  /** The records that differ from an export of the service. `isWanted`: of those that it may see, if not of all. */
  async differences(exported: string, isWanted: (record: ExportedRecord) => boolean = () => true): Promise<string[]> {
    const records = exported
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter(({ record }) => changeKinds.includes(record));
    const gone = new Set(records.filter(({ deleted }) => deleted).map(({ id }) => id));
    const present = records.filter(
      (record) => !gone.has(record.id) && !gone.has(record.conversation_id) && isWanted(record),
    );
    const expected = new Set(present.map((record) => JSON.stringify(record)));
    const stored = new Set(this.#records.values());
    return [
      ...[...expected].filter((line) => !stored.has(line)).map((line) => `missing: ${line.slice(0, 200)}`),
      ...[...stored].filter((line) => !expected.has(line)).map((line) => `wrong: ${line.slice(0, 200)}`),
    ];
  }

  close(): void {
    this.#client.close();
  }
}
