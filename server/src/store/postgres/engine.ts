import { tmpdir } from 'node:os';
import { limits } from '../../contract/limits.ts';
import { countWords } from '../../domain/count-words.ts';
import { unavailable } from '../../domain/errors.ts';
import type {
  CachedVersion,
  ChildChunkEdit,
  ChildChunkOutcome,
  FoundPage,
  PagePosition,
  PageShape,
  PageStream,
} from '../../domain/store.ts';
import { decideEdit } from '../../domain/update-child-chunk.ts';
import * as audit from '../accounting/audit.ts';
import { changeSession } from '../console/session-statements.ts';
import type { Engine, ExportStep, Row, Value, WriteInput, WriteName, WriteOptions, WriteResult } from '../engine.ts';
import { upsertOf } from '../records/upserts.ts';
import * as sql from '../statements.ts';
import { addAuditEntries, applyRecords, isAppend } from './apply-records.ts';
import { exportPages, exportSnapshot } from './export.ts';
import { openPage, readPage } from './page.ts';
import type { PostgresPool, Transaction } from './pool.ts';
import * as postgres from './statements.ts';
import { type ConversationVersion, VersionChecks } from './version-checks.ts';

/** For imports and purges, whose statements take longer than those of other requests. */
const longStatementMillis = 600_000;

export class PostgresEngine implements Engine {
  readonly dialect = postgres.dialect;
  readonly spoolFolder = tmpdir();
  readonly openPagesMax: number;
  readonly #pool: PostgresPool;
  readonly #isDistributed: boolean;
  readonly #checks: VersionChecks;
  #lastImport: Promise<unknown> = Promise.resolve();

  /** The schema must be up to date. `isDistributed`: the tables are distributed over the nodes of a Citus cluster. */
  constructor(pool: PostgresPool, isDistributed: boolean, threads: number) {
    this.#pool = pool;
    this.#isDistributed = isDistributed;
    // If there is more than one connection, one is reserved for other requests.
    this.openPagesMax = Math.max(1, Math.min(Math.ceil(limits.largePagesMax / threads), pool.connections - 1));
    this.#checks = new VersionChecks({
      readPage: ({ position, shape, version }) => readPage(this.#pool, position, shape, version),
      findVersions: (ids) => this.read(postgres.findVersions, ids) as Promise<ConversationVersion[]>,
      millisMax: pool.statementMillis,
    });
  }

  read(statement: string, ...values: Value[]): Promise<Row[]> {
    return this.#pool.query(statement, ...values);
  }

  /** Undefined: reading it would cost a round trip to the server, as reading the data does. */
  dataVersion(): undefined {
    return undefined;
  }

  findPage(
    position: PagePosition,
    shape: PageShape,
    cached: CachedVersion | undefined,
  ): Promise<FoundPage | undefined> {
    return cached?.page_exists
      ? this.#checks.check({ position, shape, version: cached.version })
      : readPage(this.#pool, position, shape, cached?.version);
  }

  openPage(position: PagePosition, shape: PageShape): Promise<PageStream | undefined> {
    return openPage(this.#pool, position, shape);
  }

  async ping(): Promise<void> {
    await this.read(sql.ping);
  }

  write<N extends WriteName>(name: N, input: WriteInput<N>, options: WriteOptions = {}): Promise<WriteResult<N>> {
    return this.#writers[name](input, options);
  }

  readonly #writers: { [N in WriteName]: (input: WriteInput<N>, options: WriteOptions) => Promise<WriteResult<N>> } = {
    updateChildChunk: (edit) => this.#updateChildChunk(edit),

    applyRecords: (input, options) => this.#applyRecords(input, options),

    createKey: ({ key, createdBy }) =>
      this.#pool.transaction(async (transaction) => {
        const { one, values } = upsertOf('api_key');
        await transaction.query(one, ...values({ ...key, revoked_at: null }));
        await addAuditEntries(transaction, [audit.keyEntry('create', key.id, createdBy, key.created_at)]);
        return undefined;
      }),

    revokeKey: ({ id, by, now }) =>
      this.#pool.transaction(async (transaction) => {
        const exists = (await transaction.query(`${sql.revokeKey} RETURNING id`, now, id)).length > 0;
        if (exists) await addAuditEntries(transaction, [audit.keyEntry('revoke', id, by, now)]);
        return exists;
      }),

    changeSession: async (change) => {
      await this.#pool.query(...changeSession(change));
    },

    // Conversations first: this waits for the locks of appends in flight, so their messages are deleted too.
    purge: ({ selection, now }) => {
      const [by, values] = sql.purgeBy(selection);
      return this.#pool.transaction(async (transaction) => {
        const deleted = await transaction.query(`${sql.purge.conversations(by)} RETURNING conversation_id`, ...values);
        const ids = deleted.map(({ conversation_id }) => conversation_id as string);
        await transaction.query(postgres.deleteDays, ids);
        const [count] = await transaction.query(postgres.deleteMessages, ids);
        const messages = count?.n as number;
        await addAuditEntries(transaction, audit.purgeEntries(ids, messages, now));
        return { conversations: deleted.length, messages };
      }, longStatementMillis);
    },

    trimAudit: async ({ before }) =>
      (await this.#pool.query(`${audit.trimEntries} RETURNING id`, before, limits.auditBatchMax)).length,

    noteKeyUse: async (uses) => {
      const sorted = uses.toSorted(([one], [other]) => (one < other ? -1 : 1));
      const [ids, times] = [sorted.map(([id]) => id), sorted.map(([, at]) => at)];
      await this.#pool.query(postgres.noteKeyUse, ids, times as unknown as Value);
    },
  };

  async #updateChildChunk(edit: ChildChunkEdit): Promise<ChildChunkOutcome> {
    const { dataset_id, workspace_id, document_id, segment_id, child_chunk_id, precondition } = edit;
    const path = [dataset_id, workspace_id, document_id, segment_id, child_chunk_id];
    const tags = precondition === undefined || precondition === 'any' ? null : precondition;
    const { content, now, version, key_id } = edit;
    const word_count = countWords(content);
    const entry = audit.editEntry(edit);
    const deadline = performance.now() + this.#pool.statementMillis;
    do {
      const values = [...path, content, word_count, now, version, key_id, tags, entry.id, JSON.stringify(entry.ids)];
      const rows = await this.#pool.query(postgres.updateChildChunk, ...values);
      const foundPath = sql.childChunkOf(rows);
      const changed_at = rows[0]?.changed_at;
      if (typeof changed_at === 'number' && foundPath.child_chunk !== undefined) {
        const changes = { content, word_count, type: 'customized', updated_at: changed_at };
        return { chunk: { ...foundPath.child_chunk.chunk, ...changes }, version };
      }
      const outcome = decideEdit(foundPath, edit);
      if (outcome !== undefined) return outcome;
      // Another edit came first.
    } while (performance.now() < deadline);
    throw unavailable('too many concurrent edits of the child chunk');
  }

  /**
   * Imports run one after another, across all instances; appends of chat back ends do not wait. Imports of this instance
   * wait before they use a connection, since readers need the connections.
   */
  #applyRecords({ spool, author }: WriteInput<'applyRecords'>, { progress }: WriteOptions): Promise<number> {
    const apply = (transaction: Transaction) => applyRecords(transaction, spool, author, progress);
    if (isAppend(spool)) return this.#pool.transaction(apply);
    const applyLocked = async (transaction: Transaction) => {
      await transaction.query(postgres.lockImports);
      return apply(transaction);
    };
    const done = this.#lastImport.then(() => this.#pool.transaction(applyLocked, longStatementMillis));
    this.#lastImport = done.catch(() => undefined);
    return done;
  }

  readAll(steps: readonly ExportStep[]): AsyncIterable<{ step: number; rows: Row[] }> {
    return this.#isDistributed ? exportPages(this.#pool, steps) : exportSnapshot(this.#pool, steps);
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}
