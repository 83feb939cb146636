import { useLayoutEffect, useRef } from 'preact/hooks';
import type { ApiError } from '../state/api.ts';
import { useChanges } from '../state/changes.ts';
import type { Scroll } from './transcript-scroll.ts';

/** With more changed messages at once, as by an import, all that are drawn are read again, by one request. */
const rereadMax = 10;

/** Refreshes a transcript when its conversation changes; returns whether the service cannot be reached. */
export function useLiveMessages(
  scroll: Scroll,
  conversation_id: string | undefined,
  fail: (error: ApiError) => void,
): boolean {
  /** The messages that have changed since the last refresh; none if any may have, undefined if nothing has. */
  const changedIds = useRef<Set<string> | undefined>(undefined);
  const isBusy = useRef(false);
  const refresh = async (): Promise<void> => {
    // A read that is under way draws the transcript when it is done, which refreshes it.
    if (changedIds.current === undefined || isBusy.current || scroll.isReading) return;
    const ids = changedIds.current;
    changedIds.current = undefined;
    isBusy.current = true;
    // Only a failure that will not go away by itself is shown. Others show in the feed too, which then starts again.
    await scroll.refresh(ids).catch((error: ApiError) => error.status === 404 && fail(error));
    isBusy.current = false;
    return refresh();
  };
  useLayoutEffect(() => void refresh());
  return useChanges((changes) => {
    const ids = changes.filter(({ id, path }) => path.conversation_id === conversation_id || id === conversation_id);
    if (changes.length > 0 && ids.length === 0) return;
    const all = new Set([...(changedIds.current ?? []), ...ids.map(({ id }) => id)]);
    const isAny = changes.length === 0 || changedIds.current?.size === 0 || all.size > rereadMax;
    changedIds.current = isAny ? new Set() : all;
    void refresh();
  });
}
