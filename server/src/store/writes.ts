import { trimAudit } from './accounting/audit.ts';
import { addKeyRequests, noteJob, trimKeyRequests } from './accounting/monitoring.ts';
import { blankReads, noteReads, trimReads } from './accounting/reads.ts';
import { countUsers } from './accounting/user-writes.ts';
import { emptyLog, noteLog, noteRebuilt, rebuildFile } from './base/copies.ts';
import type { Reader, WriteContext, WriteInput, WriteName, WriteResult } from './base/engine.ts';
import type { Write } from './base/statement.ts';
import { sequenceChanges, startEpoch } from './changes/sequencing.ts';
import { saveView, sessionWrites } from './console/sessions.ts';
import { deleteMessage, eraseConversations, keepTombstones, setRetentionDays, updateApp } from './erasure/writes.ts';
import { applyRecords } from './import/apply-records.ts';
import { addDoubts, endDoubts } from './import/doubts.ts';
import { changeImportSource, takeLease } from './import/import-sources.ts';
import { appendItems, changeMetadata, deleteItem } from './items/writes.ts';
import {
  changePerson,
  createKey,
  endSessionsOf,
  noteKeyUse,
  revokeKey,
  rotateKey,
  signIn,
  updateKey,
} from './keys/writes.ts';
import { createChildChunk, deleteChildChunk, findUnchanged, updateChildChunk } from './knowledge/chunk-writes.ts';
import { changeConversation, rateMessage } from './messages/writes.ts';
import { putReview } from './reviews/writes.ts';
import { applyToIndex, resetIndex } from './search/index-writes.ts';
import { takeIndexLease } from './search/statements.ts';

export type WriteOf<N extends WriteName> = (input: WriteInput<N>, context: WriteContext) => Write<WriteResult<N>>;

export const writes: { readonly [N in WriteName]: WriteOf<N> } = {
  updateChildChunk,
  createChildChunk,
  deleteChildChunk,
  applyRecords,
  createKey,
  revokeKey,
  updateKey,
  rotateKey,
  changePerson,
  signIn,
  endSessionsOf,
  noteKeyUse,
  addKeyRequests,
  trimKeyRequests,
  noteJob,
  changeConversation,
  rateMessage,
  countUsers,
  eraseConversations,
  deleteMessage,
  putReview,
  appendItems,
  deleteItem,
  changeMetadata,
  keepTombstones,
  rebuildFile,
  noteRebuilt,
  emptyLog,
  noteLog,
  setRetentionDays,
  updateApp,
  saveView,
  ...sessionWrites,
  trimAudit,
  noteReads,
  trimReads,
  blankReads,
  sequenceChanges,
  startEpoch,
  changeImportSource,
  takeLease,
  addDoubts,
  endDoubts,
  takeIndexLease,
  resetIndex,
  applyToIndex,
};

/** Results of writes that turn out to write nothing, by a read: for those that would wait for a long write. */
export const resultByRead: {
  readonly [N in WriteName]?: (input: WriteInput<N>, read: Reader) => Promise<WriteResult<N> | undefined>;
} = {
  updateChildChunk: findUnchanged,
};
