import type { AuditAction } from '../../contract/audit.ts';
import type { AppRetention as ListedRetention } from '../../contract/erasure.ts';

/** The conversations of an explicit purge: one, or all of a user in an app. */
export type PurgeSelection = { conversation_id: string } | { app_id: string; user: string };

/** The conversations of an app without activity since a time in seconds, apart from those on hold. */
export type ExpiredSelection = { app_id: string; inactive_before: number };

export type ErasureSelection = PurgeSelection | ExpiredSelection;

/** Who erases, and when, in seconds. `key_id` is null for the command line and for the retention. */
export type Eraser = { action: Extract<AuditAction, 'purge' | 'retain'>; key_id: string | null; now: number };

export type ErasureCounts = { conversations: number; messages: number };

/** `audit_id`: the entry of the audit log; null if nothing was erased. */
export type Erased = ErasureCounts & { audit_id: string | null };

export type MessageLocation = { app_id: string; conversation_id: string; message_id: string };

/** What was erased, and when, in seconds. `message_id` is empty for a conversation. */
export type Tombstone = { conversation_id: string; message_id: string; at: number };

/**
 * Where copies of erased texts are: in the files of the embedded engine, while another process reads older data; and where a
 * replicator has copied these files.
 */
export type ErasedCopies = 'files' | 'replica';

/** Since when erased texts have copies in the files, and when the files last had none any more, in seconds. */
export type CopiesState = { waiting_since: number | null; cleaned_at: number | null };

/** The retention of an app: its own period, and its oldest conversation that is not on hold. */
export type AppRetention = Omit<ListedRetention, 'conversations_due'> & { name: string };

/** Everything that erases records. Each erased conversation or message leaves a tombstone. */
export interface Erasure {
  countConversations(selection: ErasureSelection): Promise<{ conversations: number; held: number }>;
  /** `held`: conversations on hold. An explicit purge erases them too. */
  count(selection: ErasureSelection): Promise<ErasureCounts & { held: number }>;
  /**
   * Erases conversations in several transactions. One that has activity in the meantime is not erased by `ExpiredSelection`. If
   * the signal aborts, the rest is left. The files of the embedded engine may have copies of the texts until `clean`.
   */
  erase(selection: ErasureSelection, eraser: Eraser, signal?: AbortSignal): Promise<Erased>;
  /**
   * Removes what erased texts have left in the files of the embedded engine, if there may be anything. Returns after a few
   * seconds at most, with what is left then: the rebuild of a large file continues, and `emptyLog` has to be called
   * again. Throws if the file cannot be rebuilt.
   */
  clean(): Promise<ErasedCopies[]>;
  /** Whether the log of the embedded engine has no erased texts any more. If not, another process reads older data. */
  emptyLog(): Promise<boolean>;
  /** Undefined if nothing was erased, and on PostgreSQL. */
  readCopies(): Promise<CopiesState | undefined>;

  /** The tombstones of these conversations and of their messages. */
  findTombstones(conversation_ids: readonly string[]): Promise<Tombstone[]>;
  /** Some of those that the store of backups does not have, oldest first. */
  findUnsent(limit: number): Promise<Tombstone[]>;

  /** By app id; of all apps or one. */
  listRetention(app_id?: string): Promise<AppRetention[]>;
  /** The period in days for apps without one that is stored: 0 for none. */
  readRetentionDays(): Promise<number>;
}
