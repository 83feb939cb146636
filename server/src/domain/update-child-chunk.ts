import type { ChildChunk, ChildChunkPath } from '../contract/child-chunk.ts';
import { limits } from '../contract/limits.ts';
import { canonicalId } from '../contract/primitives.ts';
import { notBlank } from '../contract/rules.ts';
import type { CallerOf } from './caller.ts';
import { invalidParam, notFound, ServiceError } from './errors.ts';
import type { ChildChunkEdit, ChildChunkOutcome, FoundChunkPath, Precondition, Store, Versioned } from './store.ts';
import { newVersion } from './version.ts';

export async function findChildChunk(
  store: Store,
  caller: CallerOf<'knowledge'>,
  path: ChildChunkPath,
): Promise<Versioned<ChildChunk>> {
  return requireChunk(chunkOrMissing(await store.findChildChunk(locationOf(caller, path))));
}

/** Replaces the text and stores the old one as a revision. Returns once the change is on disk. */
export async function updateChildChunk(
  store: Store,
  caller: CallerOf<'knowledge'>,
  path: ChildChunkPath,
  content: string,
  precondition: Precondition,
  now: number,
): Promise<Versioned<ChildChunk>> {
  requireText(content);
  const outcome = await store.updateChildChunk({
    ...locationOf(caller, path),
    content,
    now,
    key_id: caller.key_id,
    version: newVersion(),
    precondition,
  });
  return requireChunk(outcome);
}

/**
 * The outcome of an edit, given the stored chunk; undefined if the edit must be written. If the text is already stored, the
 * edit succeeds regardless of `If-Match`, so that a repeated request succeeds.
 */
export function decideEdit(foundPath: FoundChunkPath, edit: ChildChunkEdit): ChildChunkOutcome | undefined {
  const stored = chunkOrMissing(foundPath);
  if ('missing' in stored) return stored;
  const { chunk, version } = stored;
  if (chunk.content === edit.content && chunk.type === 'customized') return stored;
  const { precondition } = edit;
  if (precondition === undefined || precondition === 'any' || precondition.includes(version)) return undefined;
  return { stale: true };
}

/** The chunk, or the first part of its path that does not exist. */
function chunkOrMissing(foundPath: FoundChunkPath): Versioned<ChildChunk> | { missing: string } {
  if (!foundPath.dataset) return { missing: 'dataset not found' };
  if (!foundPath.document) return { missing: 'document not found' };
  if (!foundPath.segment) return { missing: 'segment not found' };
  return foundPath.child_chunk ?? { missing: 'child chunk not found' };
}

function requireChunk(outcome: ChildChunkOutcome): Versioned<ChildChunk> {
  if ('missing' in outcome) throw notFound(outcome.missing);
  if ('stale' in outcome) {
    throw new ServiceError('precondition_failed', 'the child chunk has changed since the tag in If-Match');
  }
  return outcome;
}

/** A dataset that the key does not allow becomes the empty id, which matches nothing. */
function locationOf(caller: CallerOf<'knowledge'>, path: ChildChunkPath) {
  const dataset_id = canonicalId(path.dataset_id);
  const isAllowed = caller.dataset_ids === null || caller.dataset_ids.includes(dataset_id);
  return {
    workspace_id: caller.workspace_id,
    dataset_id: isAllowed ? dataset_id : '',
    document_id: canonicalId(path.document_id),
    segment_id: canonicalId(path.segment_id),
    child_chunk_id: canonicalId(path.child_chunk_id),
  };
}

function requireText(content: string): void {
  if (content.length > limits.childChunkUnitsMax) {
    throw invalidParam(`content must not have more than ${limits.childChunkUnitsMax} characters`);
  }
  if (!notBlank.test(content)) throw invalidParam('content must not be blank');
  if (!content.isWellFormed()) throw invalidParam('content must be well-formed Unicode');
  if (content.includes('\0')) throw invalidParam('content must not contain NUL');
}
