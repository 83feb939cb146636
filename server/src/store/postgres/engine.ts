import { tmpdir } from 'node:os';
import { limits } from '../../contract/limits.ts';
import { clientDisconnected } from '../../domain/errors.ts';
import type { NodeState } from '../../domain/store/monitoring.ts';
import type { OpenPage, PagePosition, PageShape } from '../../domain/store/store.ts';
import type {
  Dialect,
  Engine,
  Reader,
  Snapshot,
  WriteInput,
  WriteName,
  WriteOptions,
  WriteResult,
} from '../base/engine.ts';
import { isAppend } from '../import/apply-records.ts';
import * as sql from '../statements.ts';
import { type WriteOf, writes } from '../writes.ts';
import type { Layout } from './layouts.ts';
import { isLockTimeout, notAvailable } from './pool/errors.ts';
import type { PostgresPool, Transaction } from './pool/pool.ts';
import { openPage } from './server/page.ts';
import { type RunOptions, runWrite } from './server/run-write.ts';
import * as postgres from './server/statements.ts';

const doubt = 'a transaction in doubt holds locks that are needed: see the runbook in docs/run/citus.md';

/** For imports and erasures, whose statements take longer than those of other requests. */
const longStatementMillis = 600_000;

export class PostgresEngine implements Engine {
  readonly dialect: Dialect;
  readonly findPage: Engine['findPage'];
  readonly readAll: Engine['readAll'];
  readonly nodes: () => Promise<NodeState[]>;
  readonly spoolFolder = tmpdir();
  readonly openPagesMax: number;
  readonly #pool: PostgresPool;
  readonly #layout: Layout;
  #lastImport: Promise<unknown> = Promise.resolve();

  constructor(pool: PostgresPool, layout: Layout) {
    this.#pool = pool;
    this.#layout = layout;
    this.dialect = layout.dialect;
    this.findPage = layout.findPage;
    this.readAll = layout.readAll;
    this.nodes = layout.nodes;
    // If there are enough connections, one is reserved for the indexer, and one for other requests, such as health checks.
    this.openPagesMax = Math.max(1, Math.min(limits.largePagesMax, pool.connections - 2));
  }

  readonly read: Reader = (statement, ...values) => this.#pool.query(statement, ...values);

  /** Undefined: reading it would cost a round trip to the server, as reading the data does. */
  dataVersion(): undefined {
    return undefined;
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

  connections(): { used: number; waiting: number } {
    return this.#pool.usage();
  }

  async ping(): Promise<void> {
    await this.read(sql.ping);
  }

  write<N extends WriteName>(name: N, input: WriteInput<N>, options?: WriteOptions): Promise<WriteResult<N>> {
    return this.#writers[name]?.(input, options) ?? this.#run(name, input, options);
  }

  #run<N extends WriteName>(
    name: N,
    input: WriteInput<N>,
    options: WriteOptions = {},
    waits: Pick<RunOptions, 'statementMillis' | 'limitLocks'> = {},
  ): Promise<WriteResult<N>> {
    const { dialect, index, messages, singleRowsMax } = this.#layout;
    const { writesOutbox } = this.#pool;
    const { progress = () => undefined } = options;
    const write: WriteOf<N> = writes[name];
    const context = { dialect, index, messages, writesOutbox, progress };
    return runWrite(this.#pool, () => write(input, context), { singleRowsMax, ...waits });
  }

  /**
   * Imports and erasures wait for each other while they run, but not for a transaction in doubt: only an operator may be able to
   * end that.
   */
  async #runLong<N extends WriteName>(name: N, input: WriteInput<N>, options?: WriteOptions): Promise<WriteResult<N>> {
    const { statementMillis } = this.#pool;
    const waits = { statementMillis: longStatementMillis, limitLocks: this.#layout.limitLocks(statementMillis) };
    for (const deadline = performance.now() + longStatementMillis; ; ) {
      try {
        return await this.#run(name, input, options, waits);
      } catch (error) {
        if (!isLockTimeout(error) || performance.now() >= deadline) throw error;
        if ((await this.#layout.oldestPreparedSeconds()) * 1000 >= statementMillis)
          throw notAvailable(new Error(doubt, { cause: error }), { cause: 'timeout', node: '' });
      }
    }
  }

  readonly #writers: {
    [N in WriteName]?: (input: WriteInput<N>, options?: WriteOptions) => Promise<WriteResult<N>>;
  } = {
    eraseConversations: (input) => this.#runLong('eraseConversations', input),
    applyRecords: (input, options) => this.#applyRecords(input, options),
  };

  /**
   * Imports run one after another, across all instances; appends of chat back ends do not wait. Imports of this instance
   * wait before they use a connection, since readers need the connections.
   */
  #applyRecords(input: WriteInput<'applyRecords'>, options?: WriteOptions): Promise<number> {
    if (isAppend(input.spool)) return this.#run('applyRecords', input, options);
    const done = this.#lastImport.then(async () => {
      const applied = await this.#runLong('applyRecords', input, options);
      if ('fd' in input.spool) await this.#updateStatistics();
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

  close(): Promise<void> {
    return this.#pool.close();
  }
}
