import type { Store } from './store.ts';

/** Which keys were used, and when: remembered while requests come, noted in the store now and then, many at once. */
export class LastUsed {
  /** Seconds by the key's id. */
  #uses = new Map<string, number>();

  add(key_id: string, now: number): void {
    this.#uses.set(key_id, now);
  }

  /** What cannot be noted now is noted next time. */
  async note(store: Store): Promise<void> {
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
