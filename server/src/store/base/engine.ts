import type { RecordKind } from '../../contract/record.ts';
import type { Author } from '../../domain/store/audit.ts';
import type { Commands } from '../../domain/store/commands.ts';
import type { Eraser, ErasureCounts, ErasureSelection } from '../../domain/store/erasure.ts';
import type { DatabaseSize, NodeState } from '../../domain/store/monitoring.ts';
import type { IndexQuery } from '../../domain/store/search-reads.ts';
import type { SearchStore } from '../../domain/store/searches.ts';
import type { CachedVersion, FoundPage, OpenPage, PagePosition, PageShape } from '../../domain/store/store.ts';
import type { IndexTables } from './index-tables.ts';
import type { MessageTables } from './message-tables.ts';
import type { SizedTable } from './sized.ts';
import type { Reader, Row, Statement, Value } from './statement.ts';

export type { Reader, Row, Value } from './statement.ts';

/** Checked records that wait to be written: in memory while they are small, else in a temporary file. */
export type SpoolHandle = { kinds: ReadonlySet<RecordKind> } & (
  | { parts: Uint8Array[] }
  | { fd: number; bytes: number }
);

export type ImportSourceChange = { source: string } & (
  | { values: Readonly<Record<string, string | null>> }
  | { kind: string; added: readonly string[] }
  | { kind: string; removed: readonly string[] }
);

/** Reads from one snapshot on a separate connection. It must be closed. */
export type Snapshot = { read: Reader; close(): void };
/** Runs statements that read very many rows. One that has not begun when `signal` aborts never does. */
export type Scan = <T>(work: (read: Reader) => Promise<T>, signal?: AbortSignal) => Promise<T>;

/** One kind of record of an export: its rows in the order of their keys, each written as one line. */
export type ExportStep = SizedTable & { kind: RecordKind; line: (row: Row) => string };

/** Rows of a step of an export. Messages of a selection come with the user of their conversation. */
export type ExportedRows = { step: ExportStep; rows: Row[]; user?: string | null };

/** Writes that are parts of a method of the store, in the form of `Commands`. */
type StoreWrites = {
  /** The result is the number of records. */
  applyRecords: [{ spool: SpoolHandle; author: Author }, number];
  /** Erases some conversations, and adds them to an audit entry. */
  eraseConversations: [
    { selection: ErasureSelection; eraser: Eraser; audit_id: string },
    ErasureCounts & { hasMore: boolean },
  ];
  /** Rebuilds the file without copies of deleted texts. These four are for an engine whose dialect `leavesCopies`. */
  rebuildFile: [undefined, undefined];
  noteRebuilt: [{ mark: string }, undefined];
  /** The log cannot be emptied while another process reads older data. Then the result has its salt for the next attempt. */
  emptyLog: [{ salt: string | null }, { isEmpty: boolean; salt: string }];
  noteLog: [{ mark: string; salt: string | undefined; now: number }, undefined];
  /** Deletes one batch of the oldest entries before an id. The result is their number. */
  trimAudit: [{ before: string }, number];
  /** Sequences some of the committed outbox entries. The result is whether some may be left. */
  sequenceChanges: [undefined, boolean];
  /** Makes all cursors of the change feed invalid. */
  startEpoch: [{ epoch: string }, undefined];
  changeImportSource: [ImportSourceChange, undefined];
  resetIndex: [{ rules: string }, undefined];
};

/** All writes, by name. An engine decides on which thread or connection a write runs. */
type Writes = Commands & StoreWrites;
export type WriteName = keyof Writes;
export type WriteInput<N extends WriteName> = Writes[N][0];
export type WriteResult<N extends WriteName> = Writes[N][1];

export type WriteContext = {
  dialect: Dialect;
  index: IndexTables;
  messages: MessageTables;
  progress: (applied: number) => void;
};

export type WriteOptions = {
  /** Waits without a time limit, instead of failing with 503. */
  waitForever?: boolean;
  progress?: (applied: number) => void;
};

export const ping = 'SELECT COUNT(*) AS n FROM schema_migrations';

/** The approximate size of a row or record in characters or bytes: batches are bounded by it. */
export function unitsOf(row: object): number {
  let units = 0;
  for (const value of Object.values(row)) {
    units += typeof value === 'string' || value instanceof Uint8Array ? value.length : 8;
  }
  return units;
}

/** Reads on another thread. A read whose `signal` has aborted is not started. */
export interface Background {
  reader(signal?: AbortSignal): Reader;
  runSearch: SearchStore['run'];
}

/** The part of an engine that reads use. `readLarge`: for large rows, of one request at a time. */
export type ReadEngine = Pick<Engine, 'read' | 'dialect'> & { readLarge?: Reader };

export interface Engine {
  readonly dialect: Dialect;
  /** Runs one statement. Throws ServiceError if the database does not respond. */
  read: Reader;
  /** For reads that may take long, on an engine whose statements hold up the other requests of this thread. */
  background?: Background;
  /** The same for statements that read very many rows: they never delay a search. */
  scans?: Background;
  /** See `Store`. */
  dataVersion(): number | undefined;
  findPage(position: PagePosition, shape: PageShape, cached: CachedVersion | undefined): Promise<FoundPage | undefined>;
  /** A page of any size. It has a separate connection until it is closed. */
  openPage(position: PagePosition, shape: PageShape): Promise<OpenPage | undefined>;
  /** A snapshot for reading a large response. It has a separate connection until it is closed. */
  openSnapshot(): Promise<Snapshot>;
  /** Maximum number of pages and snapshots that are open at the same time. */
  readonly openPagesMax: number;
  /** Connections of this engine that are in use, and requests that wait for one. */
  connections?(): { used: number; waiting: number };
  nodes?(): Promise<NodeState[]>;
  /** Throws if the database does not respond. */
  ping(): Promise<void>;
  write<N extends WriteName>(name: N, input: WriteInput<N>, options?: WriteOptions): Promise<WriteResult<N>>;
  /** The rows of these steps in batches, from one consistent snapshot; on a distributed database see `exportPages`. */
  readAll(steps: readonly ExportStep[]): AsyncIterable<ExportedRows>;
  /** The folder for records of an import that do not fit into memory. */
  readonly spoolFolder: string;
  close(): Promise<void>;
}

/** The parts of shared statements in which the engines differ. */
export type Dialect = {
  /** A condition: the column is one of the values of a list parameter. */
  isIn(column: string): string;
  list(values: readonly (string | number)[]): Value;
  /**
   * A condition: the two columns are one of the pairs in the parameters that `pairs` returns. It finds rows by an index of both
   * columns. An engine may also find other combinations of these values. The last parameter has the values of `first`.
   */
  isPair(first: string, second: string): string;
  pairs(pairs: readonly (readonly [string, string])[]): Value[];
  /** Only one transaction writes at a time, so locks are not needed. */
  hasOneWriter: boolean;
  /** Deleted texts may stay in the file until it is rebuilt: see `rebuildFile`. */
  leavesCopies: boolean;
  /** Reads rows that stay locked until the end of the transaction. `unchanged` is any column that is no part of a key. */
  lockRows(columns: string, table: string, condition: string, unchanged?: string): string;
  /** A table with the column `value`: the values of a list parameter. */
  listTable: string;
  /** A text in the JSON object of a column. */
  jsonField(column: string, name: string): string;
  search: SearchDialect;
  databaseSize: Statement<Omit<DatabaseSize, 'isEmbedded'>>;
  /**
   * For a database that commits on several nodes, in two phases. `find`: the transactions that some node has prepared and not
   * finished yet, and something for each node that cannot be asked.
   */
  unfinished?: { find: Statement<{ id: string }>; pause: Statement };
  /** Whether the row after which a page begins is read by a statement of its own. */
  readsCursorFirst: boolean;
};

/**
 * A search reads the index in windows of positions, from the newest one back, each by one statement, so that none takes long.
 * `days`: of the first window. If a statement took less than `fast` milliseconds, the next window is much larger, below `slow`
 * larger, and above `tooSlow` smaller.
 */
export type SearchWindows = { days: number; fast: number; slow: number; tooSlow: number };

export type SearchTable = 'search_messages' | 'search_chunks';

export type SearchDialect = {
  /** The first and the last position, each by the end of an index. */
  range(table: SearchTable): Statement<{ first: number | null; last: number | null }>;
  windows: SearchWindows;
  /** The table whose rows are searched by tokens, as `s`. */
  from: Record<SearchTable, string>;
  position: string;
  /** A condition with a parameter: the row has the tokens of a query. */
  matches: Record<SearchTable, string>;
  /** A condition: the row has tokens. */
  isIndexed: Record<SearchTable, string>;
  /**
   * A statement for the words with a beginning, for an engine that collects all of their rows before it returns the first.
   * Parameters: the beginning, a count.
   */
  wordsWith?: Record<SearchTable, Statement<{ term: string }>>;
  /** The parameter of `matches`. */
  queryOf(tokens: IndexQuery['tokens']): string;
};
