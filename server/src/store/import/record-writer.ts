import type { RecordKind } from '../../contract/record.ts';
import { type FindTarget, recheckReferences } from '../../domain/import/check-references.ts';
import { changedParent, identityOf, missingParent, type ReferableKind } from '../../domain/records/record-kinds.ts';
import type { LookupKind } from '../../domain/store/store.ts';
import type { Dialect } from '../base/engine.ts';
import type { MessageTables } from '../base/message-tables.ts';
import type { SpooledOf, SpooledRecord } from '../base/spooled-record.ts';
import { execute, first, query, type Statement, type Write, writeKeyedRows } from '../base/statement.ts';
import type { OutboxTally } from '../changes/outbox.ts';
import { setStateOf } from '../reviews/writes.ts';
import * as sql from '../tables/statements.ts';
import type { RowKind } from '../tables/tables.ts';
import { DocumentCounts, DocumentPositions } from './document-counts.ts';
import { MessageWriter } from './message-writer.ts';

/** Records of one kind, each at most once, so that one statement can write them. */
type Batch = { [K in RecordKind]: { kind: K; records: SpooledOf<K>[] } }[RecordKind];
type RowRecord = SpooledOf<RowKind>;

/** Writes checked records in bulk. Throws BadRecord if a reference is no longer valid. */
export class RecordWriter {
  readonly #dialect: Dialect;
  readonly #messages: MessageWriter;
  /** Records that `lockConversations` has written already. */
  readonly #locked = new Set<SpooledRecord>();
  readonly #counts: DocumentCounts;
  readonly #positions: DocumentPositions;
  #hasAddedRevisions = false;

  /** `outbox`: for reviews that messages open again. */
  constructor(dialect: Dialect, messages: MessageTables, outbox: OutboxTally) {
    this.#dialect = dialect;
    this.#messages = new MessageWriter(messages, outbox);
    this.#counts = new DocumentCounts(dialect);
    this.#positions = new DocumentPositions(dialect);
  }

  /**
   * Locks the conversations of an import in the order of their ids, so that two imports never deadlock. An UPDATE would
   * lock them in the order of its plan, and distributed engines reject SELECT … FOR UPDATE. An upsert locks rows in the
   * order of its list, even those that its condition leaves unchanged. So if the first record of a conversation is the
   * conversation itself, it is written here. For the others the list has a row with an empty app, which changes nothing.
   */
  *lockConversations(records: readonly SpooledRecord[]): Write<void> {
    const firstRecords = new Map<string, SpooledOf<'conversation' | 'message'>>();
    for (const record of records) {
      if (record.record !== 'conversation' && record.record !== 'message') continue;
      const id = record.record === 'message' ? record.conversation_id : record.id;
      if (!firstRecords.has(id)) firstRecords.set(id, record);
    }
    // A single lock needs no order.
    if (firstRecords.size < 2) return;
    const omitted = [...firstRecords.values()].find(({ record }) => record === 'conversation')?.omitted ?? [];
    const sorted = [...firstRecords].sort(([one], [other]) => (one < other ? -1 : 1));
    const rows = sorted.map(([id, record]) => (record.record === 'conversation' ? record : withEmptyApp(id, omitted)));
    const isWritten = yield* this.#upsertRows('conversation', rows);
    for (const [at, [, record]] of sorted.entries()) {
      if (record.record === 'message') {
        if (isWritten[at]) throw missingParent(record);
      } else {
        if (!isWritten[at]) throw changedParent(record);
        this.#locked.add(record);
      }
    }
  }

  /** Returns those that have changed something. */
  *write(records: readonly SpooledRecord[]): Write<readonly SpooledRecord[]> {
    const remaining = this.#locked.size === 0 ? records : records.filter((record) => !this.#locked.has(record));
    const unchanged = new Set<SpooledRecord>();
    for (const batch of batchesOf(remaining)) {
      for (const record of yield* this.#writeBatch(batch)) unchanged.add(record);
    }
    return unchanged.size === 0 ? records : records.filter((record) => !unchanged.has(record));
  }

  *finish(): Write<void> {
    yield* this.#messages.finish();
    yield* this.#counts.write();
  }

  /** Returns the records that have changed nothing. */
  *#writeBatch(batch: Batch): Write<SpooledRecord[]> {
    switch (batch.kind) {
      case 'message':
        yield* this.#messages.write(batch.records);
        return [];
      case 'review':
        for (const review of batch.records) yield* setStateOf(review);
        break;
      case 'model_provider':
        for (const provider of batch.records) yield* this.#writeProvider(provider);
        return [];
      case 'api_key':
        for (const key of batch.records) {
          recheckReferences(key, yield* this.#find('digest', [key.digest]));
          yield* this.#upsert('api_key', [key]);
        }
        return [];
      case 'document':
        yield* this.#recheck('document', batch.records);
        yield* this.#positions.assign(batch.records);
        break;
      case 'segment':
        yield* this.#recheck('segment', batch.records);
        yield* this.#counts.add(batch.records);
        break;
      case 'child_chunk':
        yield* this.#recheck('child_chunk', batch.records);
        yield* this.#addRevisions(batch.records);
        break;
      case 'child_chunk_revision':
        // If this import has added a revision with the number of a record, the added revision gets a new number.
        if (!this.#hasAddedRevisions) break;
        for (const record of batch.records) yield* execute(sql.moveRevision, ...sql.moveRevisionValues(record));
    }
    return yield* this.#upsert(batch.kind, batch.records);
  }

  /** Returns the records that have changed nothing. */
  *#upsert(kind: RowKind, records: readonly RowRecord[]): Write<RowRecord[]> {
    const isWritten = yield* this.#upsertRows(kind, records);
    const unwritten = records.filter((_, at) => !isWritten[at]);
    if (unwritten.length === 0) return [];
    // A stored conversation may already have these values; otherwise it has another parent.
    const find = yield* this.#find('conversation', unwritten.map(identityOf));
    for (const record of unwritten) {
      if (record.record !== 'conversation' || find('conversation', record.id)?.parent !== record.app_id)
        throw changedParent(record);
    }
    return unwritten;
  }

  /** For each row whether it was written. Rows are locked in the order of the records. */
  *#upsertRows(kind: RowKind, records: readonly RowRecord[]): Write<boolean[]> {
    const groups = [...Map.groupBy(records, (record) => sql.omittedIn(record).join()).values()];
    const isWritten = new Map<RowRecord, boolean>();
    const write = function* (this: RecordWriter, group: readonly RowRecord[], omitted: readonly string[]): Write<void> {
      const { values, changed, ...statements } = sql.upsertOf(kind, omitted);
      // Usually a conversation is sent again unchanged, with a new message. Its row is in several indexes.
      if (kind === 'conversation' && this.#dialect.hasOneWriter) statements.one = changed;
      const flags = yield* writeKeyedRows(statements, group.map(values));
      for (const [at, record] of group.entries()) isWritten.set(record, isWritten.get(record) || flags[at] === true);
    }.bind(this);
    // Records that omit different fields need a statement each. The first one locks all rows in the order of the records.
    const omittedInAll = [...new Set(records.flatMap(sql.omittedIn))];
    if (groups.length > 1 && !this.#dialect.hasOneWriter) yield* write(records, omittedInAll);
    for (const group of groups) yield* write(group, sql.omittedIn(group[0] ?? {}));
    return records.map((record) => isWritten.get(record) === true);
  }

  *#find(kind: LookupKind, ids: readonly string[]): Write<FindTarget> {
    const { isIn, list } = this.#dialect;
    const rows = yield* query(sql.lookupStatement(kind, isIn), list(ids));
    const targets = new Map(rows.map((row) => [row.id, row]));
    return (_, id) => targets.get(id);
  }

  *#recheck(kind: ReferableKind, records: readonly SpooledOf<'document' | 'segment' | 'child_chunk'>[]): Write<void> {
    const ids = records.map(({ id }) => id);
    const find = yield* this.#find(kind, ids);
    for (const record of records) recheckReferences(record, find);
  }

  *#addRevisions(records: readonly SpooledOf<'child_chunk'>[]): Write<void> {
    const { lockRows, isIn, list } = this.#dialect;
    const lockTexts: Statement<{ id: string; content: string }> = lockRows(
      'id, content',
      'child_chunks',
      `dataset_id = ?/*@*/ AND ${isIn('id')}`,
    );
    for (const [dataset_id, chunks] of Map.groupBy(records, (chunk) => chunk.dataset_id)) {
      const stored = yield* query(lockTexts, dataset_id, list(chunks.map(({ id }) => id).sort()));
      const texts = new Map(stored.map(({ id, content }) => [id, content]));
      const replaced = chunks.filter(({ id, content }) => texts.has(id) && texts.get(id) !== content);
      if (replaced.length === 0) continue;
      const ids = list(replaced.map(({ id }) => id));
      yield* execute(sql.addRevisions(this.#dialect), dataset_id, replaced[0]?.replaced_at ?? 0, dataset_id, ids);
      this.#hasAddedRevisions = true;
    }
  }

  *#writeProvider({ workspace_id, provider, doc, entries }: SpooledOf<'model_provider'>): Write<void> {
    const stored = yield* first(sql.findProviderPosition, workspace_id, provider);
    const last = stored ?? (yield* first(sql.findLastPosition, workspace_id));
    const position = stored?.position ?? (last?.position ?? 0) + 1;
    yield* execute(sql.writeProvider, workspace_id, provider, position, doc);
    yield* execute(sql.clearModelEntries, workspace_id, position);
    for (const { model_type, entry } of entries) {
      yield* execute(sql.writeModelEntry, workspace_id, model_type, position, entry);
    }
  }
}

/** No conversation has an empty app, so the upsert leaves an existing row unchanged. */
function withEmptyApp(id: string, omitted: readonly string[]): SpooledOf<'conversation'> {
  const fields = {
    user: null,
    created_at: 0,
    deleted: false,
    hold: false,
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
  const take = () => ({ kind: batch[0]?.record, records: batch }) as Batch;
  for (const record of records) {
    const name = identityOf(record);
    if (batch.length > 0 && (batch[0]?.record !== record.record || names.has(name))) {
      yield take();
      batch = [];
      names = new Set();
    }
    batch.push(record);
    names.add(name);
  }
  if (batch.length > 0) yield take();
}
