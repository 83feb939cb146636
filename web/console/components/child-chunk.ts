import { request } from '../state/api.ts';
import type { ChildChunk } from '../state/types.ts';

/** A chunk as it was read, with the ETag of that version. */
export type StoredChunk = { chunk: ChildChunk; etag: string };

export async function readChunk(path: string): Promise<StoredChunk> {
  return storedChunkOf(await request<{ data: ChildChunk }>(path));
}

/** Replaces the text of the version that was read. If the chunk has changed since, the service responds 412 and changes nothing. */
export async function saveChunk(path: string, content: string, base: StoredChunk): Promise<StoredChunk> {
  return storedChunkOf(await request(path, { method: 'PATCH', body: { content }, headers: { 'if-match': base.etag } }));
}

function storedChunkOf({ body, etag }: { body: { data: ChildChunk }; etag: string | null }): StoredChunk {
  // Without an ETag nothing may be overwritten: this value matches no version.
  return { chunk: body.data, etag: etag ?? '""' };
}
