import type { StoredChunk } from '../components/child-chunk.ts';

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
