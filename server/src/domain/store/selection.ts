import { canonicalId } from '../../contract/primitives.ts';

/** Selects conversations, or messages of them. Absent: not restricted. `from` is included, `to` is not. */
export type Selection = {
  app_id?: string | undefined;
  user?: string | undefined;
  conversation_id?: string | undefined;
  from?: number | undefined;
  to?: number | undefined;
};

/** The selection of a request: other fields are left out, and ids become canonical. */
export function selectionOf({ app_id, user, conversation_id, from, to }: Selection): Selection {
  return {
    app_id: app_id && canonicalId(app_id),
    user,
    conversation_id: conversation_id && canonicalId(conversation_id),
    from,
    to,
  };
}
