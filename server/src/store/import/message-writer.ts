import { limits } from '../../contract/limits.ts';
import { recheckReferences } from '../../domain/import/check-references.ts';
import { keepStored, storedUsage } from '../../domain/records/prepared-record.ts';
import type { ReferenceTarget } from '../../domain/store/store.ts';
import { addUsage, UsageTally } from '../accounting/usage-tally.ts';
import type { MessageTables, NewMessages, OpenedConversation, StoredMessage } from '../base/message-tables.ts';
import type { SpooledOf } from '../base/spooled-record.ts';
import type { Write } from '../base/statement.ts';
import type { OutboxTally } from '../changes/outbox.ts';
import { reopenReview } from '../reviews/writes.ts';

type Message = SpooledOf<'message'>;
type OpenConversation = ReferenceTarget & OpenedConversation;

/** Maximum number of sums by day that are in memory before they are written. */
const openDaysMax = 5_000;

const messageKeyOf = ({ conversation_id, id }: { conversation_id: string; id: string }): string =>
  `${conversation_id} ${id}`;

/**
 * Writes messages in bulk. Opening a conversation locks it until the end of the transaction: data that is read from it
 * after that does not change, and sums can be written at the end, by `finish`.
 */
export class MessageWriter {
  readonly #tables: MessageTables;
  readonly #outbox: OutboxTally;
  readonly #usage = new UsageTally();
  /** Conversations with a replaced message that may have been, or may be, the first or the newest one. */
  readonly #reordered = new Set<string>();

  constructor(tables: MessageTables, outbox: OutboxTally) {
    this.#tables = tables;
    this.#outbox = outbox;
  }

  /** `messages` has each message at most once. */
  *write(messages: readonly Message[]): Write<void> {
    const open = yield* this.#open(messages);
    for (const record of messages) recheckReferences(record, (_, id) => open.get(id));
    const written = messages.map((message, index) => {
      // A conversation whose first sequence is 1 has no messages yet.
      const { first_sequence, app_id } = required(open, message);
      return { message, app_id, sequence: first_sequence + index, mayExist: first_sequence > 1 };
    });
    const storedList = yield* this.#tables.findStored(written);
    const stored = new Map(storedList.map((message) => [messageKeyOf(message), message]));
    for (const record of messages) {
      const conversation = required(open, record);
      const oldMessage = stored.size === 0 ? undefined : stored.get(messageKeyOf(record));
      if (oldMessage !== undefined) {
        this.#usage.add(conversation, oldMessage.created_at, storedUsage(oldMessage), -1);
        // Opening the conversation has counted the record's time, even if the message keeps the stored one.
        const hasMoved = oldMessage.created_at !== record.created_at;
        if (hasMoved || oldMessage.created_at <= conversation.first_message_at) this.#reordered.add(conversation.id);
        keepStored(record, oldMessage);
      }
      this.#usage.add(conversation, record.created_at, record.usage, 1);
    }
    yield* this.#tables.write(written, storedList);
    for (const message of messages) {
      const before = stored.get(messageKeyOf(message));
      if (before === undefined || !isDislikedAgain(message, before)) continue;
      const { conversation_id, id, rated_at, created_at } = message;
      for (const entry of yield* reopenReview(conversation_id, id, rated_at ?? created_at)) this.#outbox.add(entry);
    }
    if (this.#usage.size + this.#reordered.size >= openDaysMax) yield* this.finish();
  }

  /** Writes the sums of usage, and corrects conversations with replaced messages. */
  *finish(): Write<void> {
    yield* addUsage(this.#usage.take());
    if (this.#reordered.size > 0) yield* this.#tables.updateActivity([...this.#reordered].sort());
    this.#reordered.clear();
  }

  *#open(messages: readonly Message[]): Write<ReadonlyMap<string, OpenConversation>> {
    const added = new Map<string, NewMessages>();
    for (const message of messages) {
      const { conversation_id, created_at } = message;
      const before = added.get(conversation_id);
      const { newest, oldest } = before ?? { newest: created_at, oldest: message };
      added.set(conversation_id, {
        newest: Math.max(newest, created_at),
        oldest: created_at < oldest.created_at ? message : oldest,
        hasLarge: before?.hasLarge === 1 || message.doc.length > limits.joinedDocBytesMax ? 1 : 0,
      });
    }
    const sorted = new Map([...added].sort(([one], [other]) => (one < other ? -1 : 1)));
    const opened = yield* this.#tables.open(sorted, messages.length);
    return new Map(
      opened.map((row) => [row.conversation_id, { id: row.conversation_id, parent: row.app_id, scope: null, ...row }]),
    );
  }
}

/** Whether the message was disliked since it was stored. */
const isDislikedAgain = ({ usage, rated_at }: Message, stored: StoredMessage): boolean =>
  usage.disliked > 0 && (storedUsage(stored).disliked === 0 || (rated_at ?? 0) > (stored.rated_at ?? 0));

function required(open: ReadonlyMap<string, OpenConversation>, { conversation_id }: Message): OpenConversation {
  const conversation = open.get(conversation_id);
  if (conversation === undefined) throw new Error('the conversation was not opened');
  return conversation;
}
