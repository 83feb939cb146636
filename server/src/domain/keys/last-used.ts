import type { Store } from '../store/store.ts';

/** The times when keys were last used. They are collected in memory and written to the store in batches. */
export class LastUsed {
  /** Epoch seconds by key id. */
  #uses = new Map<string, number>();

  add(key_id: string, now: number): void {
    this.#uses.set(key_id, now);
  }

  /** If this fails, the times are stored with the next batch. */
  async save(store: Store): Promise<void> {
    const uses = this.#uses;
    if (uses.size === 0) return;
    this.#uses = new Map();
    try {
      await store.noteKeyUse(uses);
    } catch (error) {
      this.#uses = new Map([...uses, ...this.#uses]);
      throw error;
    }
  }
}
