import { hash } from 'node:crypto';
import type { AppFeedback } from '../../contract/conversation.ts';
import { isoTime } from '../iso-time.ts';
import type { Store } from '../store/store.ts';

/** Feedback of an app, newest first. */
export async function listFeedback(
  { apps }: Store,
  app_id: string,
  page: number,
  limit: number,
): Promise<AppFeedback[]> {
  const entries = await apps.listFeedback(app_id, Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER), limit);
  return entries.map(({ conversation_id, message_id, feedback, content, at, user }) => ({
    id: feedbackId(conversation_id, message_id),
    app_id,
    conversation_id,
    message_id,
    rating: JSON.parse(feedback).rating,
    content,
    from_source: 'user',
    from_end_user_id: user,
    from_account_id: null,
    created_at: isoTime(at),
    updated_at: isoTime(at),
  }));
}

/** Sorts as the id of the message, and differs between conversations with the same message id. */
const feedbackId = (conversation_id: string, message_id: string): string =>
  message_id.slice(0, 24) + hash('sha1', `feedback ${conversation_id} ${message_id}`).slice(0, 12);
