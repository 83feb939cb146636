import { useEffect, useRef, useState } from 'preact/hooks';
import { limits } from '../../../server/src/contract/limits.ts';
import { type ApiError, pathOf, readLines, request } from './api.ts';
import type { Change, ChangePage } from './types.ts';

/** Changes that came within a moment. None: anything may have changed. */
export type Changes = readonly Change[];

/** An import changes many records at once: its changes are handled together. */
const collectMillis = 200;
const retryMillis = 2_000;
/** The service sends a line at least every 15 seconds. After a longer silence the connection is dead: a network may drop it unseen. */
const silenceMillis = 45_000;
/** A single failure is usually over by the next request; from the second on it is shown. */
const failuresMin = 2;

type Listener = { changed: (changes: Changes) => void; setStale: (isStale: boolean) => void };

/**
 * The change feed is read while the page is visible and some component needs it: one stream for all of them, because a
 * browser opens few connections to a service.
 */
const listeners = new Set<Listener>();
let reading: AbortController | undefined;

function update(): void {
  const isNeeded = listeners.size > 0 && !document.hidden;
  if (isNeeded === (reading !== undefined)) return;
  reading?.abort();
  reading = isNeeded ? new AbortController() : undefined;
  if (reading !== undefined) void follow(reading.signal);
}
document.addEventListener('visibilitychange', update);

async function follow(signal: AbortSignal): Promise<void> {
  let cursor: string | undefined;
  for (let failures = 0; !signal.aborted; ) {
    const silence = new AbortController();
    let timer: number | undefined;
    const heard = () => {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), silenceMillis);
    };
    const either = AbortSignal.any([signal, silence.signal]);
    heard();
    try {
      if (cursor === undefined) {
        const { body } = await request<ChangePage>('/admin/changes?after=now', { signal: either });
        heard();
        cursor = body.cursor;
        // Data read before this position may be old.
        for (const { changed } of listeners) changed([]);
        failures = 0;
        setStale(false);
      }
      for await (const change of read(cursor, either, heard)) cursor = change.cursor;
    } catch (error) {
      const { status } = error as ApiError;
      // 404: the feed is turned off. 401: the session has ended.
      if (signal.aborted || status === 404 || status === 401) return;
      // It starts again, which also shows at once that the service is back.
      cursor = undefined;
      failures += 1;
      setStale(failures >= failuresMin);
      await new Promise((resolve) => setTimeout(resolve, retryMillis));
    } finally {
      clearTimeout(timer);
    }
  }
}

let collected: Change[] = [];

/** Changes after a position, until there is none for a while. An empty line only shows that the connection is alive. */
async function* read(after: string, signal: AbortSignal, heard: () => void): AsyncGenerator<Change> {
  const query = { after, kinds: 'conversation,message', include: 'none', wait: limits.changesWaitSecondsMax };
  const headers = { accept: 'application/x-ndjson' };
  for await (const line of readLines(pathOf(['admin', 'changes'], query), { signal, headers })) {
    heard();
    if (line === '') continue;
    const change = JSON.parse(line) as Change;
    if (collected.length === 0) setTimeout(flush, collectMillis);
    collected.push(change);
    yield change;
  }
}

function flush(): void {
  const changes = collected;
  collected = [];
  for (const { changed } of listeners) changed(changes);
}

function setStale(isStale: boolean): void {
  for (const { setStale } of listeners) setStale(isStale);
}

/** Calls a function when conversations or messages have changed; returns whether the service cannot be reached. */
export function useChanges(changed: (changes: Changes) => void): boolean {
  const [isStale, setStale] = useState(false);
  const latest = useRef(changed);
  latest.current = changed;
  useEffect(() => {
    const listener = { changed: (changes: Changes) => latest.current(changes), setStale };
    listeners.add(listener);
    update();
    return () => {
      listeners.delete(listener);
      update();
    };
  }, []);
  return isStale;
}
