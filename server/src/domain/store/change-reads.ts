import { randomBytes } from 'node:crypto';
import type { ChangeKind } from '../../contract/change.ts';

/** Hexadecimal, so that a cursor never looks like an option of a command. */
export const newEpoch = (): string => randomBytes(6).toString('hex');

/** The newest position of the change feed. Cursors of another epoch are invalid. */
export type ChangesHead = { epoch: string; position: number };

/** Scope of a reader of the feed: everything, a workspace, or one app or some datasets of it. */
export type ChangeScope = {
  workspace_id: string | undefined;
  app_id: string | undefined;
  dataset_ids: readonly string[] | undefined;
  kinds: readonly ChangeKind[] | undefined;
};

/** The position of a reader. During the initial snapshot, `snapshot` is the kind and the key of the last row. */
export type ChangePosition = { position: number; snapshot?: { kind: ChangeKind; key: readonly (string | number)[] } };

/** `line` is the record's line of an export; undefined if it is gone, or if records are not requested. */
export type FoundChange = {
  at: ChangePosition;
  kind: ChangeKind;
  id: string;
  time: number;
  path: Record<string, string | null>;
  gone: boolean;
  line: string | undefined;
};

/** A page of entries to read. */
export type ChangeSelection = {
  scope: ChangeScope;
  limit: number;
  include: 'record' | 'none';
  /** The page ends here, with at least one entry. */
  bytesMax: number;
  /** A larger page takes one of the slots for large pages until it is closed. */
  wholeBytesMax: number;
  /** Aborts when the client disconnects. */
  signal: AbortSignal;
};

/** Some entries after a position. `next` is the position after everything that was read, also what is not shown. */
export type FoundChanges = {
  changes: FoundChange[];
  next: ChangePosition;
  hasMore: boolean;
  bytes: number;
  close(): void;
};

/** A record that has changed, or that is gone. `scope` is the conversation of a message, or the dataset of a segment. */
export type ChangedId = { at: ChangePosition; kind: ChangeKind; scope: string; id: string };
export type ChangedIds = { changes: ChangedId[]; next: ChangePosition; hasMore: boolean };

export type ChangeCounts = ChangesHead & { unsequenced: number; oldestUnsequenced: number | null };

/** Reads of the change feed. */
export interface ChangeReads {
  /** The head, after all changes that were committed before the call were sequenced. Those of an interrupted commit come later. */
  sequence(): Promise<ChangesHead>;
  /** As `sequence`, but if nothing can be written now, the head as it is: readers get what is sequenced. */
  sequenceIfPossible(): Promise<ChangesHead>;
  head(): Promise<ChangesHead>;
  /** Whether something was written since the feed was read up to this head, or another epoch has begun. */
  hasNews(since: ChangesHead): Promise<boolean>;
  /** Whether there are outbox entries. */
  hasUnsequenced(): Promise<boolean>;
  /** How often waiting readers look into the outbox at most. */
  readonly outboxMillis: number;
  /** The result must be closed. Closing it twice is harmless. */
  read(position: ChangePosition, selection: ChangeSelection): Promise<FoundChanges>;
  /** For readers that read the records themselves. */
  readIds(position: ChangePosition, kinds: readonly ChangeKind[]): Promise<ChangedIds>;
  count(): Promise<ChangeCounts>;
  /** Makes all cursors invalid. By default the epoch is a new one. */
  startEpoch(epoch?: string): Promise<ChangesHead>;
}
