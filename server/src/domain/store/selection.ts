import { canonicalIds } from '../../contract/primitives.ts';
import type { RecordKind } from '../../contract/record.ts';
import { invalidParam } from '../errors.ts';
import type { LargeText, Opened } from '../large-text.ts';

/** Selects conversations, or messages of them. Absent: not restricted. `from` is included, `to` is not. */
export type Selection = {
  app_id?: string | undefined;
  user?: string | undefined;
  conversation_id?: string | undefined;
  from?: number | undefined;
  to?: number | undefined;
};

/** The selection of a request: other fields are left out, and ids become canonical. */
export const selectionOf = ({ app_id, user, conversation_id, from, to }: Selection): Selection =>
  canonicalIds({ app_id, user, conversation_id, from, to });

/** Which records of an export; the period is that of messages. */
export type ExportSelection = Selection & { kinds?: readonly RecordKind[] | undefined };

/** The kinds that a selection of conversations can restrict. Never keys. */
export const selectableKinds = ['workspace', 'app', 'conversation', 'message', 'review'] as const;
export type SelectableKind = (typeof selectableKinds)[number];

export const isRestricted = (selection: Selection): boolean =>
  Object.values(selectionOf(selection)).some((value) => value !== undefined);

/** The kinds of an export of a part of the conversations. Throws if one of them cannot be restricted to that part. */
export function restrictedKinds({ kinds = selectableKinds }: ExportSelection): readonly SelectableKind[] {
  const isSelectable = (kind: RecordKind): kind is SelectableKind => selectableKinds.some((one) => one === kind);
  if (kinds.every(isSelectable)) return kinds;
  throw invalidParam(`kinds must be of ${selectableKinds.join(', ')} with other filters`);
}

/** A message with what readers cannot see. `doc` is its JSON text. */
export type SelectedMessage = {
  user: string | null;
  doc: string;
  feedback_content: string | null;
  model_provider: string | null;
  model: string | null;
};

/**
 * Copies of records. Each is read from one consistent snapshot, with flat memory. The number of open copies and large pages is
 * limited together: opening one waits a few seconds for a free slot, then throws. The signal ends the wait.
 */
export interface Exports {
  /** Lines of records, parents before children. Without `kinds`: of all kinds. */
  all(kinds: readonly RecordKind[] | undefined, signal: AbortSignal): Promise<LargeText>;
  /** Lines of some conversations, their messages, apps and workspaces, of these kinds. */
  selected(selection: Selection, kinds: readonly RecordKind[], signal: AbortSignal): Promise<LargeText>;
  /** The selected messages, in batches, by conversation and in the order of each. */
  messages(selection: Selection, signal: AbortSignal): Promise<Opened<SelectedMessage[]>>;
}
