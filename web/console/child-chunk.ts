import { ask } from './api.ts';
import type { ChildChunk } from './types.ts';

/** A chunk as it was read, with the tag that says so. */
export type Held = { chunk: ChildChunk; etag: string };

export async function readChunk(path: string): Promise<Held> {
  return heldOf(await ask<{ data: ChildChunk }>(path));
}

/** Replaces the text of what was read. Where something else stands by now, the service answers 412 and keeps that. */
export async function saveChunk(path: string, content: string, over: Held): Promise<Held> {
  return heldOf(await ask(path, { method: 'PATCH', body: { content }, headers: { 'if-match': over.etag } }));
}

function heldOf({ body, etag }: { body: { data: ChildChunk }; etag: string | null }): Held {
  // Without a tag nothing may be overwritten: this one matches nothing.
  return { chunk: body.data, etag: etag ?? '""' };
}
