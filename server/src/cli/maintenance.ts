import type { FastifyBaseLogger } from 'fastify';
import { limits } from '../contract/limits.ts';
import type { LastUsed } from '../domain/last-used.ts';
import type { Store } from '../domain/store.ts';
import { epochSeconds } from './command.ts';

const secondsPerDay = 86_400;

export type Upkeep = { store: Store; uses: LastUsed; audit_days: number; logger: FastifyBaseLogger };

/** What the service does beside answering: notes which keys were used, and forgets what need not be kept. */
export function startMaintenance({ store, uses, audit_days, logger }: Upkeep): { end: () => Promise<void> } {
  const attempt = (what: string, work: Promise<unknown>) =>
    work.catch((error: Error) => logger.debug({ cause: String(error.cause ?? error.message) }, `cannot ${what} now`));
  const noteUses = () => attempt('note which keys were used', uses.note(store));
  const trimAudit = () =>
    attempt('forget old entries of the audit', store.trimAudit(epochSeconds() - audit_days * secondsPerDay));
  const trimSessions = () => attempt('forget sessions of the console', store.sessions.trim(epochSeconds()));
  const trim = () => Promise.all([trimAudit(), trimSessions()]);
  const timers = [setInterval(noteUses, limits.keyUseMillis), setInterval(trim, limits.trimMillis)];
  for (const timer of timers) timer.unref();
  void trim();
  return {
    end: async () => {
      for (const timer of timers) clearInterval(timer);
      await noteUses();
    },
  };
}
