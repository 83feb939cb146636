import { pathOf, request } from './api.ts';
import type { ChildChunk } from './types.ts';

/** A chunk as it was read, with the ETag of that version. */
export type StoredChunk = { chunk: ChildChunk; etag: string };

/** The chunks of a segment, or one of them, by the parts of its address. */
export const chunkPath = ([dataset = '', document = '', segment = '', ...chunk]: readonly string[]): string =>
  pathOf(['admin', 'datasets', dataset, 'documents', document, 'segments', segment, 'child_chunks', ...chunk]);

export async function readChunk(path: string): Promise<StoredChunk> {
  return storedChunkOf(await request<{ data: ChildChunk }>(path));
}

/** Replaces the text of the version that was read. If the chunk has changed since, the service responds 412 and changes nothing. */
export async function saveChunk(
  path: string,
  content: string,
  base: StoredChunk,
  review_message_id?: string,
): Promise<StoredChunk> {
  const body = { content, review_message_id };
  return storedChunkOf(await request(path, { method: 'PATCH', body, headers: { 'if-match': base.etag } }));
}

/** A save that can be undone. */
export type Replaced = { saved: StoredChunk; before: string };

function storedChunkOf({ body, etag }: { body: { data: ChildChunk }; etag: string | null }): StoredChunk {
  // Without an ETag nothing may be overwritten: this value matches no version.
  return { chunk: body.data, etag: etag ?? '""' };
}

/** A text that the user is editing, and the version that it replaces. */
export type Draft = { base: StoredChunk; text: string };

/** By the path of their chunk. They stay when a session ends, so that no typed text is lost. They are only in memory. */
const drafts = new Map<string, Draft>();

export const draftOf = (path: string): Draft | undefined => drafts.get(path);

export function storeDraft(path: string, draft: Draft): void {
  if (draft.text === draft.base.chunk.content) drafts.delete(path);
  else drafts.set(path, draft);
}

export function discardDraft(path: string): void {
  drafts.delete(path);
}

/** Asks the user if there are drafts. They are discarded if the user leaves. */
export function mayLeave(): boolean {
  if (drafts.size > 0 && !confirm('You have unsaved text. Leave and lose it?')) return false;
  drafts.clear();
  return true;
}

addEventListener('beforeunload', (event) => {
  if (drafts.size > 0) event.preventDefault();
});
