import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../../contract/limits.ts';
import type { AppRetention, Erasure } from '../../domain/store/erasure.ts';
import { newEntryId } from '../accounting/audit.ts';
import { emptyMarkedLog, findValue, readCopies, rebuildMarkedFile, whereCopiesAre } from '../base/copies.ts';
import type { Engine, Reader } from '../base/engine.ts';
import * as sql from './statements.ts';

/** Other writes pass between two attempts to empty the log. */
const pauseMillis = 250;

const epochSeconds = (): number => Math.floor(Date.now() / 1000);

/** `end` waits for a rebuild of the file that has begun. */
type SqlErasure = Erasure & { end(): Promise<void> };

/** Erasures, on either engine. `readMany`: for statements that read many rows, or large ones. */
export function sqlErasure(engine: Engine, readMany: Reader): SqlErasure {
  const { dialect, read } = engine;
  const countConversations: Erasure['countConversations'] = async (selection) => {
    const [{ n, held } = { n: 0, held: 0 }] = await readMany(...sql.countConversations(selection));
    return { conversations: n, held };
  };
  return {
    countConversations,
    count: async (selection) => {
      const conversations = await countConversations(selection);
      const [messages] = await readMany(...sql.countMessages(selection));
      return { ...conversations, messages: messages?.n ?? 0 };
    },
    erase: erase(engine),
    ...cleaning(engine),
    findTombstones: async (ids) => (ids.length === 0 ? [] : read(sql.findTombstones(dialect), dialect.list(ids))),
    findUnsent: (limit) => read(sql.findUnsent, limit),
    listRetention: async (app_id) => {
      const rows: AppRetention[] = [];
      for (const app of await readMany(...sql.listApps(app_id))) {
        const [oldest] = await read(sql.findOldestActivity, app.app_id);
        rows.push({ ...app, oldest_activity: oldest?.at ?? null });
      }
      return rows;
    },
    readRetentionDays: async () => Number((await read(findValue, sql.retentionDays))[0]?.value ?? 0),
  };
}

const erase =
  (engine: Engine): Erasure['erase'] =>
  async (selection, eraser, signal) => {
    const audit_id = newEntryId();
    const erased = { conversations: 0, messages: 0 };
    for (let hasMore = true; hasMore && !signal?.aborted; ) {
      const input = { selection, eraser, audit_id };
      const part = await engine.write('eraseConversations', input, { waitForever: true });
      erased.conversations += part.conversations;
      erased.messages += part.messages;
      hasMore = part.hasMore;
    }
    // Each transaction has added to the entry: its numbers are right even if one was repeated, unless a commit is incomplete.
    const [entry = erased] = await engine.read(sql.findErasedCounts, audit_id, audit_id);
    const counts = entry.conversations < erased.conversations ? erased : entry;
    return { ...counts, audit_id: counts.conversations === 0 ? null : audit_id };
  };

function cleaning(engine: Engine): Pick<SqlErasure, 'clean' | 'emptyLog' | 'readCopies' | 'end'> {
  const { leavesCopies } = engine.dialect;
  let rebuilding: Promise<void> = Promise.resolve();
  const emptyLog = async () => !leavesCopies || emptyMarkedLog(engine, epochSeconds());
  const cleanUntil = async (deadline: number): Promise<boolean> => {
    // One after another: a rebuild that has begun may not remove what was erased meanwhile.
    rebuilding = rebuilding.catch(() => undefined).then(() => rebuildMarkedFile(engine));
    await rebuilding;
    while (!(await emptyLog())) {
      if (performance.now() + pauseMillis > deadline) return false;
      await sleep(pauseMillis);
    }
    return true;
  };
  return {
    clean: async () => {
      if (!leavesCopies) return [];
      const cleaned = cleanUntil(performance.now() + limits.cleanMillisMax);
      cleaned.catch(() => undefined);
      const isClean = await Promise.race([cleaned, sleep(limits.cleanMillisMax, false, { ref: false })]);
      return whereCopiesAre(engine, isClean);
    },
    emptyLog,
    readCopies: async () => (leavesCopies ? readCopies(engine) : undefined),
    end: () => rebuilding.catch(() => undefined),
  };
}
