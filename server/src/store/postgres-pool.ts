import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { ServiceError, unavailable } from '../domain/errors.ts';
import type { Row, Value } from './engine.ts';

export type PoolOptions = {
  url: string;
  connections: number;
  /** Every statement is given up after this; so is waiting for a connection. */
  statementMillis: number;
  /** Named prepared statements; off behind a pooler that hands out a connection per transaction. */
  prepared: boolean;
};

export interface Transaction {
  query(sql: string, ...values: Value[]): Promise<Row[]>;
}

const attemptsMax = 5;
const pauseMillis = 50;
/** Requests that wait for a connection, for each connection, before more are turned away. */
const waitersPerConnection = 20;

/** Serialization failure, deadlock, unique key taken meanwhile: another try sees what the other one wrote. */
const conflicts = ['40001', '40P01', '23505'];
/** Read-only during a failover, shutting down, starting up, out of connections or memory. */
const passing = ['25006', '57P01', '57P02', '57P03', '53200', '53300', '53400', '57014'];
const networkErrors = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH'];

const types = {
  // BIGINT: everything we keep is a safe integer.
  getTypeParser: ((oid: number, format: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

/** Connections to PostgreSQL: bounded in number, in waiting and in time; what passes by is tried again. */
export class PostgresPool {
  readonly #pool: pg.Pool;
  readonly #options: PoolOptions;
  readonly #spelled = new Map<string, { text: string; name: string }>();

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#pool = new pg.Pool({
      connectionString: options.url,
      max: options.connections,
      connectionTimeoutMillis: options.statementMillis,
      idleTimeoutMillis: 60_000,
      keepAlive: true,
      application_name: 'backscroll',
      types,
    });
    // An idle connection was lost: it is gone from the pool, and the next request opens another.
    this.#pool.on('error', () => undefined);
  }

  /** One statement in a transaction of its own. */
  query(sql: string, ...values: Value[]): Promise<Row[]> {
    const { statementMillis } = this.#options;
    return this.#persist(statementMillis, (client) => this.#run(client, sql, values, statementMillis));
  }

  /** All or nothing; tried again from the start where that helps. `statementMillis` for work that takes long. */
  transaction<T>(
    work: (transaction: Transaction) => Promise<T>,
    options: { statementMillis?: number; begin?: string } = {},
  ): Promise<T> {
    const { statementMillis = this.#options.statementMillis, begin = 'BEGIN' } = options;
    const run = (client: pg.PoolClient, sql: string, values: Value[]) =>
      this.#run(client, sql, values, statementMillis);
    return this.#persist(statementMillis, async (client) => {
      await run(client, begin, []);
      try {
        const result = await work({ query: (sql, ...values) => run(client, sql, values) });
        await run(client, 'COMMIT', []);
        return result;
      } catch (error) {
        if (!isLost(error)) await run(client, 'ROLLBACK', []);
        throw error;
      }
    });
  }

  /** A transaction that a generator holds open across its yields; it is never tried again. */
  async *open<T>(begin: string, work: (transaction: Transaction) => AsyncGenerator<T>): AsyncGenerator<T> {
    const { statementMillis } = this.#options;
    const client = await this.#connect();
    let lost: unknown;
    try {
      const query = (sql: string, ...values: Value[]) => this.#run(client, sql, values, statementMillis);
      await query(begin);
      yield* work({ query });
      await query('COMMIT');
    } catch (error) {
      lost = error;
      throw publicError(error);
    } finally {
      // Left early, by an error or by whoever reads: the connection is not worth cleaning up.
      client.release(lost !== undefined);
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #persist<T>(millis: number, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const deadline = performance.now() + millis;
    for (let attempt = 1; ; attempt += 1) {
      const client = await this.#connect(deadline);
      try {
        const result = await work(client);
        client.release();
        return result;
      } catch (error) {
        client.release(isLost(error));
        if (!mayPass(error)) throw error;
        if (attempt >= attemptsMax || performance.now() >= deadline) throw publicError(error);
      }
      await sleep(pauseMillis * attempt * (0.5 + Math.random()));
    }
  }

  async #connect(deadline = performance.now() + this.#options.statementMillis): Promise<pg.PoolClient> {
    if (this.#pool.waitingCount >= this.#options.connections * waitersPerConnection) {
      throw unavailable('all database connections are busy');
    }
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#pool.connect();
      } catch (error) {
        if (attempt >= attemptsMax || performance.now() >= deadline || !mayPass(error)) throw publicError(error, true);
      }
      await sleep(pauseMillis * attempt * (0.5 + Math.random()));
    }
  }

  async #run(client: pg.PoolClient, sql: string, values: readonly Value[], millis: number): Promise<Row[]> {
    const { text, name } = this.#spell(sql);
    const prepared = this.#options.prepared && values.length > 0 ? { name } : {};
    const query = { text, values: values as Value[], query_timeout: millis, ...prepared };
    return (await client.query(query)).rows;
  }

  /** `?` marks become `$1`, `$2`, …; each text has one name. */
  #spell(sql: string): { text: string; name: string } {
    let spelled = this.#spelled.get(sql);
    if (spelled === undefined) {
      let at = 0;
      const text = sql.replaceAll('?', () => `$${++at}`);
      spelled = { text, name: `s${this.#spelled.size}` };
      this.#spelled.set(sql, spelled);
    }
    return spelled;
  }
}

const codeOf = (error: unknown): string => (error as { code?: string }).code ?? '';
const messageOf = (error: unknown): string => (error as Error).message ?? '';

/** The connection is gone or in an unknown state: it must not be used again. */
function isLost(error: unknown): boolean {
  const code = codeOf(error);
  if (error instanceof ServiceError) return false;
  return networkErrors.includes(code) || code.startsWith('08') || code.startsWith('57P') || isCut(error);
}

function isCut(error: unknown): boolean {
  return /connection terminated|query read timeout|client has encountered a connection error|not queryable/i.test(
    messageOf(error),
  );
}

/** Worth another try. A statement that ran out of time is not. */
function mayPass(error: unknown): boolean {
  if (/query read timeout|timeout exceeded when trying to connect/i.test(messageOf(error))) return false;
  const code = codeOf(error);
  return conflicts.includes(code) || passing.includes(code) || isLost(error);
}

/** What the caller may know: that it may come back. The cause is for the log. */
function publicError(error: unknown, connecting = false): Error {
  const isPassing = connecting || mayPass(error) || isLost(error);
  if (error instanceof ServiceError || !isPassing) return error as Error;
  return Object.assign(unavailable('the database cannot answer'), { cause: error });
}
