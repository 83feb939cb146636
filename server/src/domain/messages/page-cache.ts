import { RecentKeys } from '../recent-keys.ts';
import { RecentMap } from '../recent-map.ts';
import type { TextKey } from '../text-key.ts';

/** A rendered page, and the version of its conversation that it shows. */
export type MessagePage = {
  kind: 'whole';
  version: string;
  /** Identifies the content of this page. It is never used for other content. */
  tag: string;
  /** `first_id` for the page of older messages; undefined if there are none. */
  next: string | undefined;
  /** The JSON text is head, docs, tail. In a page that was just read, `docs` is the buffer that the store returned. */
  head: string;
  /** The only data in its ArrayBuffer. */
  docs: Uint8Array;
  tail: string;
  /** Whether other requests may use it too. Otherwise it belongs to the one request that read it. */
  isCached: boolean;
};

/** A page without its content, for a client that already has the content. */
export type PageTag = { kind: 'tag'; tag: string };

/** A page larger than this part of the cache would evict too many others. */
const pageShareMax = 1 / 16;
/** Number of entries that consist of a tag only. */
const tagsMin = 10_000;
/** A page counts as requested again if no more pages were read in between than about fit into the cache, within these bounds. */
const repeatReads = { min: 1_000, max: 10_000 };
const typicalPageBytes = 65_536;

/** `text`: of its key; `isUsed`: whether a caller has got the page, and may still be sending it. */
type CachedPage = { text: string; page: MessagePage; dataVersion: number | undefined; isUsed: boolean };
type CachedTag = { page: PageTag; dataVersion: number | undefined };

/**
 * Recently read pages, bounded in bytes. A stale page is never served: `current` compares the data version at which the
 * page was read, and a caller of `get` queries the store for the conversation's version. A page is cached only when it is
 * requested a second time, so that reading through a long history evicts nothing. If it is too large then, or was not read
 * because the client has it, only its tag is cached.
 */
export class PageCache {
  readonly #bytesMax: number;
  /** By the hashes of their keys, the least recently used first. */
  readonly #pages = new Map<number, CachedPage>();
  readonly #tags = new RecentMap<CachedTag>(tagsMin);
  readonly #requested: RecentKeys;
  #bytes = 0;

  /** With 0 bytes only tags are cached. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
    const reads = Math.min(Math.max(bytesMax / typicalPageBytes, repeatReads.min), repeatReads.max);
    this.#requested = new RecentKeys(reads);
  }

  /** The page, or only its tag, if the database has not changed since it was read. */
  current(key: TextKey, dataVersion: number | undefined): MessagePage | PageTag | undefined {
    if (dataVersion === undefined) return undefined;
    const entry = this.#find(key);
    if (entry !== undefined) return entry.dataVersion === dataVersion ? this.#use(key, entry) : undefined;
    const cachedTag = this.#tags.get(key);
    return cachedTag?.dataVersion === dataVersion ? cachedTag?.page : undefined;
  }

  /** The page in the version that was last read, which may be out of date. */
  get(key: TextKey): MessagePage | undefined {
    const entry = this.#find(key);
    return entry && this.#use(key, entry);
  }

  /** Adds a page that was read, or found unchanged, at a data version. */
  set(key: TextKey, page: MessagePage | PageTag, dataVersion: number | undefined): void {
    const entry = this.#find(key);
    if (entry?.page === page) {
      entry.dataVersion = dataVersion;
      return;
    }
    const isRepeat = this.#requested.add(key) || entry !== undefined;
    if (!isRepeat) return;
    this.#remove(key.hash);
    if (page.kind === 'tag' || page.docs.length > this.#bytesMax * pageShareMax) {
      this.#tags.set(key, { page: { kind: 'tag', tag: page.tag }, dataVersion });
      return;
    }
    this.#tags.delete(key);
    const joined = inOneBuffer(page);
    this.#pages.set(key.hash, { text: key.text, page: joined, dataVersion, isUsed: false });
    this.#bytes += joined.docs.length;
    for (const oldest of this.#pages.keys()) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#remove(oldest);
    }
  }

  #find({ text, hash }: TextKey): CachedPage | undefined {
    const entry = this.#pages.get(hash);
    return entry?.text === text ? entry : undefined;
  }

  /** Keeps the map in order of use. */
  #use({ hash }: TextKey, entry: CachedPage): MessagePage {
    this.#pages.delete(hash);
    this.#pages.set(hash, entry);
    entry.isUsed = true;
    return entry.page;
  }

  #remove(hash: number): void {
    const entry = this.#pages.get(hash);
    if (entry === undefined) return;
    this.#pages.delete(hash);
    this.#bytes -= entry.page.docs.length;
    if (!entry.isUsed) free(entry.page.docs);
  }
}

/** A page in one buffer is sent fastest. */
function inOneBuffer(page: MessagePage): MessagePage {
  const docs = new Uint8Array(page.head.length + page.docs.length + page.tail.length);
  docs.set(encoder.encode(page.head));
  docs.set(page.docs, page.head.length);
  docs.set(encoder.encode(page.tail), page.head.length + page.docs.length);
  return { ...page, head: '', docs, tail: '', isCached: true };
}

const encoder = new TextEncoder();

/**
 * Releases memory immediately. Otherwise pages that are read once make the garbage collector scan the whole heap every few
 * hundred requests, which costs as much as reading them.
 */
export function free({ buffer }: Uint8Array): void {
  (buffer as ArrayBuffer).transfer(0);
}
