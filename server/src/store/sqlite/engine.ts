import { dirname } from 'node:path';
import { limits } from '../../contract/limits.ts';
import { nextTurn } from '../../domain/large-text.ts';
import type { FoundPage, OpenPage } from '../../domain/store/store.ts';
import {
  type Engine,
  type ExportedRows,
  type ExportStep,
  ping,
  type Reader,
  type Row,
  unitsOf,
} from '../base/engine.ts';
import { selectByKey } from '../base/sized.ts';
import type { Statement, Value } from '../base/statement.ts';
import { resultByRead } from '../writes.ts';
import { BackgroundReader } from './background.ts';
import { Connection, openReader, orUnavailable, readerBusyMillis } from './connection.ts';
import { findPage, openPage } from './page.ts';
import * as embedded from './statements.ts';
import { Writer, type WriterLinks } from './writer.ts';
import { WriterQueue } from './writer-queue.ts';

/** Duration of a part of a read from a snapshot, after which other requests of this thread run. */
const readTickMillis = 5;

/** Size of the texts that an export reads in one tick of the event loop. */
const batchBytes = 65_536;

/** Reads rows until there are enough. Returns whether all have been read. */
function readUntil<R>(rows: Iterator<R>, found: R[], isEnough: (row: R) => boolean): boolean {
  for (;;) {
    const { done, value } = rows.next();
    if (done) return true;
    found.push(value);
    if (isEnough(value)) return false;
  }
}

/** The embedded engine: this thread reads, the writer thread writes. */
export class SqliteEngine implements Engine {
  readonly dialect = embedded.dialect;
  readonly openPagesMax = limits.largePagesMax;
  readonly spoolFolder: string;
  readonly #path: string;
  readonly #reader: Connection;
  /** Undefined until there is a writer. */
  #writes: WriterQueue | undefined;
  readonly background: BackgroundReader;
  readonly scans: BackgroundReader;
  readonly #writesOutbox: boolean;
  /** Undefined before the first write, and if the writer belongs to several threads. */
  #ownWriter: Writer | undefined;
  /** The data version that was read in this tick, and the number of commits before that. */
  #tickVersion: number | undefined;
  #tickCommits: number | undefined;

  /** The schema must be up to date. */
  constructor(path: string, { writer, changes }: { writer: WriterLinks | undefined; changes: boolean }) {
    this.#path = path;
    this.background = new BackgroundReader(path);
    this.scans = new BackgroundReader(path);
    this.spoolFolder = dirname(path);
    this.#reader = openReader(path);
    this.#writesOutbox = changes;
    if (writer !== undefined) this.#writes = new WriterQueue(writer);
  }

  readonly read: Reader = async (statement, ...values) => orUnavailable(() => this.#reader.all(statement, ...values));

  /**
   * Changed by commits of the writer thread and of other processes. Reading it takes locks, so one read is used for all
   * requests that have arrived in the same tick of the event loop, unless the writer thread has committed in between. A
   * request that was sent after another process had committed arrives in a later tick.
   */
  readonly dataVersion: Engine['dataVersion'] = () => {
    const commits = this.#writes?.commits;
    if (this.#tickVersion === undefined || commits === undefined || commits !== this.#tickCommits) {
      if (this.#tickVersion === undefined) setImmediate(this.#endTick);
      this.#tickVersion = orUnavailable(() => this.#reader.first(embedded.dataVersion)?.[0]);
      this.#tickCommits = commits;
    }
    return this.#tickVersion;
  };

  readonly #endTick = (): void => {
    this.#tickVersion = undefined;
  };

  readonly findPage: Engine['findPage'] = async (position, shape, cached) => {
    const find = (mayBeLarge: boolean) =>
      orUnavailable(() =>
        this.#reader.snapshot(() => findPage(this.#reader, position, shape, cached?.version, mayBeLarge)),
      );
    const found = find(false);
    if (found !== 'may_be_large') return found;
    await nextTurn();
    return find(true) as FoundPage | undefined;
  };

  readonly openPage: Engine['openPage'] = async (position, shape) =>
    orUnavailable(() => {
      const db = new Connection(this.#path, readerBusyMillis);
      let page: OpenPage | undefined;
      try {
        page = openPage(db, position, shape);
        return page;
      } finally {
        if (page === undefined) db.close();
      }
    });

  /** Other requests run between two reads, and between the rows of a long one. */
  readonly openSnapshot: Engine['openSnapshot'] = async () =>
    orUnavailable(() => {
      const db = new Connection(this.#path, readerBusyMillis);
      db.db.exec('PRAGMA query_only = ON; BEGIN');
      const read: Reader = async <R extends object>(statement: Statement<R>, ...values: Value[]) => {
        const rows = orUnavailable(() => db.iterate(statement, ...values));
        const found: R[] = [];
        for (let isRead = false; !isRead; ) {
          await nextTurn();
          const end = performance.now() + readTickMillis;
          isRead = orUnavailable(() => readUntil(rows, found, () => performance.now() >= end));
        }
        return found;
      };
      let isOpen = true;
      const close = () => {
        if (isOpen) db.close();
        isOpen = false;
      };
      return { read, close };
    });

  readonly ping: Engine['ping'] = async () => {
    this.#reader.requireFile();
    await this.read(ping);
  };

  readonly write: Engine['write'] = async (name, input, options) => {
    // The first write starts a writer thread: a command that only reads needs none.
    this.#writes ??= new WriterQueue((this.#ownWriter = new Writer(this.#path, this.#writesOutbox)));
    const result = this.#writes.isBlocked ? await resultByRead[name]?.(input, this.read) : undefined;
    if (result !== undefined) return result;
    return this.#writes.run(name, input, options);
  };

  /** Uses a separate connection, so that one transaction spans all statements. */
  async *readAll(steps: readonly ExportStep[]): AsyncGenerator<ExportedRows> {
    const db = orUnavailable(() => new Connection(this.#path, readerBusyMillis));
    try {
      db.db.exec('PRAGMA query_only = ON; BEGIN');
      for (const step of steps) {
        const found = orUnavailable(() => db.iterate(selectByKey(step, 'all')));
        for (let isRead = false; !isRead; ) {
          const rows: Row[] = [];
          let bytes = 0;
          isRead = orUnavailable(() => readUntil(found, rows, (row) => (bytes += unitsOf(row)) >= batchBytes));
          if (rows.length > 0) yield { step, rows };
          if (!isRead) await nextTurn();
        }
      }
    } finally {
      db.close();
    }
  }

  async close(): Promise<void> {
    await this.#writes?.close();
    await this.background.close();
    await this.scans.close();
    await this.#ownWriter?.close();
    this.#reader.close();
  }
}
