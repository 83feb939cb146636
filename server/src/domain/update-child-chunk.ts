import type { ChildChunk, ChildChunkPath } from '../contract/child-chunk.ts';
import { limits } from '../contract/limits.ts';
import { canonicalId, notBlank } from '../contract/primitives.ts';
import type { CallerOf } from './caller.ts';
import { invalidParam, notFound, ServiceError } from './errors.ts';
import { missing } from './settle-edit.ts';
import type { ChildChunkOutcome, Precondition, Store, Versioned } from './store.ts';
import { newVersion } from './version.ts';

export async function findChildChunk(
  store: Store,
  caller: CallerOf<'knowledge'>,
  path: ChildChunkPath,
): Promise<Versioned<ChildChunk>> {
  return requireChunk(missing(await store.findChildChunk(reachable(caller, path))));
}

/** Replaces the text and keeps the old one as a revision. Returns once the change is on disk. */
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
    ...reachable(caller, path),
    content,
    now,
    key_id: caller.key_id,
    version: newVersion(),
    precondition,
  });
  return requireChunk(outcome);
}

function requireChunk(outcome: ChildChunkOutcome): Versioned<ChildChunk> {
  if ('missing' in outcome) throw notFound(outcome.missing);
  if ('stale' in outcome) {
    throw new ServiceError('precondition_failed', 'the child chunk has changed since the tag in If-Match');
  }
  return outcome;
}

/** A dataset outside the key's restriction is looked up nowhere, as if it did not exist. */
function reachable(caller: CallerOf<'knowledge'>, path: ChildChunkPath) {
  const dataset_id = canonicalId(path.dataset_id);
  const allowed = caller.dataset_ids === null || caller.dataset_ids.includes(dataset_id);
  return {
    workspace_id: caller.workspace_id,
    dataset_id: allowed ? dataset_id : '',
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
