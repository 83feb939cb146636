import { badRecord, type Prepared, type PreparedRecord } from '../domain/prepare-record.ts';
import { newVersion } from '../domain/update-child-chunk.ts';
import type { Connection } from './sqlite-connection.ts';
import * as sql from './statements.ts';

/** Conversations whose sequence is held in memory before it is written back. */
const openConversationsMax = 10_000;

/**
 * Writes checked records inside the caller's transaction. What the check saw may have changed since: a record that no
 * longer fits throws BadRecord, and the caller rolls back.
 */
export class RecordWriter {
  readonly #db: Connection;
  /** Next sequence by conversation. */
  readonly #open = new Map<string, number>();

  constructor(db: Connection) {
    this.#db = db;
  }

  write(record: PreparedRecord): void {
    if (record.record !== 'message' && record.record !== 'conversation') return this.#writeOther(record);
    return record.record === 'message' ? this.#writeMessage(record) : this.#writeConversation(record);
  }

  /** Gives every conversation touched its new sequence and a version never used before. */
  finish(): void {
    for (const [conversation_id, next] of this.#open) {
      this.#db.run(sql.advanceConversation, next, newVersion(), conversation_id);
    }
    this.#open.clear();
  }

  #writeConversation(record: Prepared<'conversation'>): void {
    const { id, app_id, user, created_at, deleted } = record;
    const written = this.#db.run(sql.write.conversation, id, app_id, user, created_at, deleted ? 1 : 0, newVersion());
    if (written === 0) throw badRecord(record, 'app_id may not change');
  }

  #writeMessage(record: Prepared<'message'>): void {
    const { conversation_id, id, keeps_created_at } = record;
    const sequence = this.#nextSequence(record);
    const stored = this.#db.get(sql.findMessage, conversation_id, id) as
      | { created_at: number; sequence: number }
      | undefined;
    if (stored === undefined) {
      this.#db.run(sql.write.message, conversation_id, record.created_at, sequence, id, record.doc);
      this.#open.set(conversation_id, sequence + 1);
      return;
    }
    const created_at = keeps_created_at ? stored.created_at : record.created_at;
    const doc = created_at === record.created_at ? record.doc : withCreatedAt(record.doc, created_at);
    this.#db.run(sql.replaceMessage, created_at, doc, conversation_id, stored.created_at, stored.sequence);
  }

  #nextSequence(record: Prepared<'message'>): number {
    const { conversation_id } = record;
    const held = this.#open.get(conversation_id);
    if (held !== undefined) return held;
    const found = this.#db.get(sql.findSequence, conversation_id);
    if (found === undefined) throw badRecord(record, 'conversation_id does not exist');
    if (this.#open.size >= openConversationsMax) this.finish();
    const next = found.next_sequence as number;
    this.#open.set(conversation_id, next);
    return next;
  }

  #writeOther(record: Exclude<PreparedRecord, Prepared<'message'> | Prepared<'conversation'>>): void {
    const db = this.#db;
    const must = (written: number, field: string) => {
      if (written === 0) throw badRecord(record, `${field} may not change`);
    };
    switch (record.record) {
      case 'workspace':
        db.run(sql.write.workspace, record.id, record.name);
        return;
      case 'app':
        return must(db.run(sql.write.app, record.id, record.workspace_id, record.name, record.mode), 'workspace_id');
      case 'dataset':
        return must(db.run(sql.write.dataset, record.id, record.workspace_id, record.name), 'workspace_id');
      case 'document':
        this.#requireDataset(record, sql.findDatasetOf.document, 'dataset_id');
        db.run(sql.write.document, record.dataset_id, record.id, record.name);
        return;
      case 'segment': {
        this.#requireDataset(record, sql.findDatasetOf.segment, 'document_id');
        const { dataset_id, id, document_id, position, content } = record;
        return must(db.run(sql.write.segment, dataset_id, id, document_id, position, content), 'document_id');
      }
      case 'child_chunk':
        return this.#writeChildChunk(record);
      case 'child_chunk_revision': {
        const { dataset_id, child_chunk_id, revision, content, replaced_at, key_id } = record;
        db.run(sql.write.child_chunk_revision, dataset_id, child_chunk_id, revision, content, replaced_at, key_id);
        return;
      }
      case 'api_key':
        return this.#writeKey(record);
      case 'model_provider':
        return this.#writeProvider(record);
    }
  }

  /** Ids are unique in the installation, though keys of tables hold the dataset too. */
  #requireDataset(record: Prepared<'document' | 'segment' | 'child_chunk'>, find: string, field: string): void {
    const stored = this.#db.get(find, record.id);
    if (stored !== undefined && stored.dataset_id !== record.dataset_id) {
      throw badRecord(record as PreparedRecord, `${field} may not change`);
    }
  }

  #writeChildChunk(record: Prepared<'child_chunk'>): void {
    const { dataset_id, id, segment_id, content, position, word_count, type, created_at, updated_at } = record;
    this.#requireDataset(record, sql.findDatasetOf.child_chunk, 'segment_id');
    const stored = this.#db.get(sql.findChunkText, dataset_id, id);
    if (stored !== undefined && stored.content !== content) {
      this.#db.run(sql.keepRevision, record.replaced_at, null, dataset_id, id);
    }
    const columns = [segment_id, content, position, word_count, type, created_at, updated_at, newVersion()];
    const written = this.#db.run(sql.write.child_chunk, dataset_id, id, ...columns);
    if (written === 0) throw badRecord(record, 'segment_id may not change');
  }

  #writeKey(record: Prepared<'api_key'>): void {
    const owner = this.#db.get(sql.findKeyOfDigest, record.digest)?.id;
    if (owner !== undefined && owner !== record.id) throw badRecord(record, 'digest belongs to another key');
    const { id, kind, workspace_id, app_id, name, digest, created_at, expires_at, revoked_at } = record;
    const dataset_ids = record.dataset_ids && JSON.stringify(record.dataset_ids);
    const columns = [kind, workspace_id, app_id, dataset_ids, name, digest, created_at, expires_at, revoked_at];
    this.#db.run(sql.write.api_key, id, ...columns);
  }

  #writeProvider({ workspace_id, provider, doc, entries }: Prepared<'model_provider'>): void {
    const db = this.#db;
    const stored = db.get(sql.findProviderPosition, workspace_id, provider);
    const last = stored ?? db.get(sql.findLastPosition, workspace_id);
    const position = stored ? (stored.position as number) : Number(last?.position ?? 0) + 1;
    db.run(sql.write.model_provider, workspace_id, provider, position, doc);
    db.run(sql.clearModelEntries, workspace_id, position);
    for (const { model_type, entry } of entries)
      db.run(sql.write.model_entry, workspace_id, model_type, position, entry);
  }
}

/** Rare: a message written again without its time keeps the stored one. */
function withCreatedAt(doc: string, created_at: number): string {
  return JSON.stringify({ ...JSON.parse(doc), created_at });
}
