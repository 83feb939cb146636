import type { DisplayStatus } from '../../contract/knowledge.ts';

/** The status of a document in responses. It is stored with the document, so that lists can filter by it. */
export function displayStatusOf(document: {
  indexing_status: string;
  enabled: boolean;
  archived: boolean;
}): DisplayStatus {
  const { indexing_status, enabled, archived } = document;
  if (indexing_status === 'completed') return archived ? 'archived' : enabled ? 'available' : 'disabled';
  if (indexing_status === 'error' || indexing_status === 'paused') return indexing_status;
  return indexing_status === 'waiting' ? 'queuing' : 'indexing';
}
