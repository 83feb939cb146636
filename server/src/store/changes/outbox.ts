import type { ChangeKind } from '../../contract/change.ts';
import type { AuditEntry } from '../../domain/store/audit.ts';
import { addToEntries, entryValues, newEntryId, writeEntries } from '../accounting/audit.ts';
import { addUsage, type UsageOfDay } from '../accounting/usage-tally.ts';
import type { SpooledRecord } from '../base/spooled-record.ts';
import { announceEntry, type OutboxEntry, type Write, writeOutbox, writeRows } from '../base/statement.ts';

/** Ids in one row of the outbox. */
const changeIdsMax = 500;

/**
 * Which records a transaction has changed, for the change feed. A transaction writes them to the outbox. They get
 * their positions later (`sequencing.ts`), so writers never wait for each other.
 */

/** An outbox entry of a transaction that is not committed yet, and its time in seconds. */
export type PendingEntry = { entry: OutboxEntry; at: number };

export const changedChunk = (dataset_id: string, id: string): OutboxEntry => ['child_chunk', dataset_id, null, [id]];
export const changedConversation = (app_id: string, id: string): OutboxEntry => ['conversation', '', app_id, [id]];
const inConversation =
  (kind: 'message' | 'review') =>
  (conversation_id: string, id: string): OutboxEntry => [kind, conversation_id, null, [id]];
export const changedMessage = inConversation('message');
/** It has the id of its message. */
export const changedReview = inConversation('review');
/**
 * An erasure has an entry of its own, which is always gone: the conversation may have been created again when a reader comes
 * back, who would keep its erased messages. Its scope has the app: it may have been created again in another one.
 */
export const erasedConversation = (app_id: string, id: string): OutboxEntry => [
  'conversation',
  `erased ${app_id}`,
  app_id,
  [id],
];
export const isErasure = ({ kind, scope }: { kind: ChangeKind; scope: string }): boolean =>
  kind === 'conversation' && scope !== '';
/** Whether the scope of a record is its conversation. */
export const isInConversation = (kind: ChangeKind): boolean => kind === 'message' || kind === 'review';

/**
 * In the order of the columns of `change_outbox`. The scope is the distribution value of all records of the entries, if they
 * have only one: the row is committed on their shard, together with them.
 */
export function outboxValues(entries: readonly OutboxEntry[], at: number): [string, string, number, string] {
  const id = newEntryId();
  return [id, shardOf(entries) ?? id, at, JSON.stringify(entries)];
}

/** Whether a row of the outbox may be committed on its node before its records are committed on theirs. */
export const isOnSeveralShards = ({ id, scope }: { id: string; scope: string }): boolean => scope === id;

/** Undefined if the records are on several shards, or on every node. */
function shardOf(entries: readonly OutboxEntry[]): string | undefined {
  const shards = new Set<string | undefined>();
  for (const [kind, scope, , ids] of entries) {
    if (kind === 'conversation') for (const id of ids) shards.add(id);
    else shards.add(isOnEveryNode(kind) ? undefined : scope);
    if (shards.size > 1) return undefined;
  }
  return [...shards][0];
}

const isOnEveryNode = (kind: ChangeKind): boolean =>
  kind === 'workspace' || kind === 'app' || kind === 'dataset' || kind === 'model_provider';

export const insertOutbox = 'INSERT INTO change_outbox (id, scope, at, entries) VALUES (?, ?/*@*/, ?, ?)';

export class OutboxTally {
  readonly #entries = new Map<string, OutboxEntry>();
  #ids = 0;

  get isFull(): boolean {
    return this.#ids >= changeIdsMax;
  }

  addRecord(record: SpooledRecord): void {
    const entry = outboxEntryOf(record);
    if (entry !== undefined) this.add(entry);
  }

  add([kind, scope, owner, ids]: OutboxEntry): void {
    const key = `${kind} ${scope} ${owner}`;
    const entry = this.#entries.get(key);
    if (entry === undefined) this.#entries.set(key, [kind, scope, owner, [...ids]]);
    else entry[3].push(...ids);
    this.#ids += ids.length;
  }

  /** The entries since the last call. */
  take(): OutboxEntry[] {
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    this.#ids = 0;
    return entries;
  }
}

/** Undefined for records that the feed does not list. */
function outboxEntryOf(record: SpooledRecord): OutboxEntry | undefined {
  switch (record.record) {
    case 'workspace':
      return ['workspace', '', null, [record.id]];
    case 'app':
    case 'dataset':
      return [record.record, '', record.id, [record.id]];
    case 'model_provider':
      return ['model_provider', record.workspace_id, null, [record.provider]];
    case 'document':
    case 'segment':
    case 'child_chunk':
      return [record.record, record.dataset_id, null, [record.id]];
    case 'conversation':
      return changedConversation(record.app_id, record.id);
    case 'message':
      return changedMessage(record.conversation_id, record.id);
    case 'review':
      return changedReview(record.conversation_id, record.message_id);
    default:
      return undefined;
  }
}

/** The entries of a write in the audit log, the feed and the totals. The versions of the changed rows are already replaced. */
export type Change = {
  audit: readonly AuditEntry[];
  /** An earlier transaction may have written the entry: then these numbers are added to it. */
  addsToEntry?: boolean;
  /** The records that readers of the change feed have to read again. Keys are not in the feed. */
  outbox: readonly OutboxEntry[];
  at: number;
  /** The distribution value of the changed rows: the audit entries are on their node then. */
  shard?: string | undefined;
  /** For writes of child chunks by API requests. */
  document_id?: string;
  usage?: readonly UsageOfDay[];
};

/** Every write of records ends with it, inside its transaction. */
export function* changed(change: Change): Write<void> {
  const { audit, addsToEntry = false, outbox, at, shard, document_id, usage = [] } = change;
  yield* addUsage(usage);
  const [first] = audit;
  if (first !== undefined && !addsToEntry) yield* announceEntry(first.id, shard ?? first.id);
  yield* writeRows(
    addsToEntry ? addToEntries : writeEntries,
    audit.map((entry) => entryValues(entry, shard, document_id)),
  );
  yield* writeOutbox({ entries: outbox, at, isLarge: false });
}
