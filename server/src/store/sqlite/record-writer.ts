import { recheckReferences } from '../../domain/import/check-references.ts';
import {
  type KeptMessage,
  keepStored,
  type Prepared,
  type StoredUsage,
  storedUsage,
} from '../../domain/records/prepared-record.ts';
import { changedParent } from '../../domain/records/record-kinds.ts';
import type { LookupKind, ReferenceTarget } from '../../domain/store/store.ts';
import { newVersion } from '../../domain/version.ts';
import { UsageTally } from '../accounting/usage-tally.ts';
import { NoteTally, noteOfMessages } from '../changes/notes.ts';
import type { Value } from '../engine.ts';
import * as counts from '../records/document-counts.ts';
import { lookupStatement } from '../records/lookups.ts';
import type { SpooledOf, SpooledRecord } from '../records/spool.ts';
import { omittedIn, upsertOf } from '../records/upserts.ts';
import * as sql from '../statements.ts';
import { addNotes, writeManyNotes } from './changes.ts';
import type { Connection } from './connection.ts';
import { eraseReplaced } from './search.ts';
import * as embedded from './statements.ts';
import { writeUsage } from './usage.ts';

/** Maximum number of conversations with their next sequence, and of sums by day, in memory before they are written. */
const openConversationsMax = 10_000;
const openDaysMax = 20_000;
/** Maximum number of documents with changed counts in memory before they are written. */
const openDocumentsMax = 10_000;

type OpenConversation = ReferenceTarget & {
  app_id: string;
  next_sequence: number;
  /** Null if it has no message. */
  first_message_at: number | null;
  /** The first message, if it is a new one. */
  first?: Prepared<'message'>;
  /** The time of the newest new message. */
  newest: number;
  /** Whether a message of it was written. */
  hasNewTexts: boolean;
  /** A stored message was replaced that may have been the first or the newest one. */
  isReordered: boolean;
};
type StoredMessage = StoredUsage & KeptMessage & { sequence: number };

/** Writes checked records inside the caller's transaction. Throws BadRecord if a reference is no longer valid. */
export class RecordWriter {
  readonly #db: Connection;
  #hasAddedRevisions = false;
  readonly #open = new Map<string, OpenConversation>();
  readonly #usage = new UsageTally();
  readonly #counts = new counts.DocumentCounts();
  readonly #positions = new counts.DocumentPositions();
  readonly #notes = new NoteTally();
  readonly #now: number;

  constructor(db: Connection, now: number) {
    this.#db = db;
    this.#now = now;
  }

  write(record: SpooledRecord): void {
    recheckReferences(record, this.#find);
    if (!this.#writeRecord(record)) return;
    this.#notes.addRecord(record);
    if (this.#notes.isFull) this.#writeNotes();
  }

  /** False if the stored record already has these values. Only conversations are compared. */
  #writeRecord(record: SpooledRecord): boolean {
    if (record.record === 'message') {
      this.#writeMessage(record);
      return true;
    }
    if (record.record === 'model_provider') {
      this.#writeProvider(record);
      return true;
    }
    if (record.record === 'document') this.#assignPosition(record);
    if (record.record === 'segment') this.#count(record);
    if (record.record === 'child_chunk') this.#addRevision(record);
    // If this import has added a revision with this number, the added revision gets a new number.
    if (record.record === 'child_chunk_revision' && this.#hasAddedRevisions) {
      this.#db.run(sql.moveRevision, ...sql.moveRevisionValues(record));
    }
    const { one, changed, values } = upsertOf(record.record, omittedIn(record));
    if (record.record !== 'conversation') {
      if (this.#db.run(one, ...values(record)) === 0) throw changedParent(record);
      return true;
    }
    if (isUndeletion(record)) this.#noteUndeleted(record.id);
    // Usually a conversation is sent again unchanged, with a new message. Its row is in several indexes.
    if (this.#db.run(changed, ...values(record)) > 0) return true;
    if (this.#openConversation(record.id)?.app_id !== record.app_id) throw changedParent(record);
    return false;
  }

  /** Readers of the feed have removed the messages of a deleted conversation, so they are listed again. */
  #noteUndeleted(conversation_id: string): void {
    if (this.#db.get(sql.findDeleted, conversation_id) === undefined) return;
    for (const { id } of this.#db.iterate(sql.findMessageIds, conversation_id)) {
      this.#notes.add(noteOfMessages(conversation_id, [id as string]));
      if (this.#notes.isFull) this.#writeNotes();
    }
  }

  #writeNotes(): void {
    writeManyNotes(this.#db, this.#notes.take(), this.#now);
  }

  #assignPosition(record: Prepared<'document'>): void {
    const { dataset_id, id, position } = record;
    if (position !== null) return this.#positions.assign(record, undefined);
    const stored = this.#db.get(counts.findPosition, dataset_id, id);
    if (!this.#positions.has(dataset_id)) {
      this.#positions.set(dataset_id, Number(this.#db.get(counts.findHighestPosition, dataset_id)?.position ?? 0));
    }
    this.#positions.assign(record, stored?.position as number | undefined);
  }

  #count(record: Prepared<'segment'>): void {
    const stored = this.#db.get(counts.findSegmentWords, record.dataset_id, record.id);
    this.#counts.add(record, stored?.word_count as number | undefined);
    if (this.#counts.size >= openDocumentsMax) this.#writeCounts();
  }

  #writeCounts(): void {
    for (const { segments, words, dataset_id, id } of this.#counts.take()) {
      this.#db.run(counts.addCounts, segments, words, dataset_id, id);
    }
  }

  /** Writes the next sequence and a new version of every changed conversation, the sums of usage, and changed counts. */
  finish(): void {
    for (const conversation of this.#open.values()) if (conversation.hasNewTexts) this.#advance(conversation);
    this.#open.clear();
    this.#writeCounts();
    addNotes(this.#db, this.#notes.take(), this.#now);
    writeUsage(this.#db, this.#usage);
  }

  /** Texts of messages are read again only if one of them was replaced. */
  #advance({ id, next_sequence, newest, first, isReordered }: OpenConversation): void {
    const values: Value[] = [next_sequence, newVersion()];
    if (isReordered) return void this.#db.run(embedded.recountConversation, ...values, id);
    values.push(newest, newest, newest);
    if (first === undefined) return void this.#db.run(embedded.advanceConversation, ...values, id);
    const { created_at, derived_name, derived_inputs } = first;
    this.#db.run(embedded.beginConversation, ...values, created_at, derived_name, derived_inputs, id);
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
      | Pick<OpenConversation, 'app_id' | 'next_sequence' | 'first_message_at'>
      | undefined;
    if (row === undefined) return undefined;
    const { app_id } = row;
    const newest = Number.MIN_SAFE_INTEGER;
    const conversation = { id, parent: app_id, scope: null, ...row, newest, hasNewTexts: false, isReordered: false };
    this.#open.set(id, conversation);
    return conversation;
  }

  #writeMessage(record: SpooledOf<'message'>): void {
    const { conversation_id, id, created_at, usage, doc, feedback_content, rated_at } = record;
    const conversation = this.#open.get(conversation_id) as OpenConversation;
    conversation.hasNewTexts = true;
    const { next_sequence } = conversation;
    const values = [conversation_id, created_at, next_sequence, id, doc, feedback_content, rated_at];
    if (this.#db.run(embedded.insertMessage, ...values) > 0) {
      conversation.next_sequence += 1;
      this.#usage.add(conversation, created_at, usage, 1);
      conversation.newest = Math.max(conversation.newest, created_at);
      // A message with the time of the first one has a later sequence.
      if (conversation.first_message_at === null || created_at < conversation.first_message_at) {
        conversation.first_message_at = created_at;
        conversation.first = record;
      }
    } else {
      this.#replaceMessage(record, conversation);
    }
  }

  #replaceMessage(record: SpooledOf<'message'>, conversation: OpenConversation): void {
    const { conversation_id, id } = record;
    const stored = this.#db.get(embedded.findMessage, conversation_id, id) as StoredMessage;
    keepStored(record, stored);
    const { created_at, doc, feedback_content, rated_at } = record;
    const position = [conversation_id, stored.created_at, stored.sequence];
    eraseReplaced(this.#db, conversation_id, id, doc);
    this.#db.run(embedded.replaceMessage, created_at, doc, feedback_content, rated_at, ...position);
    const hasMoved = created_at !== stored.created_at;
    conversation.isReordered ||= hasMoved || created_at === conversation.first_message_at;
    conversation.newest = Math.max(conversation.newest, created_at);
    this.#usage.add(conversation, stored.created_at, storedUsage(stored), -1);
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

/** Whether the record may restore a deleted conversation. */
const isUndeletion = (record: SpooledOf<'conversation'>): boolean =>
  !record.deleted && !omittedIn(record).includes('deleted');

const lookups = new Map<LookupKind, string>();

function findById(kind: LookupKind): string {
  let statement = lookups.get(kind);
  if (statement === undefined) lookups.set(kind, (statement = lookupStatement(kind, (column) => `${column} = ?`)));
  return statement;
}
