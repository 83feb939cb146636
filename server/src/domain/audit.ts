import type { RecordKind } from '../contract/record.ts';
import { newVersion } from './version.ts';

/** What was done to records of one kind, by whom and when. It never holds texts or secrets. */
export type AuditEntry = {
  /** Sorts by the moment. */
  id: string;
  at: number;
  /** Null where it was the command line. */
  key_id: string | null;
  action: 'update' | 'import' | 'create' | 'revoke' | 'purge';
  record: RecordKind;
  count: number;
  /** Of the first of them; see `limits.auditIdsMax`. */
  ids: readonly string[];
};

/** Who imports records, and when, in seconds. */
export type Author = { key_id: string | null; now: number };

/** Entries from the newest backwards: those older than the entry `before`, not older than `since` in seconds. */
export type AuditQuery = {
  before: string | undefined;
  since: number;
  key_id: string | undefined;
  record_id: string | undefined;
  limit: number;
};

/** Milliseconds have nine digits to this base until the year 5188. */
const base = 36;
const millisDigits = 9;
const countDigits = 4;

let last = 0;
let count = 0;

/** Later ones of one thread sort behind earlier ones, also within a millisecond; those of others by their clocks. */
export function newEntryId(): string {
  const now = Math.max(Date.now(), last);
  count = now === last ? count + 1 : 0;
  last = now;
  return `${firstEntryId(now)}${digits(count, countDigits)}-${newVersion()}`;
}

/** No entry of this moment, in milliseconds, or later sorts before it. */
export const firstEntryId = (millis: number): string => digits(Math.max(0, millis), millisDigits);

const digits = (n: number, length: number): string => n.toString(base).padStart(length, '0');
