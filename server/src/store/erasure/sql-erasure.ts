import type {
  AppRetention,
  Erased,
  Eraser,
  Erasure,
  ErasureCounts,
  ErasureSelection,
  Tombstone,
} from '../../domain/store/erasure.ts';
import { newEntryId } from '../accounting/entry-id.ts';
import type { Engine, Reader } from '../base/engine.ts';
import { waitForEmptyLog } from '../base/wait-for-empty-log.ts';
import * as sql from './statements.ts';

const { retentionDays, unclean } = sql.valueNames;

/** Erasures, on either engine. */
export class SqlErasure implements Erasure {
  readonly #engine: Engine;
  /** For statements that count many rows. */
  readonly #count: Reader;

  constructor(engine: Engine, count: Reader) {
    this.#engine = engine;
    this.#count = count;
  }

  async count(selection: ErasureSelection): Promise<ErasureCounts & { held: number }> {
    const [conversations] = await this.#count(...sql.countConversations(selection));
    const [messages] = await this.#count(...sql.countMessages(selection));
    const { n = 0, held = 0 } = conversations ?? {};
    return { conversations: n, messages: messages?.n ?? 0, held };
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

  async clean(): Promise<void> {
    if (!this.#engine.dialect.leavesCopies) return;
    const [mark] = await this.#engine.read(sql.findValue, unclean);
    if (mark === undefined) return;
    const { value } = mark;
    await this.#engine.write('rebuildFile', undefined, { waitForever: true });
    await waitForEmptyLog(this.#engine);
    await this.#engine.write('removeServiceValue', { name: unclean, value }, { waitForever: true });
  }

  async findTombstones(conversation_ids: readonly string[]): Promise<Tombstone[]> {
    if (conversation_ids.length === 0) return [];
    const { dialect } = this.#engine;
    return this.#engine.read(sql.findTombstones(dialect), dialect.list(conversation_ids));
  }

  async listRetention(): Promise<AppRetention[]> {
    const apps = await this.#engine.read(sql.listApps);
    const rows: AppRetention[] = [];
    for (const app of apps) {
      const [oldest] = await this.#engine.read(sql.findOldestActivity, app.app_id);
      rows.push({ ...app, oldest_activity: oldest?.at ?? null });
    }
    return rows;
  }

  async readRetentionDays(): Promise<number> {
    return Number((await this.#engine.read(sql.findValue, retentionDays))[0]?.value ?? 0);
  }
}
