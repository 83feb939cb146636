/** Reviews of messages. `messages.review_state` has their state, too, or `new` for a message that needs one. */
export const createReviewTables: readonly string[] = [
  `CREATE INDEX messages_by_review ON messages (review_state, created_at, conversation_id, id, listed_app_id)
     WHERE review_state IS NOT NULL`,
  `CREATE TABLE reviews (
     conversation_id TEXT NOT NULL,
     message_id TEXT NOT NULL,
     app_id TEXT NOT NULL,
     state TEXT NOT NULL,
     labels TEXT NOT NULL,
     assignee TEXT,
     updated_at BIGINT NOT NULL,
     key_id TEXT,
     person_id TEXT,
     version TEXT NOT NULL,
     details TEXT,
     PRIMARY KEY (conversation_id, message_id)
   )`,
];
