import { limits } from '../../contract/limits.ts';
import type { KeyRequests, Monitoring } from '../store/monitoring.ts';
import type { Store } from '../store/store.ts';

const secondsPerHour = 3_600;
/** The number of the hour, since the epoch, of a time in seconds. */
export const hourOf = (seconds: number): number => Math.floor(seconds / secondsPerHour);

/** The keys with the most failed requests in the last 24 hours, to all instances. `millis` is the current time. */
export const recentKeyErrors = (store: Store, millis: number): ReturnType<Monitoring['sumErrors']> =>
  store.monitoring.sumErrors(hourOf(millis / 1000) - limits.keyErrorHours + 1, limits.keyErrorsMax);

/** The keys with the number of their requests in the same time. */
export async function withRequests<K extends { id: string }>(store: Store, keys: readonly K[], millis: number) {
  const ids = keys.map(({ id }) => id);
  const sums = await store.monitoring.sumRequests(hourOf(millis / 1000) - limits.keyErrorHours + 1, ids);
  const byKey = new Map(sums.map((sum) => [sum.key_id, sum]));
  return keys.map((key) => {
    const { requests = 0, errors = 0 } = byKey.get(key.id) ?? {};
    return { ...key, requests, errors };
  });
}

/** When keys were last used, and their requests by hour. They are collected in memory and written to the store in batches. */
export class KeyUses {
  /** Epoch seconds by key id. */
  #uses = new Map<string, number>();
  /** By key and hour. */
  #requests = new Map<string, KeyRequests>();

  add(key_id: string, now: number): void {
    this.#uses.set(key_id, now);
  }

  addResponse(key_id: string, status: number, now: number): void {
    const sum = this.#sumOf(key_id, hourOf(now));
    sum.requests += 1;
    if (status >= 500) sum.server_errors += 1;
    else if (status >= 400) sum.client_errors += 1;
  }

  #sumOf(key_id: string, hour: number): KeyRequests {
    const group = `${hour} ${key_id}`;
    let sum = this.#requests.get(group);
    if (sum === undefined) {
      sum = { key_id, hour, requests: 0, client_errors: 0, server_errors: 0 };
      this.#requests.set(group, sum);
    }
    return sum;
  }

  /** What cannot be stored is stored with the next batch. */
  async save(store: Store): Promise<void> {
    await Promise.all([this.#saveUses(store), this.#saveRequests(store)]);
  }

  async #saveUses(store: Store): Promise<void> {
    const uses = this.#uses;
    if (uses.size === 0) return;
    this.#uses = new Map();
    try {
      await store.run('noteKeyUse', [...uses]);
    } catch (error) {
      this.#uses = new Map([...uses, ...this.#uses]);
      throw error;
    }
  }

  async #saveRequests(store: Store): Promise<void> {
    const requests = this.#requests;
    if (requests.size === 0) return;
    this.#requests = new Map();
    try {
      await store.run('addKeyRequests', [...requests.values()]);
    } catch (error) {
      for (const unsaved of requests.values()) {
        const sum = this.#sumOf(unsaved.key_id, unsaved.hour);
        sum.requests += unsaved.requests;
        sum.client_errors += unsaved.client_errors;
        sum.server_errors += unsaved.server_errors;
      }
      throw error;
    }
  }
}
