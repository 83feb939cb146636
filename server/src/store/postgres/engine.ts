import { tmpdir } from 'node:os';
import { limits } from '../../contract/limits.ts';
import { clientDisconnected } from '../../domain/errors.ts';
import type { ConversationRow } from '../../domain/store/app-store.ts';
import type { CachedVersion, FoundPage, OpenPage, PagePosition, PageShape } from '../../domain/store/store.ts';
import { newVersion } from '../../domain/version.ts';
import * as audit from '../accounting/audit.ts';
import { NoteTally, noteOfConversation, noteOfMessages } from '../changes/notes.ts';
import { setEpoch } from '../changes/numbering.ts';
import { changeSession } from '../console/session-statements.ts';
import type {
  Dialect,
  Engine,
  ExportStep,
  Reader,
  Row,
  Snapshot,
  Value,
  WriteInput,
  WriteName,
  WriteOptions,
  WriteResult,
} from '../engine.ts';
import { contentOf, rate } from '../messages/rating.ts';
import * as apps from '../messages/statements.ts';
import { changeStatements } from '../records/import-sources.ts';
import { upsertOf } from '../records/upserts.ts';
import * as sql from '../statements.ts';
import { addAuditEntries, applyRecords, isAppend } from './apply-records.ts';
import { addNotes, numberChanges } from './changes.ts';
import { createChildChunk, deleteChildChunk } from './child-chunks.ts';
import type { Layout } from './layouts.ts';
import { openPage } from './page.ts';
import type { PostgresPool, Transaction } from './pool.ts';
import * as search from './search.ts';
import * as postgres from './statements.ts';

/** For imports and purges, whose statements take longer than those of other requests. */
const longStatementMillis = 600_000;

export class PostgresEngine implements Engine {
  readonly dialect: Dialect;
  readonly spoolFolder = tmpdir();
  readonly openPagesMax: number;
  readonly #pool: PostgresPool;
  readonly #layout: Layout;
  #lastImport: Promise<unknown> = Promise.resolve();

  constructor(pool: PostgresPool, layout: Layout) {
    this.#pool = pool;
    this.#layout = layout;
    this.dialect = layout.dialect;
    // If there is more than one connection, one is reserved for other requests.
    this.openPagesMax = Math.max(1, Math.min(limits.largePagesMax, pool.connections - 1));
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
    return this.#layout.readPage(position, shape, cached);
  }

  async openPage(position: PagePosition, shape: PageShape): Promise<OpenPage | undefined> {
    return openPage(await this.openSnapshot(), position, shape);
  }

  async openSnapshot(): Promise<Snapshot> {
    const steps = this.#pool.open('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', async function* (transaction) {
      yield transaction;
    });
    const { value: transaction } = await steps.next();
    if (transaction === undefined) throw new Error('a snapshot has a transaction');
    let isOpen = true;
    // After the end of the transaction the connection belongs to others.
    const read: Reader = (statement, ...values) =>
      isOpen ? transaction.query(statement, ...values) : Promise.reject(clientDisconnected());
    const close = () => {
      isOpen = false;
      // The generator ends the transaction when it is resumed.
      void steps.next().catch(() => undefined);
    };
    return { read, close };
  }

  async ping(): Promise<void> {
    await this.read(sql.ping);
  }

  write<N extends WriteName>(name: N, input: WriteInput<N>, options: WriteOptions = {}): Promise<WriteResult<N>> {
    return this.#writers[name](input, options);
  }

  readonly #writers: { [N in WriteName]: (input: WriteInput<N>, options: WriteOptions) => Promise<WriteResult<N>> } = {
    updateChildChunk: (edit) => this.#layout.updateChildChunk(edit),
    createChildChunk: (chunk) => createChildChunk(this.#pool, chunk),
    deleteChildChunk: (deletion) => deleteChildChunk(this.#pool, deletion),

    applyRecords: (input, options) => this.#applyRecords(input, options),

    createKey: ({ key, createdBy }) =>
      this.#pool.transaction(async (transaction) => {
        const { one, values } = upsertOf('api_key');
        await transaction.query(one, ...values({ ...key, revoked_at: null }));
        await addAuditEntries(transaction, this.#layout.rows, [
          audit.keyEntry('create', key.id, createdBy, key.created_at),
        ]);
        return undefined;
      }),

    revokeKey: ({ id, by, now }) =>
      this.#pool.transaction(async (transaction) => {
        const exists = (await transaction.query(`${sql.revokeKey} RETURNING id`, now, id)).length > 0;
        if (exists) await addAuditEntries(transaction, this.#layout.rows, [audit.keyEntry('revoke', id, by, now)]);
        return exists;
      }),

    changeConversation: (change) => {
      // A retry finds no conversation if an earlier attempt has deleted it: the response to its COMMIT was lost.
      let changedRow: ConversationRow | undefined;
      return this.#pool.transaction(async (transaction) => {
        const [row] = await transaction.query(...apps.changeConversation(change, newVersion()));
        if (row === undefined) return changedRow;
        const entry = audit.conversationEntry(change);
        await addAuditEntries(transaction, this.#layout.rows, [entry], change.conversation_id);
        const { app_id, conversation_id, now } = change;
        await addNotes(transaction, [noteOfConversation(app_id, conversation_id)], now, conversation_id);
        changedRow = row as ConversationRow;
        return changedRow;
      });
    },

    // The conversation is found before the transaction, which then uses one shard of a distributed database.
    rateMessage: async (rating) => {
      const { message_id, app_id, user } = rating;
      const [found, another] = await this.#pool.query(apps.findMessageById, message_id, app_id, user);
      if (found === undefined || another !== undefined) return 'missing';
      const conversation_id = found.conversation_id as string;
      if (rating.rating === null) {
        // The transaction would replace the version of the conversation, although nothing changes.
        const [message] = await this.#pool.query(apps.findDoc, conversation_id, message_id);
        if (message !== undefined && rate(message.doc as string, rating) === 'unrated') return 'unrated';
      }
      // A retry finds no feedback if an earlier attempt has removed it: the response to its COMMIT was lost.
      let isRated = false;
      return this.#pool.transaction(async (transaction) => {
        const locked = await transaction.query(
          `${apps.touchConversation} RETURNING version`,
          newVersion(),
          conversation_id,
        );
        const [message] = await transaction.query(apps.findDoc, conversation_id, message_id);
        if (locked.length === 0 || message === undefined) return 'missing';
        const rated = rate(message.doc as string, rating);
        if (rated === 'unrated') return isRated ? 'rated' : rated;
        const values = [rated.doc, contentOf(rating), rating.now, conversation_id, message_id];
        await transaction.query(apps.rateMessage, ...values);
        const usage = rated.usage.take();
        if (usage.length > 0) await this.#layout.rows.addDays(transaction, usage);
        const entry = audit.ratingEntry(rating, conversation_id);
        await addAuditEntries(transaction, this.#layout.rows, [entry], conversation_id);
        await addNotes(transaction, [noteOfMessages(conversation_id, [message_id])], rating.now, conversation_id);
        isRated = true;
        return 'rated';
      });
    },

    updateKey: ({ id, change, by, now }) =>
      this.#pool.transaction(async (transaction) => {
        const values = [change.read_only ? 1 : 0, id];
        const exists = (await transaction.query(`${sql.updateKey} RETURNING id`, ...values)).length > 0;
        if (exists) await addAuditEntries(transaction, this.#layout.rows, [audit.keyEntry('update', id, by, now)]);
        return exists;
      }),

    changeSession: async (change) => {
      await this.#pool.query(...changeSession(change));
    },

    // Conversations first: this waits for the locks of appends in flight, so their messages are deleted too.
    purge: ({ selection, now }) => {
      const [by, values] = sql.purgeBy(selection);
      return this.#pool.transaction(async (transaction) => {
        const deleted = await transaction.query(
          `${sql.purge.conversations(by)} RETURNING conversation_id, app_id`,
          ...values,
        );
        const ids = deleted.map(({ conversation_id }) => conversation_id as string);
        await transaction.query(postgres.deleteDays, ids);
        const [count] = await transaction.query(postgres.deleteMessages, ids);
        const messages = count?.n as number;
        await transaction.query(search.eraseConversations, ids);
        await addAuditEntries(transaction, this.#layout.rows, audit.purgeEntries(ids, messages, now));
        const tally = new NoteTally();
        for (const row of deleted) tally.add(noteOfConversation(row.app_id as string, row.conversation_id as string));
        await addNotes(transaction, tally.take(), now);
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

    numberChanges: () => numberChanges(this.#pool),

    startEpoch: async ({ epoch }) => {
      await this.#pool.query(setEpoch, epoch);
    },

    changeImportSource: (change) =>
      this.#pool.transaction(async (transaction) => {
        for (const statement of changeStatements(change, this.dialect)) await transaction.query(...statement);
        return undefined;
      }),
    takeIndexLease: (lease) => search.takeIndexLease(this.#pool, lease),
    resetIndex: ({ rules }) => search.resetIndex(this.#pool, rules),
    applyToIndex: (changes) => search.applyToIndex(this.#pool, changes),
  };

  /**
   * Imports run one after another, across all instances; appends of chat back ends do not wait. Imports of this instance
   * wait before they use a connection, since readers need the connections.
   */
  #applyRecords({ spool, author }: WriteInput<'applyRecords'>, { progress }: WriteOptions): Promise<number> {
    const { rows } = this.#layout;
    const apply = (transaction: Transaction) => applyRecords(transaction, rows, spool, author, progress);
    if (isAppend(spool)) return this.#pool.transaction(apply);
    const applyLocked = async (transaction: Transaction) => {
      await transaction.query(postgres.lockImports);
      return apply(transaction);
    };
    const done = this.#lastImport.then(async () => {
      const applied = await this.#pool.transaction(applyLocked, longStatementMillis);
      if ('fd' in spool) await this.#updateStatistics();
      return applied;
    });
    this.#lastImport = done.catch(() => undefined);
    return done;
  }

  /**
   * After a large import the planner's statistics are wrong until autovacuum updates them. By the old ones a conversation
   * that was small seems cheap to read and sort as a whole, which made a page a hundred times slower.
   */
  async #updateStatistics(): Promise<void> {
    const analyze = (transaction: Transaction) => transaction.query(postgres.updateStatistics);
    // The import is complete. Without new statistics it is only slower to read for a while.
    await this.#pool.transaction(analyze, longStatementMillis).catch(() => undefined);
  }

  readAll(steps: readonly ExportStep[]): AsyncIterable<{ step: number; rows: Row[] }> {
    return this.#layout.readAll(steps);
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}
