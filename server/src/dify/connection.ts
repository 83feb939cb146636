import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { parsePostgresUrl } from '../database-url.ts';
import type { DifySource, SourcePoint } from './source.ts';

const statementMillis = 60_000;
const connectMillis = 10_000;
/** A standby cancels statements that conflict with its recovery. */
const attemptsMax = 3;
const pauseMillis = 200;

/** Values are parsed by the importer: a driver's date or number may differ from what is stored. */
const asText = [
  pg.types.builtins.JSON,
  pg.types.builtins.JSONB,
  pg.types.builtins.TIMESTAMP,
  pg.types.builtins.TIMESTAMPTZ,
  pg.types.builtins.NUMERIC,
  pg.types.builtins.INT8,
];
const types = {
  getTypeParser: ((oid: number, format: 'text' | 'binary') =>
    asText.includes(oid) ? String : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

const begin = `BEGIN READ ONLY; SET LOCAL statement_timeout = ${statementMillis}`;

/** Reasons that contain no part of the address. */
const networkReasons: Readonly<Record<string, string>> = {
  ENOTFOUND: 'its host name cannot be resolved',
  EAI_AGAIN: 'its host name cannot be resolved',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was closed',
  EPIPE: 'the connection was closed',
  ETIMEDOUT: 'no response',
  EHOSTUNREACH: 'no route to its host',
  ENETUNREACH: 'no route to its host',
  ENOENT: 'its socket does not exist',
};

/** The source does not respond. A later attempt may succeed. */
export class SourceUnavailable extends Error {}

/** A connection to the database of a Dify installation. It is opened again after it was lost. Errors never contain its address. */
export class DifyConnection implements DifySource {
  readonly #urls: readonly string[];
  #client: pg.Client | undefined;
  /** Of tables, and of their columns as TABLE.COLUMN. */
  #names: ReadonlySet<string> = new Set();
  /** Statements that were sent, for measurements. */
  statements = 0;
  connections = 0;

  private constructor(urls: readonly string[]) {
    this.#urls = urls;
  }

  /** Throws if the address is wrong or the server does not respond. */
  static async open(url: string): Promise<DifyConnection> {
    if (/^(?:mysql|mariadb)[\w+]*:/i.test(url)) {
      throw new Error('--from-dify reads PostgreSQL only: a Dify installation on MySQL cannot be imported');
    }
    const address = parsePostgresUrl(url);
    if (typeof address === 'string') throw new Error(`the address of the Dify database is wrong: ${expected}`);
    const connection = new DifyConnection(address.urls);
    const rows = await connection.query<{ table: string; column: string }>(findColumns, []);
    connection.#names = new Set(rows.flatMap(({ table, column }) => [table, `${table}.${column}`]));
    return connection;
  }

  has(table: string, column?: string): boolean {
    return this.#names.has(column === undefined ? table : `${table}.${column}`);
  }

  /** Each statement is a transaction: no session setting remains behind a pooler, and none can write. */
  async query<T>(sql: string, parameters: readonly unknown[]): Promise<T[]> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#queryOnce<T>(sql, parameters);
      } catch (error) {
        if (!(error instanceof SourceUnavailable) || attempt === attemptsMax) throw error;
      }
      await sleep(pauseMillis * attempt);
    }
  }

  async #queryOnce<T>(sql: string, parameters: readonly unknown[]): Promise<T[]> {
    const client = (this.#client ??= await this.#connect());
    this.statements += 1;
    try {
      const query = { text: sql, values: [...parameters], query_timeout: statementMillis * 2 };
      await client.query(begin);
      const { rows } = await client.query(query);
      await client.query('COMMIT');
      return rows;
    } catch (error) {
      await this.close();
      throw publicError(error);
    }
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => undefined);
  }

  async #connect(): Promise<pg.Client> {
    let failure: unknown;
    for (const connectionString of this.#urls) {
      const client = new pg.Client({
        connectionString,
        connectionTimeoutMillis: connectMillis,
        application_name: 'backscroll import',
        types,
      });
      client.on('error', () => {
        if (this.#client === client) this.#client = undefined;
      });
      try {
        await client.connect();
        this.connections += 1;
        return client;
      } catch (error) {
        failure = error;
        await client.end().catch(() => undefined);
      }
    }
    throw publicError(failure);
  }
}

const expected = 'it must be postgres://USER:PASSWORD@HOST:PORT/DATABASE';

const findColumns = `
  SELECT c.relname AS table, a.attname AS column FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND pg_table_is_visible(c.oid) AND a.attnum > 0 AND NOT a.attisdropped
    AND c.relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)`;

/** A wrong password, or a database that does not exist: a later attempt would fail too. */
const isPermanent = (code: string): boolean => code.startsWith('28') || code.startsWith('3D') || code.startsWith('42');

function publicError(error: unknown): Error {
  const { code = '', message, severity } = error as { code?: string; message: string; severity?: string };
  if (severity === undefined) {
    const reason = networkReasons[code] ?? (/timeout/i.test(message) ? 'no response' : 'the connection was closed');
    return new SourceUnavailable(`the Dify database cannot be read: ${reason}`);
  }
  const text = `the Dify database cannot be read: ${message} (${code})`;
  return isPermanent(code) ? new Error(text) : new SourceUnavailable(text);
}

/** Reads points of a source. Its server is identified once per connection: another one may respond after an outage. */
export function pointReader(source: DifyConnection, warn: (text: string) => void): () => Promise<SourcePoint> {
  let identified = { server: '', connection: 0 };
  return async () => {
    for (;;) {
      if (identified.connection !== source.connections) {
        const { server, isExact } = await readServer(source);
        if (!isExact) warn(inexact);
        identified = { server, connection: source.connections };
      }
      const [row] = await source.query<{ xid: string; time: string }>(
        `SELECT txid_snapshot_xmin(txid_current_snapshot())::text AS xid, extract(epoch FROM now())::text AS time`,
        [],
      );
      const { server, connection } = identified;
      if (connection === source.connections) return { server, xid: row?.xid ?? '0', time: Number(row?.time) };
    }
  };
}

const inexact =
  'the role of the source may not call pg_control_system() and pg_control_checkpoint(): a failover cannot be recognized, ' +
  'so run an import with --force after one';

const database = '(SELECT oid FROM pg_database WHERE datname = current_database())';
const withTimeline = `concat_ws(' ', (SELECT system_identifier FROM pg_control_system()), ${database}) || '/' ||
  (SELECT timeline_id FROM pg_control_checkpoint())`;
/** Object ids are given in the order of creation: those of a restored copy differ. */
const withoutPrivilege = `concat_ws(' ', ${database}, to_regclass('tenants')::oid, to_regclass('messages')::oid) || '/'`;

/**
 * Identifies the server and its history: after a restore or a failover, transactions are numbered differently. What comes
 * before the `/` identifies the server alone.
 */
async function readServer(source: DifySource): Promise<{ server: string; isExact: boolean }> {
  const read = async (identity: string): Promise<string> => {
    const [row] = await source.query<{ server: string }>(`SELECT ${identity} AS server`, []);
    return row?.server ?? '';
  };
  try {
    return { server: await read(withTimeline), isExact: true };
  } catch (error) {
    if (error instanceof SourceUnavailable) throw error;
    return { server: await read(withoutPrivilege), isExact: false };
  }
}

/** Whether the source is a copy of another server: its rows may be old. */
export async function readIsStandby(source: DifySource): Promise<boolean> {
  const [row] = await source.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby', []);
  return row?.standby === true;
}
