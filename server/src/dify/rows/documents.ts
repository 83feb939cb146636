import { limits } from '../../contract/limits.ts';
import { asText, isAbsent, isObject, type OpenObject, pick, words } from '../map/json.ts';
import { RecordMapper } from '../map/record-mapper.ts';
import { epoch, type Mapping, type Reading, type RecordInput, type Row, silentReport } from '../source.ts';
import { columns, readRows, text } from './selection.ts';

/** Columns that are fields of the record. */
const ofDocument = words(`
  id dataset_id name position enabled archived doc_form doc_language data_source_type tokens created_by`);
const ofSegment = words('id document_id position enabled status index_node_id index_node_hash created_by');
const ofChildChunk = ['id', 'segment_id', 'position', 'index_node_id'];
const times = ['created_at', 'updated_at', 'disabled_at'];

/** A metadata field of a dataset that a document has. */
type MetadataField = { id: string; name: string; type: string };

export async function readDocuments(reading: Reading, ids: readonly string[]): Promise<RecordInput[]> {
  const { source } = reading;
  const rows = await readRows<Row>(
    reading,
    'document',
    `${columns(source, 'documents', 'd', ofDocument)}, ${columns(source, 'documents', 'd', times, epoch)},
       ${columns(source, 'documents', 'd', ['data_source_info', 'doc_metadata'], text)}, d.indexing_status, d.is_paused`,
    { ids },
  );
  const hasFields = source.has('dataset_metadatas') && source.has('dataset_metadata_bindings');
  const fields = hasFields
    ? await source.query<MetadataField & { document_id: string }>(
        `SELECT b.document_id, x.id, x.name, x.type FROM dataset_metadata_bindings b
         JOIN dataset_metadatas x ON x.id = b.metadata_id AND x.dataset_id = b.dataset_id
         WHERE b.document_id = ANY($1::uuid[]) ORDER BY x.created_at, x.id`,
        [rows.map(({ id }) => id)],
      )
    : [];
  const byDocument = Map.groupBy(fields, ({ document_id }) => document_id);
  return rows.flatMap((row) => {
    const ofDocument = (byDocument.get(row.id) ?? []).map(({ id, name, type }) => ({ id, name, type }));
    return mapDocument(row, ofDocument, reading) ?? [];
  });
}

export function mapDocument(
  row: Row,
  metadataFields: readonly MetadataField[],
  reading: Mapping,
): RecordInput | undefined {
  const mapper = new RecordMapper('document', row.id, reading);
  const isRunning = !['completed', 'error', 'waiting'].includes(`${row.indexing_status}`);
  const info = mapper.object(row.data_source_info, 'data_source_info');
  const record: RecordInput = {
    record: 'document',
    ...pick(row, [...ofDocument, ...times]),
    indexing_status: isRunning && row.is_paused === true ? 'paused' : row.indexing_status,
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
function mapMetadata(mapper: RecordMapper, cell: unknown, metadataFields: readonly MetadataField[]): OpenObject[] {
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

export async function* readSegments(reading: Reading, ids: readonly string[]): AsyncGenerator<RecordInput> {
  const { source } = reading;
  const bytes = 'octet_length(g.content) + coalesce(octet_length(g.answer), 0)';
  const updated = source.has('document_segments', 'updated_at') ? 'updated_at' : 'created_at';
  for await (const batch of batches(reading, 'segment', bytes, ids)) {
    const rows = await source.query<Row>(
      `SELECT ${columns(source, 'document_segments', 'g', ofSegment)}, g.content, g.answer, g.tokens, g.hit_count,
         g.keywords::text AS keywords, ${epoch(`g.${updated}`)} AS updated_at,
         ${columns(source, 'document_segments', 'g', ['created_at', 'disabled_at'], epoch)}
       FROM document_segments g WHERE g.id = ANY($1::uuid[]) ORDER BY g.id`,
      [batch],
    );
    for (const row of rows) yield* toList(mapSegment(row, reading));
  }
}

export function mapSegment(row: Row, reading: Mapping): RecordInput | undefined {
  const mapper = new RecordMapper('segment', row.id, reading);
  const keywords = mapper.list(row.keywords, 'keywords');
  const record: RecordInput = {
    record: 'segment',
    ...pick(row, [...ofSegment, ...times]),
    content: mapper.text(row.content),
    answer: mapper.textOrNull(row.answer),
    keywords: keywords?.filter((one) => one !== null).map((one) => asText(one) ?? JSON.stringify(one)) ?? null,
    tokens: row.tokens ?? 0,
    hit_count: row.hit_count ?? 0,
  };
  return mapper.finish(record, { optional: { keywords: null, created_at: 0, updated_at: 0, disabled_at: null } });
}

export async function* readChildChunks(reading: Reading, ids: readonly string[]): AsyncGenerator<RecordInput> {
  const { source } = reading;
  for await (const batch of batches(reading, 'child_chunk', 'octet_length(h.content)', ids)) {
    const rows = await source.query<Row & { segment_id: string }>(
      `SELECT ${columns(source, 'child_chunks', 'h', [...ofChildChunk, 'content', 'type'])},
         ${columns(source, 'child_chunks', 'h', ['created_at', 'updated_at'], epoch)},
         octet_length(g.content) + coalesce(octet_length(g.answer), 0) > ${largeBytesMin} AS is_of_large_segment
       FROM child_chunks h JOIN document_segments g ON g.id = h.segment_id
       WHERE h.id = ANY($1::uuid[]) ORDER BY h.id`,
      [batch],
    );
    const rejected = await findRejectedSegments(
      reading,
      rows.flatMap(({ is_of_large_segment, segment_id }) => (is_of_large_segment === true ? segment_id : [])),
    );
    for (const row of rows) {
      if (!rejected.has(row.segment_id)) yield* toList(mapChildChunk(row, reading));
      else reading.report.skip({ kind: 'child_chunk', id: row.id, reason: 'segment too large' });
    }
  }
}

/** Without `word_count`: the source counts characters. */
function mapChildChunk(row: Row, reading: Mapping): RecordInput | undefined {
  const mapper = new RecordMapper('child_chunk', row.id, reading);
  const record: RecordInput = {
    record: 'child_chunk',
    ...pick(row, [...ofChildChunk, 'created_at', 'updated_at']),
    content: mapper.text(row.content),
    type: isAbsent(row.type) ? 'automatic' : row.type,
  };
  return mapper.finish(record, { optional: { created_at: 0, updated_at: 0 } });
}

/** JSON needs up to six bytes for a byte of text: a shorter segment is never too large. */
const largeBytesMin = Math.floor(limits.recordBytesMax / 8);

/** Those of these large segments that are not imported. */
async function findRejectedSegments(reading: Reading, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rejected = new Set(ids);
  for await (const { id } of readSegments({ ...reading, report: silentReport }, [...rejected]))
    rejected.delete(`${id}`);
  return rejected;
}

const toList = (record: RecordInput | undefined): RecordInput[] => (record === undefined ? [] : [record]);

/** Ids of selected rows that are read together: their texts have a bounded size. Rows that are too large are listed. */
async function* batches(
  reading: Reading,
  kind: 'segment' | 'child_chunk',
  bytes: string,
  ids: readonly string[],
): AsyncGenerator<string[]> {
  if (ids.length === 0) return;
  const id = kind === 'segment' ? 'g.id' : 'h.id';
  const rows = await readRows<{ id: string; bytes: number }>(reading, kind, `${id}, ${bytes} AS bytes`, { ids });
  let batch: string[] = [];
  let total = 0;
  for (const row of rows) {
    if (row.bytes > limits.recordBytesMax) {
      reading.report.skip({ kind, id: row.id, reason: 'too large', detail: `${row.bytes} bytes` });
      continue;
    }
    if (batch.length > 0 && total + row.bytes > limits.recordBytesMax) {
      yield batch;
      batch = [];
      total = 0;
    }
    batch.push(row.id);
    total += row.bytes;
  }
  if (batch.length > 0) yield batch;
}
