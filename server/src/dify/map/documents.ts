import type { Mapping, RecordInput } from '../source.ts';
import { asText, isAbsent, isObject, type OpenObject, pick } from './json.ts';
import { RecordMapper } from './record-mapper.ts';

export type DocumentRow = {
  id: string;
  dataset_id: string;
  name: string;
  position: number;
  created_at: number;
  updated_at: number;
  enabled: boolean;
  archived: boolean;
  indexing_status: string;
  is_paused: boolean | null;
  doc_form: string | null;
  doc_language: string | null;
  data_source_type: string | null;
  data_source_info: string | null;
  tokens: number | null;
  doc_metadata: string | null;
  created_by: string | null;
  disabled_at: number | null;
};

/** A metadata field of a dataset that a document has. */
export type MetadataField = { id: string; name: string; type: string };

export function mapDocument(
  row: DocumentRow,
  metadataFields: readonly MetadataField[],
  reading: Mapping,
): RecordInput | undefined {
  const mapper = new RecordMapper('document', row.id, reading);
  const isRunning = !['completed', 'error', 'waiting'].includes(row.indexing_status);
  const info = mapper.object(row.data_source_info, 'data_source_info');
  const record: RecordInput = {
    record: 'document',
    ...pick(row, ['id', 'dataset_id', 'name', 'position', 'created_at', 'updated_at', 'enabled', 'archived']),
    indexing_status: isRunning && row.is_paused === true ? 'paused' : row.indexing_status,
    ...pick(row, ['doc_form', 'doc_language', 'data_source_type', 'tokens', 'created_by', 'disabled_at']),
    data_source_info: info === undefined ? null : withoutCredentials(info),
    doc_metadata: mapMetadata(mapper, row.doc_metadata, metadataFields),
  };
  return mapper.finish(record, {
    lists: ['doc_metadata'],
    optional: { data_source_info: null, doc_metadata: [], created_at: 0, updated_at: 0, disabled_at: null },
  });
}

/** Without fields that identify or contain credentials of the data source. */
function withoutCredentials(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutCredentials);
  if (!isObject(value)) return value;
  const isOpen = ([name]: [string, unknown]) => !/credential|secret|token|password|api_?key|authorization/i.test(name);
  const entries = Object.entries(value).filter(isOpen);
  return Object.fromEntries(entries.map(([name, inner]) => [name, withoutCredentials(inner)]));
}

/** Metadata that every document has. The others are fields of the dataset. */
const builtInTypes: Readonly<Record<string, string>> = {
  document_name: 'string',
  uploader: 'string',
  upload_date: 'time',
  last_update_date: 'time',
  source: 'string',
};

/** A list of fields with their values. In the source, it is an object of values by name. */
function mapMetadata(
  mapper: RecordMapper,
  cell: string | null,
  metadataFields: readonly MetadataField[],
): OpenObject[] {
  const values = mapper.object(cell, 'doc_metadata');
  if (values === undefined) return [];
  const byName = new Map(metadataFields.map((field) => [field.name, field]));
  return Object.entries(values).map(([name, value]) => {
    const field = byName.get(name);
    if (field !== undefined) return { ...field, value };
    const builtIn = Object.hasOwn(builtInTypes, name) ? { id: 'built-in' } : {};
    return { ...builtIn, name, type: builtInTypes[name] ?? (typeof value === 'number' ? 'number' : 'string'), value };
  });
}

export type SegmentRow = {
  id: string;
  document_id: string;
  position: number;
  content: string;
  answer: string | null;
  keywords: string | null;
  enabled: boolean;
  status: string;
  tokens: number | null;
  hit_count: number | null;
  index_node_id: string | null;
  index_node_hash: string | null;
  created_at: number;
  updated_at: number;
  created_by: string | null;
  disabled_at: number | null;
};

export function mapSegment(row: SegmentRow, reading: Mapping): RecordInput | undefined {
  const mapper = new RecordMapper('segment', row.id, reading);
  const keywords = mapper.list(row.keywords, 'keywords');
  const record: RecordInput = {
    record: 'segment',
    ...pick(row, ['id', 'document_id', 'position']),
    content: mapper.text(row.content),
    answer: mapper.textOrNull(row.answer),
    keywords: keywords?.filter((one) => one !== null).map((one) => asText(one) ?? JSON.stringify(one)) ?? null,
    ...pick(row, ['enabled', 'status']),
    tokens: row.tokens ?? 0,
    hit_count: row.hit_count ?? 0,
    ...pick(row, ['index_node_id', 'index_node_hash', 'created_at', 'updated_at', 'created_by', 'disabled_at']),
  };
  return mapper.finish(record, { optional: { keywords: null, created_at: 0, updated_at: 0, disabled_at: null } });
}

export type ChildChunkRow = {
  id: string;
  segment_id: string;
  content: string;
  position: number;
  type: string | null;
  created_at: number;
  updated_at: number;
  index_node_id: string | null;
};

/** Without `word_count`: the source counts characters. */
export function mapChildChunk(row: ChildChunkRow, reading: Mapping): RecordInput | undefined {
  const mapper = new RecordMapper('child_chunk', row.id, reading);
  const record: RecordInput = {
    record: 'child_chunk',
    ...pick(row, ['id', 'segment_id', 'position']),
    content: mapper.text(row.content),
    type: isAbsent(row.type) ? 'automatic' : row.type,
    ...pick(row, ['created_at', 'updated_at', 'index_node_id']),
  };
  return mapper.finish(record, { optional: { created_at: 0, updated_at: 0 } });
}
