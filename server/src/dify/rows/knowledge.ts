import { limits } from '../../contract/limits.ts';
import {
  type ChildChunkRow,
  type DocumentRow,
  type MetadataField,
  mapChildChunk,
  mapDocument,
  mapSegment,
  type SegmentRow,
} from '../map/documents.ts';
import type { OpenObject } from '../map/json.ts';
import { type DatasetRow, mapDataset } from '../map/knowledge.ts';
import { type DifySource, type Reading, type RecordInput, silentReport } from '../source.ts';
import { columns, epoch, readRows } from './selection.ts';

export async function readDatasets(reading: Reading): Promise<RecordInput[]> {
  const { source } = reading;
  const hasStructure = source.has('datasets', 'chunk_structure');
  const rows = await readRows<DatasetRow>(
    reading,
    'dataset',
    `s.id, s.tenant_id AS workspace_id, s.name, s.description, s.indexing_technique, s.data_source_type,
       ${epoch('s.created_at')} AS created_at, ${epoch('s.updated_at')} AS updated_at, s.provider, s.permission,
       coalesce(${hasStructure ? "nullif(s.chunk_structure, '')" : 'NULL'},
         (SELECT min(d.doc_form) FROM documents d WHERE d.dataset_id = s.id)) AS doc_form,
       ${source.has('datasets', 'enable_api') ? 's.enable_api IS TRUE' : 'true'} AS enable_api,
       ${columns(source, 'datasets', 's', ['embedding_model', 'embedding_model_provider', 'chunk_structure'])},
       ${columns(source, 'datasets', 's', ['built_in_field_enabled', 'runtime_mode', 'pipeline_id', 'is_multimodal'])},
       ${columns(source, 'datasets', 's', ['created_by', 'updated_by', 'maintainer'])},
       ${['retrieval_model', 'summary_index_setting', 'icon_info']
         .map((name) => (source.has('datasets', name) ? `s.${name}::text AS ${name}` : `NULL AS ${name}`))
         .join(', ')}`,
  );
  const details = await readDatasetDetails(source);
  return rows.flatMap((row) => mapDataset(row, details(row.id), reading) ?? []);
}

type OfDataset = { dataset_id: string };

/** Tags, metadata fields and external knowledge of all datasets. */
async function readDatasetDetails(source: DifySource) {
  const read = async <R extends OfDataset>(names: readonly string[], sql: string) => {
    const rows = names.every((name) => source.has(name)) ? await source.query<R>(sql, []) : [];
    return Map.groupBy(rows, ({ dataset_id }) => dataset_id);
  };
  const tags = await read(
    ['tags', 'tag_bindings'],
    `SELECT DISTINCT b.target_id AS dataset_id, g.id, g.name, g.type FROM tag_bindings b JOIN tags g ON g.id = b.tag_id
     WHERE g.type = 'knowledge' AND g.tenant_id = b.tenant_id AND b.target_id IS NOT NULL ORDER BY g.name, g.id`,
  );
  const metadata = await read(
    ['dataset_metadatas'],
    'SELECT x.dataset_id, x.id, x.name, x.type FROM dataset_metadatas x ORDER BY x.created_at, x.id',
  );
  const external = await read(
    ['external_knowledge_bindings', 'external_knowledge_apis'],
    `SELECT b.dataset_id, b.external_knowledge_id, x.id AS external_knowledge_api_id, x.name AS external_knowledge_api_name
     FROM external_knowledge_bindings b JOIN external_knowledge_apis x
       ON x.id = b.external_knowledge_api_id AND x.tenant_id = b.tenant_id
     ORDER BY b.created_at, b.id`,
  );
  const withoutDataset = ({ dataset_id: _, ...fields }: OfDataset): OpenObject => fields;
  return (id: string) => ({
    tags: (tags.get(id) ?? []).map(withoutDataset),
    metadata: (metadata.get(id) ?? []).map(withoutDataset),
    external: external.get(id)?.map(withoutDataset)[0],
  });
}

export async function readDocuments(reading: Reading, ids: readonly string[]): Promise<RecordInput[]> {
  const { source } = reading;
  const rows = await readRows<DocumentRow>(
    reading,
    'document',
    `d.id, d.dataset_id, d.name, d.position, ${epoch('d.created_at')} AS created_at,
       ${epoch('d.updated_at')} AS updated_at, d.enabled, d.archived, d.indexing_status, d.is_paused, d.doc_form,
       d.data_source_type, d.data_source_info::text AS data_source_info, d.tokens,
       ${columns(source, 'documents', 'd', ['doc_language', 'created_by'])},
       ${source.has('documents', 'disabled_at') ? epoch('d.disabled_at') : 'NULL'} AS disabled_at,
       ${source.has('documents', 'doc_metadata') ? 'd.doc_metadata::text' : 'NULL'} AS doc_metadata`,
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

export async function* readSegments(reading: Reading, ids: readonly string[]): AsyncGenerator<RecordInput> {
  const { source } = reading;
  const bytes = 'octet_length(g.content) + coalesce(octet_length(g.answer), 0)';
  for await (const batch of batches(reading, 'segment', bytes, ids)) {
    const rows = await source.query<SegmentRow>(
      `SELECT g.id, g.document_id, g.position, g.content, g.answer, g.keywords::text AS keywords, g.enabled, g.status,
         g.tokens, g.hit_count, g.index_node_id, g.index_node_hash, ${epoch('g.created_at')} AS created_at,
         ${source.has('document_segments', 'updated_at') ? epoch('g.updated_at') : epoch('g.created_at')} AS updated_at,
         ${columns(source, 'document_segments', 'g', ['created_by'])},
         ${source.has('document_segments', 'disabled_at') ? epoch('g.disabled_at') : 'NULL'} AS disabled_at
       FROM document_segments g WHERE g.id = ANY($1::uuid[]) ORDER BY g.id`,
      [batch],
    );
    for (const row of rows) yield* toList(mapSegment(row, reading));
  }
}

export async function* readChildChunks(reading: Reading, ids: readonly string[]): AsyncGenerator<RecordInput> {
  const { source } = reading;
  const bytes = 'octet_length(h.content)';
  for await (const batch of batches(reading, 'child_chunk', bytes, ids)) {
    const rows = await source.query<ChildChunkRow & { is_of_large_segment: boolean }>(
      `SELECT h.id, h.segment_id, h.content, h.position, h.type, ${epoch('h.created_at')} AS created_at,
         ${epoch('h.updated_at')} AS updated_at, h.index_node_id,
         octet_length(g.content) + coalesce(octet_length(g.answer), 0) > ${largeBytesMin} AS is_of_large_segment
       FROM child_chunks h JOIN document_segments g ON g.id = h.segment_id
       WHERE h.id = ANY($1::uuid[]) ORDER BY h.id`,
      [batch],
    );
    const isImported = await checkLargeSegments(reading, rows);
    for (const row of rows) {
      if (isImported(row)) yield* toList(mapChildChunk(row, reading));
      else reading.report.skip({ kind: 'child_chunk', id: row.id, reason: 'segment too large' });
    }
  }
}

/** JSON needs up to six bytes for a byte of text: a shorter segment is never too large. */
const largeBytesMin = Math.floor(limits.recordBytesMax / 8);

/** Whether the segment of a child chunk is imported. Only large segments are read for it. */
async function checkLargeSegments(
  reading: Reading,
  rows: readonly { segment_id: string; is_of_large_segment: boolean }[],
): Promise<(row: { segment_id: string }) => boolean> {
  const large = new Set(rows.filter((row) => row.is_of_large_segment).map(({ segment_id }) => segment_id));
  const rejected = new Set(large);
  for await (const segment of readSegments({ ...reading, report: silentReport }, [...large]))
    rejected.delete(segment.id as string);
  return ({ segment_id }) => !rejected.has(segment_id);
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
