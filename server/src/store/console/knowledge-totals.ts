import type { DatasetListed, DocumentListed } from '../../contract/console/knowledge.ts';
import type { ReadEngine } from '../base/engine.ts';
import * as sql from './admin-statements.ts';

/** Counts and last changes for the rows of a page of the console. */

const newest = (...times: unknown[]): number | null => Math.max(...times.map((time) => Number(time ?? 0))) || null;

type WithId = { id: string };
const idsOf = (rows: readonly WithId[]): string[] => rows.map(({ id }) => id);
const byId = <R extends WithId>(rows: readonly R[]): Map<string, R> => new Map(rows.map((row) => [row.id, row]));

export async function addDatasetTotals(engine: ReadEngine, rows: readonly sql.DatasetRow[]): Promise<DatasetListed[]> {
  if (rows.length === 0) return [];
  const ids = engine.dialect.list(idsOf(rows));
  const totalsById = byId(await engine.read(sql.datasetTotals(engine.dialect), ids, ids, ids));
  return rows.map(({ created_at, updated_at, ...row }) => {
    const totals = totalsById.get(row.id);
    const changed_at = newest(created_at, updated_at, totals?.added_at, totals?.edited_at);
    const { document_count = 0, segment_count = 0, word_count = 0, edited_by = null } = totals ?? {};
    return { ...row, document_count, segment_count, word_count, changed_at, changed_by: edited_by };
  });
}

export async function addDocumentTotals(
  engine: ReadEngine,
  dataset_id: string,
  rows: readonly sql.DocumentRow[],
): Promise<DocumentListed[]> {
  if (rows.length === 0) return [];
  const ids = engine.dialect.list(idsOf(rows));
  const totalsById = byId(
    await engine.read(sql.documentTotals(engine.dialect), dataset_id, dataset_id, dataset_id, ids),
  );
  return rows.map(({ id, name }) => {
    const totals = totalsById.get(id);
    const changed_at = newest(totals?.created_at, totals?.updated_at, totals?.edited_at);
    const { segment_count = 0, word_count = 0, edited_by = null } = totals ?? {};
    return { id, name, segment_count, word_count, changed_at, changed_by: edited_by };
  });
}
