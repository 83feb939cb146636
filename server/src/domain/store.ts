import type { ListedKey } from '../contract/admin.ts';
import type { ChildChunk } from '../contract/child-chunk.ts';
import type { KeyKind, Reach } from '../contract/key-kinds.ts';
import type { PageOrder } from '../contract/message.ts';
import type { ModelType } from '../contract/model.ts';
import type { ActivityReads } from './activity-reads.ts';
import type { AdminReads } from './admin-reads.ts';
import type { AuditEntry, AuditQuery, Author } from './audit.ts';
import type { App } from './caller.ts';
import type { Batch } from './prepare-lines.ts';
import type { ReferableKind } from './record-kinds.ts';
import type { Sessions } from './session.ts';

/** The fields of an API key that decide what it allows. */
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
export type NewStoredKey = Reach & {
  id: string;
  kind: KeyKind;
  name: string;
  digest: string;
  created_at: number;
  expires_at: number | null;
};

/** A position in a conversation of an app. `user` undefined: of any user. `first_id` undefined: the newest message. */
export type MessagePlace = {
  app_id: string;
  conversation_id: string;
  user: string | undefined;
  first_id: string | undefined;
};

/** How many messages a page has at most, and in which order. */
export type PageShape = { limit: number; page_order: PageOrder };

/**
 * Messages as they are stored: their JSON texts joined by commas, in a buffer of its own. `next` is the id of the oldest of
 * them where older messages exist.
 */
export type Messages = { docs: Uint8Array; next: string | undefined };

/** The version of a cached page. `page_exists`: the page was read in that version, so its first message exists. */
export type CachedVersion = { version: string; page_exists: boolean };

/**
 * `messages` is undefined where the conversation still has the cached version, and `too_large` where the
 * page must be streamed.
 */
export type FoundPage = {
  version: string;
  first_message_exists: boolean;
  messages: Messages | 'too_large' | undefined;
};

/**
 * A page that is too large to hold in memory. The texts come in chunks, in the order of the page, joined by commas; all
 * of them are from one snapshot, which lasts until `close`. Always closed, read or not; closing it twice is harmless.
 */
export type PageStream = {
  version: string;
  first_message_exists: boolean;
  /** Length of all chunks together. */
  bytes: number;
  next: string | undefined;
  chunks: AsyncIterable<Uint8Array>;
  close(): void;
};

export type ChildChunkPlace = {
  workspace_id: string;
  dataset_id: string;
  document_id: string;
  segment_id: string;
  child_chunk_id: string;
};

export type Versioned<T> = { chunk: T; version: string };

/** Which parts of a path exist. */
export type FoundChunkPath = {
  dataset: boolean;
  document: boolean;
  segment: boolean;
  child_chunk: Versioned<ChildChunk> | undefined;
};

/** `any` is `If-Match: *`; a list holds the strong tags of the request; undefined: the request has no `If-Match`. */
export type Precondition = 'any' | readonly string[] | undefined;

export type ChildChunkEdit = ChildChunkPlace & {
  content: string;
  now: number;
  key_id: string;
  /** The version that the chunk gets. */
  version: string;
  precondition: Precondition;
};

export type ChildChunkOutcome = Versioned<ChildChunk> | { missing: string } | { stale: true };

/** What can be looked up by id: referable records; `digest` leads to an API key, `key_digest` to a key's digest. */
export type LookupKind = ReferableKind | 'digest' | 'key_digest';

/** What the rules about references need of a record that exists. */
export type ReferenceTarget = {
  id: string;
  /** The record it belongs to; null for a workspace or an admin key; the key of a digest, the digest of a key. */
  parent: string | null;
  /** The dataset of a document, segment or child chunk; the app of an API key; else null. */
  scope: string | null;
};

export type ImportProgress = (phase: 'checked' | 'applied', records: number) => void;

/** An import whose records are being checked. Nothing of it is in the store before `apply` resolves. */
export interface PendingImport {
  /** Those of these ids that exist in the store or in earlier lines of this input. */
  lookup(kind: LookupKind, ids: readonly string[]): Promise<Map<string, ReferenceTarget>>;
  /** Later lines may refer to it. */
  addTarget(kind: LookupKind, target: ReferenceTarget): void;
  add(batch: Batch): Promise<void>;
  /** All or nothing. Throws BadRecord where a record no longer fits. */
  apply(author: Author, progress?: ImportProgress): Promise<void>;
  /** Frees what was not applied. Always called, also after `apply`. */
  discard(): Promise<void>;
}

/** The database. It returns undefined or false for what does not exist; the domain decides which error that is. */
export interface Store {
  /**
   * A key that is neither revoked nor expired. Not a promise if it is cached. Without a data version, a change by another
   * instance may take a few seconds to show; a cached key may have expired.
   */
  findKey(digest: string, now: number, dataVersion: number | undefined): KeyLookup;

  /**
   * Changes with every commit to the database: what was read is current while the data version is the same. Undefined where
   * reading the data version would cost as much as reading the data.
   */
  dataVersion(): number | undefined;

  /** The newest messages from a place on. They are not read where the conversation still has the cached version. */
  findPage(place: MessagePlace, shape: PageShape, cached: CachedVersion | undefined): Promise<FoundPage | undefined>;
  /**
   * A page of any size. Only a few are open at once: this waits for a free slot for a few seconds, then throws; the
   * signal ends the wait.
   */
  openPage(place: MessagePlace, shape: PageShape, signal: AbortSignal): Promise<PageStream | undefined>;

  findChildChunk(place: ChildChunkPlace): Promise<FoundChunkPath>;
  /** Decides the edit by the chunk as it is stored at the moment of writing; resolves when the edit is on disk. */
  updateChildChunk(edit: ChildChunkEdit): Promise<ChildChunkOutcome>;

  /** JSON texts of provider entries, in the order in which the providers were recorded. */
  findModelEntries(workspace_id: string, model_type: ModelType): Promise<string[]>;

  /** Several may be checked at once; they are applied one after another. */
  openImport(): Promise<PendingImport>;
  /** Lines of records, parents before children, all from one moment. */
  exportRecords(): AsyncIterable<Uint8Array>;

  /** What the console shows. */
  readonly admin: AdminReads;
  readonly activity: ActivityReads;
  /** Sessions of the console. */
  readonly sessions: Sessions;

  /** Those of these ids of one kind that exist. */
  lookup(kind: LookupKind, ids: readonly string[]): Promise<Map<string, ReferenceTarget>>;

  /** `createdBy`: the id of a key, or null for the command line. */
  createKey(key: NewStoredKey, createdBy: string | null): Promise<void>;
  listKeys(): Promise<ListedKey[]>;
  /** False where no such key exists; a key that is revoked already stays as it is. `by`: the id of a key, or null. */
  revokeKey(id: string, by: string | null, now: number): Promise<boolean>;
  countConversations(selection: PurgeSelection): Promise<{ conversations: number; messages: number }>;
  purge(selection: PurgeSelection, now: number): Promise<{ conversations: number; messages: number }>;

  /** Every write adds an audit entry in its own transaction. */
  listAudit(query: AuditQuery): Promise<AuditEntry[]>;
  /** Deletes entries from before a time in seconds, in batches; returns how many. */
  trimAudit(before: number): Promise<number>;
  /** Stores when keys were last used, in seconds, by key id. */
  noteKeyUse(uses: ReadonlyMap<string, number>): Promise<void>;

  isEmpty(): Promise<boolean>;
  /** Throws where the database does not respond. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export type PurgeSelection = { conversation_id: string } | { app_id: string; user: string };
