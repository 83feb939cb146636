import type { Author } from '../domain/audit.ts';
import type {
  CachedVersion,
  ChildChunkEdit,
  ChildChunkOutcome,
  FoundPage,
  NewStoredKey,
  PagePosition,
  PageShape,
  PageStream,
  PurgeSelection,
} from '../domain/store.ts';
import type { SessionChange } from './console/session-statements.ts';
import type { SpoolHandle } from './records/spool.ts';

export type Row = Record<string, unknown>;
export type Value = string | number | null | Uint8Array | readonly string[];

/** Everything that changes the database, by name. An engine decides on which thread or connection it happens. */
export type Writes = {
  updateChildChunk: { input: ChildChunkEdit; result: ChildChunkOutcome };
  /** The result is the number of records. */
  applyRecords: { input: { spool: SpoolHandle; author: Author }; result: number };
  createKey: { input: { key: NewStoredKey; createdBy: string | null }; result: undefined };
  /** The result is false where no such key exists. */
  revokeKey: { input: { id: string; by: string | null; now: number }; result: boolean };
  changeSession: { input: SessionChange; result: undefined };
  purge: {
    input: { selection: PurgeSelection; now: number };
    result: { conversations: number; messages: number };
  };
  /** Deletes the oldest entries before an id, one batch of them; the result is their number. */
  trimAudit: { input: { before: string }; result: number };
  noteKeyUse: { input: [id: string, at: number][]; result: undefined };
};

export type WriteName = keyof Writes;
export type WriteInput<N extends WriteName> = Writes[N]['input'];
export type WriteResult<N extends WriteName> = Writes[N]['result'];

export type WriteOptions = {
  /** Waits as long as it takes instead of failing with 503. */
  waitForever?: boolean;
  progress?: (applied: number) => void;
};

/** The approximate size of a row or record in characters or bytes: batches are bounded by it. */
export function unitsOf(row: object): number {
  let units = 0;
  for (const value of Object.values(row)) {
    units += typeof value === 'string' || value instanceof Uint8Array ? value.length : 8;
  }
  return units;
}

/** What an engine adds to the SQL that both share. */
export interface Engine {
  readonly dialect: Dialect;
  /** Runs one statement with `?` for its parameters. Throws ServiceError where the database does not respond. */
  read(sql: string, ...values: Value[]): Promise<Row[]>;
  /** See `Store`. */
  dataVersion(): number | undefined;
  findPage(position: PagePosition, shape: PageShape, cached: CachedVersion | undefined): Promise<FoundPage | undefined>;
  /** A page of any size, on a connection of its own until it is closed. */
  openPage(position: PagePosition, shape: PageShape): Promise<PageStream | undefined>;
  /** How many of them may be open at once. */
  readonly openPagesMax: number;
  /** Throws where the database does not respond. */
  ping(): Promise<void>;
  write<N extends WriteName>(name: N, input: WriteInput<N>, options?: WriteOptions): Promise<WriteResult<N>>;
  /** The rows of several statements in batches, all from one moment. */
  snapshot(statements: readonly string[]): AsyncIterable<{ statement: number; rows: Row[] }>;
  /** The folder for records of an import that do not fit into memory. */
  readonly spoolFolder: string;
  close(): Promise<void>;
}

/** Where the SQL of the two engines differs. */
export type Dialect = {
  /** A condition: the column is one of the values of a list parameter. */
  isIn(column: string): string;
  list(values: readonly string[]): Value;
  /** The table that an app's usage of a day is added up from. */
  usageDays: string;
};
