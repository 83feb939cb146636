import type { KeyChange } from '../../contract/admin.ts';
import type { AppChange } from '../../contract/app.ts';
import type { ConversationChange, ConversationRow, MessageRating } from './app-store.ts';
import type { Read } from './audit.ts';
import type { ChildChunkDeletion, ChildChunkEdit, ChildChunkOutcome, NewChildChunk } from './child-chunks.ts';
import type { Doubt } from './doubts.ts';
import type { Eraser, MessageLocation, PurgeSelection, Tombstone } from './erasure.ts';
import type { ItemAppend, ItemAppendOutcome, ItemDeletion, MetadataChange } from './items.ts';
import type { IdentifiedPerson, Logout, NewStoredKey, Session } from './keys.ts';
import type { JobNote, KeyRequests } from './monitoring.ts';
import type { ReviewChange, ReviewOutcome } from './reviews.ts';
import type { AppliedChanges, IndexChange, IndexState } from './search-reads.ts';

/**
 * What the domain can write: the input of each command, and its result. The result is there when the command is on disk. Every
 * command that changes records adds an audit entry in its own transaction. `by` is an author, see `domain/author.ts`, or null.
 */
export type Commands = {
  /** Checks the edit against the stored chunk and writes it, atomically. */
  updateChildChunk: [edit: ChildChunkEdit, outcome: ChildChunkOutcome];
  /** Adds the chunk at the next position, unless a chunk with its id exists. */
  createChildChunk: [chunk: NewChildChunk, outcome: ChildChunkOutcome];
  /** The outcome is the deleted chunk. */
  deleteChildChunk: [deletion: ChildChunkDeletion, outcome: ChildChunkOutcome];

  /** The changed conversation; undefined if it does not exist. */
  changeConversation: [change: ConversationChange, row: ConversationRow | undefined];
  /** `unrated`: there is no feedback to remove. */
  rateMessage: [rating: MessageRating, outcome: 'rated' | 'unrated' | 'missing'];
  /** Erases a message for good. The files of the embedded engine may have copies of its texts until `Erasure.clean`. */
  deleteMessage: [{ location: MessageLocation; eraser: Eraser }, outcome: 'deleted' | 'no conversation' | 'no message'];

  /** The review as it is stored then. `stale`: the preconditions do not hold. */
  putReview: [change: ReviewChange, outcome: ReviewOutcome];

  /** Adds the items of one request, all or none. */
  appendItems: [append: ItemAppend, outcome: ItemAppendOutcome];
  /** A message without other items is erased. */
  deleteItem: [deletion: ItemDeletion, outcome: 'deleted' | 'no conversation' | 'no item'];
  /** False if the conversation does not exist. */
  changeMetadata: [change: MetadataChange, exists: boolean];

  /** Stores what was erased elsewhere, or that the store of backups has it. A newer tombstone stays. */
  keepTombstones: [{ tombstones: readonly Tombstone[]; areInBackups: boolean }, undefined];
  /** The period in days for apps without one: 0 for none. */
  setRetentionDays: [days: number, undefined];

  /** Null forgets the name. */
  saveView: [{ name: string; address: string | null }, undefined];

  /** False if the app does not exist. */
  updateApp: [{ id: string; change: AppChange; by: string | null; now: number }, exists: boolean];

  /** `createdBy` is the id of a key, or null for the command line. */
  createKey: [{ key: NewStoredKey; createdBy: string | null }, undefined];
  /** False if no such key exists. A key that is already revoked is unchanged. */
  revokeKey: [{ id: string; by: string | null; now: number }, exists: boolean];
  /** False if no such key exists. */
  updateKey: [{ id: string; change: KeyChange; by: string | null; now: number }, exists: boolean];
  /** Creates a key in place of another one, which then ends at a time in seconds at the latest. */
  rotateKey: [{ key: NewStoredKey; id: string; ends_at: number; by: string | null }, undefined];
  /** When keys were last used and people last seen, in seconds. */
  noteKeyUse: [uses: readonly (readonly [id: string, at: number])[], undefined];

  /** Blocks a person or not, or only ends the sessions, if `blocked` is undefined. False if the person does not exist. */
  changePerson: [{ id: string; blocked: boolean | undefined; by: string | null; now: number }, exists: boolean];

  /** Stores the person and opens the session. False if the person is blocked. */
  signIn: [
    { person: IdentifiedPerson; session: Omit<Session, 'key_id' | 'key_digest'> & { sid: string | null } },
    isOpen: boolean,
  ];
  /** Ends the sessions that a provider names. False if it has sent the same token before. */
  endSessionsOf: [logout: Logout, isNew: boolean];

  /** Those that are stored already stay as they are. */
  noteReads: [reads: readonly Read[], undefined];
  /** Deletes some of those before a time in seconds; returns how many. */
  trimReads: [before: number, deleted: number];
  /** Removes what an erased conversation or user is called. */
  blankReads: [selection: PurgeSelection, undefined];

  openSession: [session: Session, undefined];
  /** Replaces a session that has not expired by another one of its key. Nothing happens if there is none. */
  exchangeSession: [{ digest: string; session: Omit<Session, 'key_id' | 'key_digest'> }, undefined];
  /** By its digest. */
  endSession: [digest: string, undefined];
  endSessions: [undefined, undefined];
  /** Deletes expired sessions. */
  trimSessions: [now: number, undefined];

  addKeyRequests: [requests: readonly KeyRequests[], undefined];
  /** Deletes the hours before an hour. */
  trimKeyRequests: [hour: number, undefined];
  /** Stores the time of a run in seconds, and why it failed. */
  noteJob: [JobNote, undefined];

  addDoubts: [doubts: readonly Doubt[], undefined];
  /** Ends those that were not added again since then. */
  endDoubts: [doubts: readonly Doubt[], undefined];

  /** Takes or renews a lease until `expires_at`, in seconds. False if another holder has it. */
  takeLease: [{ name: string; holder: string; expires_at: number; now: number }, isHeld: boolean];
  /** Counts some of the changed conversations after this id. The last one; undefined if there are no more. */
  countUsers: [after: string, last: string | undefined];

  /** Undefined if another process indexes. Otherwise no other one does so until the lease expires. */
  takeIndexLease: [{ holder: string; expires_at: number; now: number }, state: IndexState | undefined];
  /**
   * Applies changes to the index for about `millis`, and stores the cursor after them. Undefined if another process has indexed
   * since `from`.
   */
  applyToIndex: [
    { from: string; changes: readonly IndexChange[]; millis: number },
    applied: AppliedChanges | undefined,
  ];
};

export type CommandName = keyof Commands;

/** Runs a command. */
export type RunCommand = <N extends CommandName>(name: N, input: Commands[N][0]) => Promise<Commands[N][1]>;
