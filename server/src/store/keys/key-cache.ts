import { RecentMap } from '../../domain/recent-map.ts';
import type { KeyLookup, StoredKey } from '../../domain/store/keys.ts';
import { textKey } from '../../domain/text-key.ts';

/** Recently used keys that one instance caches. */
const cachedKeysMin = 5_000;

/** Lifetime of an entry without a data version. A revocation by another instance must take effect within 5 seconds. */
const millisMax = 4_000;

type CachedKey = { lookup: KeyLookup; dataVersion: number | undefined; changes: number; until: number };

/**
 * API keys by the digest of their secret, so that most requests need no query. Digests without a key are cached too. An
 * entry is valid while the data version is the one from before the query; without data versions, for a few seconds, and
 * until a thread of this process changes keys.
 */
export function keyCache(keyChanges: Int32Array<SharedArrayBuffer>) {
  const entries = new RecentMap<CachedKey>(cachedKeysMin);
  return {
    /** Requests that arrive during a query share its result. */
    find: (digest: string, dataVersion: number | undefined, query: () => Promise<StoredKey | undefined>): KeyLookup => {
      const key = textKey(digest);
      const cached = entries.get(key);
      const changes = Atomics.load(keyChanges, 0);
      if (cached?.changes === changes && isValid(cached, dataVersion)) return cached.lookup;
      const until = performance.now() + millisMax;
      const pending = query();
      const entry: CachedKey = { lookup: pending, dataVersion, changes, until };
      entries.set(key, entry);
      pending.then(
        (storedKey) => {
          entry.lookup = storedKey;
        },
        // Failures are not cached.
        () => entries.delete(key),
      );
      return pending;
    },
    /** Call it after this instance has changed keys. Results of queries that are still running are not valid either. */
    invalidate: () => void Atomics.add(keyChanges, 0, 1),
  };
}

function isValid(entry: CachedKey, dataVersion: number | undefined): boolean {
  return dataVersion === undefined ? performance.now() < entry.until : dataVersion === entry.dataVersion;
}
