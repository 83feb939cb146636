import type { AuditAction, FieldChange } from '../../contract/audit.ts';
import { limits } from '../../contract/limits.ts';
import type { RecordKind } from '../../contract/record.ts';
import { identityOf } from '../../domain/records/record-kinds.ts';
import { type AuditEntry, type AuditQuery, type Author, entryIds, firstEntryId } from '../../domain/store/audit.ts';
import type { Eraser } from '../../domain/store/erasure.ts';
import type { ReviewChange } from '../../domain/store/reviews.ts';
import { type Condition, given, split } from '../base/selection.ts';
import type { SpooledRecord } from '../base/spooled-record.ts';
import { addInto, type Bound, execute, insertInto, type Scalar, type Write } from '../base/statement.ts';

/** The id of a new entry of this thread. */
export const newEntryId = entryIds(() => Date.now());

const columns = {
  id: 'text',
  scope: 'text',
  at: 'bigint',
  key_id: 'text',
  action: 'text',
  record: 'text',
  count: 'bigint',
  ids: 'text',
  document_id: 'text',
  tool: 'text',
  app_id: 'text',
  messages: 'bigint',
  changes: 'text',
} as const;
export const writeEntries = insertInto('audit_entries', columns);
/** For an entry about several transactions: each adds its numbers. */
export const addToEntries = addInto('audit_entries', columns, ['id', 'scope'], ['count', 'messages']);

/**
 * In the order of the columns of `writeEntries`. `scope`: the dataset or conversation that is on the same node. Only writes of child
 * chunks by API requests have a document.
 */
export function entryValues(entry: AuditEntry, scope = entry.id, document_id: string | null = null): Scalar[] {
  const { id, at, key_id, action, record, count, app_id = null, messages = null, tool = null } = entry;
  const [ids, changes] = [JSON.stringify(entry.ids), entry.changes?.length ? JSON.stringify(entry.changes) : null];
  return [id, scope, at, key_id, action, record, count, ids, document_id, tool, app_id, messages, changes];
}

export const findEntry = 'SELECT 1 FROM audit_entries WHERE id = ? AND scope = ?/*@*/';

/** The entry about a change of one record. Messages and reviews are named by their conversation and message. */
export const entryOf = (
  record: RecordKind,
  action: AuditAction,
  id: string,
  { key_id, now: at }: { key_id: string | null; now: number },
  tool?: string,
): AuditEntry => ({ id: newEntryId(), at, key_id, action, record, count: 1, ids: [id], tool });

type Fields = Record<string, string | number | boolean | null | undefined>;

/** What a change makes different. `stored` has flags as 0 and 1; fields that are undefined in `change` stay as they are. */
export const changesOf = (stored: Fields, change: Fields): FieldChange[] =>
  Object.entries(change).flatMap(([field, value]) => {
    const isFlag = typeof value === 'boolean';
    const before = isFlag ? `${stored[field] === 1}` : textOf(stored[field]);
    const after = textOf(value);
    return value === undefined || before === after ? [] : [{ field, before, after }];
  });

const textOf = (value: Fields[string]): string | null => (value == null ? null : `${value}`);

export const reviewEntry = ({ location, author, now, tool }: ReviewChange, action: 'create' | 'update'): AuditEntry =>
  entryOf('review', action, `${location.conversation_id}/${location.message_id}`, { key_id: author, now }, tool);

/** The conversations are of one app. */
export function erasureEntry(
  { now: at, key_id, action }: Eraser,
  erased: { audit_id: string; app_id: string; ids: readonly string[]; messages: number },
): AuditEntry {
  const { audit_id: id, app_id, messages } = erased;
  const ids = erased.ids.slice(0, limits.auditIdsMax);
  return { id, at, key_id, action, record: 'conversation', count: erased.ids.length, ids, app_id, messages };
}

/** A condition of an index, in its words. */
const isNoAppend = "(action <> 'import' OR record NOT IN ('conversation', 'message'))";

/** `action <> 'import'` and `document_id IS NOT NULL` are conditions of the indexes. */
function indexedConditions(query: AuditQuery): Condition[] {
  const { before, from, to, key_id, action, dataset_id, document_id, appends } = query;
  return [
    ...(appends === undefined ? [] : [[isNoAppend] as const]),
    ...given('id < ?', before),
    ...given('id >= ?', from === undefined ? undefined : firstEntryId(from * 1000)),
    ...given('id < ?', to === undefined ? undefined : firstEntryId(to * 1000)),
    ...given('key_id = ?', key_id),
    ...given("action <> 'import' AND action = ?", action === 'import' ? undefined : action),
    ...given('scope = ?/*@*/ AND document_id IS NOT NULL', dataset_id),
    ...given('document_id = ?', document_id),
  ];
}

function otherConditions({ action, record, record_id }: AuditQuery): Condition[] {
  // The empty id matches nothing.
  const pattern = record_id && `%${record_id.replaceAll(/[!%_]/g, '!$&')}%`;
  return [
    ...given('action = ?', action === 'import' ? action : undefined),
    ...given('record = ?', record),
    ...given(`ids LIKE ? ESCAPE '!'`, pattern),
  ];
}

/** The id of the last entry that one request compares with conditions without an index; undefined if it compares none. */
export function scanEnd(query: AuditQuery): Bound<{ id: string }> | undefined {
  if (otherConditions(query).length === 0) return undefined;
  return selectEntries('id', indexedConditions(query), `1 OFFSET ${limits.auditScanMax - 1}`);
}

type StoredEntry = Omit<AuditEntry, 'ids' | 'changes'> & { ids: string; changes: string | null };

export const entryOfRow = ({ ids, changes, ...row }: StoredEntry): AuditEntry => {
  return { ...row, ids: JSON.parse(ids), changes: JSON.parse(changes ?? '[]') };
};

/** `end`: the oldest entry that is compared. */
export function findEntries(query: AuditQuery, end: string | undefined): Bound<StoredEntry> {
  const conditions = [...indexedConditions(query), ...otherConditions(query)];
  if (end !== undefined) conditions.push(['id >= ?', end]);
  return selectEntries(
    'id, at, key_id, action, record, count, ids, tool, app_id, messages, cleaned_at, changes',
    conditions,
    `${query.limit + 1}`,
  );
}

function selectEntries<R extends object>(selected: string, conditions: readonly Condition[], limit: string): Bound<R> {
  const { texts, values } = split(conditions);
  const where = texts.length === 0 ? '' : `WHERE ${texts.join(' AND ')}`;
  return [`SELECT ${selected} FROM audit_entries ${where} ORDER BY id DESC LIMIT ${limit}`, ...values];
}

const trim = 'DELETE FROM audit_entries WHERE id IN (SELECT id FROM audit_entries WHERE id < ? ORDER BY id LIMIT ?)';
export const trimAudit = ({ before }: { before: string }): Write<number> => execute(trim, before, limits.auditBatchMax);

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
