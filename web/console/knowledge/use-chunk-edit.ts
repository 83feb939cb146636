import { createContext } from 'preact';
import { useContext, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useAttempt } from '../hooks/requests.ts';
import type { ApiError } from '../state/api.ts';
import {
  type Draft,
  discardDraft,
  draftOf,
  type Replaced,
  readChunk,
  type StoredChunk,
  saveChunk,
  storeDraft,
} from '../state/drafts.ts';

/** The message in whose review chunks are edited. */
export const ReviewedMessage = createContext<string | undefined>(undefined);

/** Editing, reviewing the change, or resolving a conflict with another edit. */
type Step = { name: 'edit' | 'review' } | { name: 'conflict'; theirs: StoredChunk };

/** An edit, from reading the chunk until it is saved. `restored`: a text to start with, which is reviewed first. */
export function useChunkEdit(path: string, restored: string | undefined, done: (replaced: Replaced) => void) {
  // Undefined until the chunk has been read.
  const [draft, setDraft] = useState(() => draftOf(path));
  const [step, setStep] = useState<Step>({ name: 'edit' });
  const { error, isBusy, attempt } = useAttempt();
  const isClosed = useRef(false);
  const reviewed = useContext(ReviewedMessage);

  const write = (draft: Draft) => {
    storeDraft(path, draft);
    setDraft(draft);
  };
  const read = () =>
    attempt(async () => {
      const base = await readChunk(path);
      // The editor is closed: a draft that is stored now would be invisible.
      if (isClosed.current) return;
      write({ base, text: restored ?? base.chunk.content });
      if (restored !== undefined) setStep({ name: 'review' });
    });
  /** Saves the draft, unless the chunk has changed since `base`. */
  const save = (base: StoredChunk) =>
    attempt(async () => {
      if (draft === undefined) return;
      try {
        const saved = await saveChunk(path, draft.text, base, reviewed);
        discardDraft(path);
        done({ saved, before: base.chunk.content });
      } catch (error) {
        if ((error as ApiError).status !== 412) throw error;
        setStep({ name: 'conflict', theirs: await readChunk(path) });
      }
    });
  // At once: other effects end after the next paint, when the chunk may have been read.
  useLayoutEffect(() => {
    if (draft === undefined) void read();
    return () => {
      isClosed.current = true;
    };
  }, []);
  return { draft, step, error, isBusy, read, write, go: (name: 'edit' | 'review') => setStep({ name }), save };
}
