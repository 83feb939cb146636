import type { ChangeSelection } from '../store/change-reads.ts';
import type { Store } from '../store/store.ts';
import type { ChangeWatch } from './change-watch.ts';
import { type ChangePage, type ChangePlace, readChanges } from './changes.ts';

export type FollowOptions = {
  watch: ChangeWatch;
  /** It ends when there was no entry for so long. */
  waitMillis: number;
  /** While it waits, `mayContinue` is called this often. */
  checkMillis: number;
  /** While it waits, it returns an empty page this often, the first one at once. Default: never. */
  heartbeatMillis?: number | undefined;
  clock: () => number;
  /** Called before every wait. */
  beforeWait?: () => void;
  /** Called after every page and every wait. */
  mayContinue?: () => Promise<boolean>;
};

/**
 * Pages of the feed as they come; the caller closes each. A page is empty if the wait is over, as a heartbeat, or if the reader
 * may see nothing of what was read.
 */
export async function* followChanges(
  store: Store,
  start: ChangePlace,
  selection: ChangeSelection,
  { watch, waitMillis, checkMillis, heartbeatMillis, clock, beforeWait, mayContinue }: FollowOptions,
): AsyncGenerator<ChangePage, undefined> {
  let place = start;
  let idleSince = performance.now();
  let sentAt: number | undefined;
  // The clock of the machine may be set back.
  const isQuiet = (millis: number) => sentAt === undefined || Math.abs(clock() - sentAt) >= millis;
  for (;;) {
    const page = await readChanges(store, place, selection);
    place = page.next;
    if (page.entries.length > 0 || page.hasMore) {
      idleSince = performance.now();
      sentAt = clock();
      yield page;
      if (watch.isClosed || (await mayContinue?.()) === false) return;
      continue;
    }
    do {
      const left = idleSince + waitMillis - performance.now();
      if (left <= 0 || watch.isClosed || selection.signal.aborted) {
        yield page;
        return;
      }
      beforeWait?.();
      if (heartbeatMillis !== undefined && isQuiet(heartbeatMillis)) {
        sentAt = clock();
        yield page;
      }
      await watch.wait(Math.min(left, checkMillis));
      if ((await mayContinue?.()) === false) return;
    } while (!(await store.changes.hasNews(place)));
  }
}
