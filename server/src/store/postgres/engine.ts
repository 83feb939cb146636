import { tmpdir } from 'node:os';
import { limits } from '../../contract/limits.ts';
import { clientDisconnected } from '../../domain/errors.ts';
import {
  type Engine,
  ping,
  type Reader,
  type Snapshot,
  type WriteInput,
  type WriteName,
  type WriteOptions,
  type WriteResult,
} from '../base/engine.ts';
import { isAppend } from '../import/apply-records.ts';
import { type WriteOf, writes } from '../writes.ts';
import type { Layout } from './layouts.ts';
import { isLockTimeout, notAvailable } from './pool/errors.ts';
import type { PostgresPool } from './pool/pool.ts';
import { openPage } from './server/page.ts';
import { type RunOptions, runWrite } from './server/run-write.ts';
import * as postgres from './server/statements.ts';

const doubt = 'a transaction in doubt holds locks that are needed: see the runbook in docs/run/citus.md';

/** For imports and erasures, whose statements take longer than those of other requests. */
const longStatementMillis = 600_000;

export function postgresEngine(pool: PostgresPool, layout: Layout): Engine {
  const { dialect, findPage, readAll, nodes } = layout;
  const read: Reader = (statement, ...values) => pool.query(statement, ...values);
  return {
    dialect,
    read,
    findPage,
    readAll,
    nodes,
    /** Reading it would cost a round trip to the server, as reading the data does. */
    dataVersion: () => undefined,
    openPage: async (position, shape) => openPage(await openSnapshot(pool), position, shape),
    openSnapshot: () => openSnapshot(pool),
    // If there are enough connections, one is reserved for the indexer, and one for other requests, such as health checks.
    openPagesMax: Math.max(1, Math.min(limits.largePagesMax, pool.connections - 2)),
    connections: () => pool.usage(),
    ping: async () => void (await read(ping)),
    write: writer(pool, layout),
    spoolFolder: tmpdir(),
    close: () => pool.close(),
  };
}

async function openSnapshot(pool: PostgresPool): Promise<Snapshot> {
  const steps = pool.snapshot(async function* (transaction) {
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

type Waits = Pick<RunOptions, 'statementMillis' | 'limitLocks'>;

function writer(pool: PostgresPool, layout: Layout): Engine['write'] {
  const { dialect, index, messages, singleRowsMax } = layout;
  const run = <N extends WriteName>(
    name: N,
    input: WriteInput<N>,
    { progress = () => undefined }: WriteOptions = {},
    waits: Waits = {},
  ): Promise<WriteResult<N>> => {
    const write: WriteOf<N> = writes[name];
    return runWrite(pool, () => write(input, { dialect, index, messages, progress }), { singleRowsMax, ...waits });
  };
  let lastImport: Promise<unknown> = Promise.resolve();
  const long: { [N in WriteName]?: (input: WriteInput<N>, options?: WriteOptions) => Promise<WriteResult<N>> } = {
    eraseConversations: (input) => runLong(pool, layout, (waits) => run('eraseConversations', input, {}, waits)),
    /**
     * Imports run one after another, across all instances; appends of chat back ends do not wait. Imports of this instance
     * wait before they use a connection, since readers need the connections.
     */
    applyRecords: (input, options) => {
      if (isAppend(input.spool)) return run('applyRecords', input, options);
      const done = lastImport.then(async () => {
        const applied = await runLong(pool, layout, (waits) => run('applyRecords', input, options, waits));
        if ('fd' in input.spool) await updateStatistics(pool);
        return applied;
      });
      lastImport = done.catch(() => undefined);
      return done;
    },
  };
  return (name, input, options) => long[name]?.(input, options) ?? run(name, input, options);
}

/**
 * Imports and erasures wait for each other while they run, but not for a transaction in doubt: only an operator may be able to
 * end that.
 */
async function runLong<T>(
  { statementMillis }: PostgresPool,
  { limitLocks, oldestPreparedSeconds }: Layout,
  run: (waits: Waits) => Promise<T>,
): Promise<T> {
  const waits = { statementMillis: longStatementMillis, limitLocks: limitLocks(statementMillis) };
  for (const deadline = performance.now() + longStatementMillis; ; ) {
    try {
      return await run(waits);
    } catch (error) {
      if (!isLockTimeout(error) || performance.now() >= deadline) throw error;
      if ((await oldestPreparedSeconds()) * 1000 >= statementMillis)
        throw notAvailable(new Error(doubt, { cause: error }), { cause: 'timeout', node: '' });
    }
  }
}

/**
 * After a large import the planner's statistics are wrong until autovacuum updates them. By the old ones a conversation
 * that was small seems cheap to read and sort as a whole, which made a page a hundred times slower.
 */
async function updateStatistics(pool: PostgresPool): Promise<void> {
  const analyze = pool.transaction((transaction) => transaction.query(postgres.updateStatistics), longStatementMillis);
  // The import is complete. Without new statistics it is only slower to read for a while.
  await analyze.catch(() => undefined);
}
