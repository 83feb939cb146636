import { trimAudit } from './accounting/audit.ts';
import { changeMonitoring } from './accounting/monitoring.ts';
import { countUsers } from './accounting/user-writes.ts';
import type { WriteContext, WriteInput, WriteName, WriteResult } from './base/engine.ts';
import type { Write } from './base/statement.ts';
import { sequenceChanges, startEpoch } from './changes/sequencing.ts';
import { changeSession } from './console/session-statements.ts';
import {
  deleteMessage,
  emptyLog,
  eraseConversations,
  rebuildFile,
  removeServiceValue,
  writeServiceValue,
} from './erasure/writes.ts';
import { applyRecords } from './import/apply-records.ts';
import { changeDoubts } from './import/doubts.ts';
import { changeImportSource, takeLease } from './import/import-sources.ts';
import { createKey, noteKeyUse, revokeKey, updateKey } from './keys/writes.ts';
import { createChildChunk, deleteChildChunk, updateChildChunk } from './knowledge/chunk-writes.ts';
import { changeConversation, rateMessage } from './messages/writes.ts';
import { applyToIndex, resetIndex } from './search/index-writes.ts';
import { takeIndexLease } from './search/statements.ts';

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
