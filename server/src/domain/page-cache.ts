import { RecentMap } from './recent-map.ts';

/** A page as it was rendered, and the version of its conversation that it shows. */
export type MessagePage = {
  version: string;
  /** Names this page's content for ever: it is never given to other content. */
  tag: string;
  /** Where the next older page starts; undefined when none is left. */
  next: string | undefined;
  /** The JSON text is head, docs, tail. What was just read stands in `docs` as it came out of the store. */
  head: string;
  /** Nothing else lies in its ArrayBuffer. */
  docs: Uint8Array;
  tail: string;
  /** Out of the cache. One that is not belongs to whoever was given it, alone. */
  isKept: boolean;
};

/** A page that the caller holds: only its name is known, or needed. */
export type HeldPage = { tag: string; docs: undefined };

/** A page larger than this part of the cache would push out too many others. */
const pageShareMax = 1 / 16;
/** Pages of which only the tag is remembered. */
const tagsMin = 10_000;
/** A page that was read this many pages ago is no longer asked for again, but anew: so many fit into the cache. */
const againMax = 2_000;

type Kept = { page: MessagePage; mark: number | undefined };
type Tagged = { page: HeldPage; mark: number | undefined; read: number };

/**
 * Pages that were read lately, bounded in bytes. It cannot give out a stale one: a page is taken by the mark of the
 * database that it was found under, or else whoever takes it asks the store whether the conversation still has its
 * version. A page is kept when it is soon asked for again, so that walking through a long history pushes nothing
 * out; before that its tag is remembered.
 */
export class PageCache {
  readonly #bytesMax: number;
  readonly #pages = new Map<string, Kept>();
  readonly #tags = new RecentMap<Tagged>(tagsMin);
  #bytes = 0;
  #reads = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** The page, or its tag alone, where the database has not changed since it was found. */
  current(key: string, dataVersion: number | undefined): MessagePage | HeldPage | undefined {
    if (dataVersion === undefined) return undefined;
    const entry = this.#pages.get(key);
    if (entry !== undefined) return entry.mark === dataVersion ? this.#use(key, entry) : undefined;
    const tag = this.#tags.get(key);
    return tag?.mark === dataVersion ? tag?.page : undefined;
  }

  get(key: string): MessagePage | undefined {
    const entry = this.#pages.get(key);
    return entry && this.#use(key, entry);
  }

  /** A page as it was found under a mark. */
  set(key: string, page: MessagePage | HeldPage, dataVersion: number | undefined): void {
    const entry = this.#pages.get(key);
    if (entry?.page === page) {
      entry.mark = dataVersion;
      return;
    }
    this.#reads += 1;
    const tagged = this.#tags.get(key);
    const isAgain = entry !== undefined || (tagged !== undefined && this.#reads - tagged.read <= againMax);
    if (entry !== undefined) this.#remove(key);
    if (page.docs === undefined || !isAgain || page.docs.length > this.#bytesMax * pageShareMax) {
      this.#tags.set(key, { page: { tag: page.tag, docs: undefined }, mark: dataVersion, read: this.#reads });
      return;
    }
    this.#tags.delete(key);
    const kept = inOnePiece(page);
    this.#pages.set(key, { page: kept, mark: dataVersion });
    this.#bytes += kept.docs.length;
    for (const oldest of this.#pages.keys()) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#remove(oldest);
    }
  }

  /** The least recently used stand first. */
  #use(key: string, entry: Kept): MessagePage {
    this.#pages.delete(key);
    this.#pages.set(key, entry);
    return entry.page;
  }

  #remove(key: string): void {
    this.#bytes -= this.#pages.get(key)?.page.docs.length ?? 0;
    this.#pages.delete(key);
  }
}

/** As it is sent fastest. */
function inOnePiece(page: MessagePage): MessagePage {
  const docs = new Uint8Array(page.head.length + page.docs.length + page.tail.length);
  docs.set(encoder.encode(page.head));
  docs.set(page.docs, page.head.length);
  docs.set(encoder.encode(page.tail), page.head.length + page.docs.length);
  return { ...page, head: '', docs, tail: '', isKept: true };
}

const encoder = new TextEncoder();
