import type { SegmentPath } from '../../contract/child-chunk.ts';
import type { DocumentListed, SegmentListed } from '../../contract/console/knowledge.ts';
import { canonicalId, canonicalIds } from '../../contract/primitives.ts';
import type { CallerOf } from '../caller.ts';
import { notFound } from '../errors.ts';
import type { KnowledgePath, MissingPart } from '../store/child-chunks.ts';
import type { Store } from '../store/store.ts';

/** The path with canonical ids. A dataset that the key does not allow becomes the empty id, which matches nothing. */
export function locationOf<P extends KnowledgePath>(
  caller: CallerOf<'knowledge'>,
  requestedPath: P,
): P & { workspace_id: string } {
  const path = canonicalIds(requestedPath);
  const isAllowed = caller.dataset_ids === null || caller.dataset_ids.includes(path.dataset_id);
  return { ...path, workspace_id: caller.workspace_id, dataset_id: isAllowed ? path.dataset_id : '' };
}

/** Throws for the first part of a path that does not exist. */
export function requirePath<F extends object>(result: F | MissingPart): F {
  if ('missing' in result) throw partNotFound(result);
  return result;
}

const partNotFound = ({ missing }: MissingPart) => notFound(`${missing} not found`);

/** The path with canonical ids, all of whose parts exist. */
export async function requireKnowledge<P extends KnowledgePath>(store: Store, requestedPath: P): Promise<P> {
  const path = canonicalIds(requestedPath);
  requirePath(await store.admin.findPath(path));
  return path;
}

export type DocumentPath = { dataset_id: string; document_id: string };

export async function requireDocument(store: Store, requestedPath: DocumentPath): Promise<DocumentListed> {
  const path = canonicalIds(requestedPath);
  const document = await store.admin.findDocument(path.dataset_id, path.document_id);
  return document ?? throwMissing(store, path, 'document');
}

export async function requireSegment(store: Store, requestedPath: SegmentPath): Promise<SegmentListed> {
  const path = canonicalIds(requestedPath);
  const segment = await store.admin.findSegment(path.dataset_id, path.document_id, path.segment_id);
  return segment ?? throwMissing(store, path, 'segment');
}

/** `last` is missing, even if it was created since it was looked up; or a part before it. */
async function throwMissing({ admin }: Store, path: KnowledgePath, last: MissingPart['missing']): Promise<never> {
  const foundPath = await admin.findPath(path);
  throw partNotFound('missing' in foundPath ? foundPath : { missing: last });
}

/** For child chunks, an admin key allows the same as a knowledge key of the dataset's workspace. */
export async function asKnowledgeCaller(
  { admin }: Store,
  { key_id, read_only }: CallerOf<'admin'>,
  dataset_id: string,
): Promise<CallerOf<'knowledge'>> {
  const foundPath = await admin.findPath({ dataset_id: canonicalId(dataset_id) });
  // No workspace has an empty id: if the dataset does not exist, the look-up of the path fails with `dataset not found`.
  const workspace_id = 'missing' in foundPath ? '' : foundPath.workspace_id;
  return { kind: 'knowledge', key_id, read_only, workspace_id, dataset_ids: null };
}
