import type { ChangeSelection } from '../store/change-reads.ts';
import type { Store } from '../store/store.ts';
import type { ChangeWatch } from './change-watch.ts';
import { type ChangePage, type ChangePlace, readChanges } from './changes.ts';

export type FollowOptions = {
  watch: ChangeWatch;
  /** It ends when there was no entry for so long. */
  waitMillis: number;
  /** `mayContinue` is called this often, also while the reader waits. */
  checkMillis: number;
  /** While it waits, it returns an empty page this often, the first one at once. Default: never. */
  heartbeatMillis?: number | undefined;
  clock: () => number;
  /** Called before every wait. */
  beforeWait?: () => void;
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
  let checkedAt = clock();
  let sentAt = Number.NEGATIVE_INFINITY;
  /** How long until something is due again. The clock of the machine may be set back. */
  const dueIn = (millis: number, last: number) => millis - Math.abs(clock() - last);
  const hasEnded = async (): Promise<boolean> => {
    if (dueIn(checkMillis, checkedAt) > 0) return false;
    checkedAt = clock();
    return (await mayContinue?.()) === false;
  };
  for (;;) {
    const page = await readChanges(store, place, selection);
    place = page.next;
    if (page.entries.length > 0 || page.hasMore) {
      idleSince = performance.now();
      sentAt = clock();
      yield page;
      if (watch.isClosed || (await hasEnded())) return;
      continue;
    }
    do {
      const left = idleSince + waitMillis - performance.now();
      if (left <= 0 || watch.isClosed || selection.signal.aborted) {
        yield page;
        return;
      }
      beforeWait?.();
      if (heartbeatMillis !== undefined && dueIn(heartbeatMillis, sentAt) <= 0) {
        sentAt = clock();
        yield page;
      }
      const heartbeatIn = heartbeatMillis === undefined ? left : dueIn(heartbeatMillis, sentAt);
      // A reader that is woken again and again by changes that it may not see is checked, too.
      await watch.wait(Math.max(1, Math.min(left, dueIn(checkMillis, checkedAt), heartbeatIn)));
      if (await hasEnded()) return;
    } while (!(await store.changes.hasNews(place)));
  }
}
