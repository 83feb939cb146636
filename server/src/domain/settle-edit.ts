import type { ChildChunk } from '../contract/child-chunk.ts';
import type { ChildChunkEdit, ChildChunkOutcome, FoundChunkPath, Versioned } from './store.ts';

/**
 * What an edit comes to, given what stands in the store: undefined means that it is to be written. A text that stands
 * already counts as written, whatever the tag, so that a replayed request succeeds.
 */
export function decideEdit(found: FoundChunkPath, edit: ChildChunkEdit): ChildChunkOutcome | undefined {
  const there = missing(found);
  if ('missing' in there) return there;
  const { chunk, version } = there;
  if (chunk.content === edit.content && chunk.type === 'customized') return there;
  const { precondition } = edit;
  if (precondition === undefined || precondition === 'any' || precondition.includes(version)) return undefined;
  return { stale: true };
}

/** The chunk, or what is missing on the way to it. */
export function missing(found: FoundChunkPath): Versioned<ChildChunk> | { missing: string } {
  if (!found.dataset) return { missing: 'dataset not found' };
  if (!found.document) return { missing: 'document not found' };
  if (!found.segment) return { missing: 'segment not found' };
  return found.child_chunk ?? { missing: 'child chunk not found' };
}
