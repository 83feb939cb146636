import { randomUUID } from 'node:crypto';
import type { ChangeKind } from '../../contract/change.ts';
import { limits } from '../../contract/limits.ts';
import { type ChangePlace, cursorOf, startOf } from '../changes/changes.ts';
import { notFound, ServiceError } from '../errors.ts';
import type { ChangeCounts, ChangedId } from '../store/change-reads.ts';
import type { IndexChange, IndexState } from '../store/search-reads.ts';
import type { Store } from '../store/store.ts';
import { tokenRules } from '../words/tokens.ts';

/** Lease of the indexer: one that has died delays the next one for at most this time. */
const indexLeaseSeconds = 10;

const kinds: readonly ChangeKind[] = ['segment', 'child_chunk', 'conversation', 'message'];

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
  /** Changes after the cursor that were read from the feed. */
  #changes: readonly IndexChange[] = [];
  /** Records that this object has indexed. */
  indexed = 0;
  /** Duration of the transactions that have indexed them, without the wait for those of others. */
  workedMillis = 0;

  /** `clock` returns milliseconds since the epoch. */
  constructor(store: Store, clock: () => number) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Indexes the next changes in one transaction of about this many milliseconds. Without any, it neither writes nor needs the lease. */
  async step(millis: number = limits.indexWriteMillis): Promise<IndexStep> {
    if (await this.#isUpToDate()) return 'idle';
    if (!(await this.#hasLease()) || this.#cursor === undefined) return 'elsewhere';
    const place = await this.#placeOf(this.#cursor);
    if (place === undefined) {
      await this.reset();
      return 'more';
    }
    if (this.#changes.length > 0) {
      await this.#apply(millis);
      return 'more';
    }
    const { changes, next, hasMore } = await this.#store.changes.readIds(place, kinds);
    const { epoch } = place;
    const list = changes.map((change) => changeOf(change, cursorOf(change.at, epoch)));
    list.push({ kind: 'none', cursor: cursorOf(next, epoch) });
    if (list.at(-1)?.cursor !== this.#cursor) {
      this.#changes = list;
      await this.#apply(millis);
    }
    return hasMore || this.#changes.length > 0 ? 'more' : 'idle';
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
    this.#changes = [];
  }

  /** Lets another process continue at once. */
  async end(): Promise<void> {
    if (this.#cursor !== undefined) await this.#takeLease(0);
    this.#cursor = undefined;
  }

  async #apply(millis: number): Promise<void> {
    const applied = await this.#store.run('applyToIndex', { from: this.#cursor ?? '', changes: this.#changes, millis });
    const cursor = applied?.cursor;
    this.workedMillis += applied?.millis ?? 0;
    const count = cursor === undefined ? 0 : this.#changes.findLastIndex((change) => change.cursor === cursor) + 1;
    this.indexed += this.#changes.slice(0, count).filter(({ kind }) => kind !== 'none').length;
    // Without a cursor another process has taken over, or has made the index empty: the next step reads its state.
    this.#changes = cursor === undefined ? [] : this.#changes.slice(count);
    if (cursor === undefined) this.#renewAt = 0;
    this.#cursor = cursor;
  }

  #now(): number {
    return Math.floor(this.#clock() / 1000);
  }

  async #hasLease(): Promise<boolean> {
    const now = this.#now();
    if (now < this.#renewAt && this.#cursor !== undefined) return true;
    const state = await this.#takeLease(now + indexLeaseSeconds);
    if (state?.cursor !== this.#cursor) this.#changes = [];
    this.#cursor = state?.cursor;
    this.#renewAt = now + Math.floor(indexLeaseSeconds / 3);
    if (state !== undefined && state.rules !== tokenRules) await this.reset();
    return state !== undefined;
  }

  #takeLease(expires_at: number): Promise<IndexState | undefined> {
    return this.#store.run('takeIndexLease', { holder: this.#holder, expires_at, now: this.#now() });
  }

  /** Undefined if the cursor is of another epoch. One beyond the head is an error: a later step may find the head there. */
  async #placeOf(cursor: string): Promise<ChangePlace | undefined> {
    try {
      return await startOf(this.#store, cursor === '' ? undefined : cursor);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const isGone = error.code === 'cursor_gone' && !cursor.startsWith(`${(await this.#store.changes.head()).epoch}.`);
      if (isGone || error.code === 'invalid_param') return undefined;
      throw error;
    }
  }
}

function changeOf({ kind, scope, id }: ChangedId, cursor: string): IndexChange {
  switch (kind) {
    case 'message':
      return { kind, cursor, conversation_id: scope, id };
    case 'conversation':
      return { kind, cursor, id };
    case 'segment':
    case 'child_chunk':
      return { kind, cursor, dataset_id: scope, id };
    default:
      return { kind: 'none', cursor };
  }
}

/** Lag of the index behind the change feed. */
export type IndexLag = {
  /** Whether all records are being indexed. The changes since then follow. */
  isBuilding: boolean;
  changes: number;
  /** The time of the oldest change that is not indexed, in seconds. */
  oldest: number | null;
};

/** `counts`: those of the change feed, if the caller has read them. */
export async function indexLag(store: Store, counts?: ChangeCounts): Promise<IndexLag> {
  const { cursor, rules } = await store.search.state();
  const { epoch, position, unsequenced, oldestUnsequenced } = counts ?? (await store.changes.count());
  const [indexedEpoch, indexedPosition, snapshot] = cursor.split('.');
  const isBuilding = indexedEpoch !== epoch || snapshot !== undefined || rules !== tokenRules;
  const from = indexedEpoch === epoch ? Number(indexedPosition) : 0;
  const changes = Math.max(0, position - from) + unsequenced;
  const oldest = position > from ? await store.search.timeAfter(from) : oldestUnsequenced;
  return { isBuilding, changes, oldest: oldest ?? oldestUnsequenced };
}
