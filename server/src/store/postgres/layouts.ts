import type { Engine } from '../base/engine.ts';
import type { IndexTables } from '../base/index-tables.ts';
import type { MessageTables } from '../base/message-tables.ts';
import { readByKey } from '../base/sized.ts';
import type { Statement } from '../base/statement.ts';
import { isDistributed } from './citus/distribute.ts';
import { exportPages } from './citus/export.ts';
import { messages as citusMessages, singleRowsMax } from './citus/messages.ts';
import { readNodes } from './citus/nodes.ts';
import * as citusPage from './citus/page.ts';
import { index as citusIndex } from './citus/search.ts';
import * as citus from './citus/statements.ts';
import type { PostgresPool } from './pool/pool.ts';
import { findOldestPrepared, limitLocks } from './server/locks.ts';
import { messages } from './server/messages.ts';
import { readPage } from './server/page.ts';
import { index } from './server/search.ts';
import * as postgres from './server/statements.ts';
import { VersionChecks } from './server/version-checks.ts';

/**
 * Everything in which tables on one server differ from tables on the nodes of a Citus cluster. One server does best with few
 * statements that do much. Citus does best with small statements, each on one shard.
 */
export type Layout = Required<Pick<Engine, 'dialect' | 'findPage' | 'readAll' | 'nodes'>> & {
  /** Up to this number, one statement for each row is faster than one for all. */
  singleRowsMax: number;
  messages: MessageTables;
  index: IndexTables;
  /** Ends the wait for a lock, in this transaction, after so many milliseconds. */
  limitLocks(millis: number): Statement;
  /** The age of the oldest prepared transaction; Infinity if a node that may have one does not respond. */
  oldestPreparedSeconds(): Promise<number>;
};

/** The schema must be up to date. */
export async function layoutOf(pool: PostgresPool): Promise<Layout> {
  return (await isDistributed(pool)) ? distributed(pool) : oneServer(pool);
}

/** Checks of cached pages are batched: many need one round trip. */
function oneServer(pool: PostgresPool): Layout {
  const checks = new VersionChecks(pool);
  return {
    dialect: postgres.dialect,
    findPage: (position, shape, cached) =>
      cached?.page_exists
        ? checks.check({ position, shape, version: cached.version })
        : readPage(pool, position, shape, cached?.version),
    singleRowsMax: 0,
    readAll: (steps) =>
      pool.snapshot(async function* ({ query }) {
        for (const step of steps) for await (const rows of readByKey(query, step, [])) yield { step, rows };
      }),
    messages,
    index,
    nodes: async () => [],
    limitLocks,
    oldestPreparedSeconds: async () => (await pool.query(findOldestPrepared))[0]?.seconds ?? 0,
  };
}

/**
 * Checks of cached pages are not batched: a node that is down would fail those of conversations on other nodes too. The
 * cursor of a list that asks every shard is on one of them: as a subquery, its result would be copied to every node.
 */
function distributed(pool: PostgresPool): Layout {
  return {
    dialect: {
      ...postgres.dialect,
      search: { ...postgres.dialect.search, windows: citus.searchWindows },
      unfinished: citus.unfinished,
      readsCursorFirst: true,
    },
    findPage: (position, shape, cached) => citusPage.readPage(pool, position, shape, cached),
    singleRowsMax,
    readAll: (steps) => exportPages(pool, steps),
    messages: citusMessages,
    index: citusIndex,
    nodes: () => readNodes(pool),
    limitLocks: citus.limitLocks,
    oldestPreparedSeconds: async () =>
      Math.max(...(await readNodes(pool)).map(({ state }) => state?.oldestPreparedSeconds ?? Number.POSITIVE_INFINITY)),
  };
}
