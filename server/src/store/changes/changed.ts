import type { AuditEntry } from '../../domain/store/audit.ts';
import { addToEntries, entryValues, writeEntries } from '../accounting/audit.ts';
import { addUsage, type UsageOfDay } from '../accounting/usage-tally.ts';
import { announceEntry, type OutboxEntry, type Write, writeOutbox, writeRows } from '../base/statement.ts';

/** The entries of a write in the audit log, the feed and the totals. The versions of the changed rows are already replaced. */
export type Change = {
  audit: readonly AuditEntry[];
  /** An earlier transaction may have written the entry: then these numbers are added to it. */
  addsToEntry?: boolean;
  /** The records that readers of the change feed have to read again. Keys are not in the feed. */
  outbox: readonly OutboxEntry[];
  at: number;
  /** The distribution value of the changed rows: the audit entries are on their node then. */
  shard?: string | undefined;
  /** For writes of child chunks by API requests. */
  document_id?: string;
  /** Changes of the usage of messages. */
  usage?: readonly UsageOfDay[];
};

/** Every write of records ends with it, inside its transaction. */
export function* changed(change: Change): Write<void> {
  const { audit, addsToEntry = false, outbox, at, shard, document_id, usage = [] } = change;
  yield* addUsage(usage);
  const [first] = audit;
  if (first !== undefined && !addsToEntry) yield* announceEntry(first.id, shard ?? first.id);
  yield* writeRows(
    addsToEntry ? addToEntries : writeEntries,
    audit.map((entry) => entryValues(entry, shard, document_id)),
  );
  yield* writeOutbox({ entries: outbox, at, isLarge: false });
}
