import type { DatasetListed, DocumentListed } from '../../contract/console/knowledge.ts';
import type { ReadEngine, Row } from '../engine.ts';
import * as sql from './admin-statements.ts';

/** Counts and last changes for the rows of a page of the console. */

const newest = (...times: unknown[]): number | null => Math.max(...times.map((time) => Number(time ?? 0))) || null;

const idsOf = (rows: readonly Row[]): string[] => rows.map(({ id }) => id as string);
const byId = (rows: readonly Row[]): Map<unknown, Row> => new Map(rows.map((row) => [row.id, row]));

export async function addDatasetFigures(engine: ReadEngine, rows: readonly Row[]): Promise<DatasetListed[]> {
  if (rows.length === 0) return [];
  const ids = engine.dialect.list(idsOf(rows));
  const figures = byId(await engine.read(sql.datasetFigures(engine.dialect), ids, ids));
  return rows.map(({ created_at, updated_at, ...row }) => {
    const { document_count = 0, word_count = 0, added_at, edited_at } = figures.get(row.id) ?? {};
    const changed_at = newest(created_at, updated_at, added_at, edited_at);
    return { ...row, document_count, word_count, changed_at } as DatasetListed;
  });
}

export async function addDocumentFigures(
  engine: ReadEngine,
  dataset_id: string,
  rows: readonly Row[],
): Promise<DocumentListed[]> {
  if (rows.length === 0) return [];
  const ids = engine.dialect.list(idsOf(rows));
  const figures = byId(await engine.read(sql.documentFigures(engine.dialect), dataset_id, dataset_id, ids));
  return rows.map(({ id, name }) => {
    const { segment_count = 0, word_count = 0, created_at, updated_at, edited_at } = figures.get(id) ?? {};
    return {
      id,
      name,
      segment_count,
      word_count,
      changed_at: newest(created_at, updated_at, edited_at),
    } as DocumentListed;
  });
}
