import { canonicalId } from '../contract/primitives.ts';
import type { KnowledgePath } from './admin-reads.ts';
import type { CallerOf } from './caller.ts';
import { notFound } from './errors.ts';
import type { Store } from './store.ts';

/** The path with its ids as they are kept; throws for the first part that fails. */
export async function requireKnowledge<P extends KnowledgePath>({ admin }: Store, given: P): Promise<P> {
  const path = Object.fromEntries(Object.entries(given).map(([name, id]) => [name, canonicalId(id)])) as P;
  const found = await admin.findKnowledge(path);
  if (found === undefined) throw notFound('dataset not found');
  if (path.document_id !== undefined && !found.document) throw notFound('document not found');
  if (path.segment_id !== undefined && !found.segment) throw notFound('segment not found');
  if (path.child_chunk_id !== undefined && !found.child_chunk) throw notFound('child chunk not found');
  return path;
}

/** An admin reaches what a knowledge key of the dataset's workspace reaches. */
export async function asKnowledge(
  { admin }: Store,
  { key_id }: CallerOf<'admin'>,
  dataset_id: string,
): Promise<CallerOf<'knowledge'>> {
  const found = await admin.findKnowledge({ dataset_id: canonicalId(dataset_id) });
  // No workspace has an empty id: then the dataset is not found where the path is looked at.
  return { kind: 'knowledge', key_id, workspace_id: found?.workspace_id ?? '', dataset_ids: null };
}
