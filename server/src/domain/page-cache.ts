/** A page as it was rendered, and the version of its conversation that it shows. */
export type CachedPage = { version: string; next: string | undefined; body: Buffer };

/** A page larger than this part of the cache would push out too many others. */
const pageShareMax = 1 / 16;

/**
 * Pages that were read lately, bounded in bytes. It cannot give out a stale one: whoever takes a page from here asks the
 * store in the same breath whether the conversation still has that version.
 */
export class PageCache {
  readonly #bytesMax: number;
  readonly #pages = new Map<string, CachedPage>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get(key: string): CachedPage | undefined {
    const page = this.#pages.get(key);
    if (page === undefined) return undefined;
    // The least recently used stand first.
    this.#pages.delete(key);
    this.#pages.set(key, page);
    return page;
  }

  set(key: string, page: CachedPage): void {
    this.#remove(key);
    if (page.body.length > this.#bytesMax * pageShareMax) return;
    this.#pages.set(key, page);
    this.#bytes += page.body.length;
    for (const oldest of this.#pages.keys()) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#remove(oldest);
    }
  }

  #remove(key: string): void {
    this.#bytes -= this.#pages.get(key)?.body.length ?? 0;
    this.#pages.delete(key);
  }
}
