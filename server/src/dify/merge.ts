import { completeRecord, prepareRecord } from '../domain/records/prepare-record.ts';
import type { PreparedRecord } from '../domain/records/prepared-record.ts';
import { keptFields } from '../domain/records/record-kinds.ts';
import type { StoredRecord } from '../domain/store/import-sources.ts';
import type { Store } from '../domain/store/store.ts';
import type { RecordInput } from './source.ts';
import type { SourceState } from './state.ts';

/** The stored records of a batch, and what was changed in Backscroll, which is kept unless `isForced`. */
export type Stored = {
  isForced: boolean;
  /** By `keyOf`. */
  records: ReadonlyMap<string, StoredRecord>;
  /** Child chunks whose current text was written with a key. */
  editedChunks: ReadonlySet<string>;
  /** Conversations and child chunks that an import has deleted because the source had deleted them. */
  goneIds: ReadonlySet<string>;
};

/** A provider's id is WORKSPACE/PROVIDER. */
export const idOf = ({ record, id, workspace_id, provider }: RecordInput): string =>
  record === 'model_provider' ? `${workspace_id}/${provider}` : (id as string);
export const keyOf = (input: RecordInput): string => `${input.record} ${idOf(input)}`;

/** The list of records of a kind that an import has deleted, because the source had deleted them. */
export const deletedList = (kind: string): string => `deleted ${kind}`;

export async function findStored(
  { store, state, isForced }: { store: Store | undefined; state: SourceState; isForced: boolean },
  batch: readonly RecordInput[],
): Promise<Stored> {
  const records = new Map<string, StoredRecord>();
  const editedChunks = new Set<string>();
  const goneIds = new Set<string>();
  for (const [kind, group] of Map.groupBy(batch, ({ record }) => record)) {
    const conversations =
      kind === 'message' ? [...new Set(group.map(({ conversation_id }) => conversation_id as string))] : undefined;
    const ofKind = (await store?.imports.findRecords(kind, group.map(idOf), conversations)) ?? new Map();
    for (const [id, record] of ofKind) records.set(`${kind} ${id}`, record);
    const ids = [...ofKind.keys()];
    if (kind === 'conversation' || kind === 'child_chunk')
      for (const id of await state.findIds(deletedList(kind), ids)) goneIds.add(id);
    if (kind === 'child_chunk') for (const id of (await store?.imports.findEdited(ids)) ?? []) editedChunks.add(id);
  }
  return { records, editedChunks, goneIds, isForced };
}

/** A record to write, and its JSON text if it is a message. */
export type Candidate = { input: RecordInput; prepared: PreparedRecord; text: string | undefined };

/** The record with what was changed in Backscroll; undefined if the stored record is kept as it is. */
export function keepLocal(
  input: RecordInput,
  stored: StoredRecord,
  { isForced, goneIds, editedChunks }: Stored,
): RecordInput | undefined {
  const wasGone = goneIds.has(input.id as string);
  switch (input.record) {
    case 'conversation': {
      const merged = { ...input };
      if (stored.renamed_at !== null) {
        if (isForced) merged.renamed_at = null;
        else merged.name = stored.name;
      }
      if (stored.deleted && !isForced && !wasGone) merged.deleted = true;
      return merged;
    }
    case 'message': {
      if (stored.rated_at === null || isForced) return input;
      const { feedback, feedback_content, rated_at } = stored;
      return { ...input, feedback, feedback_content, rated_at };
    }
    case 'child_chunk': {
      if (isForced) return input;
      const isEdited = editedChunks.has(input.id as string);
      return isEdited || (stored.deleted && !wasGone) ? undefined : input;
    }
    default:
      return input;
  }
}

/** Throws BadRecord if the record is not valid. `isValid`: its fields match the schema, so only the rest is checked. */
export function prepare(input: RecordInput, now: number, isValid: boolean): Candidate {
  const texts: string[] = [];
  const line = { number: 1 };
  const prepared = isValid
    ? completeRecord(line, input, now, texts)
    : prepareRecord(line, JSON.stringify(input), now, texts);
  return { input, prepared, text: texts[0] };
}

/** The names of the fields in which the stored record differs. Fields that the record omits and keeps do not differ. */
export function changedFields({ prepared, text }: Candidate, stored: StoredRecord): string[] {
  const fields = fieldsOf(prepared, text);
  const omitted: readonly string[] = 'omitted' in prepared ? prepared.omitted : [];
  return Object.keys(stored).filter((name) => {
    if (name === 'record' || omitted.includes(name)) return false;
    // A document without a position keeps the stored one.
    if (name === 'position' && prepared.record === 'document' && fields.position === null) return false;
    return JSON.stringify(fields[name]) !== JSON.stringify(stored[name]);
  });
}

function fieldsOf(prepared: PreparedRecord, text: string | undefined): Record<string, unknown> {
  if (prepared.record === 'model_provider') return JSON.parse(prepared.doc);
  if (text === undefined) return prepared as unknown as Record<string, unknown>;
  return { ...JSON.parse(text), ...prepared };
}

/**
 * The record without the fields that keep their stored values if they are omitted, and that are equal: if a reader changes
 * one of them before the record is written, that change is not lost.
 */
export function withoutEqual(input: RecordInput, changed: readonly string[]): RecordInput {
  // Feedback and its time are one value.
  const feedback = ['feedback', 'feedback_content', 'rated_at'];
  const isRated = feedback.some((name) => changed.includes(name));
  const isKept = (name: string) => !changed.includes(name) && !(isRated && feedback.includes(name));
  const omitted = (keptFields[input.record] ?? []).filter(isKept);
  return Object.fromEntries(Object.entries(input).filter(([name]) => !omitted.includes(name))) as RecordInput;
}
