import type { RecordKind } from '../../contract/record.ts';
import { badRecord } from '../../domain/prepared-record.ts';
import type { Row, Value } from '../engine.ts';
import type { SpooledOf, SpooledRecord } from '../records/spool.ts';
import { columnsOf, rowOf, type Upserted, upsertMany, upserts } from '../records/upserts.ts';
import * as sql from '../statements.ts';
import { MessageWriter } from './message-writer.ts';
import type { Transaction } from './pool.ts';
import * as postgres from './statements.ts';

/** Records of one kind, none of them twice: written by one statement. */
type Run<K extends RecordKind = RecordKind> = SpooledOf<K>[];

/** Writes checked records in bulk, inside the caller's transaction; throws BadRecord where one no longer fits. */
export class BulkRecordWriter {
  readonly #tx: Transaction;
  readonly #messages: MessageWriter;
  #hasKept = false;

  constructor(transaction: Transaction) {
    this.#tx = transaction;
    this.#messages = new MessageWriter(transaction);
  }

  async write(records: readonly SpooledRecord[]): Promise<void> {
    for (const run of runsOf(records)) await this.#writeRun(run);
  }

  /** Writes what could wait. */
  finish(): Promise<void> {
    return this.#messages.finish();
  }

  async #writeRun(run: Run): Promise<void> {
    switch (run[0]?.record) {
      case 'message':
        return this.#messages.write(run as Run<'message'>);
      case 'document':
      case 'segment':
        await this.#requireDatasets(run as Run<'document' | 'segment'>);
        return this.#upsert(run);
      case 'child_chunk':
        return this.#writeChildChunks(run as Run<'child_chunk'>);
      case 'child_chunk_revision':
        return this.#writeRevisions(run as Run<'child_chunk_revision'>);
      case 'api_key':
        return this.#writeKeys(run as Run<'api_key'>);
      case 'model_provider':
        for (const provider of run as Run<'model_provider'>) await this.#writeProvider(provider);
        return;
      default:
        return this.#upsert(run);
    }
  }

  async #upsert(run: Run): Promise<void> {
    const table = upserts[run[0]?.record as Upserted];
    const rows = run.map((record) => rowOf(record as Parameters<typeof rowOf>[0]));
    const columns = columnsOf(table).map((column) => rows.map((row) => row[column] ?? null));
    const written = await this.#tx.query(upsertMany(table), ...(columns as unknown as Value[]));
    if (written.length === run.length) return;
    const idOf = (row: Row) => table.key.map((column) => row[column]).join(' ');
    const done = new Set(written.map(idOf));
    const refused = run.find((_, at) => !done.has(idOf(rows[at] as Row)));
    if (refused !== undefined) throw badRecord(refused, `${table.parent} may not change`);
  }

  /** Ids are unique in the installation, though keys of tables hold the dataset too. */
  async #requireDatasets(run: Run<'document' | 'segment' | 'child_chunk'>): Promise<void> {
    const kind = run[0]?.record ?? 'document';
    const stored = await this.#tx.query(
      `SELECT id, dataset_id FROM ${kind}s WHERE id = ANY(?)`,
      run.map(({ id }) => id),
    );
    const datasets = new Map(stored.map((row) => [row.id, row.dataset_id]));
    for (const record of run) {
      const dataset_id = datasets.get(record.id);
      if (dataset_id === undefined || dataset_id === record.dataset_id) continue;
      throw badRecord(record, `${sql.parentField[kind]} may not change`);
    }
  }

  async #writeChildChunks(run: Run<'child_chunk'>): Promise<void> {
    await this.#requireDatasets(run);
    for (const [dataset_id, chunks] of Map.groupBy(run, (chunk) => chunk.dataset_id)) {
      const stored = await this.#tx.query(postgres.holdChunkTexts, dataset_id, chunks.map(({ id }) => id).sort());
      const texts = new Map(stored.map(({ id, content }) => [id, content]));
      const changed = chunks.filter(({ id, content }) => texts.has(id) && texts.get(id) !== content);
      if (changed.length === 0) continue;
      const ids = changed.map(({ id }) => id);
      await this.#tx.query(postgres.keepRevisions, dataset_id, ids, changed[0]?.replaced_at ?? 0);
      this.#hasKept = true;
    }
    await this.#upsert(run);
  }

  /** A revision that this import kept makes way for one that it brings under the same number. */
  async #writeRevisions(run: Run<'child_chunk_revision'>): Promise<void> {
    for (const record of this.#hasKept ? run : [])
      await this.#tx.query(sql.moveRevision, ...sql.moveRevisionValues(record));
    await this.#upsert(run);
  }

  async #writeKeys(run: Run<'api_key'>): Promise<void> {
    for (const key of run) {
      const [owner] = await this.#tx.query(sql.findKeyOfDigest, key.digest);
      if (owner !== undefined && owner.id !== key.id) {
        if (!key.is_unnamed) throw badRecord(key, 'digest belongs to another key');
        key.id = owner.id as string;
      }
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

/** Splits where the kind changes or a record comes again, so that one statement never meets a row twice. */
function* runsOf(records: readonly SpooledRecord[]): Generator<Run> {
  let run: SpooledRecord[] = [];
  let keys = new Set<string>();
  for (const record of records) {
    const key = keyOf(record);
    if (run.length > 0 && (run[0]?.record !== record.record || keys.has(key))) {
      yield run as Run;
      run = [];
      keys = new Set();
    }
    run.push(record);
    keys.add(key);
  }
  if (run.length > 0) yield run as Run;
}

function keyOf(record: SpooledRecord): string {
  switch (record.record) {
    case 'message':
      return `${record.conversation_id} ${record.id}`;
    case 'child_chunk_revision':
      return `${record.child_chunk_id} ${record.revision}`;
    case 'model_provider':
      return `${record.workspace_id} ${record.provider}`;
    default:
      return record.id ?? '';
  }
}
