import type { ChildChunk, ChildChunkPath } from '../contract/child-chunk.ts';
import { limits } from '../contract/limits.ts';
import { canonicalId } from '../contract/primitives.ts';
import type { CallerOf } from './caller.ts';
import { invalidParam, notFound, ServiceError } from './errors.ts';
import type { ChildChunkEdit, ChildChunkFound, ChildChunkOutcome, Precondition, Store, Versioned } from './store.ts';
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

/**
 * What an edit comes to, given what stands in the store: undefined means that it is to be written. A text that stands
 * already counts as written, whatever the tag, so that a replayed request succeeds.
 */
export function settleEdit(found: ChildChunkFound, edit: ChildChunkEdit): ChildChunkOutcome | undefined {
  const there = missing(found);
  if ('missing' in there) return there;
  const { chunk, version } = there;
  if (chunk.content === edit.content && chunk.type === 'customized') return there;
  const { precondition } = edit;
  if (precondition === undefined || precondition === 'any' || precondition.includes(version)) return undefined;
  return { stale: true };
}

function missing(found: ChildChunkFound): Versioned<ChildChunk> | { missing: string } {
  if (!found.dataset) return { missing: 'dataset not found' };
  if (!found.document) return { missing: 'document not found' };
  if (!found.segment) return { missing: 'segment not found' };
  return found.child_chunk ?? { missing: 'child chunk not found' };
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
  // NEL is white space to Unicode, though not to JavaScript.
  if (/^[\s\u0085]*$/.test(content)) throw invalidParam('content must not be blank');
  if (!content.isWellFormed()) throw invalidParam('content must be well-formed Unicode');
  if (content.includes('\0')) throw invalidParam('content must not contain NUL');
}
