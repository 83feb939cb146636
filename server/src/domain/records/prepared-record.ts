import type { Static } from 'typebox';
import type { Problem } from '../../contract/problem.ts';
import type { RecordKind, records } from '../../contract/record.ts';
import { BadRecord, type Line } from '../errors.ts';
import { ratingsOf, type Usage, type UsageFields, usageOf } from './usage.ts';

type Fields<K extends RecordKind> = Static<(typeof records)[K]>;

/** The dataset is not a field of the record: it is filled in from the parent when references are checked. */
type InDataset = { dataset_id: string };

/** The fields in `keptFields` that the input does not have: a stored record keeps its values of these fields. */
type Omitted = { omitted: readonly string[] };

/** Kinds whose prepared form differs from the fields of their schema. */
type Special = {
  api_key: Omit<Fields<'api_key'>, 'id' | 'secret'> & {
    id: string | null;
    /** The input has no id: if a key with this digest exists when the record is written, that key is updated. */
    is_unnamed: boolean;
  };
  person: Omit<Fields<'person'>, 'id'> & { id: string };
  app: Fields<'app'> & Omitted;
  conversation: Fields<'conversation'> & Omitted;
  /**
   * The JSON text is in `Batch.texts`. `derived_name` and `derived_inputs` (as JSON) are those of its conversation, if this
   * is the first message.
   */
  message: Omitted & {
    id: string;
    conversation_id: string;
    created_at: number;
    feedback_content: string | null;
    rated_at: number | null;
    model_provider: string | null;
    model: string | null;
    trace_id: string | null;
    items: readonly object[];
    derived_name: string | null;
    derived_inputs: string;
    usage: Usage;
    doc_bytes: number;
  };
  /** Without a position, the stored document keeps its own, and a new one gets the next. */
  document: Omit<Fields<'document'>, 'position'> & { position: number | null };
  segment: Fields<'segment'> & InDataset & { word_count: number };
  /** `replaced_at` is the time of this import, for the revision of a text that it replaces. */
  child_chunk: Fields<'child_chunk'> & InDataset & { replaced_at: number };
  /** `imported_at` is the time of this import. */
  child_chunk_revision: Fields<'child_chunk_revision'> & InDataset & { imported_at: number };
  /** `doc` is the JSON text of the record's fields, `entries` has the JSON text for the listing of each model type. */
  model_provider: {
    workspace_id: string;
    provider: string;
    doc: string;
    entries: { model_type: string; entry: string }[];
  };
};

/** A record that is valid by itself, with all its fields. Its references are checked next. */
export type Prepared<K extends RecordKind> = { record: K; line: Line } & (K extends keyof Special
  ? Special[K]
  : Fields<K>);
export type PreparedRecord = { [K in RecordKind]: Prepared<K> }[RecordKind];

export const badRecord = ({ record, line }: { record: RecordKind; line: Line }, problem: string | Problem): BadRecord =>
  new BadRecord(line, record, problem);

/** Fields of a stored message that a record may omit. `feedback` and `inputs` are JSON texts; feedback may be null. */
export type KeptMessage = {
  created_at: number;
  feedback: string | null;
  inputs: string;
  feedback_content: string | null;
  rated_at: number | null;
};

/** The fields of a stored message that give its usage, with `feedback` as a JSON text. */
export type StoredUsage = Omit<UsageFields, 'feedback'> & Pick<KeptMessage, 'feedback'>;

export const storedUsage = (message: StoredUsage): Usage =>
  usageOf({ ...message, feedback: message.feedback === null ? null : JSON.parse(message.feedback) });

/** Fills in the stored values of fields that the record omits. */
export function keepStored(record: Prepared<'message'> & { doc: Buffer }, stored: KeptMessage): void {
  const { omitted } = record;
  const kept: Record<string, unknown> = {};
  if (omitted.includes('created_at') && stored.created_at !== record.created_at) {
    kept.created_at = record.created_at = stored.created_at;
  }
  if (omitted.includes('feedback_content')) record.feedback_content = stored.feedback_content;
  if (omitted.includes('rated_at')) record.rated_at = stored.rated_at;
  // The text has the defaults of omitted fields, which are often the stored values too.
  if (omitted.includes('feedback') && stored.feedback !== null) {
    const feedback = JSON.parse(stored.feedback);
    kept.feedback = feedback;
    record.usage = { ...record.usage, ...ratingsOf(feedback) };
  }
  if (omitted.includes('inputs') && stored.inputs !== '{}') kept.inputs = JSON.parse(stored.inputs);
  if (Object.keys(kept).length === 0) return;
  record.doc = Buffer.from(JSON.stringify({ ...JSON.parse(record.doc.toString()), ...kept }));
}
