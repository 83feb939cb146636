import type { Dialect } from '../base/engine.ts';
import type { Statement } from '../base/statement.ts';
import { upsertOf } from '../tables/upserts.ts';

/** Parameters: conversation_id, app_id. */
export const findConversation =
  'SELECT conversation_id FROM conversations WHERE conversation_id = ? AND app_id = ? AND deleted = 0';

/** Locks a message, for its review. Parameters: conversation_id, id. */
export const lockMessage = ({ lockRows }: Dialect): Statement<{ id: string }> =>
  lockRows('id', 'messages', 'conversation_id = ? AND id = ?', 'review_state');

/** Parameters: state, app_id, conversation_id, id. */
export const setState = 'UPDATE messages SET review_state = ?, listed_app_id = ? WHERE conversation_id = ? AND id = ?';

/** Parameters: conversation_id, message_id. */
export const deleteReview = 'DELETE FROM reviews WHERE conversation_id = ? AND message_id = ?';

export const writeReview = upsertOf('review');
