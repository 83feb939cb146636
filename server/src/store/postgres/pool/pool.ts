import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { PostgresAddress } from '../../../database-url.ts';
import { asError, ServiceError } from '../../../domain/errors.ts';
import type { Row, Statement, Value } from '../../base/statement.ts';
import { Breaker } from './breaker.ts';
import { applicationName, cancel, newProbe, readerOn, waitUntil } from './connections.ts';
import { drivenOf } from './driven.ts';
import { codeOf, connectionsBusy, isLost, isRetryable, isSilence, isTimeout, publicError, readOnly } from './errors.ts';
import { type HostClient, Hosts } from './hosts.ts';
import { hasBytes } from './row-bytes.ts';

export type PoolOptions = {
  address: PostgresAddress;
  connections: number;
  /** The time limit of every statement. For the first one it includes the wait for a connection. */
  statementMillis: number;
  /** Named prepared statements; off behind a pooler that assigns connections per transaction. */
  prepared: boolean;
  /** Whether writes add outbox entries for the change feed. */
  changes: boolean;
};

export interface Transaction {
  query<R extends object = Row>(statement: Statement<R>, ...values: readonly Value[]): Promise<R[]>;
  /** The number of changed rows. */
  execute(statement: string, ...values: readonly Value[]): Promise<number>;
}

/** Statements on one connection. Those before `begin` are no part of the transaction. */
export interface Session extends Transaction {
  begin(): Promise<void>;
}

const attemptsMax = 5;
const pauseMillis = 50;
const closeMillis = 1_000;
const idleMillisMax = 60_000;
/** A server that takes longer to accept a connection, or to run a short statement, is silent. */
const probeMillis = 2_000;
/** Requests per connection that may wait for one. Further requests are rejected. */
const waitersPerConnection = 50;

/**
 * A statement with a longer list is not prepared by name, so that it is planned for its values and the current size of its
 * tables. A plan that the connection cached while the tables were small would compare each row with the whole list.
 */
const preparedListMax = 20;
/** A longer statement is one for many rows. Their number differs, so that caching each would need ever more memory. */
const namedTextMax = 8_192;
const isLongList = (value: Value): boolean => Array.isArray(value) && value.length > preparedListMax;

const unchanged = (value: string | Buffer): string | Buffer => value;
const types = {
  getTypeParser: ((oid: number, format: 'text' | 'binary') => {
    // BIGINT as a number: every stored integer is a safe integer.
    if (oid === pg.types.builtins.INT8) return Number;
    // A text, or bytes: see `readRowBytes`.
    return oid === pg.types.builtins.TEXT ? unchanged : pg.types.getTypeParser(oid, format);
  }) as typeof pg.types.getTypeParser,
};

/** Connections to PostgreSQL, with limits on their number, on waiting requests and on time. Retries transient errors. */
export class PostgresPool {
  readonly #pool: pg.Pool;
  readonly #options: PoolOptions;
  readonly #hosts: Hosts;
  readonly #breaker: Breaker;
  readonly #sockets = new Set<Socket>();
  readonly #translated = new Map<string, { text: string; name: string; binary: boolean }>();

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#hosts = new Hosts(options.address);
    this.#breaker = new Breaker(newProbe(this.#hosts, Math.min(probeMillis, options.statementMillis)));
    const { channelBinding, keepAlive } = options.address;
    this.#pool = new pg.Pool({
      Client: this.#hosts.clientClass(options.statementMillis),
      onConnect: (client) => this.#hosts.check(client as HostClient),
      max: options.connections,
      connectionTimeoutMillis: options.statementMillis,
      idleTimeoutMillis: idleMillisMax,
      keepAlive: keepAlive.isOn,
      keepAliveInitialDelayMillis: keepAlive.idleSeconds * 1000,
      enableChannelBinding: channelBinding !== 'disable',
      application_name: applicationName,
      types,
    });
    // An idle connection was lost: the pool has removed it, and the next request opens another.
    this.#pool.on('error', () => undefined);
    // If a connection in use is lost between two statements, the next statement fails.
    this.#pool.on('connect', (client) => {
      client.on('error', () => undefined);
      const { stream } = drivenOf(client).connection;
      this.#sockets.add(stream);
      stream.once('close', () => this.#sockets.delete(stream));
    });
  }

  get connections(): number {
    return this.#options.connections;
  }

  /** Those in use, and the requests that wait for one. */
  usage(): { used: number; waiting: number } {
    const { totalCount, idleCount, waitingCount } = this.#pool;
    return { used: totalCount - idleCount, waiting: waitingCount };
  }

  get writesOutbox(): boolean {
    return this.#options.changes;
  }

  get statementMillis(): number {
    return this.#options.statementMillis;
  }

  /** One statement, in its own transaction. */
  query<R extends object = Row>(statement: Statement<R>, ...values: readonly Value[]): Promise<R[]> {
    return this.queryWithin(this.#options.statementMillis, statement, ...values);
  }

  /** One statement with its own time limit. */
  queryWithin<R extends object = Row>(
    millis: number,
    statement: Statement<R>,
    ...values: readonly Value[]
  ): Promise<R[]> {
    return this.#withRetries(millis, (client, deadline) =>
      this.#on(client, millis, deadline).query(statement, ...values),
    );
  }

  /** All or nothing. Retried from the start after transient errors. `statementMillis` is for long statements. */
  transaction<T>(work: (transaction: Transaction) => Promise<T>, statementMillis?: number): Promise<T> {
    return this.session(async (session) => {
      await session.begin();
      return work(session);
    }, statementMillis);
  }

  /** As `transaction`, but `work` begins the transaction. It is committed at the end. */
  session<T>(work: (session: Session) => Promise<T>, statementMillis = this.#options.statementMillis): Promise<T> {
    return this.#withRetries(statementMillis, async (client, deadline) => {
      const statements = this.#on(client, statementMillis, deadline);
      let isOpen = false;
      const begin = async () => {
        await statements.query('BEGIN');
        isOpen = true;
      };
      try {
        const result = await work({ ...statements, begin });
        if (isOpen) await statements.query('COMMIT');
        return result;
      } catch (error) {
        // If the rollback fails too, the connection is closed; the first error is reported.
        const fail = () => Object.assign(error as object, { isLost: true });
        if (isOpen && !isLost(error)) await statements.query('ROLLBACK').catch(fail);
        throw error;
      }
    });
  }

  /** The first statement must end before the deadline, every later one within its own time limit. */
  #on(client: pg.PoolClient, millis: number, deadline: number): Transaction {
    let isFirst = true;
    const run = (statement: string, values: readonly Value[]) => {
      const limit = isFirst ? Math.max(1, deadline - performance.now()) : millis;
      isFirst = false;
      return this.#run(client, statement, values, limit);
    };
    return {
      query: async <R>(statement: string, ...values: Value[]) => (await run(statement, values)).rows as R[],
      execute: async (statement, ...values) => (await run(statement, values)).rowCount ?? 0,
    };
  }

  /** A transaction with one snapshot that stays open while a generator yields; it is never retried. */
  async *snapshot<T>(work: (transaction: Transaction) => AsyncGenerator<T>): AsyncGenerator<T> {
    const { statementMillis } = this.#options;
    const deadline = performance.now() + statementMillis;
    const client = await this.#connect(deadline);
    let isDone = false;
    try {
      const transaction = this.#on(client, statementMillis, deadline);
      await transaction.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      yield* work(transaction);
      await transaction.query('COMMIT');
      isDone = true;
    } catch (error) {
      throw publicError(error);
    } finally {
      // After an early end, by an error or by the reader, the transaction is still open: the connection is closed.
      client.release(!isDone);
    }
  }

  /** Connections to a server that does not respond are destroyed, so that they do not delay the shutdown. */
  async close(): Promise<void> {
    this.#breaker.close();
    await Promise.race([this.#pool.end(), sleep(closeMillis, undefined, { ref: false })]);
    for (const socket of this.#sockets) socket.destroy();
  }

  async #withRetries<T>(millis: number, work: (client: pg.PoolClient, deadline: number) => Promise<T>): Promise<T> {
    const deadline = performance.now() + millis;
    for (let attempt = 1; ; attempt += 1) {
      const client = await this.#connect(deadline);
      try {
        const result = await work(client, deadline);
        client.release();
        return result;
      } catch (error) {
        if (codeOf(error) === readOnly) this.#hosts.leave(client);
        client.release(isLost(error));
        if (!isRetryable(error)) throw publicError(error);
        if (attempt >= attemptsMax || performance.now() >= deadline) throw publicError(error);
      }
      await sleep(pauseMillis * attempt * (0.5 + Math.random()));
    }
  }

  async #connect(deadline: number): Promise<HostClient> {
    if (this.#pool.waitingCount >= this.#options.connections * waitersPerConnection) {
      throw connectionsBusy();
    }
    for (let attempt = 1; ; attempt += 1) {
      this.#breaker.requireServer();
      const round = Math.ceil(attempt / this.#hosts.count);
      try {
        return await this.#connectOnce(deadline);
      } catch (error) {
        if (isSilence(error)) this.#breaker.suspect();
        const isLast = attempt >= attemptsMax * this.#hosts.count || performance.now() >= deadline;
        if (isLast || !this.#hosts.mayConnectElsewhere(error, isRetryable(error))) throw publicError(error, true);
      }
      // The next server is tried at once; a pause follows when all have failed.
      if (attempt % this.#hosts.count === 0) await sleep(pauseMillis * round * (0.5 + Math.random()));
    }
  }

  /** Connections from before a failover are closed. */
  async #connectOnce(deadline: number): Promise<HostClient> {
    for (;;) {
      const isIdle = this.#pool.idleCount > 0;
      const connecting = this.#pool.connect();
      const limit = Math.min(deadline, performance.now() + this.#options.statementMillis);
      const client = (await (isIdle ? connecting : waitUntil(limit, connecting, this.#breaker))) as HostClient;
      if (!this.#hosts.isOutdated(client)) return client;
      client.release(true);
    }
  }

  async #run(client: pg.PoolClient, sql: string, values: readonly Value[], millis: number): Promise<pg.QueryResult> {
    const { text, name, binary } = this.#toDialect(sql);
    const isNamed = name !== undefined && this.#options.prepared && values.length > 0 && !values.some(isLongList);
    const query = { text, values: values as Value[], query_timeout: millis, ...(isNamed && { name }), binary };
    // The end of one transaction says nothing about the nodes of others.
    const needing = sql === 'COMMIT' ? undefined : query;
    try {
      if (needing && this.#breaker.hasSilentNodes)
        await this.#breaker.requireNodes(needing, readerOn(client, probeMillis));
      return await this.#breaker.waitFor(client.query(query), needing);
    } catch (error) {
      if (isTimeout(error)) this.#breaker.suspect();
      const isAbandoned = (isTimeout(error) || error instanceof ServiceError) && cancel(client);
      throw isAbandoned ? Object.assign(asError(error), { isLost: true }) : error;
    }
  }

  /** `?` becomes `$1`, `$2`, …; each statement has one name, unless it is too long. */
  #toDialect(sql: string): { text: string; name?: string; binary: boolean } {
    if (sql.length > namedTextMax) return { text: numbered(sql), binary: hasBytes(sql) };
    let translated = this.#translated.get(sql);
    if (translated === undefined) {
      translated = { text: numbered(sql), name: `s${this.#translated.size}`, binary: hasBytes(sql) };
      this.#translated.set(sql, translated);
    }
    return translated;
  }
}

function numbered(sql: string): string {
  let index = 0;
  return sql.replaceAll('?', () => `$${++index}`);
}
