import { request } from './api.ts';
import type { ChildChunk } from './types.ts';

/** A chunk as it was read, with the tag that says so. */
export type StoredChunk = { chunk: ChildChunk; etag: string };

export async function readChunk(path: string): Promise<StoredChunk> {
  return storedChunkOf(await request<{ data: ChildChunk }>(path));
}

/** Replaces the text of what was read. Where something else stands by now, the service answers 412 and keeps that. */
export async function saveChunk(path: string, content: string, over: StoredChunk): Promise<StoredChunk> {
  return storedChunkOf(await request(path, { method: 'PATCH', body: { content }, headers: { 'if-match': over.etag } }));
}

function storedChunkOf({ body, etag }: { body: { data: ChildChunk }; etag: string | null }): StoredChunk {
  // Without a tag nothing may be overwritten: this one matches nothing.
  return { chunk: body.data, etag: etag ?? '""' };
}
