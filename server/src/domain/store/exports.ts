import type { RecordKind } from '../../contract/record.ts';
import type { LargeText, Opened } from '../large-text.ts';
import type { Selection } from './selection.ts';

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
