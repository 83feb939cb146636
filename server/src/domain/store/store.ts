import type { ListedKey } from '../../contract/admin.ts';
import type { PageOrder } from '../../contract/message.ts';
import type { Batch } from '../records/prepare-lines.ts';
import type { ReferableKind } from '../records/record-kinds.ts';
import type { ActivityReads, Users } from './activity-reads.ts';
import type { AdminReads } from './admin-reads.ts';
import type { AppStore } from './app-store.ts';
import type { AuditPage, AuditQuery, Author } from './audit.ts';
import type { ChangeReads } from './change-reads.ts';
import type { ChunkLocation, FoundChunk } from './child-chunks.ts';
import type { RunCommand } from './commands.ts';
import type { Doubts } from './doubts.ts';
import type { Erasure } from './erasure.ts';
import type { ImportSources } from './import-sources.ts';
import type { ItemReads } from './items.ts';
import type { KeyLookup, StoredSession } from './keys.ts';
import type { KnowledgeReads } from './knowledge-reads.ts';
import type { Monitoring } from './monitoring.ts';
import type { Reviews } from './reviews.ts';
import type { SearchStore } from './searches.ts';
import type { Exports } from './selection.ts';

/** A position in a conversation of an app. Without `user`: of any user. Without `first_id`: from the newest message. */
export type PagePosition = {
  app_id: string;
  conversation_id: string;
  user: string | undefined;
  first_id: string | undefined;
};

/** Largest number of messages of a page, and their order. */
export type PageShape = { limit: number; page_order: PageOrder };

/** Between the texts of two messages. No text contains it, since JSON has no raw newline. */
export const messageSeparator = ',\n';

/**
 * Messages as they are stored: their JSON texts joined by the separator, with their own ArrayBuffer. `next` is the id of the
 * oldest of them, if older messages exist.
 */
export type Messages = { docs: Uint8Array; next: string | undefined };

/** The version of a cached page. `page_exists`: this instance has read the page in that version, so `first_id` exists. */
export type CachedVersion = { version: string; page_exists: boolean };

/**
 * `messages` is undefined if the conversation still has the cached version, and `too_large` if the page must be streamed.
 */
export type FoundPage = {
  version: string;
  first_message_exists: boolean;
  messages: Messages | 'too_large' | undefined;
};

/** A message of a page before its text is read. */
export type MessagePosition = { id: string; bytes: number; created_at: number; sequence: number };

/**
 * A page that is too large for memory: its messages in the order of the page, and their texts, all from one snapshot, which
 * lasts until `close`. The caller must always close it. Closing it twice is harmless.
 */
export type OpenPage = {
  version: string;
  first_message_exists: boolean;
  next: string | undefined;
  messages: readonly MessagePosition[];
  /** Reads the messages in their order: each batch begins after the one before it, or again with the first message. */
  readDocs(batch: readonly MessagePosition[]): Promise<Uint8Array[]>;
  close(): void;
};

/** Kinds of lookups: referable records by id; `digest`: a key by its digest; `key_digest`: a digest by its key's id. */
export type LookupKind = ReferableKind | 'digest' | 'key_digest';

/** The part of an existing record that reference checks need. */
export type ReferenceTarget = {
  id: string;
  /** The id of the parent; null for a workspace or an admin key. For `digest` the key's id, for `key_digest` the digest. */
  parent: string | null;
  /** The dataset of a document, segment or child chunk; the app of an API key; else null. */
  scope: string | null;
};

export type ImportProgress = (phase: 'checked' | 'applied', records: number) => void;

/** An import whose records are being checked. None of its records are visible before `apply` resolves. */
export interface PendingImport {
  /** The records with these ids that exist in the store or in earlier lines of this input. */
  lookup(kind: LookupKind, ids: readonly string[]): Promise<Map<string, ReferenceTarget>>;
  /** Adds a record that later lines may refer to. */
  addTarget(kind: LookupKind, target: ReferenceTarget): void;
  add(batch: Batch): Promise<void>;
  /** All or nothing. Throws BadRecord if a reference is no longer valid. */
  apply(author: Author, progress?: ImportProgress): Promise<void>;
  /** Frees memory and files. Always called, also after `apply`. */
  discard(): Promise<void>;
}

/** Reads for lists of any size. */
export type ListReads = Pick<Store, 'apps' | 'knowledge'>;

/** The database. It returns undefined or false if something does not exist; the domain decides on the error. */
export interface Store {
  /**
   * A key that is neither revoked nor expired. Not a promise if it is cached. Without a data version, a change by another
   * instance may take a few seconds to become visible. A cached key may have expired since it was read.
   */
  findKey(digest: string, now: number, dataVersion: number | undefined): KeyLookup;
  /** Whether a key is revoked or expired. Not cached. */
  isKeyEnded(digest: string, now: number): Promise<boolean>;
  /**
   * A session of the console that has not ended, of an admin key that is neither revoked nor expired, or of a person who is not
   * blocked. Not cached: a session that has ended is rejected immediately.
   */
  findSession(digest: string, now: number): Promise<StoredSession | undefined>;

  /**
   * Changes with every commit to the database: data that was read is current while the data version is the same. Undefined
   * if reading the data version would cost as much as reading the data.
   */
  dataVersion(): number | undefined;

  /** The newest messages from a position on. They are not read if the conversation still has the cached version. */
  findPage(position: PagePosition, shape: PageShape, cached: CachedVersion | undefined): Promise<FoundPage | undefined>;
  /**
   * A page of any size. The number of open pages is limited: this waits a few seconds for a free slot, then throws. The
   * signal ends the wait.
   */
  openPage(position: PagePosition, shape: PageShape, signal: AbortSignal): Promise<OpenPage | undefined>;

  /** Every single write. */
  readonly run: RunCommand;

  findChildChunk(location: ChunkLocation): Promise<FoundChunk>;

  /** Reads for the lists of knowledge bases. */
  readonly knowledge: KnowledgeReads;
  /** Reads for lists from one snapshot, which lasts until `close`, for a large response. Waits for a free slot as `openPage` does. */
  openReads(signal: AbortSignal): Promise<ListReads & { close(): void }>;

  /** Several imports may be checked concurrently. */
  openImport(): Promise<PendingImport>;
  readonly exports: Exports;

  /** Operations of app keys in addition to messages. */
  readonly apps: AppStore;
  /** Conversations as OpenAI clients read them. */
  readonly items: ItemReads;

  /** The change feed. */
  readonly changes: ChangeReads;
  /** The search. */
  readonly search: SearchStore;

  /** Sources of imports that run again. */
  readonly imports: ImportSources;

  /** Objects that another system owns and that are not up to date here. */
  readonly doubts: Doubts;

  readonly erasure: Erasure;

  /** Reads for the console. */
  readonly admin: AdminReads;
  readonly activity: ActivityReads;
  /** Reviews of answers. */
  readonly reviews: Reviews;
  /** Totals of end users. */
  readonly users: Users;
  readonly monitoring: Monitoring;

  /** The records of one kind with these ids that exist. */
  lookup(kind: LookupKind, ids: readonly string[]): Promise<Map<string, ReferenceTarget>>;

  listKeys(): Promise<ListedKey[]>;

  listAudit(query: AuditQuery): Promise<AuditPage>;
  /** Deletes entries from before a time in seconds, in batches; returns how many. */
  trimAudit(before: number): Promise<number>;

  isEmpty(): Promise<boolean>;
  /** Throws if the database does not respond. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
