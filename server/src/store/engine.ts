import type { Author } from '../domain/audit.ts';
import type {
  CachedVersion,
  ChildChunkEdit,
  CreatedKey,
  FoundPage,
  MessagePlace,
  PageShape,
  Purge,
} from '../domain/store.ts';
import type { SessionChange } from './console/session-statements.ts';
import type { Spooled } from './records/spool.ts';

export type Row = Record<string, unknown>;
export type Value = string | number | null | Uint8Array | readonly string[];

/** Everything that changes the database, as data: an engine decides on which thread or connection it happens. */
export type Write =
  | { name: 'updateChildChunk'; edit: ChildChunkEdit }
  | { name: 'applyRecords'; spooled: Spooled; author: Author }
  | { name: 'createKey'; key: CreatedKey; createdBy: string | null }
  | { name: 'revokeKey'; id: string; by: string | null; now: number }
  | { name: 'changeSession'; change: SessionChange }
  | { name: 'purge'; selection: Purge; now: number }
  | { name: 'trimAudit'; before: string }
  | { name: 'noteKeyUse'; uses: [id: string, at: number][] };

export type WriteOptions = {
  /** Waits as long as it takes instead of giving up. */
  waitForever?: boolean;
  progress?: (applied: number) => void;
};

/** About how many characters or bytes a row or record holds: what batches are measured by. */
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
  /** One statement, its parameters marked by `?`. Throws ServiceError where the database cannot answer. */
  read(sql: string, ...values: Value[]): Promise<Row[]>;
  /** As the store's. */
  dataVersion(): number | undefined;
  findPage(place: MessagePlace, shape: PageShape, held: CachedVersion | undefined): Promise<FoundPage | undefined>;
  /** Throws where the database cannot answer. */
  ping(): Promise<void>;
  write<T>(write: Write, options?: WriteOptions): Promise<T>;
  /** The rows of several statements in batches, all from one moment. */
  snapshot(statements: readonly string[]): AsyncIterable<{ statement: number; rows: Row[] }>;
  /** Where an import may leave what does not fit into memory. */
  readonly spoolFolder: string;
  close(): Promise<void>;
}

/** Where the two dialects of SQL part. */
export type Dialect = {
  /** True where the column is among the values of one list parameter. */
  among(column: string): string;
  list(values: readonly string[]): Value;
  /** The table that what apps used in a day is added up from. */
  usageDays: string;
};
