import type { KeyKind, RecordKind } from '../contract/record.ts';
import { BadRecord } from './errors.ts';
import type { Usage } from './usage.ts';

/** A line of an input; `source` names the file where an import reads several. */
export type Line = { number: number; source?: string | undefined };

/** The columns of each kind, in full. */
export type Columns = {
  workspace: { id: string; name: string };
  app: { id: string; workspace_id: string; name: string; mode: string };
  api_key: {
    id: string | null;
    /** The id is not the input's: if the digest is known by the time of writing, it is that key which is meant. */
    is_unnamed: boolean;
    kind: KeyKind;
    workspace_id: string | null;
    app_id: string | null;
    dataset_ids: string[] | null;
    name: string;
    digest: string;
    created_at: number;
    expires_at: number | null;
    revoked_at: number | null;
  };
  conversation: { id: string; app_id: string; user: string | null; created_at: number; deleted: boolean };
  /** The message's final JSON text lies apart, `doc_bytes` long; with `keeps_created_at` a stored time wins over this one. */
  message: {
    id: string;
    conversation_id: string;
    created_at: number;
    keeps_created_at: boolean;
    usage: Usage;
    doc_bytes: number;
  };
  dataset: { id: string; workspace_id: string; name: string };
  document: { id: string; dataset_id: string; name: string };
  segment: { id: string; dataset_id: string; document_id: string; position: number; content: string };
  child_chunk: {
    id: string;
    dataset_id: string;
    segment_id: string;
    content: string;
    position: number;
    word_count: number;
    type: string;
    created_at: number;
    updated_at: number;
    /** The moment of this import: when a text that it replaces was replaced. */
    replaced_at: number;
  };
  child_chunk_revision: {
    dataset_id: string;
    child_chunk_id: string;
    revision: number;
    content: string;
    replaced_at: number;
    key_id: string | null;
    /** The moment of this import. */
    imported_at: number;
  };
  /** `doc` is the record's fields, `entries` what the listing of each model type shows. */
  model_provider: {
    workspace_id: string;
    provider: string;
    doc: string;
    entries: { model_type: string; entry: string }[];
  };
};

/** A record that is right in itself. Its references are checked next, which also fills in `dataset_id`. */
export type Prepared<K extends RecordKind> = { record: K; line: Line } & Columns[K];
export type PreparedRecord = { [K in RecordKind]: Prepared<K> }[RecordKind];

export function badRecord({ record, line }: { record: RecordKind; line: Line }, problem: string): BadRecord {
  return new BadRecord(line.number, record, problem, line.source);
}

/** Rare: a message written again without its time keeps the stored one. */
export function withCreatedAt(doc: Buffer, created_at: number): Buffer {
  return Buffer.from(JSON.stringify({ ...JSON.parse(doc.toString()), created_at }));
}
