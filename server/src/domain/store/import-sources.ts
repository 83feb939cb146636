import type { RecordKind } from '../../contract/record.ts';

/** A stored record, with the fields of an export. */
export type StoredRecord = Record<string, unknown> & { id: string };

/** Messages of one conversation: their number, and the time of the newest, if there is one. */
export type MessageCount = { messages: number; newest: number | null };

/** Records of one dataset. */
export type KnowledgeCount = { documents: number; segments: number; child_chunks: number };

/**
 * Progress of a follower of a source, in milliseconds since 1970, by its own clock: messages that were committed in the source
 * before `messages_at` are stored, and everything else that was before `others_at`.
 */
export type FollowTimes = { messages_at: number; others_at: number };

/** The names of values with `FollowTimes`, as JSON, start with this text. */
export const followStart = 'follow ';

/** Progress of a copy of a source that is not complete, in rows; `total` is an estimate. */
export type CopyProgress = { done: number; total?: number };

/** The names of values with `CopyProgress`, as JSON, end with this text. */
export const copyEnd = ' position';

/** State of import sources that are read again, and the stored records that such an import compares. */
export interface ImportSources {
  /** The values of a source by name. */
  read(source: string): Promise<Map<string, string>>;
  /** A null removes the value. */
  write(source: string, values: Readonly<Record<string, string | null>>): Promise<void>;
  /** The sources that have a value of this name. */
  findSources(name: string): Promise<string[]>;
  /** The values whose names are LIKE this, of all sources. */
  findValues(pattern: string): Promise<string[]>;
  /** Ids that are already listed are unchanged. `kind` is a kind of record, or another list of ids. */
  addIds(source: string, kind: string, ids: readonly string[]): Promise<void>;
  removeIds(source: string, kind: string, ids: readonly string[]): Promise<void>;
  /** In their order, after `after`. */
  listIds(source: string, kind: string, after: string, limit: number): Promise<string[]>;
  countIds(source: string, kind: string): Promise<number>;
  /** The ids of these that are listed. */
  findIds(source: string, kind: string, ids: readonly string[]): Promise<Set<string>>;

  /** The stored records of one kind with these ids, by id. `conversation_ids`: of messages. A provider's id is WORKSPACE/PROVIDER. */
  findRecords(
    kind: RecordKind,
    ids: readonly string[],
    conversation_ids?: readonly string[],
  ): Promise<Map<string, StoredRecord>>;
  /** The child chunks of these whose current text was written with a key. */
  findEdited(child_chunk_ids: readonly string[]): Promise<Set<string>>;
  countMessages(conversation_ids: readonly string[]): Promise<Map<string, MessageCount>>;
  /** By dataset, also deleted child chunks. */
  countKnowledge(dataset_ids: readonly string[]): Promise<Map<string, KnowledgeCount>>;
}

/** Lag of followers, in seconds. */
export type FollowLag = { messages_lag_seconds: number; others_lag_seconds: number };

/** Of the one that is furthest behind; undefined if no source is followed. `now` is in milliseconds. */
export async function followLag({ imports }: { imports: ImportSources }, now: number): Promise<FollowLag | undefined> {
  const times = (await imports.findValues(`${followStart}%`)).map((value): FollowTimes => JSON.parse(value));
  if (times.length === 0) return undefined;
  const oldest = (select: (one: FollowTimes) => number) =>
    Math.max(0, Math.round((now - Math.min(...times.map(select))) / 1000));
  return {
    messages_lag_seconds: oldest(({ messages_at }) => messages_at),
    others_lag_seconds: oldest(({ others_at }) => others_at),
  };
}

/** Undefined if no copy is being made. */
export async function copyProgress({ imports }: { imports: ImportSources }): Promise<CopyProgress | undefined> {
  const [value] = await imports.findValues(`%${copyEnd}`);
  return value === undefined ? undefined : JSON.parse(value);
}
