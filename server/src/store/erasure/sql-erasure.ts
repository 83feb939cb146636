import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../../contract/limits.ts';
import type {
  AppRetention,
  CopiesState,
  Erased,
  ErasedCopies,
  Eraser,
  Erasure,
  ErasureCounts,
  ErasureSelection,
  Tombstone,
} from '../../domain/store/erasure.ts';
import { newEntryId } from '../accounting/entry-id.ts';
import { emptyMarkedLog, findValue, readCopies, rebuildMarkedFile, whereCopiesAre } from '../base/copies.ts';
import type { Engine, Reader } from '../base/engine.ts';
import * as sql from './statements.ts';

/** Other writes pass between two attempts to empty the log. */
const pauseMillis = 250;

const epochSeconds = (): number => Math.floor(Date.now() / 1000);

/** Erasures, on either engine. */
export class SqlErasure implements Erasure {
  readonly #engine: Engine;
  /** For statements that read many rows, or large ones. */
  readonly #readMany: Reader;
  /** The last rebuild of the file. */
  #rebuilding: Promise<void> = Promise.resolve();

  constructor(engine: Engine, readMany: Reader) {
    this.#engine = engine;
    this.#readMany = readMany;
  }

  async countConversations(selection: ErasureSelection): Promise<{ conversations: number; held: number }> {
    const [{ n, held } = { n: 0, held: 0 }] = await this.#readMany(...sql.countConversations(selection));
    return { conversations: n, held };
  }

  async count(selection: ErasureSelection): Promise<ErasureCounts & { held: number }> {
    const conversations = await this.countConversations(selection);
    const [messages] = await this.#readMany(...sql.countMessages(selection));
    return { ...conversations, messages: messages?.n ?? 0 };
  }

  async erase(selection: ErasureSelection, eraser: Eraser, signal?: AbortSignal): Promise<Erased> {
    const audit_id = newEntryId();
    const erased = { conversations: 0, messages: 0 };
    for (let hasMore = true; hasMore && !signal?.aborted; ) {
      const input = { selection, eraser, audit_id };
      const part = await this.#engine.write('eraseConversations', input, { waitForever: true });
      erased.conversations += part.conversations;
      erased.messages += part.messages;
      hasMore = part.hasMore;
    }
    // Each transaction has added to the entry: its numbers are right even if one was repeated, unless a commit is incomplete.
    const [entry = erased] = await this.#engine.read(sql.findErasedCounts, audit_id, audit_id);
    const counts = entry.conversations < erased.conversations ? erased : entry;
    return { ...counts, audit_id: counts.conversations === 0 ? null : audit_id };
  }

  async clean(): Promise<ErasedCopies[]> {
    if (!this.#engine.dialect.leavesCopies) return [];
    const deadline = performance.now() + limits.cleanMillisMax;
    const cleaning = this.#clean(deadline);
    cleaning.catch(() => undefined);
    const isClean = await Promise.race([cleaning, sleep(limits.cleanMillisMax, false, { ref: false })]);
    return whereCopiesAre(this.#engine, isClean);
  }

  async #clean(deadline: number): Promise<boolean> {
    // One after another: a rebuild that has begun may not remove what was erased meanwhile.
    this.#rebuilding = this.#rebuilding.catch(() => undefined).then(() => rebuildMarkedFile(this.#engine));
    await this.#rebuilding;
    while (!(await this.emptyLog())) {
      if (performance.now() + pauseMillis > deadline) return false;
      await sleep(pauseMillis);
    }
    return true;
  }

  async emptyLog(): Promise<boolean> {
    return !this.#engine.dialect.leavesCopies || emptyMarkedLog(this.#engine, epochSeconds());
  }

  async readCopies(): Promise<CopiesState | undefined> {
    return this.#engine.dialect.leavesCopies ? readCopies(this.#engine) : undefined;
  }

  /** Waits for a rebuild that has begun. */
  async end(): Promise<void> {
    await this.#rebuilding.catch(() => undefined);
  }

  async findTombstones(conversation_ids: readonly string[]): Promise<Tombstone[]> {
    if (conversation_ids.length === 0) return [];
    const { dialect } = this.#engine;
    return this.#engine.read(sql.findTombstones(dialect), dialect.list(conversation_ids));
  }

  findUnsent(limit: number): Promise<Tombstone[]> {
    return this.#engine.read(sql.findUnsent, limit);
  }

  async listRetention(app_id?: string): Promise<AppRetention[]> {
    const apps = await this.#readMany(...sql.listApps(app_id));
    const rows: AppRetention[] = [];
    for (const app of apps) {
      const [oldest] = await this.#engine.read(sql.findOldestActivity, app.app_id);
      rows.push({ ...app, oldest_activity: oldest?.at ?? null });
    }
    return rows;
  }

  async readRetentionDays(): Promise<number> {
    return Number((await this.#engine.read(findValue, sql.retentionDays))[0]?.value ?? 0);
  }
}
