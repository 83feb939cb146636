import type { AuditEntry } from '../../domain/store/audit.ts';
import { entryValues, writeEntries } from '../accounting/audit.ts';
import type { UsageOfDay } from '../accounting/usage-tally.ts';
import { addUsage } from '../accounting/usage-writes.ts';
import { type Write, writeNotes, writeRows } from '../statement.ts';
import type { Note } from './notes.ts';

/** What a write leaves besides the changed rows, whose versions it has replaced: in the audit log, the feed and the totals. */
export type Change = {
  audit: readonly AuditEntry[];
  /** The records that readers of the change feed have to read again. Keys are not in the feed. */
  notes: readonly Note[];
  at: number;
  /** The distribution value of the changed rows: the rows of this change are on their node then. */
  shard?: string | undefined;
  /** For writes of child chunks by API requests. */
  document_id?: string;
  /** Changes of the usage of messages. */
  usage?: readonly UsageOfDay[];
};

/** Every write of records ends with it, inside its transaction. */
export function* changed({ audit, notes, at, shard, document_id, usage = [] }: Change): Write<void> {
  yield* addUsage(usage);
  yield* writeRows(
    writeEntries,
    audit.map((entry) => entryValues(entry, shard, document_id)),
  );
  yield* writeNotes({ notes, at, shard, isLarge: false });
}
