import type { DocumentListed, SegmentListed } from '../contract/admin.ts';
import { canonicalId } from '../contract/primitives.ts';
import type { KnowledgePath } from './admin-reads.ts';
import type { CallerOf } from './caller.ts';
import { notFound } from './errors.ts';
import type { Store } from './store.ts';

const asKept = <P extends KnowledgePath>(path: P): P =>
  Object.fromEntries(Object.entries(path).map(([name, id]) => [name, canonicalId(id)])) as P;

/** The first part of a path that fails; undefined where it holds together. */
async function failingPart({ admin }: Store, path: KnowledgePath): Promise<string | undefined> {
  const found = await admin.findKnowledge(path);
  if (found === undefined) return 'dataset';
  if (path.document_id !== undefined && !found.document) return 'document';
  if (path.segment_id !== undefined && !found.segment) return 'segment';
  if (path.child_chunk_id !== undefined && !found.child_chunk) return 'child chunk';
  return undefined;
}

/** The path with its ids as they are kept; throws for the first part that fails. */
export async function requireKnowledge<P extends KnowledgePath>(store: Store, given: P): Promise<P> {
  const path = asKept(given);
  const part = await failingPart(store, path);
  if (part !== undefined) throw notFound(`${part} not found`);
  return path;
}

/** Throws for the first part of its path that fails, which is only looked for where the document is not found. */
export async function requireDocument(
  store: Store,
  given: { dataset_id: string; document_id: string },
): Promise<DocumentListed> {
  const path = asKept(given);
  const found = await store.admin.findDocument(path.dataset_id, path.document_id);
  if (found === undefined) throw notFound(`${(await failingPart(store, path)) ?? 'document'} not found`);
  return found;
}

/** As above. */
export async function requireSegment(
  store: Store,
  given: { dataset_id: string; document_id: string; segment_id: string },
): Promise<SegmentListed> {
  const path = asKept(given);
  const found = await store.admin.findSegment(path.dataset_id, path.document_id, path.segment_id);
  if (found === undefined) throw notFound(`${(await failingPart(store, path)) ?? 'segment'} not found`);
  return found;
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
