import { tmpdir } from 'node:os';
import { limits } from '../../contract/limits.ts';
import type { AuditEntry, Author } from '../../domain/audit.ts';
import { countWords } from '../../domain/count-words.ts';
import { unavailable } from '../../domain/errors.ts';
import type {
  CachedVersion,
  ChildChunkEdit,
  ChildChunkOutcome,
  CreatedKey,
  FoundPage,
  MessagePlace,
  Messages,
  PageShape,
  Purge,
} from '../../domain/store.ts';
import { decideEdit } from '../../domain/update-child-chunk.ts';
import * as audit from '../accounting/audit.ts';
import { AuditTally } from '../accounting/audit-tally.ts';
import { changeSession } from '../console/session-statements.ts';
import { type Engine, type Row, unitsOf, type Value, type Write, type WriteOptions } from '../engine.ts';
import { readSpool, type Spooled, type SpooledRecord } from '../records/spool.ts';
import * as sql from '../statements.ts';
import type { PostgresPool, Transaction } from './pool.ts';
import { BulkRecordWriter } from './record-writer.ts';
import * as postgres from './statements.ts';
import { type ConversationVersion, VersionChecks } from './version-checks.ts';

/** Rows, and characters in them, that one trip to the server brings or takes. */
const batchRows = 1_000;
const batchUnits = 4_194_304;
/** Of a table whose rows have not been seen yet. */
const firstRows = 50;
/** For imports and erasures, whose statements are larger than a request's. */
const patientMillis = 600_000;
/** An edit that others keep coming before is given up after this many tries. */
const editTriesMax = 100;

/** Without and with a first message, each without and with a user. */
const pages = [false, true].flatMap((hasFirst) => [false, true].map((hasUser) => postgres.findPage(hasFirst, hasUser)));

export class PostgresEngine implements Engine {
  readonly dialect = postgres.dialect;
  readonly spoolFolder = tmpdir();
  readonly #pool: PostgresPool;
  readonly #checks: VersionChecks;
  #lastImport: Promise<unknown> = Promise.resolve();

  /** The schema is up to date already. */
  constructor(pool: PostgresPool) {
    this.#pool = pool;
    this.#checks = new VersionChecks({
      readPage: ({ place, shape, version }) => this.#readPage(place, shape, version),
      findVersions: (ids) => this.read(postgres.findVersions, ids) as Promise<ConversationVersion[]>,
      millisMax: pool.statementMillis,
    });
  }

  read(statement: string, ...values: Value[]): Promise<Row[]> {
    return this.#pool.query(statement, ...values);
  }

  /** Asking costs a trip to the server, and so does reading. */
  dataVersion(): undefined {
    return undefined;
  }

  findPage(place: MessagePlace, shape: PageShape, held: CachedVersion | undefined): Promise<FoundPage | undefined> {
    return held?.page_exists
      ? this.#checks.ask({ place, shape, version: held.version })
      : this.#readPage(place, shape, held?.version);
  }

  async #readPage(place: MessagePlace, shape: PageShape, held: string | undefined): Promise<FoundPage | undefined> {
    const { first_id, conversation_id, app_id, user } = place;
    // No version is empty.
    const values: Value[] = [held ?? '', conversation_id, app_id];
    if (first_id !== undefined) values.unshift(first_id);
    if (user !== undefined) values.push(user);
    const statement = pages[(first_id === undefined ? 0 : 2) + (user === undefined ? 0 : 1)] ?? '';
    const rows = (await this.read(statement, ...values, shape.limit + 1)) as PageRow[];
    const [head] = rows;
    if (head === undefined) return undefined;
    const { version, first_message_exists } = head;
    if (version === held) return { version, first_message_exists, messages: undefined };
    return { version, first_message_exists, messages: joinMessages(head.id === null ? [] : rows, shape) };
  }

  async ping(): Promise<void> {
    await this.read(sql.ping);
  }

  async write<T>(write: Write, options: WriteOptions = {}): Promise<T> {
    return (await this.#perform(write, options)) as T;
  }

  async #perform(write: Write, options: WriteOptions): Promise<unknown> {
    switch (write.name) {
      case 'updateChildChunk':
        return this.#updateChildChunk(write.edit);
      case 'applyRecords':
        return this.#applyRecords(write.spooled, write.author, options);
      case 'createKey':
        return this.#createKey(write.key, write.createdBy);
      case 'revokeKey':
        return this.#revokeKey(write.id, write.by, write.now);
      case 'changeSession':
        return this.#pool.query(...changeSession(write.change));
      case 'purge':
        return this.#purge(write.selection, write.now);
      case 'trimAudit':
        return (await this.#pool.query(`${audit.trimEntries} RETURNING id`, write.before, limits.auditBatchMax)).length;
      case 'noteKeyUse':
        return this.#noteKeyUse(write.uses);
    }
  }

  async #updateChildChunk(edit: ChildChunkEdit): Promise<ChildChunkOutcome> {
    const { dataset_id, workspace_id, document_id, segment_id, child_chunk_id, precondition } = edit;
    const place = [dataset_id, workspace_id, document_id, segment_id, child_chunk_id];
    const tags = precondition === undefined || precondition === 'any' ? null : precondition;
    const { content, now, version, key_id } = edit;
    const word_count = countWords(content);
    const noted = audit.editEntry(edit);
    for (let tries = 0; tries < editTriesMax; tries += 1) {
      const values = [...place, content, word_count, now, version, key_id, tags, noted.id, JSON.stringify(noted.ids)];
      const rows = await this.#pool.query(postgres.updateChildChunk, ...values);
      const found = sql.childChunkOf(rows);
      const changed_at = rows[0]?.changed_at;
      if (typeof changed_at === 'number' && found.child_chunk !== undefined) {
        const changes = { content, word_count, type: 'customized', updated_at: changed_at };
        return { chunk: { ...found.child_chunk.chunk, ...changes }, version };
      }
      const settled = decideEdit(found, edit);
      if (settled !== undefined) return settled;
    }
    throw unavailable('the child chunk is being edited by too many at once');
  }

  /**
   * Imports of anything but chat, and large ones, go one after another, over all instances; appends of chat back ends
   * need not wait. In this instance they wait before they take a connection, which would be missing to readers.
   */
  #applyRecords(spooled: Spooled, author: Author, { progress }: WriteOptions): Promise<number> {
    const applied = (transaction: Transaction) => apply(transaction, spooled, author, progress);
    if (isAppend(spooled)) return this.#pool.transaction(applied);
    const locked = async (transaction: Transaction) => {
      await transaction.query(postgres.lockImports);
      return applied(transaction);
    };
    const done = this.#lastImport.then(() => this.#pool.transaction(locked, patientMillis));
    this.#lastImport = done.catch(() => undefined);
    return done;
  }

  /** Conversations first: their locks let an append in flight finish, and then its messages are seen and go too. */
  #purge(selection: Purge, now: number): Promise<{ conversations: number; messages: number }> {
    const [by, values] = sql.purgeBy(selection);
    return this.#pool.transaction(async (transaction) => {
      const gone = await transaction.query(`${sql.purge.conversations(by)} RETURNING conversation_id`, ...values);
      const ids = gone.map(({ conversation_id }) => conversation_id as string);
      await transaction.query(postgres.deleteDays, ids);
      const [counted] = await transaction.query(postgres.deleteMessages, ids);
      const messages = counted?.n as number;
      await note(transaction, audit.purgeEntries(ids, messages, now));
      return { conversations: gone.length, messages };
    }, patientMillis);
  }

  #createKey(key: CreatedKey, createdBy: string | null): Promise<void> {
    return this.#pool.transaction(async (transaction) => {
      await transaction.query(sql.createKey, ...sql.createKeyValues(key));
      await note(transaction, [audit.keyEntry('create', key.id, createdBy, key.created_at)]);
    });
  }

  #revokeKey(id: string, by: string | null, now: number): Promise<boolean> {
    return this.#pool.transaction(async (transaction) => {
      const known = (await transaction.query(`${sql.revokeKey} RETURNING id`, now, id)).length > 0;
      if (known) await note(transaction, [audit.keyEntry('revoke', id, by, now)]);
      return known;
    });
  }

  async #noteKeyUse(uses: readonly [string, number][]): Promise<void> {
    const [ids, moments] = [uses.map(([id]) => id), uses.map(([, at]) => at)];
    await this.#pool.query(postgres.noteKeyUse, ids, moments as unknown as Value);
  }

  snapshot(statements: readonly string[]): AsyncIterable<{ statement: number; rows: Row[] }> {
    return this.#pool.open('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', async function* (transaction) {
      for (const [statement, text] of statements.entries()) {
        await transaction.query(`DECLARE export NO SCROLL CURSOR FOR ${text}`);
        for (let count = firstRows; ; ) {
          const rows = await transaction.query(`FETCH ${count} FROM export`);
          if (rows.length === 0) break;
          yield { statement, rows };
          const units = rows.reduce((sum, row) => sum + unitsOf(row), 0);
          count = Math.max(1, Math.min(batchRows, Math.floor((batchUnits * rows.length) / units)));
        }
        await transaction.query('CLOSE export');
      }
    });
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}

type PageRow = { version: string; first_message_exists: boolean; id: string | null; doc: string };

/** One message more than the page holds may be given: it tells whether there are older ones. */
function joinMessages(rows: readonly PageRow[], { limit, page_order }: PageShape): Messages {
  const page = rows.slice(0, limit);
  const next = rows.length > limit ? (page.at(-1)?.id ?? undefined) : undefined;
  const texts = (page_order === 'newest_first' ? page : page.reverse()).map(({ doc }) => doc);
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), Math.max(0, texts.length - 1));
  const docs = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  for (const text of texts) {
    if (at > 0) at += docs.write(',', at);
    at += docs.write(text, at);
  }
  return { docs, next };
}

/** A small import of conversations and messages alone. */
function isAppend(spooled: Spooled): boolean {
  return 'parts' in spooled && [...spooled.kinds].every((kind) => kind === 'message' || kind === 'conversation');
}

async function note(transaction: Transaction, entries: readonly AuditEntry[]): Promise<void> {
  const rows = entries.map((entry) => audit.rowOf(entry));
  const lists = audit.columns.map((_, at) => rows.map((row) => row[at] ?? null));
  if (rows.length > 0) await transaction.query(postgres.writeAudit, ...(lists as unknown as Value[]));
}

async function apply(
  transaction: Transaction,
  spooled: Spooled,
  author: Author,
  progress: WriteOptions['progress'],
): Promise<number> {
  const tally = new AuditTally();
  const writer = new BulkRecordWriter(transaction);
  let applied = 0;
  for (const batch of batchesOf(spooled)) {
    await writer.write(batch);
    for (const record of batch) tally.add(record);
    applied += batch.length;
    progress?.(applied);
  }
  await writer.finish();
  await note(transaction, tally.entries(author));
  return applied;
}

/** Records of the spool, as many as are worth a trip to the server and no more than fit into one. */
function* batchesOf(spooled: Spooled): Generator<SpooledRecord[]> {
  let batch: SpooledRecord[] = [];
  let units = 0;
  for (const records of readSpool(spooled)) {
    for (const record of records) {
      batch.push(record);
      units += unitsOf(record);
      if (batch.length < batchRows && units < batchUnits) continue;
      yield batch;
      batch = [];
      units = 0;
    }
  }
  if (batch.length > 0) yield batch;
}
