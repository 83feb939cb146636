import type { RecordKind } from '../../contract/record.ts';
import { type FindTarget, recheckReferences } from '../../domain/import/check-references.ts';
import { changedParent, identityOf, missingParent, type ReferableKind } from '../../domain/records/record-kinds.ts';
import type { LookupKind, ReferenceTarget } from '../../domain/store/store.ts';
import type { Value } from '../engine.ts';
import { type CountChange, DocumentCounts, DocumentPositions } from '../records/document-counts.ts';
import { lookupStatement } from '../records/lookups.ts';
import type { SpooledOf, SpooledRecord } from '../records/spool.ts';
import type { RowKind } from '../records/tables.ts';
import { upsertOf } from '../records/upserts.ts';
import * as sql from '../statements.ts';
import { MessageWriter } from './message-writer.ts';
import type { Transaction } from './pool.ts';
import type { Rows } from './rows.ts';
import * as postgres from './statements.ts';

/** Maximum number of documents with changed counts in memory before they are written. */
const openDocumentsMax = 10_000;

/** Records of one kind, each at most once, so that one statement can write them. */
type Batch<K extends RecordKind = RecordKind> = SpooledOf<K>[];

/** Writes checked records in bulk, inside the caller's transaction. Throws BadRecord if a reference is no longer valid. */
export class BulkRecordWriter {
  readonly #tx: Transaction;
  readonly #rows: Rows;
  readonly #messages: MessageWriter;
  /** Records that `lockConversations` has written already. */
  readonly #written = new Set<SpooledRecord>();
  readonly #counts = new DocumentCounts();
  readonly #positions = new DocumentPositions();
  #hasAddedRevisions = false;

  constructor(transaction: Transaction, rows: Rows) {
    this.#tx = transaction;
    this.#rows = rows;
    this.#messages = new MessageWriter(transaction, rows);
  }

  /**
   * Locks the conversations of an import in the order of their ids, so that two imports never deadlock. An UPDATE would
   * lock them in the order of its plan, and distributed engines reject SELECT … FOR UPDATE. An upsert locks rows in the
   * order of its list, even those that its condition leaves unchanged. So if the first record of a conversation is the
   * conversation itself, it is written here. For the others the list has a row with an empty app, which changes nothing.
   */
  async lockConversations(records: readonly SpooledRecord[]): Promise<void> {
    const firstRecords = new Map<string, SpooledOf<'conversation' | 'message'>>();
    for (const record of records) {
      if (record.record !== 'conversation' && record.record !== 'message') continue;
      const id = record.record === 'message' ? record.conversation_id : record.id;
      if (!firstRecords.has(id)) firstRecords.set(id, record);
    }
    // A single lock needs no order.
    if (firstRecords.size < 2) return;
    const ids = [...firstRecords.keys()].sort();
    const omitted = [...firstRecords.values()].find(({ record }) => record === 'conversation')?.omitted ?? [];
    const written = await this.#rows.upsert(
      this.#tx,
      'conversation',
      ids.map((id) => {
        const record = firstRecords.get(id);
        return record?.record === 'conversation' ? record : withEmptyApp(id, omitted);
      }),
    );
    for (const [id, record] of firstRecords) {
      if (record.record === 'message') {
        if (written.has(id)) throw missingParent(record);
      } else {
        if (!written.has(id)) throw changedParent(record);
        this.#written.add(record);
      }
    }
  }

  async write(records: readonly SpooledRecord[]): Promise<void> {
    const remaining = this.#written.size === 0 ? records : records.filter((record) => !this.#written.has(record));
    for (const batch of batchesOf(remaining)) await this.#writeBatch(batch);
  }

  /** Writes sums that are still in memory. */
  async finish(): Promise<void> {
    await this.#messages.finish();
    await this.#writeCounts();
  }

  async #writeBatch(batch: Batch): Promise<void> {
    switch (batch[0]?.record) {
      case 'message':
        return this.#messages.write(batch as Batch<'message'>);
      case 'model_provider':
        for (const provider of batch as Batch<'model_provider'>) await this.#writeProvider(provider);
        return;
      case 'document':
        await this.#recheck('document', batch as Batch<'document'>);
        await this.#assignPositions(batch as Batch<'document'>);
        break;
      case 'segment':
        await this.#recheck('segment', batch as Batch<'segment'>);
        await this.#count(batch as Batch<'segment'>);
        break;
      case 'child_chunk':
        await this.#recheck('child_chunk', batch as Batch<'child_chunk'>);
        await this.#addRevisions(batch as Batch<'child_chunk'>);
        break;
      case 'child_chunk_revision':
        await this.#moveRevisions(batch as Batch<'child_chunk_revision'>);
        break;
      case 'api_key':
        return this.#writeKeys(batch as Batch<'api_key'>);
    }
    await this.#upsert(batch as Batch<RowKind>);
  }

  async #upsert(batch: Batch<RowKind>): Promise<void> {
    const kind = batch[0]?.record as RowKind;
    const written = await this.#rows.upsert(this.#tx, kind, batch);
    if (written.size === batch.length) return;
    const rejected = batch.find((record) => !written.has(upsertOf(kind).keyOfRecord(record)));
    if (rejected !== undefined) throw changedParent(rejected);
  }

  async #find(kind: LookupKind, ids: readonly string[]): Promise<FindTarget> {
    const rows = await this.#tx.query(lookupStatement(kind, postgres.dialect.isIn), ids);
    const targets = new Map(rows.map((row) => [row.id, row as ReferenceTarget]));
    return (_, id) => targets.get(id);
  }

  async #recheck(kind: ReferableKind, batch: Batch<'document' | 'segment' | 'child_chunk'>): Promise<void> {
    const find = await this.#find(
      kind,
      batch.map(({ id }) => id),
    );
    for (const record of batch) recheckReferences(record, find);
  }

  async #assignPositions(batch: Batch<'document'>): Promise<void> {
    const unplaced = batch.filter(({ position }) => position === null);
    const datasets = [...new Set(unplaced.map(({ dataset_id }) => dataset_id))];
    const unread = datasets.filter((id) => !this.#positions.has(id));
    if (unread.length > 0) {
      for (const id of unread) this.#positions.set(id, 0);
      const highest = await this.#tx.query(postgres.findHighestPositions, unread);
      for (const { dataset_id, position } of highest) this.#positions.set(dataset_id as string, position as number);
    }
    const ids = unplaced.map(({ id }) => id);
    const rows = ids.length > 0 ? await this.#tx.query(postgres.findDocumentPositions, datasets, ids) : [];
    const stored = new Map(rows.map(({ id, position }) => [id, position as number]));
    for (const record of batch) this.#positions.assign(record, stored.get(record.id));
  }

  async #count(batch: Batch<'segment'>): Promise<void> {
    const datasets = [...new Set(batch.map(({ dataset_id }) => dataset_id))];
    const ids = batch.map(({ id }) => id);
    const rows = await this.#tx.query(postgres.findSegmentWords, datasets, ids);
    const stored = new Map(rows.map(({ id, word_count }) => [id, word_count as number]));
    for (const record of batch) this.#counts.add(record, stored.get(record.id));
    if (this.#counts.size >= openDocumentsMax) await this.#writeCounts();
  }

  async #writeCounts(): Promise<void> {
    const changes = this.#counts.take();
    if (changes.length === 0) return;
    const column = (name: keyof CountChange) => changes.map((change) => change[name]) as unknown as Value;
    const values = (['dataset_id', 'id', 'segments', 'words'] as const).map(column);
    await this.#tx.query(postgres.addDocumentCounts, ...values);
  }

  /** Stores the texts that these records replace as revisions. */
  async #addRevisions(batch: Batch<'child_chunk'>): Promise<void> {
    for (const [dataset_id, chunks] of Map.groupBy(batch, (chunk) => chunk.dataset_id)) {
      const stored = await this.#tx.query(postgres.lockChunkTexts, dataset_id, chunks.map(({ id }) => id).sort());
      const texts = new Map(stored.map(({ id, content }) => [id, content]));
      const changed = chunks.filter(({ id, content }) => texts.has(id) && texts.get(id) !== content);
      if (changed.length === 0) continue;
      const ids = changed.map(({ id }) => id);
      await this.#tx.query(postgres.addRevisions, dataset_id, ids, changed[0]?.replaced_at ?? 0);
      this.#hasAddedRevisions = true;
    }
  }

  /** If this import has added a revision with the number of a record, the added revision gets a new number. */
  async #moveRevisions(batch: Batch<'child_chunk_revision'>): Promise<void> {
    if (!this.#hasAddedRevisions) return;
    for (const record of batch) await this.#tx.query(sql.moveRevision, ...sql.moveRevisionValues(record));
  }

  async #writeKeys(batch: Batch<'api_key'>): Promise<void> {
    for (const key of batch) {
      recheckReferences(key, await this.#find('digest', [key.digest]));
      await this.#upsert([key]);
    }
  }

  async #writeProvider({ workspace_id, provider, doc, entries }: SpooledOf<'model_provider'>): Promise<void> {
    const [stored] = await this.#tx.query(sql.findProviderPosition, workspace_id, provider);
    const [last] = stored ? [stored] : await this.#tx.query(sql.findLastPosition, workspace_id);
    const position = stored ? (stored.position as number) : Number(last?.position ?? 0) + 1;
    await this.#tx.query(sql.writeProvider, workspace_id, provider, position, doc);
    await this.#tx.query(sql.clearModelEntries, workspace_id, position);
    for (const { model_type, entry } of entries) {
      await this.#tx.query(sql.writeModelEntry, workspace_id, model_type, position, entry);
    }
  }
}

/** No conversation has an empty app, so the upsert leaves an existing row unchanged. */
function withEmptyApp(id: string, omitted: readonly string[]): SpooledOf<'conversation'> {
  const fields = {
    user: null,
    created_at: 0,
    deleted: false,
    name: null,
    inputs: null,
    introduction: null,
    renamed_at: null,
    updated_at: null,
  };
  return { record: 'conversation', line: { number: 0 }, id, app_id: '', ...fields, omitted };
}

/** Starts a new batch when the kind changes or a record is repeated, so that one statement never writes a row twice. */
function* batchesOf(records: readonly SpooledRecord[]): Generator<Batch> {
  let batch: SpooledRecord[] = [];
  let names = new Set<string>();
  for (const record of records) {
    const name = identityOf(record);
    if (batch.length > 0 && (batch[0]?.record !== record.record || names.has(name))) {
      yield batch as Batch;
      batch = [];
      names = new Set();
    }
    batch.push(record);
    names.add(name);
  }
  if (batch.length > 0) yield batch as Batch;
}
