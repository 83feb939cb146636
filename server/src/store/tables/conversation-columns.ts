import { derivedName } from '../../domain/records/conversation-name.ts';

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

/** The time of the newest message, or of the creation if there is none. */
export const lastActivity = 'CASE WHEN first_message_at IS NULL THEN created_at ELSE last_message_at END';

const inConversation = 'FROM messages m WHERE m.conversation_id = conversations.conversation_id';
const newestTime = `(SELECT MAX(m.created_at) ${inConversation})`;

/** Derives from the stored messages what the conversations that `condition` selects store of their first and newest ones. */
export const updateActivityWhere = (engine: keyof typeof derivedColumns, condition: string): string => `
  UPDATE conversations SET last_message_at = COALESCE(${newestTime}, 0),
    (first_message_at, derived_name, derived_inputs) = (
      SELECT m.created_at, ${derivedColumns[engine].derived_name}, ${derivedColumns[engine].derived_inputs}
      ${inConversation} ORDER BY m.created_at, m.sequence LIMIT 1
    ),
    updated_at = ${updatedAt('created_at', newestTime, 'renamed_at', 'record_updated_at')}
  WHERE ${condition}`;
