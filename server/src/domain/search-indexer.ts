import { randomUUID } from 'node:crypto';
import type { ChangeKind } from '../contract/change.ts';
import { limits } from '../contract/limits.ts';
import type { ChangeScope, FoundChange } from './change-reads.ts';
import { type ChangePlace, cursorOf, startOf } from './changes.ts';
import { notFound, ServiceError } from './errors.ts';
import type { IndexChange } from './search-reads.ts';
import type { Store } from './store.ts';
import { tokenRules } from './tokens.ts';

const kinds: readonly ChangeKind[] = ['segment', 'child_chunk', 'conversation', 'message'];
const scope: ChangeScope = { workspace_id: undefined, app_id: undefined, dataset_ids: undefined, kinds };

/** Why the search is off; undefined if it is on. Without the change feed, the index would miss changes. */
export function whyOff({ changes, search }: { changes: boolean; search: boolean }): string | undefined {
  if (!search) return 'the search is off (SEARCH=off)';
  return changes ? undefined : 'the search is off, since the change feed is off (CHANGES=off)';
}

export function requireSearch(settings: { changes: boolean; search: boolean }): void {
  const reason = whyOff(settings);
  if (reason !== undefined) throw notFound(reason);
}

/** `elsewhere`: another process indexes. */
export type IndexStep = 'more' | 'idle' | 'elsewhere';

/** Follows the change feed and keeps the index up to date. One process does so, under a lease. */
export class SearchIndexer {
  readonly #store: Store;
  readonly #clock: () => number;
  readonly #holder = randomUUID();
  #cursor: string | undefined;
  #renewAt = 0;
  /** Records that this object has indexed. */
  indexed = 0;

  /** `clock` returns milliseconds since the epoch. */
  constructor(store: Store, clock: () => number) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Indexes the next changes. Without any, it neither writes nor needs the lease. */
  async step(): Promise<IndexStep> {
    if (await this.#isUpToDate()) return 'idle';
    if (!(await this.#hasLease()) || this.#cursor === undefined) return 'elsewhere';
    const place = await this.#placeOf(this.#cursor);
    if (place === undefined) {
      await this.reset();
      return 'more';
    }
    const { changes, next, hasMore } = await this.#store.changes.read(place, scope, limits.indexReadMax);
    const { epoch } = place;
    const list = changes.map((change) => changeOf(change, cursorOf(change.at, epoch)));
    list.push({ kind: 'none', cursor: cursorOf(next, epoch) });
    if (list.at(-1)?.cursor !== this.#cursor) await this.#apply(list);
    return hasMore ? 'more' : 'idle';
  }

  async #isUpToDate(): Promise<boolean> {
    const { cursor, rules } = await this.#store.search.state();
    const head = await this.#store.changes.head();
    return rules === tokenRules && cursor === cursorOf(head, head.epoch) && !(await this.#store.changes.hasNews(head));
  }

  /** Makes the index empty. The next steps build it again. */
  async reset(): Promise<void> {
    await this.#store.search.reset(tokenRules);
    this.#cursor = '';
  }

  /** Lets another process continue at once. */
  async end(): Promise<void> {
    if (this.#cursor !== undefined) await this.#store.search.takeLease(this.#holder, 0, this.#now());
    this.#cursor = undefined;
  }

  async #apply(changes: readonly IndexChange[]): Promise<void> {
    for (let left = changes; left.length > 0 && this.#cursor !== undefined; ) {
      const before = left.length;
      const cursor: string | undefined = await this.#store.search.apply(this.#cursor, left);
      // Another process has taken over, or has made the index empty: the next step reads its state.
      if (cursor === undefined) this.#renewAt = 0;
      else left = left.slice(left.findLastIndex((change) => change.cursor === cursor) + 1);
      this.#cursor = cursor;
      this.indexed += before - left.length;
    }
    // The last one is the end of the page.
    this.indexed -= 1;
  }

  #now(): number {
    return Math.floor(this.#clock() / 1000);
  }

  async #hasLease(): Promise<boolean> {
    const now = this.#now();
    if (now < this.#renewAt && this.#cursor !== undefined) return true;
    const state = await this.#store.search.takeLease(this.#holder, now + limits.indexLeaseSeconds, now);
    this.#cursor = state?.cursor;
    this.#renewAt = now + Math.floor(limits.indexLeaseSeconds / 3);
    if (state !== undefined && state.rules !== tokenRules) await this.reset();
    return state !== undefined;
  }

  /** Undefined if the cursor is no longer valid. */
  async #placeOf(cursor: string): Promise<ChangePlace | undefined> {
    try {
      return await startOf(this.#store, cursor === '' ? undefined : cursor);
    } catch (error) {
      if (error instanceof ServiceError && (error.code === 'cursor_gone' || error.code === 'invalid_param')) {
        return undefined;
      }
      throw error;
    }
  }
}

function changeOf({ kind, id, path }: FoundChange, cursor: string): IndexChange {
  switch (kind) {
    case 'message':
      return { kind, cursor, conversation_id: path.conversation_id ?? '', id };
    case 'conversation':
      return { kind, cursor, id };
    case 'segment':
    case 'child_chunk':
      return { kind, cursor, dataset_id: path.dataset_id ?? '', id };
    default:
      return { kind: 'none', cursor };
  }
}

/** How far the index is behind the change feed. */
export type IndexLag = {
  /** Whether all records are being indexed. The changes since then follow. */
  isBuilding: boolean;
  changes: number;
  /** The time of the oldest change that is not indexed, in seconds. */
  oldest: number | null;
};

export async function indexLag(store: Store): Promise<IndexLag> {
  const { cursor, rules } = await store.search.state();
  const { epoch, position, notes, oldestNote } = await store.changes.count();
  const [indexedEpoch, indexedPosition, replay] = cursor.split('.');
  const isBuilding = indexedEpoch !== epoch || replay !== undefined || rules !== tokenRules;
  const from = indexedEpoch === epoch ? Number(indexedPosition) : 0;
  const changes = Math.max(0, position - from) + notes;
  const oldest = position > from ? await store.search.timeAfter(from) : oldestNote;
  return { isBuilding, changes, oldest: oldest ?? oldestNote };
}
