import { badRecord, type Prepared, withCreatedAt } from '../../domain/prepared-record.ts';
import { type UsageFields, usageOf } from '../../domain/usage.ts';
import { newVersion } from '../../domain/version.ts';
import { addAppDay, addDay, dayColumns } from '../accounting/usage-statements.ts';
import { byApp, UsageTally } from '../accounting/usage-tally.ts';
import type { SpooledOf, SpooledRecord } from '../records/spool.ts';
import { columnsOf, rowOf, type Upserted, upsertRow, upserts } from '../records/upserts.ts';
import * as sql from '../statements.ts';
import type { Connection } from './connection.ts';
import * as embedded from './statements.ts';

const byKind = <T>(make: (kind: Upserted) => T) =>
  Object.fromEntries(Object.keys(upserts).map((kind) => [kind, make(kind as Upserted)])) as Record<Upserted, T>;
const statements = byKind((kind) => upsertRow(upserts[kind]));
const columns = byKind((kind) => columnsOf(upserts[kind]));

/** Conversations whose sequence, and days whose sums, are held in memory before they are written back. */
const openConversationsMax = 10_000;
const openDaysMax = 20_000;

type Open = { id: string; app_id: string; next_sequence: number };
type Stored = UsageFields & { created_at: number; sequence: number };

/**
 * Writes checked records inside the caller's transaction. What the check saw may have changed since: a record that no
 * longer fits throws BadRecord, and the caller rolls back.
 */
export class RecordWriter {
  readonly #db: Connection;
  #hasKept = false;
  readonly #open = new Map<string, Open>();
  readonly #usage = new UsageTally();

  constructor(db: Connection) {
    this.#db = db;
  }

  write(record: SpooledRecord): void {
    switch (record.record) {
      case 'message':
        return this.#writeMessage(record);
      case 'model_provider':
        return this.#writeProvider(record);
      case 'document':
      case 'segment':
        this.#requireDataset(record);
        break;
      case 'child_chunk':
        this.#requireDataset(record);
        this.#keepText(record);
        break;
      case 'child_chunk_revision':
        // A revision that this import kept makes way for one that it brings under the same number.
        if (this.#hasKept) this.#db.run(sql.moveRevision, ...sql.moveRevisionValues(record));
        break;
      case 'api_key':
        this.#requireDigest(record);
        break;
    }
    const row = rowOf(record);
    const written = this.#db.run(
      statements[record.record],
      ...columns[record.record].map((column) => row[column] ?? null),
    );
    if (written === 0) throw badRecord(record, `${upserts[record.record].parent} may not change`);
  }

  /** Gives every conversation touched its new sequence and a version never used before, and adds up what was used. */
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

  #writeMessage(record: SpooledOf<'message'>): void {
    const { conversation_id, id, created_at, usage, doc } = record;
    const conversation = this.#openConversation(record);
    const { next_sequence } = conversation;
    if (this.#db.run(embedded.insertMessage, conversation_id, created_at, next_sequence, id, doc) > 0) {
      conversation.next_sequence += 1;
      this.#usage.add(conversation, created_at, usage, 1);
    } else {
      this.#replaceMessage(record, conversation);
    }
  }

  #replaceMessage(record: SpooledOf<'message'>, conversation: Open): void {
    const { conversation_id, id, doc } = record;
    const stored = this.#db.get(embedded.findMessage, conversation_id, id) as Stored;
    const isMoved = !record.keeps_created_at || stored.created_at === record.created_at;
    const created_at = isMoved ? record.created_at : stored.created_at;
    this.#db.run(
      embedded.replaceMessage,
      created_at,
      isMoved ? doc : withCreatedAt(doc, created_at),
      conversation_id,
      stored.created_at,
      stored.sequence,
    );
    this.#usage.add(conversation, stored.created_at, usageOf(stored), -1);
    this.#usage.add(conversation, created_at, record.usage, 1);
  }

  #openConversation(record: SpooledOf<'message'>): Open {
    const { conversation_id } = record;
    if (this.#open.size >= openConversationsMax || this.#usage.size >= openDaysMax) this.finish();
    const held = this.#open.get(conversation_id);
    if (held !== undefined) return held;
    const found = this.#db.get(embedded.findSequence, conversation_id);
    if (found === undefined) throw badRecord(record, 'conversation_id does not exist');
    const { next_sequence, app_id } = found as Omit<Open, 'id'>;
    const opened = { id: conversation_id, app_id, next_sequence };
    this.#open.set(conversation_id, opened);
    return opened;
  }

  /** Ids are unique in the installation, though keys of tables hold the dataset too. */
  #requireDataset(record: Prepared<'document'> | Prepared<'segment'> | Prepared<'child_chunk'>): void {
    const stored = this.#db.get(embedded.findDatasetOf[record.record], record.id);
    if (stored === undefined || stored.dataset_id === record.dataset_id) return;
    throw badRecord(record, `${sql.parentField[record.record]} may not change`);
  }

  #keepText({ dataset_id, id, content, replaced_at }: Prepared<'child_chunk'>): void {
    const stored = this.#db.get(sql.findChunkText, dataset_id, id);
    if (stored === undefined || stored.content === content) return;
    this.#db.run(embedded.keepRevision, replaced_at, null, dataset_id, id);
    this.#hasKept = true;
  }

  #requireDigest(key: Prepared<'api_key'>): void {
    const owner = this.#db.get(sql.findKeyOfDigest, key.digest)?.id;
    if (owner === undefined || owner === key.id) return;
    if (!key.is_unnamed) throw badRecord(key, 'digest belongs to another key');
    key.id = owner as string;
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
