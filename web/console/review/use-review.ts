import { useState } from 'preact/hooks';
import { useAttempt } from '../hooks/requests.ts';
import type { Review, ReviewListed } from '../state/types.ts';
import { type Fields, fieldsOf, saveReview } from './save-review.ts';

type Written = { labels: string; note: string; expected_answer: string };

/** What was typed and not saved, by message, so that it is still there when its answer is opened again. */
const drafts = new Map<string, Partial<Written>>();

const writtenOf = ({ labels, note, expected_answer }: Fields): Written => ({
  labels: labels.join(', '),
  note: note ?? '',
  expected_answer: expected_answer ?? '',
});

const labelsOf = (text: string): string[] => text.split(',').flatMap((label) => label.trim() || []);

/** The review of an answer: what was typed, and saving it with a change. */
export function useReview(row: ReviewListed, keep: (review: Review) => void) {
  const { id } = row.message;
  const stored = fieldsOf(row);
  const [draft, setDraft] = useState(drafts.get(id) ?? {});
  const written = { ...writtenOf(stored), ...draft };
  const [message, setMessage] = useState('');
  const { error, isBusy, attempt } = useAttempt();
  const isChanged = JSON.stringify(written) !== JSON.stringify(writtenOf(stored));
  const write = (change: Partial<Written>) => {
    const now = { ...draft, ...change };
    drafts.set(id, now);
    setDraft(now);
  };
  /** Returns whether it was saved. */
  const save = (change: Partial<Fields>, words: string): Promise<boolean> =>
    attempt(async () => {
      const { note, expected_answer } = written;
      const typed = { labels: labelsOf(written.labels), note: note || null, expected_answer: expected_answer || null };
      const review = await saveReview(row, { ...stored, ...typed, ...change });
      drafts.delete(id);
      setDraft({});
      keep(review);
      setMessage(words);
    });
  return { stored, written, write, isChanged, save, message, error, isBusy };
}
