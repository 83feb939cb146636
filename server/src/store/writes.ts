import { trimAudit } from './accounting/audit.ts';
import { changeMonitoring } from './accounting/monitoring.ts';
import { countUsers } from './accounting/user-writes.ts';
import { sequenceChanges, startEpoch } from './changes/sequencing.ts';
import { changeSession } from './console/session-statements.ts';
import type { WriteContext, WriteInput, WriteName, WriteResult } from './engine.ts';
import {
  deleteMessage,
  emptyLog,
  eraseConversations,
  rebuildFile,
  removeServiceValue,
  writeServiceValue,
} from './erasure/writes.ts';
import { createKey, noteKeyUse, revokeKey, updateKey } from './keys/writes.ts';
import { createChildChunk, deleteChildChunk, updateChildChunk } from './knowledge/chunk-writes.ts';
import { changeConversation, rateMessage } from './messages/writes.ts';
import { applyRecords } from './records/apply-records.ts';
import { changeDoubts } from './records/doubts.ts';
import { changeImportSource, takeLease } from './records/import-sources.ts';
import { applyToIndex, resetIndex } from './search/index-writes.ts';
import { takeIndexLease } from './search/statements.ts';
import type { Write } from './statement.ts';

export type WriteOf<N extends WriteName> = (input: WriteInput<N>, context: WriteContext) => Write<WriteResult<N>>;

/** The writes, each for both engines. */
export const writes: { readonly [N in WriteName]: WriteOf<N> } = {
  updateChildChunk,
  createChildChunk,
  deleteChildChunk,
  applyRecords,
  createKey,
  revokeKey,
  updateKey,
  noteKeyUse,
  changeMonitoring,
  changeConversation,
  rateMessage,
  countUsers,
  eraseConversations,
  deleteMessage,
  rebuildFile,
  emptyLog,
  writeServiceValue,
  removeServiceValue,
  changeSession,
  trimAudit,
  sequenceChanges,
  startEpoch,
  changeImportSource,
  takeLease,
  changeDoubts,
  takeIndexLease,
  resetIndex,
  applyToIndex,
};
