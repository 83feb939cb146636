import type { FastifyBaseLogger } from 'fastify';
import { limits } from '../contract/limits.ts';
import type { LastUsed } from '../domain/last-used.ts';
import type { Store } from '../domain/store.ts';
import { epochSeconds } from './command.ts';

const secondsPerDay = 86_400;

type Options = { store: Store; uses: LastUsed; audit_days: number; logger: FastifyBaseLogger };

/** Background tasks: storing when keys were last used, and deleting old audit entries and sessions. */
export function startMaintenance({ store, uses, audit_days, logger }: Options): { end: () => Promise<void> } {
  const attempt = (task: string, work: Promise<unknown>) =>
    work.catch((error: Error) => logger.debug({ cause: String(error.cause ?? error.message) }, `cannot ${task} now`));
  const storeUses = () => attempt('store when keys were last used', uses.save(store));
  const trimAudit = () =>
    attempt('delete old audit entries', store.trimAudit(epochSeconds() - audit_days * secondsPerDay));
  const trimSessions = () => attempt('delete expired sessions', store.sessions.trim(epochSeconds()));
  const trim = () => Promise.all([trimAudit(), trimSessions()]);
  const timers = [setInterval(storeUses, limits.lastUsedIntervalMillis), setInterval(trim, limits.trimIntervalMillis)];
  for (const timer of timers) timer.unref();
  void trim();
  return {
    end: async () => {
      for (const timer of timers) clearInterval(timer);
      await storeUses();
    },
  };
}
