import type { AppRetention } from '../../contract/erasure.ts';
import type { ErasureCounts } from '../store/erasure.ts';
import type { Store } from '../store/store.ts';

const secondsPerDay = 86_400;

type NamedRetention = AppRetention & { name: string };

type RetentionOptions = {
  /** For apps without a period of their own; 0 for none. */
  days?: number | undefined;
  app_id?: string | undefined;
  /** Instead of the own period of the apps; 0 for none. */
  period?: number | undefined;
};

/** The retention of all apps or one, by id. `now` is in seconds. */
export async function listRetention(
  { erasure }: Store,
  now: number,
  { days, app_id, period }: RetentionOptions,
): Promise<NamedRetention[]> {
  const common = days ?? (await erasure.readRetentionDays());
  const apps: NamedRetention[] = [];
  for (const { retention_days: storedDays, oldest_activity, ...app } of await erasure.listRetention(app_id)) {
    const own = period === undefined ? storedDays : period || null;
    const retention_days = own ?? (common > 0 ? common : null);
    const cutoff = retention_days === null ? undefined : cutoffOf(now, retention_days);
    const isDue = cutoff !== undefined && oldest_activity !== null && oldest_activity < cutoff;
    const due = isDue ? await erasure.countConversations({ app_id: app.app_id, inactive_before: cutoff }) : undefined;
    apps.push({ ...app, retention_days, conversations_due: due?.conversations ?? 0, oldest_activity });
  }
  return apps;
}

const cutoffOf = (now: number, days: number): number => now - days * secondsPerDay;

export type RetainedApp = ErasureCounts & { app_id: string; name: string; retention_days: number };

/**
 * Erases every conversation without activity for longer than the period of its app, and what earlier erasures have left in the
 * file. `retention_days` is the period for apps without one, by default the stored one. Calls `visit` for each app of which something was erased, or for a dry run would be.
 */
export async function retain(
  store: Store,
  options: { now: number; isDry?: boolean; retention_days?: number | undefined; signal?: AbortSignal },
  visit: (app: RetainedApp) => void,
): Promise<void> {
  const { erasure } = store;
  const { now, isDry = false, retention_days: days, signal } = options;
  const apps = await listRetention(store, now, { days });
  for (const { app_id, name, retention_days, conversations_due } of apps) {
    if (retention_days === null || conversations_due === 0 || signal?.aborted) continue;
    const expired = { app_id, inactive_before: cutoffOf(now, retention_days) };
    const { conversations, messages } = isDry
      ? await erasure.count(expired)
      : await erasure.erase(expired, { action: 'retain', key_id: null, now }, signal);
    if (conversations > 0) visit({ app_id, name, retention_days, conversations, messages });
  }
  if (isDry) return;
  await erasure.clean();
  if (!signal?.aborted && apps.some(({ retention_days }) => retention_days !== null))
    await store.run('noteJob', { kind: 'retention', at: now });
}
