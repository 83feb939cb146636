import { derivedName } from '../../domain/records/conversation-name.ts';

/**
 * The migration step for lists of conversations: fields of conversations, messages, apps and keys that are new in this
 * step, what a list shows of the first message, and an index for each order of the list.
 */

/** The rule of `deriveName`, for a text expression. SQL counts code points. */
const derivedNameOf = (query: string): string => {
  const { charsMax, ellipsis } = derivedName;
  return `CASE WHEN length(${query}) > ${charsMax} THEN substr(${query}, 1, ${charsMax}) || '${ellipsis}' ELSE NULLIF(${query}, '') END`;
};

/** Columns of a conversation that are derived from the text of its first message. */
export const derivedColumns = {
  sqlite: { derived_name: derivedNameOf(`(doc ->> 'query')`), derived_inputs: `doc -> 'inputs'` },
  postgres: {
    derived_name: derivedNameOf(`(CAST(doc AS json) ->> 'query')`),
    derived_inputs: `CAST(doc AS json) ->> 'inputs'`,
  },
};

const later = (one: string, other: string): string => `CASE WHEN ${one} >= ${other} THEN ${one} ELSE ${other} END`;

/** The latest of creation and other times, such as those of the newest message and of a rename, which may be null. */
export const updatedAt = (created_at: string, ...others: readonly string[]): string =>
  others.reduce((latest, other) => later(latest, `COALESCE(${other}, ${created_at})`), created_at);

const firstTime = `(SELECT MIN(f.created_at) FROM messages f WHERE f.conversation_id = conversations.conversation_id)`;
/** Two steps, without LIMIT: Citus does not support it in such a subquery. */
const ofFirst = (expression: string): string => `
  (SELECT ${expression} FROM messages m
   WHERE m.conversation_id = conversations.conversation_id AND m.created_at = conversations.first_message_at
     AND m.sequence = (SELECT MIN(f.sequence) FROM messages f
       WHERE f.conversation_id = conversations.conversation_id AND f.created_at = conversations.first_message_at))`;

const user = `substr("user", 1, 200)`;

const stepFor = ({ derived_name, derived_inputs }: { derived_name: string; derived_inputs: string }) => [
  // The same columns as before, in the order that also finds a message by its id alone.
  'CREATE UNIQUE INDEX messages_by_message ON messages (id, conversation_id)',
  'DROP INDEX messages_by_id',
  'ALTER TABLE messages ADD COLUMN feedback_content TEXT',
  'ALTER TABLE apps ADD COLUMN details TEXT',
  'ALTER TABLE api_keys ADD COLUMN read_only BIGINT NOT NULL DEFAULT 0',
  `UPDATE api_keys SET read_only = 1 WHERE kind = 'app'`,
  'ALTER TABLE conversations ADD COLUMN name TEXT',
  'ALTER TABLE conversations ADD COLUMN inputs TEXT',
  'ALTER TABLE conversations ADD COLUMN introduction TEXT',
  'ALTER TABLE conversations ADD COLUMN renamed_at BIGINT',
  'ALTER TABLE conversations ADD COLUMN updated_at BIGINT NOT NULL DEFAULT 0',
  'ALTER TABLE conversations ADD COLUMN first_message_at BIGINT',
  'ALTER TABLE conversations ADD COLUMN derived_name TEXT',
  'ALTER TABLE conversations ADD COLUMN derived_inputs TEXT',
  `UPDATE conversations SET first_message_at = ${firstTime}`,
  `UPDATE conversations SET derived_name = ${ofFirst(derived_name)}, derived_inputs = ${ofFirst(derived_inputs)},
     updated_at = ${updatedAt('created_at', 'CASE WHEN first_message_at IS NOT NULL THEN last_message_at END', 'renamed_at')}`,
  // These sorted by the newest message only. Each index that an append changes makes it slower.
  'DROP INDEX conversations_by_activity',
  'DROP INDEX conversations_by_user',
  'CREATE INDEX conversations_by_update ON conversations (app_id, deleted, updated_at, conversation_id)',
  'CREATE INDEX conversations_by_creation ON conversations (app_id, deleted, created_at, conversation_id)',
  `CREATE INDEX conversations_by_user_update
     ON conversations (app_id, deleted, ${user}, updated_at DESC, conversation_id DESC)`,
  `CREATE INDEX conversations_by_user_creation ON conversations (app_id, deleted, ${user}, created_at, conversation_id)`,
];

export const conversationSteps = {
  sqlite: stepFor(derivedColumns.sqlite),
  postgres: stepFor(derivedColumns.postgres),
} as const;
