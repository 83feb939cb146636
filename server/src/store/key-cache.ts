import type { StoredKey } from '../domain/store.ts';

const entriesMax = 10_000;

/** Remembers for a few seconds which keys exist, and which do not. */
export class KeyCache {
  readonly #millis: number;
  readonly #entries = new Map<string, { until: number; key: Promise<StoredKey | undefined> }>();

  constructor(millis: number) {
    this.#millis = millis;
  }

  /** Requests that come while an answer is on its way share it. */
  find(digest: string, ask: () => Promise<StoredKey | undefined>): Promise<StoredKey | undefined> {
    if (this.#millis === 0) return ask();
    const now = performance.now();
    const entry = this.#entries.get(digest);
    if (entry !== undefined && entry.until > now) return entry.key;
    this.#entries.delete(digest);
    if (this.#entries.size >= entriesMax) this.#dropOldest();
    const key = ask();
    this.#entries.set(digest, { until: now + this.#millis, key });
    // A failure is no answer, and is not remembered.
    key.catch(() => this.#entries.delete(digest));
    return key;
  }

  /** A key was written or revoked through this instance: what is remembered, or on its way, counts no more. */
  clear(): void {
    this.#entries.clear();
  }

  #dropOldest(): void {
    for (const digest of this.#entries.keys()) {
      this.#entries.delete(digest);
      return;
    }
  }
}
