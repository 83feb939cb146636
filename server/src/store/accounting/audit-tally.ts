import { limits } from '../../contract/limits.ts';
import type { RecordKind } from '../../contract/record.ts';
import { type AuditEntry, type Author, newEntryId } from '../../domain/audit.ts';
import type { SpooledRecord } from '../records/spool.ts';

/** The records that an import writes, by kind: how many, and which as long as they are few. */
export class AuditTally {
  readonly #kinds = new Map<RecordKind, { count: number; ids: string[] }>();

  /** After it was written: only then is it certain which key a record without an id means. */
  add(record: SpooledRecord): void {
    let kind = this.#kinds.get(record.record);
    if (kind === undefined) this.#kinds.set(record.record, (kind = { count: 0, ids: [] }));
    kind.count += 1;
    if (kind.ids.length < limits.auditIdsMax) kind.ids.push(nameOf(record));
  }

  entries({ key_id, now }: Author): AuditEntry[] {
    return [...this.#kinds].map(([record, { count, ids }]) => {
      return { id: newEntryId(), at: now, key_id, action: 'import', record, count, ids };
    });
  }
}

/** What names a record in the installation. */
function nameOf(record: SpooledRecord): string {
  switch (record.record) {
    case 'message':
      return `${record.conversation_id}/${record.id}`;
    case 'child_chunk_revision':
      return `${record.child_chunk_id}/${record.revision}`;
    case 'model_provider':
      return `${record.workspace_id}/${record.provider}`;
    default:
      return record.id ?? '';
  }
}
