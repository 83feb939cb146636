import { type FindTarget, recheckReferences } from '../../domain/check-references.ts';
import { withCreatedAt } from '../../domain/prepared-record.ts';
import { identityOf } from '../../domain/record-kinds.ts';
import type { ReferenceTarget } from '../../domain/store.ts';
import { type UsageFields, usageOf } from '../../domain/usage.ts';
import { newVersion } from '../../domain/version.ts';
import { addDays, dayColumns } from '../accounting/usage-statements.ts';
import { UsageTally } from '../accounting/usage-tally.ts';
import type { Value } from '../engine.ts';
import type { SpooledOf } from '../records/spool.ts';
import type { Transaction } from './pool.ts';
import * as postgres from './statements.ts';

type Message = SpooledOf<'message'>;
type OpenConversation = ReferenceTarget & { app_id: string; first_sequence: number };
type OpenConversations = ReadonlyMap<string, OpenConversation>;
type StoredMessage = UsageFields & { created_at: number };

/** Maximum number of sums by day that are in memory before they are written. */
const openDaysMax = 5_000;

/**
 * Writes messages in bulk. Opening a conversation locks it until the end of the transaction: data that is read from it
 * after that does not change, and sums can be written at the end, by `finish`.
 */
export class MessageWriter {
  readonly #tx: Transaction;
  readonly #usage = new UsageTally();
  /** Conversations with a message whose time has changed. */
  readonly #moved = new Set<string>();

  constructor(transaction: Transaction) {
    this.#tx = transaction;
  }

  /** `messages` has each message at most once. */
  async write(messages: readonly Message[]): Promise<void> {
    const open = await openConversations(this.#tx, messages);
    const stored = await findStored(this.#tx, messages, open);
    const find: FindTarget = (_, id) => open.get(id);
    for (const record of messages) {
      recheckReferences(record, find);
      const conversation = open.get(record.conversation_id) as OpenConversation;
      const oldMessage = stored.size === 0 ? undefined : stored.get(identityOf(record));
      if (oldMessage !== undefined) {
        this.#usage.add(conversation, oldMessage.created_at, usageOf(oldMessage), -1);
        if (oldMessage.created_at !== record.created_at) this.#moved.add(conversation.id);
        if (record.keeps_created_at) keepTime(record, oldMessage.created_at);
      }
      this.#usage.add(conversation, record.created_at, record.usage, 1);
    }
    await insert(this.#tx, messages, open);
    if (this.#usage.size + this.#moved.size >= openDaysMax) await this.finish();
  }

  /** Writes the sums of usage, and the last activity of conversations whose messages have moved. */
  async finish(): Promise<void> {
    const changed = this.#usage.take();
    const columns = dayColumns.map((column) => changed.map((row) => row[column]));
    if (changed.length > 0) await this.#tx.query(addDays, ...(columns as unknown as Value[]));
    if (this.#moved.size > 0) await this.#tx.query(postgres.updateActivity, [...this.#moved].sort());
    this.#moved.clear();
  }
}

async function openConversations(transaction: Transaction, messages: readonly Message[]): Promise<OpenConversations> {
  const newest = new Map<string, number>();
  for (const { conversation_id, created_at } of messages) {
    newest.set(conversation_id, Math.max(newest.get(conversation_id) ?? created_at, created_at));
  }
  const ids = [...newest.keys()].sort();
  const times = JSON.stringify(Object.fromEntries(newest));
  const rows = await transaction.query(postgres.openConversations, ids, messages.length, newVersion(), times);
  return new Map(
    rows.map((row) => {
      const { conversation_id: id, app_id, first_sequence } = row as Message & Omit<OpenConversation, 'id'>;
      return [id, { id, parent: app_id, scope: null, app_id, first_sequence }];
    }),
  );
}

/** The stored versions of these messages. A conversation whose first sequence is 1 has no messages yet. */
async function findStored(
  transaction: Transaction,
  messages: readonly Message[],
  open: OpenConversations,
): Promise<ReadonlyMap<string, StoredMessage>> {
  const candidates = messages.filter(({ conversation_id }) => (open.get(conversation_id)?.first_sequence ?? 1) > 1);
  if (candidates.length === 0) return new Map();
  const [conversations, ids] = [
    candidates.map(({ conversation_id }) => conversation_id),
    candidates.map(({ id }) => id),
  ];
  const rows = await transaction.query(postgres.findMessages, conversations, ids);
  return new Map(rows.map((row) => [identityOf({ record: 'message', ...row } as Message), row as StoredMessage]));
}

/** A message written again without its time keeps the stored time. */
function keepTime(record: Message, created_at: number): void {
  if (record.created_at === created_at) return;
  record.doc = withCreatedAt(record.doc, created_at);
  record.created_at = created_at;
}

async function insert(transaction: Transaction, messages: readonly Message[], open: OpenConversations): Promise<void> {
  const columns = [
    messages.map(({ conversation_id }) => conversation_id),
    messages.map(({ created_at }) => created_at),
    messages.map(({ conversation_id }, index) => (open.get(conversation_id)?.first_sequence ?? 0) + index),
    messages.map(({ id }) => id),
    messages.map(({ doc }) => doc.toString()),
  ];
  await transaction.query(postgres.insertMessages, ...(columns as unknown as Value[]));
}
