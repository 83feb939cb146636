import type { ListedKey } from '../contract/admin.ts';
import type { ChildChunk } from '../contract/child-chunk.ts';
import type { Reach } from '../contract/key-kinds.ts';
import type { PageOrder } from '../contract/message.ts';
import type { ModelType } from '../contract/model.ts';
import type { KeyKind, RecordKind } from '../contract/record.ts';
import type { ActivityReads } from './activity-reads.ts';
import type { AdminReads } from './admin-reads.ts';
import type { AuditEntry, AuditQuery, Author } from './audit.ts';
import type { App } from './caller.ts';
import type { Batch, PreparedLines } from './prepare-lines.ts';
import type { Lines } from './read-lines.ts';
import type { Sessions } from './session.ts';

/** The part of an API key that decides what it opens. */
export type StoredKey = {
  id: string;
  kind: KeyKind;
  workspace_id: string | null;
  app: App | null;
  dataset_ids: readonly string[] | null;
  expires_at: number | null;
};

export type KeyLookup = StoredKey | undefined | Promise<StoredKey | undefined>;

/** A new key: neither revoked nor used yet. */
export type CreatedKey = Reach & {
  id: string;
  kind: KeyKind;
  name: string;
  digest: string;
  created_at: number;
  expires_at: number | null;
};

/** A place in an app's conversation; `user` undefined is anybody's, `first_id` undefined the newest end. */
export type MessagePlace = {
  app_id: string;
  conversation_id: string;
  user: string | undefined;
  first_id: string | undefined;
};

/** How many messages of a place are asked for, and in which order. */
export type PageShape = { limit: number; page_order: PageOrder };

/**
 * Messages as they are stored, their JSON texts joined by commas, in memory of their own; `next` is the oldest of them
 * where older ones exist.
 */
export type Messages = { docs: Uint8Array; next: string | undefined };

/** A version in which a page is held. `page_exists`: we have read it in that version, so its first message exists. */
export type CachedVersion = { version: string; page_exists: boolean };

/** `messages` is undefined where the conversation still has the version that the caller holds. */
export type FoundPage = { version: string; first_message_exists: boolean; messages: Messages | undefined };

export type ChildChunkPlace = {
  workspace_id: string;
  dataset_id: string;
  document_id: string;
  segment_id: string;
  child_chunk_id: string;
};

export type Versioned<T> = { chunk: T; version: string };

/** How far a path holds together. */
export type FoundChunkPath = {
  dataset: boolean;
  document: boolean;
  segment: boolean;
  child_chunk: Versioned<ChildChunk> | undefined;
};

/** `any` is `If-Match: *`; a list holds the strong tags that may be replaced; undefined asks for nothing. */
export type Precondition = 'any' | readonly string[] | undefined;

export type ChildChunkEdit = ChildChunkPlace & {
  content: string;
  now: number;
  key_id: string;
  /** The version this edit gives the chunk. */
  version: string;
  precondition: Precondition;
};

export type ChildChunkOutcome = Versioned<ChildChunk> | { missing: string } | { stale: true };

/** What can be looked up: kinds of record that others refer to; `digest` leads to an API key, `key_digest` back. */
export type Referable =
  | Exclude<RecordKind, 'message' | 'child_chunk_revision' | 'model_provider'>
  | 'digest'
  | 'key_digest';

/** What the rules about references need of a stored record. */
export type ReferenceTarget = {
  id: string;
  /** The record it belongs to; null for a workspace or an admin key; where a digest or a key's digest leads. */
  parent: string | null;
  /** The dataset of a document, segment or child chunk; the app of an API key; else null. */
  scope: string | null;
};

export type ImportProgress = (phase: 'checked' | 'applied', records: number) => void;

/** One import on its way in. Nothing of it is in the store before `apply` resolves. */
export interface Intake {
  /** Checks lines in themselves, each piece up to the first that is bad. */
  prepare(pieces: AsyncIterable<Lines>, now: number): AsyncIterable<PreparedLines>;
  /** Of these ids of one kind, those that the store or earlier lines of this input know. */
  lookup(kind: Referable, ids: readonly string[]): Promise<Map<string, ReferenceTarget>>;
  remember(kind: Referable, known: ReferenceTarget): void;
  add(batch: Batch): Promise<void>;
  /** All or nothing. A record that no longer fits throws BadRecord. */
  apply(author: Author, progress?: ImportProgress): Promise<void>;
  /** Forgets what was not applied. Always called, also after `apply`. */
  discard(): Promise<void>;
}

/** Where it is kept. Absence is a value here; what it means is the domain's to say. */
export interface Store {
  /**
   * A key that is neither revoked nor expired. Not a promise if it is cached. Without a data version, a change by another
   * instance may take a few seconds to show; a cached key may have expired.
   */
  findKey(digest: string, now: number, dataVersion: number | undefined): KeyLookup;

  /**
   * Changes whenever anything in the database does; what was read under a mark holds while the mark stands. Undefined
   * where asking for it would cost as much as reading.
   */
  dataVersion(): number | undefined;

  /** The newest messages of a place, not read at all where the version is the one that is held. */
  findPage(place: MessagePlace, shape: PageShape, held: CachedVersion | undefined): Promise<FoundPage | undefined>;

  findChildChunk(place: ChildChunkPlace): Promise<FoundChunkPath>;
  /** Settles the edit against what stands at the moment of writing; resolves when it is on disk. */
  updateChildChunk(edit: ChildChunkEdit): Promise<ChildChunkOutcome>;

  /** JSON texts of provider entries, in the order in which the providers were recorded. */
  findModelEntries(workspace_id: string, model_type: ModelType): Promise<string[]>;

  /** Several may be checked at once; they are applied one after another. */
  openIntake(): Promise<Intake>;
  /** Lines of records, parents before children, all from one moment. */
  exportRecords(): AsyncIterable<Uint8Array>;

  /** What the console shows of everything. */
  readonly admin: AdminReads;
  readonly activity: ActivityReads;
  /** Who is signed in to it. */
  readonly sessions: Sessions;

  /** Those of these ids of one kind that exist. */
  lookup(kind: Referable, ids: readonly string[]): Promise<Map<string, ReferenceTarget>>;

  /** `createdBy`: a key, or null for the command line. */
  createKey(key: CreatedKey, createdBy: string | null): Promise<void>;
  listKeys(): Promise<ListedKey[]>;
  /** False where no such key exists; a key that is revoked already stays as it is. `by`: a key, or null. */
  revokeKey(id: string, by: string | null, now: number): Promise<boolean>;
  countConversations(selection: Purge): Promise<{ conversations: number; messages: number }>;
  purge(selection: Purge, now: number): Promise<{ conversations: number; messages: number }>;

  /** Every write leaves an entry, in its own transaction. */
  listAudit(question: AuditQuery): Promise<AuditEntry[]>;
  /** Forgets entries from before a moment in seconds, a few at a time; returns how many. */
  trimAudit(before: number): Promise<number>;
  /** When keys were last used, in seconds, by their ids. */
  noteKeyUse(uses: ReadonlyMap<string, number>): Promise<void>;

  isEmpty(): Promise<boolean>;
  /** Throws where the database cannot answer. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export type Purge = { conversation_id: string } | { app_id: string; user: string };
