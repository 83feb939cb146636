import type { Static } from 'typebox';
import type { RecordKind, records } from '../contract/record.ts';
import { BadRecord } from './errors.ts';
import type { Usage } from './usage.ts';

/** A line of an input. `source` is the name of the file, if an import reads several. */
export type Line = { number: number; source?: string | undefined };

type Fields<K extends RecordKind> = Static<(typeof records)[K]>;

/** The dataset is not a field of the record: it is filled in from the parent when references are checked. */
type InDataset = { dataset_id: string };

/** Kinds whose prepared form differs from the fields of their schema. */
type Special = {
  api_key: Omit<Fields<'api_key'>, 'id' | 'secret'> & {
    id: string | null;
    /** The input has no id: if a key with this digest exists when the record is written, that key is updated. */
    is_unnamed: boolean;
  };
  /** The JSON text is in `Batch.texts`. `keeps_created_at`: a stored message with this id keeps its time. */
  message: {
    id: string;
    conversation_id: string;
    created_at: number;
    keeps_created_at: boolean;
    usage: Usage;
    doc_bytes: number;
  };
  segment: Fields<'segment'> & InDataset;
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

export function badRecord({ record, line }: { record: RecordKind; line: Line }, problem: string): BadRecord {
  return new BadRecord(line.number, record, problem, line.source);
}

/** Replaces the time in a message's text. Rare, so it may be slow. */
export function withCreatedAt(doc: Buffer, created_at: number): Buffer {
  return Buffer.from(JSON.stringify({ ...JSON.parse(doc.toString()), created_at }));
}
