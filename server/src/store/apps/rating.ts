import type { MessageRating } from '../../domain/app-store.ts';

/** The text of a message with new feedback; `unrated` if there is no feedback to remove. */
export function rate(doc: string, { rating }: MessageRating): { doc: string } | 'unrated' {
  const message = JSON.parse(doc);
  if (rating === null && message.feedback === null) return 'unrated';
  return { doc: JSON.stringify({ ...message, feedback: rating === null ? null : { rating } }) };
}

/** Without a rating there is no text either. */
export const contentOf = ({ rating, content }: MessageRating): string | null => (rating === null ? null : content);
