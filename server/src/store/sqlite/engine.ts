import { dirname } from 'node:path';
import { unavailable } from '../../domain/errors.ts';
import type { CachedVersion, FoundPage, MessagePlace, PageShape } from '../../domain/store.ts';
import { decideEdit } from '../../domain/update-child-chunk.ts';
import { isClosed, sqliteCode, transientSqliteCodes } from '../disk-errors.ts';
import { type Dialect, type Engine, type Row, unitsOf, type Value, type Write, type WriteOptions } from '../engine.ts';
import * as sql from '../statements.ts';
import { Connection } from './connection.ts';
import { findPage } from './page.ts';
import { WriterQueue } from './writer-queue.ts';

/** Readers do not wait for the writer in WAL mode; this covers recovery after a crash. */
const readerBusyMillis = 5_000;
/** The file is read where the system holds it in memory, without copies; SQLite itself goes no further than 2 GiB. */
const mappedBytesMax = 2 ** 31;
/** For what lies beyond: enough for the upper levels of the tables, so that only their leaves are read again. */
const cacheKibibytes = 32_768;
/** Rows of an export between two looks at the event loop, by their length. */
const batchUnits = 65_536;

const dialect: Dialect = {
  among: (column) => `${column} IN (SELECT value FROM json_each(?))`,
  list: (values) => JSON.stringify(values),
  usageDays: 'usage_days',
};

/** The embedded engine: this thread reads, the writer's thread writes. */
export class SqliteEngine implements Engine {
  readonly dialect = dialect;
  readonly spoolFolder: string;
  readonly #path: string;
  readonly #reader: Connection;
  readonly #writer: WriterQueue;

  /** The schema is up to date already. */
  constructor(path: string) {
    this.#path = path;
    this.spoolFolder = dirname(path);
    this.#reader = new Connection(path, readerBusyMillis);
    const memory = `PRAGMA mmap_size = ${mappedBytesMax}; PRAGMA cache_size = -${cacheKibibytes}`;
    this.#reader.db.exec(`PRAGMA query_only = ON; ${memory}`);
    this.#writer = new WriterQueue(path);
  }

  async read(statement: string, ...values: Value[]): Promise<Row[]> {
    return this.#answer(() => this.#reader.all(statement, ...values));
  }

  #answer<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (!isClosed(error) && !transientSqliteCodes.includes(sqliteCode(error) ?? 0)) throw error;
      throw Object.assign(unavailable('the database cannot answer'), { cause: error });
    }
  }

  /** Commits of the writer's thread and of other processes all change it. */
  dataVersion(): number | undefined {
    return this.#answer(() => this.#reader.first('PRAGMA data_version')?.[0] as number);
  }

  async findPage(
    place: MessagePlace,
    shape: PageShape,
    held: CachedVersion | undefined,
  ): Promise<FoundPage | undefined> {
    return this.#answer(() => this.#reader.snapshot(() => findPage(this.#reader, place, shape, held?.version)));
  }

  async ping(): Promise<void> {
    this.#reader.requireFile();
    await this.read(sql.ping);
  }

  async write<T>(write: Write, options: WriteOptions = {}): Promise<T> {
    if (write.name === 'updateChildChunk' && this.#writer.isHeldUp) {
      // What needs no write does not wait.
      const { edit } = write;
      const found = sql.childChunkOf(await this.read(sql.findChildChunk, ...sql.childChunkValues(edit)));
      const settled = decideEdit(found, edit);
      if (settled !== undefined) return settled as T;
    }
    return this.#writer.run(write, options);
  }

  /** A connection of its own, so that one transaction spans it all. */
  async *snapshot(statements: readonly string[]): AsyncGenerator<{ statement: number; rows: Row[] }> {
    const db = new Connection(this.#path, readerBusyMillis);
    try {
      db.db.exec('PRAGMA query_only = ON; BEGIN');
      for (const [statement, text] of statements.entries()) {
        let rows: Row[] = [];
        let units = 0;
        for (const row of db.iterate(text)) {
          rows.push(row);
          units += unitsOf(row);
          if (units < batchUnits) continue;
          yield { statement, rows };
          rows = [];
          units = 0;
        }
        if (rows.length > 0) yield { statement, rows };
      }
    } finally {
      db.close();
    }
  }

  async close(): Promise<void> {
    await this.#writer.close();
    this.#reader.close();
  }
}
