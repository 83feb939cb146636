import type { ChangeKind } from '../../contract/change.ts';
import { limits } from '../../contract/limits.ts';
import { newEntryId } from '../accounting/entry-id.ts';
import type { SpooledRecord } from '../records/spooled-record.ts';

/**
 * Which records a transaction has changed, for the change feed. A transaction writes notes about them. They are numbered
 * later (`numbering.ts`), so writers never wait for each other.
 */

/**
 * Changed records of one kind. `scope` is the part of a record's identity besides its id: the dataset of a document, segment
 * or child chunk, the conversation of a message, the workspace of a model provider, else ''. `owner` is the app or dataset
 * that the records belong to; null if it is the scope, or if there is none.
 */
export type Note = [kind: ChangeKind, scope: string, owner: string | null, ids: string[]];

/** A note of a transaction that is not committed yet, and its time in seconds. */
export type PendingNote = { note: Note; at: number };

export const noteOfChunk = (dataset_id: string, id: string): Note => ['child_chunk', dataset_id, null, [id]];
export const noteOfConversation = (app_id: string, id: string): Note => ['conversation', '', app_id, [id]];
export const noteOfMessages = (conversation_id: string, ids: string[]): Note => ['message', conversation_id, null, ids];

/** In the order of the columns of `changes_new`. `shard` is the distribution value of the rows that the notes are about. */
export function noteValues(notes: readonly Note[], at: number, shard?: string): [string, string, number, string] {
  const id = newEntryId();
  return [id, shard ?? id, at, JSON.stringify(notes)];
}

export const writeNotes = 'INSERT INTO changes_new (id, scope, at, notes) VALUES (?, ?, ?, ?)';

/** Collects notes about the records of an import. */
export class NoteTally {
  readonly #notes = new Map<string, Note>();
  #ids = 0;

  get isFull(): boolean {
    return this.#ids >= limits.changeIdsMax;
  }

  addRecord(record: SpooledRecord): void {
    const note = noteOf(record);
    if (note !== undefined) this.add(note);
  }

  add([kind, scope, owner, ids]: Note): void {
    const key = `${kind} ${scope} ${owner}`;
    const note = this.#notes.get(key);
    if (note === undefined) this.#notes.set(key, [kind, scope, owner, [...ids]]);
    else note[3].push(...ids);
    this.#ids += ids.length;
  }

  /** The notes since the last call. */
  take(): Note[] {
    const notes = [...this.#notes.values()];
    this.#notes.clear();
    this.#ids = 0;
    return notes;
  }
}

/** Undefined for records that the feed does not list. */
function noteOf(record: SpooledRecord): Note | undefined {
  switch (record.record) {
    case 'workspace':
      return ['workspace', '', null, [record.id]];
    case 'app':
    case 'dataset':
      return [record.record, '', record.id, [record.id]];
    case 'model_provider':
      return ['model_provider', record.workspace_id, null, [record.provider]];
    case 'document':
    case 'segment':
    case 'child_chunk':
      return [record.record, record.dataset_id, null, [record.id]];
    case 'conversation':
      return noteOfConversation(record.app_id, record.id);
    case 'message':
      return noteOfMessages(record.conversation_id, [record.id]);
    default:
      return undefined;
  }
}
