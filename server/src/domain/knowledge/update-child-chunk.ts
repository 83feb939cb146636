import { randomUUID } from 'node:crypto';
import type { ChildChunk, ChildChunkPath, SegmentPath } from '../../contract/child-chunk.ts';
import { limits } from '../../contract/limits.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { requireNotBlank, requireText } from '../require-text.ts';
import type {
  ChildChunkDeletion,
  ChildChunkEdit,
  ChildChunkOutcome,
  FoundChunk,
  Precondition,
  Versioned,
} from '../store/child-chunks.ts';
import { newVersion } from '../version.ts';
import { locationOf, requirePath } from './path.ts';

type ReadCall = Pick<Call<'knowledge'>, 'store' | 'caller'>;
type EditCall = Pick<Call<'knowledge'>, 'store' | 'caller' | 'now'>;
type VersionedChunk = Versioned<ChildChunk>;

export const findChildChunk = async ({ store, caller }: ReadCall, path: ChildChunkPath): Promise<VersionedChunk> =>
  requirePath(await store.findChildChunk(locationOf(caller, path)));

/** Another system that may own the chunk: `edit` sends it the text. False if the chunk belongs to this server. */
type ChunkOwner = { edit(path: ChildChunkPath, content: string): Promise<boolean> };

type ChunkEdit = Pick<ChildChunkEdit, 'content' | 'precondition' | 'tool' | 'review_message_id'>;

/**
 * Replaces the text and stores the old one as a revision, or sends the text to the owner of the chunk. Returns once the change is
 * on disk.
 */
export async function updateChildChunk(
  call: EditCall,
  owner: ChunkOwner | undefined,
  path: ChildChunkPath,
  edit: ChunkEdit,
): Promise<VersionedChunk> {
  const { store, caller, now } = call;
  if (owner !== undefined) {
    const { version } = await findChildChunk(call, path);
    requireMatch(edit.precondition, version);
    if (await owner.edit(path, edit.content)) return findChildChunk(call, path);
  }
  requireContent(edit.content);
  const command = { ...locationOf(caller, path), ...edit, now, key_id: caller.key_id, version: newVersion() };
  return requireChunk(await store.run('updateChildChunk', command));
}

/** Adds a child chunk at the end of its segment. Returns once it is on disk. */
export async function createChildChunk(call: EditCall, path: SegmentPath, content: string): Promise<VersionedChunk> {
  const { store, caller, now } = call;
  requireContent(content);
  const location = locationOf(caller, { ...path, child_chunk_id: randomUUID() });
  const chunk = { ...location, content, now, key_id: caller.key_id, version: newVersion() };
  return requireChunk(await store.run('createChildChunk', chunk));
}

/** Returns once the deletion is on disk. Its record stays, with `deleted: true`. */
export async function deleteChildChunk(
  call: EditCall,
  path: ChildChunkPath,
  precondition: Precondition,
): Promise<void> {
  const { store, caller, now } = call;
  const location = locationOf(caller, path);
  const deletion = { ...location, now, key_id: caller.key_id, version: newVersion(), precondition };
  requireChunk(await store.run('deleteChildChunk', deletion));
}

/** The part of the path to a new chunk that does not exist, or the chunk, if a repeated write has already added it. */
export function decideCreation(storedChunk: FoundChunk): ChildChunkOutcome | undefined {
  return 'missing' in storedChunk && storedChunk.missing === 'child chunk' ? undefined : storedChunk;
}

/** The outcome of a deletion, given the stored chunk; undefined if it must be written. */
export const decideDeletion = (
  storedChunk: VersionedChunk,
  deletion: ChildChunkDeletion,
): ChildChunkOutcome | undefined =>
  isAllowed(deletion.precondition, storedChunk.version) ? undefined : { stale: true };

const isAllowed = (precondition: Precondition, version: string): boolean =>
  precondition === undefined || precondition === 'any' || precondition.includes(version);

/** Throws if `If-Match` does not allow to replace this version. */
export function requireMatch(precondition: Precondition, version: string): void {
  if (isAllowed(precondition, version)) return;
  throw new ServiceError('precondition_failed', 'the text has changed since it was read');
}

/**
 * The outcome of an edit, given the stored chunk; undefined if the edit must be written. If the text is already stored, the
 * edit succeeds regardless of `If-Match`, so that a repeated request succeeds.
 */
export function decideEdit(storedChunk: FoundChunk, edit: ChildChunkEdit): ChildChunkOutcome | undefined {
  if ('missing' in storedChunk) return storedChunk;
  const { chunk, version } = storedChunk;
  if (chunk.content === edit.content && chunk.type === 'customized') return storedChunk;
  return isAllowed(edit.precondition, version) ? undefined : { stale: true };
}

function requireChunk(outcome: ChildChunkOutcome): VersionedChunk {
  if ('stale' in outcome) {
    throw new ServiceError('precondition_failed', 'the child chunk has changed since the tag in If-Match');
  }
  return requirePath(outcome);
}

function requireContent(content: string): void {
  requireText('content', content, limits.childChunkUnitsMax);
  requireNotBlank('content', content);
}
