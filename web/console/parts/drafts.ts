import type { StoredChunk } from './child-chunk.ts';

/** A text that is being written, and what it is to replace. */
export type Draft = { base: StoredChunk; text: string };

/** By the path of their chunk. They outlive a session that ends, so that nothing typed is lost; never stored. */
const drafts = new Map<string, Draft>();

export const draftOf = (path: string): Draft | undefined => drafts.get(path);

export function storeDraft(path: string, draft: Draft): void {
  if (draft.text === draft.base.chunk.content) drafts.delete(path);
  else drafts.set(path, draft);
}

export function discardDraft(path: string): void {
  drafts.delete(path);
}

/** Asks where something typed is not saved. Whoever goes on leaves it behind. */
export function mayLeave(): boolean {
  if (drafts.size > 0 && !confirm('There is text that you have not saved. Leave and lose it?')) return false;
  drafts.clear();
  return true;
}

addEventListener('beforeunload', (event) => {
  if (drafts.size > 0) event.preventDefault();
});
