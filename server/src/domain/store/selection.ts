import { canonicalId } from '../../contract/primitives.ts';
import type { RecordKind } from '../../contract/record.ts';
import { invalidParam } from '../errors.ts';

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

/** Which records of an export; the period is that of messages. */
export type ExportSelection = Selection & { kinds?: readonly RecordKind[] | undefined };

/** The kinds that a selection of conversations can restrict. Never keys. */
export const selectableKinds = ['workspace', 'app', 'conversation', 'message'] as const;
export type SelectableKind = (typeof selectableKinds)[number];

export const isRestricted = (selection: Selection): boolean =>
  Object.values(selectionOf(selection)).some((value) => value !== undefined);

/** The kinds of an export of a part of the conversations. Throws if one of them cannot be restricted to that part. */
export function restrictedKinds({ kinds = selectableKinds }: ExportSelection): readonly SelectableKind[] {
  const isSelectable = (kind: RecordKind): kind is SelectableKind => selectableKinds.some((one) => one === kind);
  if (kinds.every(isSelectable)) return kinds;
  throw invalidParam(`kinds must be of ${selectableKinds.join(', ')} with other filters`);
}
