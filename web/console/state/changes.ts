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
 * Reads the change feed while the page is visible and some component needs it: one stream for all of them, because a
 * browser opens few connections to a service.
 */
class Feed {
  readonly #listeners = new Set<Listener>();
  #reading: AbortController | undefined;
  #collected: Change[] = [];
  #timer: number | undefined;

  constructor() {
    document.addEventListener('visibilitychange', () => this.#update());
  }

  add(listener: Listener): () => void {
    this.#listeners.add(listener);
    this.#update();
    return () => {
      this.#listeners.delete(listener);
      this.#update();
    };
  }

  #update(): void {
    const isNeeded = this.#listeners.size > 0 && !document.hidden;
    if (isNeeded === (this.#reading !== undefined)) return;
    this.#reading?.abort();
    this.#reading = isNeeded ? new AbortController() : undefined;
    if (this.#reading !== undefined) void this.#follow(this.#reading.signal);
  }

  async #follow(signal: AbortSignal): Promise<void> {
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
          for (const { changed } of this.#listeners) changed([]);
          failures = 0;
          this.#setStale(false);
        }
        for await (const change of this.#read(cursor, either, heard)) cursor = change.cursor;
      } catch (error) {
        const { status } = error as ApiError;
        // 404: the feed is turned off. 401: the session has ended.
        if (signal.aborted || status === 404 || status === 401) return;
        // It starts again, which also shows at once that the service is back.
        cursor = undefined;
        failures += 1;
        this.#setStale(failures >= failuresMin);
        await new Promise((resolve) => setTimeout(resolve, retryMillis));
      } finally {
        clearTimeout(timer);
      }
    }
  }

  /** Changes after a position, until there is none for a while. An empty line only shows that the connection is alive. */
  async *#read(after: string, signal: AbortSignal, heard: () => void): AsyncGenerator<Change> {
    const query = { after, kinds: 'conversation,message', include: 'none', wait: limits.changesWaitSecondsMax };
    const headers = { accept: 'application/x-ndjson' };
    for await (const line of readLines(pathOf(['admin', 'changes'], query), { signal, headers })) {
      heard();
      if (line === '') continue;
      const change = JSON.parse(line) as Change;
      this.#collected.push(change);
      this.#timer ??= setTimeout(() => this.#flush(), collectMillis);
      yield change;
    }
  }

  #flush(): void {
    const changes = this.#collected;
    this.#collected = [];
    this.#timer = undefined;
    for (const { changed } of this.#listeners) changed(changes);
  }

  #setStale(isStale: boolean): void {
    for (const { setStale } of this.#listeners) setStale(isStale);
  }
}

let feed: Feed | undefined;

/** Calls a function when conversations or messages have changed; returns whether the service cannot be reached. */
export function useChanges(changed: (changes: Changes) => void): boolean {
  const [isStale, setStale] = useState(false);
  const latest = useRef(changed);
  latest.current = changed;
  useEffect(() => {
    feed ??= new Feed();
    return feed.add({ changed: (changes) => latest.current(changes), setStale });
  }, []);
  return isStale;
}
