import type { DocumentListed, SegmentListed } from '../../contract/console/knowledge.ts';
import { canonicalId } from '../../contract/primitives.ts';
import type { CallerOf } from '../caller.ts';
import { notFound } from '../errors.ts';
import type { KnowledgePath } from '../store/admin-reads.ts';
import type { Store } from '../store/store.ts';

const canonicalPath = <P extends KnowledgePath>(path: P): P =>
  Object.fromEntries(Object.entries(path).map(([name, id]) => [name, canonicalId(id)])) as P;

/** The path with canonical ids. A dataset that the key does not allow becomes the empty id, which matches nothing. */
export function locationOf<P extends KnowledgePath>(
  caller: CallerOf<'knowledge'>,
  requestedPath: P,
): P & { workspace_id: string } {
  const path = canonicalPath(requestedPath);
  const isAllowed = caller.dataset_ids === null || caller.dataset_ids.includes(path.dataset_id);
  return { ...path, workspace_id: caller.workspace_id, dataset_id: isAllowed ? path.dataset_id : '' };
}

/** The first part of a path that does not exist in the part before it; undefined if the whole path exists. */
async function findMissingPart({ admin }: Store, path: KnowledgePath): Promise<string | undefined> {
  const exists = await admin.findKnowledge(path);
  if (exists === undefined) return 'dataset';
  if (path.document_id !== undefined && !exists.document) return 'document';
  if (path.segment_id !== undefined && !exists.segment) return 'segment';
  if (path.child_chunk_id !== undefined && !exists.child_chunk) return 'child chunk';
  return undefined;
}

/** The path with canonical ids; throws for its first missing part. */
export async function requireKnowledge<P extends KnowledgePath>(store: Store, requestedPath: P): Promise<P> {
  const path = canonicalPath(requestedPath);
  const part = await findMissingPart(store, path);
  if (part !== undefined) throw notFound(`${part} not found`);
  return path;
}

/** Throws for the first missing part of the path. The parts are looked up only if the document is not found. */
export async function requireDocument(
  store: Store,
  requestedPath: { dataset_id: string; document_id: string },
): Promise<DocumentListed> {
  const path = canonicalPath(requestedPath);
  const document = await store.admin.findDocument(path.dataset_id, path.document_id);
  if (document === undefined) throw notFound(`${(await findMissingPart(store, path)) ?? 'document'} not found`);
  return document;
}

/** Throws for the first missing part of the path. The parts are looked up only if the segment is not found. */
export async function requireSegment(
  store: Store,
  requestedPath: { dataset_id: string; document_id: string; segment_id: string },
): Promise<SegmentListed> {
  const path = canonicalPath(requestedPath);
  const segment = await store.admin.findSegment(path.dataset_id, path.document_id, path.segment_id);
  if (segment === undefined) throw notFound(`${(await findMissingPart(store, path)) ?? 'segment'} not found`);
  return segment;
}

/** For child chunks, an admin key allows the same as a knowledge key of the dataset's workspace. */
export async function asKnowledgeCaller(
  { admin }: Store,
  { key_id, read_only }: CallerOf<'admin'>,
  dataset_id: string,
): Promise<CallerOf<'knowledge'>> {
  const dataset = await admin.findKnowledge({ dataset_id: canonicalId(dataset_id) });
  // No workspace has an empty id: if the dataset does not exist, the look-up of the path fails with `dataset not found`.
  return { kind: 'knowledge', key_id, read_only, workspace_id: dataset?.workspace_id ?? '', dataset_ids: null };
}
