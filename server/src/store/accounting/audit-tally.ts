import { limits } from '../../contract/limits.ts';
import type { RecordKind } from '../../contract/record.ts';
import { type AuditEntry, type Author, newEntryId } from '../../domain/audit.ts';
import { identityOf } from '../../domain/record-kinds.ts';
import type { SpooledRecord } from '../records/spool.ts';

/** Counts the records that an import writes, by kind, and collects the ids of the first ones. */
export class AuditTally {
  readonly #kinds = new Map<RecordKind, { count: number; ids: string[] }>();

  /** Call it after the record was written: a key without an id gets its id only then. */
  add(record: SpooledRecord): void {
    let kind = this.#kinds.get(record.record);
    if (kind === undefined) this.#kinds.set(record.record, (kind = { count: 0, ids: [] }));
    kind.count += 1;
    if (kind.ids.length < limits.auditIdsMax) kind.ids.push(identityOf(record));
  }

  entries({ key_id, now }: Author): AuditEntry[] {
    return [...this.#kinds].map(([record, { count, ids }]) => {
      return { id: newEntryId(), at: now, key_id, action: 'import', record, count, ids };
    });
  }
}
