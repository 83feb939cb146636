import { recheckReferences } from '../../domain/check-references.ts';
import { type Prepared, withCreatedAt } from '../../domain/prepared-record.ts';
import { changedParent } from '../../domain/record-kinds.ts';
import type { LookupKind, ReferenceTarget } from '../../domain/store.ts';
import { type UsageFields, usageOf } from '../../domain/usage.ts';
import { newVersion } from '../../domain/version.ts';
import { addAppDay, addDay, dayColumns } from '../accounting/usage-statements.ts';
import { byApp, UsageTally } from '../accounting/usage-tally.ts';
import { lookupStatement } from '../records/lookups.ts';
import type { SpooledOf, SpooledRecord } from '../records/spool.ts';
import { upsertOf } from '../records/upserts.ts';
import * as sql from '../statements.ts';
import type { Connection } from './connection.ts';
import * as embedded from './statements.ts';

/** Maximum number of conversations with their next sequence, and of sums by day, in memory before they are written. */
const openConversationsMax = 10_000;
const openDaysMax = 20_000;

type OpenConversation = ReferenceTarget & { app_id: string; next_sequence: number };
type StoredMessage = UsageFields & { created_at: number; sequence: number };

/** Writes checked records inside the caller's transaction. Throws BadRecord if a reference is no longer valid. */
export class RecordWriter {
  readonly #db: Connection;
  #hasAddedRevisions = false;
  readonly #open = new Map<string, OpenConversation>();
  readonly #usage = new UsageTally();

  constructor(db: Connection) {
    this.#db = db;
  }

  write(record: SpooledRecord): void {
    recheckReferences(record, this.#find);
    if (record.record === 'message') return this.#writeMessage(record);
    if (record.record === 'model_provider') return this.#writeProvider(record);
    if (record.record === 'child_chunk') this.#addRevision(record);
    // If this import has added a revision with this number, the added revision gets a new number.
    if (record.record === 'child_chunk_revision' && this.#hasAddedRevisions) {
      this.#db.run(sql.moveRevision, ...sql.moveRevisionValues(record));
    }
    const { one, values } = upsertOf(record.record);
    if (this.#db.run(one, ...values(record)) === 0) throw changedParent(record);
  }

  /** Writes the next sequence and a new version of every changed conversation, and the sums of usage. */
  finish(): void {
    for (const { id, next_sequence } of this.#open.values()) {
      this.#db.run(embedded.advanceConversation, next_sequence, newVersion(), id, id);
    }
    this.#open.clear();
    const changed = this.#usage.take();
    for (const row of changed) this.#db.run(addDay, ...dayColumns.map((column) => row[column]));
    for (const { day, app_id, currency, messages, tokens, price_nanos } of byApp(changed)) {
      this.#db.run(addAppDay, day, app_id, currency, messages, tokens, price_nanos);
    }
  }

  readonly #find = (kind: LookupKind, id: string): ReferenceTarget | undefined =>
    kind === 'conversation'
      ? this.#openConversation(id)
      : (this.#db.get(findById(kind), id) as ReferenceTarget | undefined);

  #openConversation(id: string): OpenConversation | undefined {
    if (this.#open.size >= openConversationsMax || this.#usage.size >= openDaysMax) this.finish();
    const open = this.#open.get(id);
    if (open !== undefined) return open;
    const row = this.#db.get(embedded.findSequence, id) as
      | Pick<OpenConversation, 'app_id' | 'next_sequence'>
      | undefined;
    if (row === undefined) return undefined;
    const { app_id, next_sequence } = row;
    const conversation = { id, parent: app_id, scope: null, app_id, next_sequence };
    this.#open.set(id, conversation);
    return conversation;
  }

  #writeMessage(record: SpooledOf<'message'>): void {
    const { conversation_id, id, created_at, usage, doc } = record;
    const conversation = this.#open.get(conversation_id) as OpenConversation;
    const { next_sequence } = conversation;
    if (this.#db.run(embedded.insertMessage, conversation_id, created_at, next_sequence, id, doc) > 0) {
      conversation.next_sequence += 1;
      this.#usage.add(conversation, created_at, usage, 1);
    } else {
      this.#replaceMessage(record, conversation);
    }
  }

  #replaceMessage(record: SpooledOf<'message'>, conversation: OpenConversation): void {
    const { conversation_id, id, doc } = record;
    const stored = this.#db.get(embedded.findMessage, conversation_id, id) as StoredMessage;
    const keepsTime = record.keeps_created_at && stored.created_at !== record.created_at;
    const created_at = keepsTime ? stored.created_at : record.created_at;
    this.#db.run(
      embedded.replaceMessage,
      created_at,
      keepsTime ? withCreatedAt(doc, created_at) : doc,
      conversation_id,
      stored.created_at,
      stored.sequence,
    );
    this.#usage.add(conversation, stored.created_at, usageOf(stored), -1);
    this.#usage.add(conversation, created_at, record.usage, 1);
  }

  /** Stores the text that this record replaces as a revision. */
  #addRevision({ dataset_id, id, content, replaced_at }: Prepared<'child_chunk'>): void {
    const stored = this.#db.get(sql.findChunkText, dataset_id, id);
    if (stored === undefined || stored.content === content) return;
    this.#db.run(embedded.addRevision, replaced_at, null, dataset_id, id);
    this.#hasAddedRevisions = true;
  }

  #writeProvider({ workspace_id, provider, doc, entries }: Prepared<'model_provider'>): void {
    const db = this.#db;
    const stored = db.get(sql.findProviderPosition, workspace_id, provider);
    const last = stored ?? db.get(sql.findLastPosition, workspace_id);
    const position = stored ? (stored.position as number) : Number(last?.position ?? 0) + 1;
    db.run(sql.writeProvider, workspace_id, provider, position, doc);
    db.run(sql.clearModelEntries, workspace_id, position);
    for (const { model_type, entry } of entries) db.run(sql.writeModelEntry, workspace_id, model_type, position, entry);
  }
}

const lookups = new Map<LookupKind, string>();

function findById(kind: LookupKind): string {
  let statement = lookups.get(kind);
  if (statement === undefined) lookups.set(kind, (statement = lookupStatement(kind, (column) => `${column} = ?`)));
  return statement;
}
