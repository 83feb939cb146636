import { counted } from '../components/ui.ts';
import { hrefOf } from '../state/route.ts';
import type { Activity } from '../state/types.ts';

/** Actions and kinds of record as the user reads them, and where their records are shown. */

export const actions: Readonly<Record<Activity['action'], string>> = {
  create: 'Created',
  update: 'Changed',
  delete: 'Deleted',
  import: 'Imported',
  revoke: 'Revoked',
  purge: 'Erased',
  retain: 'Erased by retention',
};

export const kinds: Readonly<Record<Activity['record'], string>> = {
  conversation: 'conversation',
  message: 'message',
  dataset: 'dataset',
  document: 'document',
  segment: 'segment',
  child_chunk: 'chunk',
  child_chunk_revision: 'chunk revision',
  api_key: 'key',
  app: 'app',
  workspace: 'workspace',
  model_provider: 'model provider',
};

export const countedKind = ({ count, record, messages }: Activity): string => {
  const records = counted(count, kinds[record]);
  return messages === null || record === 'message' ? records : `${records} with ${counted(messages, kinds.message)}`;
};

/** The address of a record that exists; undefined if no view shows it. */
export function hrefOfRecord(kind: Activity['record'], path: readonly string[] | null): string | undefined {
  if (path === null || kind === 'workspace') return undefined;
  if (kind === 'api_key') return hrefOf('keys', ...path);
  // A provider has no address of its own: its workspace is shown.
  if (kind === 'model_provider') return hrefOf('models', ...path.slice(0, 1));
  return hrefOf(['app', 'conversation', 'message'].includes(kind) ? 'conversations' : 'knowledge', ...path);
}
