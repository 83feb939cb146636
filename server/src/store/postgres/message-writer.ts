import { type FindTarget, recheckReferences } from '../../domain/import/check-references.ts';
import { keepStored, storedUsage } from '../../domain/records/prepared-record.ts';
import { identityOf } from '../../domain/records/record-kinds.ts';
import type { ReferenceTarget } from '../../domain/store/store.ts';
import { UsageTally } from '../accounting/usage-tally.ts';
import type { SpooledOf } from '../records/spool.ts';
import type { Transaction } from './pool.ts';
import type { NewMessages, Rows, StoredMessage } from './rows.ts';
import { eraseReplaced } from './search.ts';

type Message = SpooledOf<'message'>;
type OpenConversation = ReferenceTarget & { app_id: string; first_sequence: number; first_message_at: number };
type OpenConversations = ReadonlyMap<string, OpenConversation>;

/** Maximum number of sums by day that are in memory before they are written. */
const openDaysMax = 5_000;

/**
 * Writes messages in bulk. Opening a conversation locks it until the end of the transaction: data that is read from it
 * after that does not change, and sums can be written at the end, by `finish`.
 */
export class MessageWriter {
  readonly #tx: Transaction;
  readonly #rows: Rows;
  readonly #usage = new UsageTally();
  /** Conversations with a replaced message that may have been, or may be, the first or the newest one. */
  readonly #reordered = new Set<string>();

  constructor(transaction: Transaction, rows: Rows) {
    this.#tx = transaction;
    this.#rows = rows;
  }

  /** `messages` has each message at most once. */
  async write(messages: readonly Message[]): Promise<void> {
    const open = await this.#openConversations(messages);
    const stored = await this.#findStored(messages, open);
    const find: FindTarget = (_, id) => open.get(id);
    for (const record of messages) {
      recheckReferences(record, find);
      const conversation = open.get(record.conversation_id) as OpenConversation;
      const oldMessage = stored.size === 0 ? undefined : stored.get(identityOf(record));
      if (oldMessage !== undefined) {
        this.#usage.add(conversation, oldMessage.created_at, storedUsage(oldMessage), -1);
        // Opening the conversation has counted the record's time, even if the message keeps the stored one.
        const hasMoved = oldMessage.created_at !== record.created_at;
        if (hasMoved || oldMessage.created_at <= conversation.first_message_at) this.#reordered.add(conversation.id);
        keepStored(record, oldMessage);
      }
      this.#usage.add(conversation, record.created_at, record.usage, 1);
    }
    await this.#insert(messages, open);
    if (stored.size > 0) await this.#erase([...stored.values()]);
    if (this.#usage.size + this.#reordered.size >= openDaysMax) await this.finish();
  }

  /** Writes the sums of usage, and corrects conversations with replaced messages. */
  async finish(): Promise<void> {
    const changed = this.#usage.take();
    if (changed.length > 0) await this.#rows.addDays(this.#tx, changed);
    if (this.#reordered.size > 0) await this.#rows.updateActivity(this.#tx, [...this.#reordered].sort());
    this.#reordered.clear();
  }

  async #openConversations(messages: readonly Message[]): Promise<OpenConversations> {
    const added = new Map<string, NewMessages>();
    for (const message of messages) {
      const { conversation_id, created_at } = message;
      const { newest, oldest } = added.get(conversation_id) ?? { newest: created_at, oldest: message };
      added.set(conversation_id, {
        newest: Math.max(newest, created_at),
        oldest: created_at < oldest.created_at ? message : oldest,
      });
    }
    const sorted = new Map([...added].sort(([one], [other]) => (one < other ? -1 : 1)));
    const opened = await this.#rows.openConversations(this.#tx, sorted, messages.length);
    return new Map(
      opened.map(({ conversation_id: id, app_id, ...rest }) => {
        return [id, { id, parent: app_id, scope: null, app_id, ...rest }];
      }),
    );
  }

  /** The stored versions of these messages. A conversation whose first sequence is 1 has no messages yet. */
  async #findStored(
    messages: readonly Message[],
    open: OpenConversations,
  ): Promise<ReadonlyMap<string, StoredMessage>> {
    const candidates = messages.filter(({ conversation_id }) => (open.get(conversation_id)?.first_sequence ?? 1) > 1);
    if (candidates.length === 0) return new Map();
    const stored = await this.#rows.findMessages(this.#tx, candidates);
    return new Map(stored.map((row) => [identityOf({ record: 'message', ...row } as unknown as Message), row]));
  }

  /** Replaced texts leave the index at once. */
  async #erase(replaced: readonly StoredMessage[]): Promise<void> {
    const conversations = [...new Set(replaced.map(({ conversation_id }) => conversation_id))];
    await this.#tx.query(
      eraseReplaced,
      conversations,
      replaced.map(({ id }) => id),
    );
  }

  #insert(messages: readonly Message[], open: OpenConversations): Promise<void> {
    const rows = messages.map(({ conversation_id, created_at, id, doc, feedback_content, rated_at }, index) => {
      const sequence = (open.get(conversation_id)?.first_sequence ?? 0) + index;
      return { conversation_id, created_at, sequence, id, doc: doc.toString(), feedback_content, rated_at };
    });
    return this.#rows.insertMessages(this.#tx, rows);
  }
}
