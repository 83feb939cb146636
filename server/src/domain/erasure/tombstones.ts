import type { Tombstone } from '../store/erasure.ts';

/** A conversation or message that is not stored. Other kinds of record are never erased. */
type UnstoredRecord = {
  record: string;
  id?: unknown;
  conversation_id?: unknown;
  created_at?: unknown;
};

/**
 * Which records were erased, so that an import from another system does not bring them back. A writer, or an import of a file, may
 * create an erased conversation again: then new messages of it are imported, and those from before the erasure are not.
 */
export class Tombstones {
  readonly #times: ReadonlyMap<string, number>;

  constructor(tombstones: readonly Tombstone[]) {
    this.#times = new Map(
      tombstones.map(({ conversation_id, message_id, at }) => [`${conversation_id} ${message_id}`, at]),
    );
  }

  hasConversation(id: unknown): boolean {
    return this.#times.has(`${id} `);
  }

  has(record: UnstoredRecord): boolean {
    return this.timeOf(record) !== undefined;
  }

  /** When the record was erased; undefined if it was not. */
  timeOf({ record, id, conversation_id, created_at }: UnstoredRecord): number | undefined {
    if (record === 'conversation') return this.#times.get(`${id} `);
    if (record !== 'message') return undefined;
    const erasedAt = this.#times.get(`${conversation_id} `);
    const isOlder = erasedAt !== undefined && Number(created_at) <= erasedAt;
    return isOlder ? erasedAt : this.#times.get(`${conversation_id} ${id}`);
  }
}

/** The conversations of which records need the tombstones. */
export function conversationsOf(records: readonly UnstoredRecord[]): string[] {
  const ids = records.flatMap(({ record, id, conversation_id }) => {
    if (record === 'conversation') return [id as string];
    return record === 'message' ? [conversation_id as string] : [];
  });
  return [...new Set(ids)];
}
