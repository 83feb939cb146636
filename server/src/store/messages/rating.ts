import { type ModelFields, type Usage, usageOf } from '../../domain/records/usage.ts';
import type { MessageRating } from '../../domain/store/app-store.ts';
import { UsageTally } from '../accounting/usage-tally.ts';

/** The text of a message with new feedback, and the change of usage; `unrated` if there is no feedback to remove. */
export function rate(
  { doc, model_provider, model }: ModelFields & { doc: string },
  { rating, app_id }: MessageRating,
): (Pick<Usage, 'disliked' | 'failed'> & { doc: string; usage: UsageTally }) | 'unrated' {
  const message = JSON.parse(doc);
  if (rating === null && message.feedback === null) return 'unrated';
  const rated = { ...message, feedback: rating === null ? null : { rating } };
  const conversation = { id: message.conversation_id, app_id };
  const usage = new UsageTally();
  usage.add(conversation, message.created_at, usageOf({ ...message, model_provider, model }), -1);
  const now = usageOf({ ...rated, model_provider, model });
  usage.add(conversation, message.created_at, now, 1);
  return { disliked: now.disliked, failed: now.failed, doc: JSON.stringify(rated), usage };
}

/** Without a rating there is no text either. */
export const contentOf = ({ rating, content }: MessageRating): string | null => (rating === null ? null : content);
