import type { ChangeKind } from '../../contract/change.ts';
import { markOf } from './distribution.ts';

export type Row = Record<string, unknown>;
export type Scalar = string | number | null | Uint8Array;
export type Value = Scalar | readonly Scalar[];

declare const rowType: unique symbol;

/**
 * SQL with `?` for its parameters, and the type of its rows. A statement for some shards of distributed tables says so: one of the
 * parameters with its distribution values is followed by `shardMark`.
 */
export type Statement<R extends object = Row> = string & { readonly [rowType]?: R };

/** A statement with its parameters. */
export type Bound<R extends object = Row> = readonly [statement: Statement<R>, ...values: Value[]];

/** Runs one statement. */
export type Reader = <R extends object = Row>(statement: Statement<R>, ...values: Value[]) => Promise<R[]>;

/** Statements that write one row, with a parameter for each column, or many rows, with a list for each column (PostgreSQL). */
export type RowStatements = { table: string; one: string; many: string };

/** `key`: the places of the key among the columns. `returning`: ends `many`, and returns the keys of the written rows. */
export type KeyedRowStatements = RowStatements & { key: readonly number[]; returning: string };

/**
 * Changed records of one kind. `scope` is the part of a record's identity besides its id: the dataset of a document, segment
 * or child chunk, the conversation of a message, the workspace of a model provider, of an erasure see `isErasure`, else ''.
 * `owner` is the app or dataset that the records belong to; null if it is the scope, or if there is none.
 */
export type OutboxEntry = [kind: ChangeKind, scope: string, owner: string | null, ids: string[]];

/** A request of a write to the engine that runs it. */
export type Command =
  /** Returns rows. */
  | { kind: 'query'; statement: string; values: readonly Value[] }
  /** Returns the number of changed rows. */
  | { kind: 'execute'; statement: string; values: readonly Value[] }
  /** Writes rows, in their order. Returns the number of changed rows. */
  | { kind: 'rows'; statements: RowStatements; rows: readonly (readonly Scalar[])[] }
  /** Writes rows, in their order. Returns for each row whether it was changed. */
  | { kind: 'keyed-rows'; statements: KeyedRowStatements; rows: readonly (readonly Scalar[])[] }
  /** Keeps other transactions from changing a row; nothing on an engine with one writer. */
  | { kind: 'lock'; statement: string; values: readonly Value[] }
  /** The statements before it are no part of the transaction, unless the engine runs all writes inside one. */
  | { kind: 'begin' }
  /** The audit entry that the write will add. If an attempt of the write has added it, that was committed, and only the response was lost. */
  | { kind: 'entry'; id: string; scope: string }
  | { kind: 'outbox'; entries: readonly OutboxEntry[]; at: number; isLarge: boolean };

/**
 * A write, for both engines: it yields commands, receives their results, and returns its result. An engine runs it in a
 * transaction, and may run it again from the start if the transaction fails.
 *
 * ```ts
 * function* updateKey({ id, read_only }: KeyUpdate): Write<boolean> {
 *   yield* begin();
 *   return (yield* execute(sql.updateKey, read_only ? 1 : 0, id)) > 0;
 * }
 * ```
 */
export type Write<T> = IterableIterator<Command, T, unknown>;

/**
 * A command for `yield*`. Where the engine is synchronous, the command runs at once: to suspend a write and everything that
 * called it, and to continue there, takes longer than many a command.
 */
class Request<T> implements Write<T> {
  readonly #command: Command;
  #isSent = false;

  constructor(command: Command) {
    this.#command = command;
  }

  [Symbol.iterator](): this {
    return this;
  }

  next(result: unknown): IteratorResult<Command, T> {
    if (this.#isSent) return { done: true, value: result as T };
    this.#isSent = true;
    if (runAtOnce === undefined) return { done: false, value: this.#command };
    return { done: true, value: runAtOnce(this.#command) as T };
  }
}

let runAtOnce: ((command: Command) => unknown) | undefined;

/** Runs a write on a synchronous engine. */
export function runSynchronously<T>(write: Write<T>, run: (command: Command) => unknown): T {
  runAtOnce = run;
  try {
    const { done, value } = write.next();
    if (done !== true) throw new Error('a write yields commands by the functions of this file only');
    return value;
  } finally {
    runAtOnce = undefined;
  }
}

export const query = <R extends object>(statement: Statement<R>, ...values: Value[]): Write<R[]> =>
  new Request({ kind: 'query', statement, values });

/** The first row. */
export function* first<R extends object>(statement: Statement<R>, ...values: Value[]): Write<R | undefined> {
  return (yield* query(statement, ...values))[0];
}

/** The number of changed rows. */
export const execute = (statement: string, ...values: Value[]): Write<number> =>
  new Request({ kind: 'execute', statement, values });

/** A write of one statement. */
export function* run(...statement: Bound): Write<undefined> {
  yield* execute(...statement);
}

export function* writeRows(statements: RowStatements, rows: readonly (readonly Scalar[])[]): Write<number> {
  return rows.length === 0 ? 0 : yield* new Request<number>({ kind: 'rows', statements, rows });
}

/** Returns for each row whether it was written. */
export const writeKeyedRows = (
  statements: KeyedRowStatements,
  rows: readonly (readonly Scalar[])[],
): Write<boolean[]> => new Request({ kind: 'keyed-rows', statements, rows });

export const lock = (statement: string, ...values: Value[]): Write<void> =>
  new Request({ kind: 'lock', statement, values });

export const begin = (): Write<void> => new Request({ kind: 'begin' });

export const announceEntry = (id: string, scope: string): Write<void> => new Request({ kind: 'entry', id, scope });

export const writeOutbox = (command: Omit<Command & { kind: 'outbox' }, 'kind'>): Write<void> =>
  new Request({ kind: 'outbox', ...command });

type SqlType = 'text' | 'bigint' | 'float8';

export type Columns = Readonly<Record<string, SqlType>>;

/** Inserts rows with these columns, in this order. */
export function insertInto(table: string, columns: Columns, onConflict = ''): RowStatements {
  const names = Object.keys(columns);
  const lists = names.map((name, at) => `$${at + 1}::${columns[name]}[]${markOf(table, name)}`);
  const into = `INSERT INTO ${table} (${names.join(', ')})`;
  return {
    table,
    one: `${into} VALUES (${names.map((name) => `?${markOf(table, name)}`).join(', ')}) ${onConflict}`,
    many: `${into} SELECT * FROM unnest(${lists.join(', ')}) ${onConflict}`,
  };
}

/** Inserts rows with these columns. A stored row with the same key gets the values of the new one. */
export function upsertInto(table: string, columns: Columns, key: readonly string[]): RowStatements {
  const sets = Object.keys(columns).flatMap((name) => (key.includes(name) ? [] : `${name} = excluded.${name}`));
  return insertInto(table, columns, `ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${sets.join(', ')}`);
}

/** Inserts rows with these columns. In a stored row with the same key, their numbers are added to `sums`. */
export function addInto(
  table: string,
  columns: Columns,
  key: readonly string[],
  sums: readonly string[],
): RowStatements {
  const sets = sums.map((name) => `${name} = ${table}.${name} + excluded.${name}`);
  return insertInto(table, columns, `ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${sets.join(', ')}`);
}
