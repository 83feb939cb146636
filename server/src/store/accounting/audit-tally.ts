import { limits } from '../../contract/limits.ts';
import type { RecordKind } from '../../contract/record.ts';
import { identityOf } from '../../domain/records/record-kinds.ts';
import type { AuditEntry, Author } from '../../domain/store/audit.ts';
import type { SpooledRecord } from '../base/spooled-record.ts';
import { newEntryId } from './entry-id.ts';

/** Counts the records that an import writes, by kind, and collects the ids of the first ones. */
export class AuditTally {
  /** At most two. */
  readonly #conversations = new Set<string>();
  #hasOthers = false;
  readonly #kinds = new Map<RecordKind, { count: number; ids: string[] }>();

  /** The conversation that all records belong to, if there is only one. */
  get conversation_id(): string | undefined {
    return this.#conversations.size === 1 && !this.#hasOthers ? [...this.#conversations][0] : undefined;
  }

  /** Call it after the record was written: a key without an id gets its id only then. */
  add(record: SpooledRecord): void {
    let kind = this.#kinds.get(record.record);
    if (kind === undefined) this.#kinds.set(record.record, (kind = { count: 0, ids: [] }));
    kind.count += 1;
    if (record.record === 'message' || record.record === 'review') this.#addConversation(record.conversation_id);
    else if (record.record === 'conversation') this.#addConversation(record.id);
    else this.#hasOthers = true;
    if (kind.ids.length < limits.auditIdsMax) kind.ids.push(identityOf(record));
  }

  #addConversation(id: string): void {
    if (this.#conversations.size < 2) this.#conversations.add(id);
  }

  entries({ key_id, now }: Author): AuditEntry[] {
    return [...this.#kinds].map(([record, { count, ids }]) => {
      return { id: newEntryId(), at: now, key_id, action: 'import', record, count, ids };
    });
  }
}
