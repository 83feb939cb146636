import type { RecordKind } from '../contract/record.ts';

/** A connection to a Dify database. Read-only. Every statement is short. */
export interface DifySource {
  /** JSON, times, decimals and integers of 64 bits are returned as texts. Parameters are `$1`, `$2`, … */
  query<T>(sql: string, parameters: readonly unknown[]): Promise<T[]>;
  /** Whether the table exists, or the table with this column (probed once at the start). */
  has(table: string, column?: string): boolean;
  close(): Promise<void>;
}

/** Whole seconds since 1970. The source stores times in UTC, without a zone. */
export const epoch = (column: string): string => `floor(extract(epoch FROM ${column}))::float8`;

/** A point of the source: every transaction before `xid` has ended. `time` is the source's clock, in seconds. */
export type SourcePoint = { server: string; xid: string; time: number };

export const nowSeconds = ({ clock }: { clock: () => number }): number => Math.floor(clock() / 1000);

/** With this age of a transaction, ids may have been used again. */
const xidDistanceMax = 2n ** 31n - 10_000_000n;

/** Whether the changes since `point` can be found by the numbers of their transactions. */
export function isComparable(point: SourcePoint, now: SourcePoint): boolean {
  const distance = BigInt(now.xid) - BigInt(point.xid);
  return point.server === now.server && distance >= 0n && distance < xidDistanceMax;
}

export const queryIds = async (
  source: DifySource,
  sql: string,
  parameters: readonly unknown[] = [],
): Promise<string[]> => (await source.query<{ id: string }>(sql, parameters)).map(({ id }) => id);

/** Kinds of records whose rows are read by their ids, parents before children. */
export const targets = ['conversation', 'message', 'document', 'segment', 'child_chunk'] as const;
export type Target = (typeof targets)[number];
/** Rows of the source that were found, whatever is true of them. */
export type Keys = { kind: Target; ids: string[] };
/** Where rows that must be read are added. */
export type Found = { add(kind: Target, ids: readonly string[]): void };
/** Kinds that can be pending: an app or a dataset that is new brings all of its children. */
export type PendingKind = Target | 'app' | 'dataset';

export const tableOf: Readonly<Record<PendingKind, string>> = {
  app: 'apps',
  conversation: 'conversations',
  message: 'messages',
  dataset: 'datasets',
  document: 'documents',
  segment: 'document_segments',
  child_chunk: 'child_chunks',
};

export const existingIds = async (source: DifySource, table: string, ids: readonly string[]): Promise<Set<string>> =>
  new Set(ids.length === 0 ? [] : await queryIds(source, `SELECT id FROM ${table} WHERE id = ANY($1::uuid[])`, [ids]));

export const noId = '00000000-0000-0000-0000-000000000000';

/**
 * A record, a part of a record, or a row that was not imported. `kind` is the kind of record, or the table of the source if
 * there is none. `part` is a path such as `retriever_resources[2]`. `reason` is a short stable text, since skips are counted
 * by reason; `detail` says what is wrong with this value.
 */
export type Skip = { kind: string; id: string; part?: string; reason: string; detail?: string };

export type ImportOptions = {
  /** Also conversations that were not started through the API: test chats of the console. */
  console: boolean;
  /** Replaces scheme and host of links to files. */
  filesBase: string | undefined;
  workspaceIds: readonly string[] | undefined;
  /** Only these apps, and no knowledge bases. */
  appIds: readonly string[] | undefined;
  /** Only conversations that were created or updated since then, in epoch seconds. */
  since: number | undefined;
  keys: boolean;
};

/** Whether an option selects an id: without its list, it selects all. */
export const isOneOf = (id: unknown, ids: readonly string[] | undefined): boolean =>
  ids === undefined || ids.some((one) => one.toLowerCase() === id);

export const isSelected = (key: Record<string, unknown>, { workspaceIds, appIds }: ImportOptions): boolean =>
  isOneOf(key.workspace_id, workspaceIds) && isOneOf(key.app_id, appIds);

export const allRows: ImportOptions = {
  console: false,
  filesBase: undefined,
  workspaceIds: undefined,
  appIds: undefined,
  since: undefined,
  keys: true,
};

/** `count` is for events that are not skips, such as removed signatures of links. */
export type Report = { skip(skip: Skip): void; count(what: string, n?: number): void };
export const silentReport: Report = { skip: () => undefined, count: () => undefined };

/** A row of the source. Its values are checked when the record is. */
export type Row = Record<string, unknown> & { id: string };
export type MessageRow = Row & { conversation_id: string; workspace_id: string; created_at: number };
export type PartRow = Row & { message_id: string };

/** What the readers of rows need: the source, what is imported of it, and where skipped rows are listed. */
export type Reading = Mapping & { source: DifySource };
export type Mapping = { options: ImportOptions; report: Report };

/** Records of a kind that were read, and those of them that were written. */
export type KindCount = { read: number; written: number };

/** The input form of a record, as in contract/record.ts. */
export type RecordInput = { record: RecordKind } & Record<string, unknown>;
