import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from './store/store.ts';

/** A holder that has died delays the next one for at most this time. */
const leaseSeconds = 10;

export type Lease = {
  store: Store;
  name: string;
  /** Milliseconds since the epoch. */
  clock: () => number;
  /** Called once when another holder is waited for. */
  onWait: () => void;
};

/**
 * Works while this caller holds a lease, which it waits for. The signal of the work aborts when the lease is lost, because the
 * process stood still for too long: then it is waited for again.
 */
export async function underLease<T>(
  lease: Lease,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { store, name, clock, onWait } = lease;
  const holder = randomUUID();
  const renewMillis = (leaseSeconds * 1000) / 3;
  const seconds = () => Math.floor(clock() / 1000);
  const until = (expires_at: number) => store.run('takeLease', { name, holder, expires_at, now: seconds() });
  const take = () => until(seconds() + leaseSeconds);
  for (let isWaiting = false; ; ) {
    if (!(await take())) {
      if (!isWaiting) onWait();
      isWaiting = true;
      await sleep(renewMillis, undefined, { signal });
      continue;
    }
    isWaiting = false;
    const lost = new AbortController();
    let renewedAt = clock();
    const renew = async () => {
      const isHeld = await take().catch(() => clock() < renewedAt + leaseSeconds * 1000);
      if (isHeld) renewedAt = clock();
      else lost.abort();
    };
    const timer = setInterval(() => void renew(), renewMillis);
    try {
      const result = await work(AbortSignal.any([signal, lost.signal]));
      if (signal.aborted || !lost.signal.aborted) return result;
    } catch (error) {
      if (signal.aborted || !lost.signal.aborted) throw error;
    } finally {
      clearInterval(timer);
      // Another one continues at once.
      if (!lost.signal.aborted) await until(0).catch(() => undefined);
    }
  }
}
