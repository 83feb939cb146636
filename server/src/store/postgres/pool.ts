import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { ServiceError, unavailable } from '../../domain/errors.ts';
import type { Row, Value } from '../engine.ts';

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
const closeMillis = 1_000;
/** PostgreSQL's protocol, CancelRequest. */
const cancelRequestCode = 80_877_102;
/** Requests that wait for a connection, for each connection, before more are turned away. */
const waitersPerConnection = 50;

/** Serialization failure, deadlock, unique key taken meanwhile: another try sees what the other one wrote. */
const conflicts = ['40001', '40P01', '23505'];
/** Read-only during a failover, shutting down, starting up. */
const passing = ['25006', '57P01', '57P02', '57P03'];
/** The statement took too long or waited too long for a lock. */
const tooLate = ['57014', '55P03'];
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
  readonly #sockets = new Set<Socket>();
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
    // One that is lost between two statements of its holder says so with the next statement.
    this.#pool.on('connect', (client) => {
      client.on('error', () => undefined);
      const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
      this.#sockets.add(stream);
      stream.once('close', () => this.#sockets.delete(stream));
    });
  }

  get statementMillis(): number {
    return this.#options.statementMillis;
  }

  /** One statement in a transaction of its own. */
  query(sql: string, ...values: Value[]): Promise<Row[]> {
    const { statementMillis } = this.#options;
    return this.#persist(statementMillis, (client) => this.#run(client, sql, values, statementMillis));
  }

  /** All or nothing; tried again from the start where that helps. `statementMillis` for work that takes long. */
  transaction<T>(work: (transaction: Transaction) => Promise<T>, statementMillis?: number): Promise<T> {
    const millis = statementMillis ?? this.#options.statementMillis;
    const run = (client: pg.PoolClient, sql: string, ...values: Value[]) => this.#run(client, sql, values, millis);
    return this.#persist(millis, async (client) => {
      await run(client, 'BEGIN');
      try {
        const result = await work({ query: (sql, ...values) => run(client, sql, ...values) });
        await run(client, 'COMMIT');
        return result;
      } catch (error) {
        // Where even this fails, the connection is thrown away; what went wrong first is what is said.
        if (!isLost(error)) await run(client, 'ROLLBACK').catch(() => Object.assign(error as object, { isLost: true }));
        throw error;
      }
    });
  }

  /** A transaction that a generator holds open across its yields; it is never tried again. */
  async *open<T>(begin: string, work: (transaction: Transaction) => AsyncGenerator<T>): AsyncGenerator<T> {
    const { statementMillis } = this.#options;
    const client = await this.#connect();
    let isDone = false;
    try {
      const query = (sql: string, ...values: Value[]) => this.#run(client, sql, values, statementMillis);
      await query(begin);
      yield* work({ query });
      await query('COMMIT');
      isDone = true;
    } catch (error) {
      throw publicError(error);
    } finally {
      // Left early, by an error or by whoever reads: the transaction is still open, and goes with its connection.
      client.release(!isDone);
    }
  }

  /** A server that does not answer does not hold up the end: its connections are cut. */
  async close(): Promise<void> {
    await Promise.race([this.#pool.end(), sleep(closeMillis, undefined, { ref: false })]);
    for (const socket of this.#sockets) socket.destroy();
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
        if (!isRetryable(error)) throw publicError(error);
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
        if (attempt >= attemptsMax || performance.now() >= deadline || !isRetryable(error))
          throw publicError(error, true);
      }
      await sleep(pauseMillis * attempt * (0.5 + Math.random()));
    }
  }

  async #run(client: pg.PoolClient, sql: string, values: readonly Value[], millis: number): Promise<Row[]> {
    const { text, name } = this.#spell(sql);
    const prepared = this.#options.prepared && values.length > 0 ? { name } : {};
    const query = { text, values: values as Value[], query_timeout: millis, ...prepared };
    try {
      return (await client.query(query)).rows;
    } catch (error) {
      if (ranOut.test(messageOf(error))) cancel(client);
      throw error;
    }
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

/** What was answered with 503 must not be written later: the server is asked, on a connection of its own, to stop. */
function cancel(client: pg.PoolClient): void {
  const { host, port, processID, secretKey } = client as unknown as Record<string, unknown>;
  const request = Buffer.alloc(16);
  for (const [at, word] of [16, cancelRequestCode, Number(processID), Number(secretKey)].entries()) {
    request.writeInt32BE(word | 0, at * 4);
  }
  const isLocal = `${host}`.startsWith('/');
  const socket = isLocal ? connect(`${host}/.s.PGSQL.${port}`) : connect(Number(port), `${host}`);
  socket.setTimeout(closeMillis, () => socket.destroy());
  socket.on('error', () => undefined).end(request);
}

const codeOf = (error: unknown): string => (error as { code?: string }).code ?? '';
const messageOf = (error: unknown): string => (error as Error).message ?? '';

/** The connection is gone or in an unknown state: it must not be used again. */
function isLost(error: unknown): boolean {
  if (error instanceof ServiceError) return 'isLost' in error;
  const code = codeOf(error);
  const isGone = networkErrors.includes(code) || code.startsWith('08') || code.startsWith('57P') || code === '25P02';
  return isGone || 'isLost' in (error as object) || isCut(error);
}

function isCut(error: unknown): boolean {
  return /connection terminated|query read timeout|client has encountered a connection error|not queryable/i.test(
    messageOf(error),
  );
}

const ranOut = /query read timeout|timeout exceeded when trying to connect/i;

/** Worth another try. A statement that ran out of time is not; nor is a server that is full. */
function isRetryable(error: unknown): boolean {
  if (error instanceof ServiceError || ranOut.test(messageOf(error))) return false;
  const code = codeOf(error);
  return conflicts.includes(code) || passing.includes(code) || isLost(error);
}

/** What the caller may know: that it may come back. The cause is for the log. */
function publicError(error: unknown, isConnecting = false): Error {
  if (error instanceof ServiceError) return error;
  const code = codeOf(error);
  // Class 53 is a server out of disk, memory or connections.
  const isPassing =
    isConnecting || isRetryable(error) || isLost(error) || tooLate.includes(code) || code.startsWith('53');
  return isPassing ? Object.assign(unavailable('the database cannot answer'), { cause: error }) : (error as Error);
}
