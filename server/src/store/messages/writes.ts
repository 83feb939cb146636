import { type ModelFields, type Usage, usageOf } from '../../domain/records/usage.ts';
import type { ConversationChange, ConversationRow, MessageRating } from '../../domain/store/app-store.ts';
import { newVersion } from '../../domain/version.ts';
import { entryOf } from '../accounting/audit.ts';
import { UsageTally } from '../accounting/usage-tally.ts';
import { unreviewed } from '../base/message-tables.ts';
import { begin, execute, first, query, type Write } from '../base/statement.ts';
import { changed, changedConversation, changedMessage } from '../changes/outbox.ts';
import { reopenReview } from '../reviews/writes.ts';
import * as sql from './statements.ts';

export function* changeConversation(change: ConversationChange): Write<ConversationRow | undefined> {
  const { app_id, conversation_id, now } = change;
  yield* begin();
  const row = yield* first(...sql.changeConversation(change, newVersion()));
  if (row === undefined) return undefined;
  yield* changed({
    audit: [entryOf('conversation', 'deleted' in change ? 'delete' : 'update', conversation_id, change)],
    outbox: [changedConversation(app_id, conversation_id)],
    at: now,
    shard: conversation_id,
  });
  return row;
}

type Rated = 'rated' | 'unrated' | 'missing';

/** The conversation is found before the transaction, which then uses one shard of a distributed database. */
export function* rateMessage(rating: MessageRating): Write<Rated> {
  const { message_id, app_id, user, now } = rating;
  const [found, another] = yield* query(sql.findMessageById, message_id, app_id, user);
  if (found === undefined || another !== undefined) return 'missing';
  const { conversation_id } = found;
  if (rating.rating === null) {
    // The transaction would replace the version of the conversation, although nothing changes.
    const message = yield* first(sql.findDoc, conversation_id, message_id);
    if (message !== undefined && rate(message, rating) === 'unrated') return 'unrated';
  }
  yield* begin();
  const locked = yield* execute(sql.touchConversation, newVersion(), conversation_id);
  const message = yield* first(sql.findDoc, conversation_id, message_id);
  if (locked === 0 || message === undefined) return 'missing';
  const rated = rate(message, rating);
  if (rated === 'unrated') return rated;
  const rated_at = rating.rating === null ? null : now;
  const listed = [rated_at, unreviewed(rated), app_id];
  yield* execute(sql.rateMessage, rated.doc, contentOf(rating), now, ...listed, conversation_id, message_id);
  const review = rating.rating === 'dislike' ? yield* reopenReview(conversation_id, message_id, now) : [];
  yield* changed({
    audit: [entryOf('message', 'update', `${conversation_id}/${message_id}`, rating)],
    outbox: [changedMessage(conversation_id, message_id), ...review],
    at: now,
    shard: conversation_id,
    usage: rated.usage.take(),
  });
  return 'rated';
}

/** The text of a message with new feedback, and the change of usage; `unrated` if there is no feedback to remove. */
function rate(
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
const contentOf = ({ rating, content }: MessageRating): string | null => (rating === null ? null : content);
