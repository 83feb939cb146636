import { hash } from 'node:crypto';
import type { AppFeedback } from '../../contract/conversation.ts';
import { isoTime } from '../iso-time.ts';
import { joinTexts } from '../large-text.ts';
import { type JsonBody, renderList } from '../render-list.ts';
import type { FeedbackEntry, FeedbackKey } from '../store/app-store.ts';
import type { ListReads, Store } from '../store/store.ts';

/** Feedback of an app, newest first, as JSON text. */
export async function listFeedback(
  store: Store,
  app_id: string,
  page: number,
  limit: number,
  disconnected: () => AbortSignal,
): Promise<JsonBody> {
  const offset = Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER);
  const find = async ({ apps }: ListReads) => ({
    head: '{"data":[',
    tail: ']}',
    items: await apps.listFeedback(app_id, offset, limit),
    readRow: (key: FeedbackKey) => apps.readFeedback(key),
    render: (rows: readonly FeedbackEntry[]) => joinTexts(rows, (row) => JSON.stringify(toFeedback(app_id, row))),
  });
  return (await renderList(store, find, disconnected)).body;
}

function toFeedback(
  app_id: string,
  { conversation_id, message_id, doc, content, at, user }: FeedbackEntry,
): AppFeedback {
  return {
    id: feedbackId(conversation_id, message_id),
    app_id,
    conversation_id,
    message_id,
    rating: JSON.parse(doc).feedback.rating,
    content,
    from_source: 'user',
    from_end_user_id: user,
    from_account_id: null,
    created_at: isoTime(at),
    updated_at: isoTime(at),
  };
}

/** Sorts as the id of the message, and differs between conversations with the same message id. */
const feedbackId = (conversation_id: string, message_id: string): string =>
  message_id.slice(0, 24) + hash('sha1', `feedback ${conversation_id} ${message_id}`).slice(0, 12);
