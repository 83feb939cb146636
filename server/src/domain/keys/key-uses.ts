import { limits } from '../../contract/limits.ts';
import type { KeyErrors, Monitoring } from '../store/monitoring.ts';
import type { Store } from '../store/store.ts';

const secondsPerHour = 3_600;
/** The number of the hour, since the epoch, of a time in seconds. */
export const hourOf = (seconds: number): number => Math.floor(seconds / secondsPerHour);

/** The keys with the most failed requests in the last 24 hours, to all instances. `millis` is the current time. */
export const recentKeyErrors = (store: Store, millis: number): ReturnType<Monitoring['sumErrors']> =>
  store.monitoring.sumErrors(hourOf(millis / 1000) - limits.keyErrorHours + 1, limits.keyErrorsMax);

/** When keys were last used, and their failed requests. They are collected in memory and written to the store in batches. */
export class KeyUses {
  /** Epoch seconds by key id. */
  #uses = new Map<string, number>();
  /** By key and hour. */
  #errors = new Map<string, KeyErrors>();

  add(key_id: string, now: number): void {
    this.#uses.set(key_id, now);
  }

  /** A response with a status of 400 or above. */
  addError(key_id: string, status: number, now: number): void {
    const isClient = status < 500;
    const error = { key_id, hour: hourOf(now), client_errors: isClient ? 1 : 0, server_errors: isClient ? 0 : 1 };
    this.#sumUp([error]);
  }

  #sumUp(errors: Iterable<KeyErrors>): void {
    for (const { key_id, hour, client_errors, server_errors } of errors) {
      const group = `${hour} ${key_id}`;
      const sum = this.#errors.get(group) ?? { key_id, hour, client_errors: 0, server_errors: 0 };
      sum.client_errors += client_errors;
      sum.server_errors += server_errors;
      this.#errors.set(group, sum);
    }
  }

  /** What cannot be stored is stored with the next batch. */
  async save(store: Store): Promise<void> {
    await Promise.all([this.#saveUses(store), this.#saveErrors(store)]);
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

  async #saveErrors(store: Store): Promise<void> {
    const errors = this.#errors;
    if (errors.size === 0) return;
    this.#errors = new Map();
    try {
      await store.run('addKeyErrors', [...errors.values()]);
    } catch (error) {
      this.#sumUp(errors.values());
      throw error;
    }
  }
}
