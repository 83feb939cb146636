import type { RecordKind } from '../contract/record.ts';

/** A stored record, with the fields of an export. */
export type StoredRecord = Record<string, unknown> & { id: string };

/** Messages of one conversation: their number, and the time of the newest, if there is one. */
export type MessageCount = { messages: number; newest: number | null };

/** Records of one dataset. */
export type KnowledgeCount = { documents: number; segments: number; child_chunks: number };

/** What is stored about sources of imports that run again, and the stored records that such an import compares. */
export interface ImportSources {
  /** The values of a source by name. */
  read(source: string): Promise<Map<string, string>>;
  /** A null removes the value. */
  write(source: string, values: Readonly<Record<string, string | null>>): Promise<void>;
  /** Ids that are already listed are unchanged. `kind` is a kind of record, or another list of ids. */
  addIds(source: string, kind: string, ids: readonly string[]): Promise<void>;
  removeIds(source: string, kind: string, ids: readonly string[]): Promise<void>;
  /** In their order, after `after`. */
  listIds(source: string, kind: string, after: string, limit: number): Promise<string[]>;
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
