import { badRecord, withCreatedAt } from '../../domain/prepared-record.ts';
import { type UsageFields, usageOf } from '../../domain/usage.ts';
import { newVersion } from '../../domain/version.ts';
import { addDays, dayColumns } from '../accounting/usage-statements.ts';
import { UsageTally } from '../accounting/usage-tally.ts';
import type { Value } from '../engine.ts';
import type { SpooledOf } from '../records/spool.ts';
import type { Transaction } from './pool.ts';
import * as postgres from './statements.ts';

type Message = SpooledOf<'message'>;
type Opened = { id: string; app_id: string; first_sequence: number };
type Stored = UsageFields & { created_at: number };

const keyOf = ({ conversation_id, id }: { conversation_id: string; id: string }) => `${conversation_id} ${id}`;

/** Days whose sums are held in memory before they are written. */
const openDaysMax = 5_000;

/**
 * Writes messages in bulk. Opening their conversations holds them to the end of the transaction: what is read of them after
 * that stands, and what is added up may wait until `finish`.
 */
export class MessageWriter {
  readonly #tx: Transaction;
  readonly #usage = new UsageTally();
  readonly #moved = new Set<string>();

  constructor(transaction: Transaction) {
    this.#tx = transaction;
  }

  /** None of them twice. */
  async write(run: readonly Message[]): Promise<void> {
    const opened = await openConversations(this.#tx, run);
    const stored = await findStored(this.#tx, run, opened);
    for (const record of run) {
      const conversation = opened.get(record.conversation_id);
      if (conversation === undefined) throw badRecord(record, 'conversation_id does not exist');
      const before = stored.get(keyOf(record));
      if (before !== undefined) {
        this.#usage.add(conversation, before.created_at, usageOf(before), -1);
        if (before.created_at !== record.created_at) this.#moved.add(conversation.id);
        if (record.keeps_created_at) keepTime(record, before.created_at);
      }
      this.#usage.add(conversation, record.created_at, record.usage, 1);
    }
    await insert(this.#tx, run, opened);
    if (this.#usage.size + this.#moved.size >= openDaysMax) await this.finish();
  }

  /** Adds up what was used, and settles when conversations were last active whose messages have moved. */
  async finish(): Promise<void> {
    const changed = this.#usage.take();
    const columns = dayColumns.map((column) => changed.map((row) => row[column]));
    if (changed.length > 0) await this.#tx.query(addDays, ...(columns as unknown as Value[]));
    if (this.#moved.size > 0) await this.#tx.query(postgres.settleActivity, [...this.#moved].sort());
    this.#moved.clear();
  }
}

async function openConversations(
  transaction: Transaction,
  run: readonly Message[],
): Promise<ReadonlyMap<string, Opened>> {
  const newest = new Map<string, number>();
  for (const { conversation_id, created_at } of run) {
    newest.set(conversation_id, Math.max(newest.get(conversation_id) ?? created_at, created_at));
  }
  // In one order, so that two that open the same ones do not wait for each other.
  const ids = [...newest.keys()].sort();
  const times = JSON.stringify(Object.fromEntries(newest));
  const rows = await transaction.query(postgres.openConversations, ids, run.length, newVersion(), times);
  return new Map(rows.map(({ conversation_id: id, ...row }) => [id as string, { id, ...row } as Opened]));
}

/** A conversation that is opened for the first time has no messages. */
async function findStored(
  transaction: Transaction,
  run: readonly Message[],
  opened: ReadonlyMap<string, Opened>,
): Promise<ReadonlyMap<string, Stored>> {
  const asked = run.filter(({ conversation_id }) => (opened.get(conversation_id)?.first_sequence ?? 1) > 1);
  if (asked.length === 0) return new Map();
  const [conversations, ids] = [asked.map(({ conversation_id }) => conversation_id), asked.map(({ id }) => id)];
  const rows = await transaction.query(postgres.findMessages, conversations, ids);
  return new Map(rows.map((row) => [keyOf(row as Message), row as Stored]));
}

/** A message written again without its time keeps the stored one. */
function keepTime(record: Message, created_at: number): void {
  if (record.created_at === created_at) return;
  record.doc = withCreatedAt(record.doc, created_at);
  record.created_at = created_at;
}

async function insert(
  transaction: Transaction,
  run: readonly Message[],
  opened: ReadonlyMap<string, Opened>,
): Promise<void> {
  const columns = [
    run.map(({ conversation_id }) => conversation_id),
    run.map(({ created_at }) => created_at),
    run.map(({ conversation_id }, at) => (opened.get(conversation_id)?.first_sequence ?? 0) + at),
    run.map(({ id }) => id),
    run.map(({ doc }) => doc.toString()),
  ];
  await transaction.query(postgres.insertMessages, ...(columns as unknown as Value[]));
}
