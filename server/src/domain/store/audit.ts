import type { ActivityQuery, AuditAction, FieldChange, ReadListed } from '../../contract/audit.ts';
import type { RecordKind } from '../../contract/record.ts';
import { newVersion } from '../version.ts';

/**
 * An entry of the audit log: an action on records of one kind, its key and time. It never contains texts or secrets, nor what end
 * users wrote.
 */
export type AuditEntry = {
  /** Ids sort by time. */
  id: string;
  at: number;
  /** The author, see `domain/author.ts`. Null for the command line. */
  key_id: string | null;
  action: AuditAction;
  record: RecordKind;
  count: number;
  /** The ids of the first `limits.auditIdsMax` records. */
  ids: readonly string[];
  /** The tool that an agent called, if one did. */
  tool?: string | null | undefined;
  /** Of an erasure: its app, and the number of erased messages. */
  app_id?: string | null;
  messages?: number | null;
  /** Of an erasure on the embedded engine: when its files had no copies any more, in seconds. */
  cleaned_at?: number | null;
  /** Of a change of an app, key or person: the fields that are different. */
  changes?: readonly FieldChange[] | undefined;
};

/**
 * Who read what: one entry for each author and object in an hour, which give its id. Unlike other entries, it holds words and names
 * of end users. `key_id`: the author, see `domain/author.ts`.
 */
export type Read = Omit<ReadListed, 'key_id' | 'key_name' | 'person_id' | 'person_name' | 'app_name'> & {
  key_id: string;
};

/**
 * Author and time of an import, in seconds. `rejectsErased`: records that were erased are rejected, since the import comes from
 * another system, where they still exist.
 */
export type Author = { key_id: string | null; now: number; rejectsErased?: boolean };

/**
 * Selects entries, newest first: older than the entry `before`, with times from `from` until before `to`, in seconds.
 * `record_id` is a part of an id. `dataset_id` and `document_id` select writes of child chunks by API requests, not imports.
 */
export type AuditQuery = { [N in keyof Filters]?: Filters[N] | undefined } & {
  before?: string | undefined;
  limit: number;
};
type Filters = Omit<ActivityQuery, 'limit' | 'cursor' | 'person_id'>;

/** If `next` is set, older entries may match: `before` of the next query. There may be fewer entries than the limit then. */
export type AuditPage = { entries: AuditEntry[]; next: string | undefined };

/** The name of a record, and the ids in its address, from the top: a child chunk has its dataset's, document's and segment's. */
export type RecordName = { name: string; path: string[] };

/** Milliseconds have nine digits in this base until the year 5188. */
const base = 36;
const millisDigits = 9;
const countDigits = 4;

/**
 * Creates ids that sort in the order of their creation, even within a millisecond; ids of several creators sort by their
 * clocks. `clock`: the time in milliseconds.
 */
export function entryIds(clock: () => number): () => string {
  let last = 0;
  let count = 0;
  return () => {
    const now = Math.max(clock(), last);
    count = now === last ? count + 1 : 0;
    last = now;
    return `${firstEntryId(now)}${digits(count, countDigits)}-${newVersion()}`;
  };
}

/** The ids of entries created at this time, in milliseconds, or later are greater than this text. */
export const firstEntryId = (millis: number): string => digits(Math.max(0, millis), millisDigits);

const digits = (n: number, length: number): string => n.toString(base).padStart(length, '0');
