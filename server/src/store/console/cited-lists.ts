import type { DatasetListed, DocumentListed } from '../../contract/console/knowledge.ts';
import type { KnowledgeRange, ListRows } from '../../domain/store/admin-reads.ts';
import type { ReadEngine, Value } from '../base/engine.ts';
import type { Bound } from '../base/statement.ts';
import * as sql from './admin-statements.ts';
import { type List, readList } from './admin-statements.ts';

type Cited = { id: string; cited: number; disliked: number };

/** Sums of the rows of knowledge bases, or of the documents of one. `rest`: of the statement, for the column with their ids. */
function sums(dataset_id: string | undefined, since: number, rest: (id: string) => string, value: Value): Bound<Cited> {
  const [id, level, values] =
    dataset_id === undefined
      ? ['dataset_id', `document_id = '' AND segment_id = '' AND dataset_id <> ''`, [since]]
      : ['document_id', `segment_id = '' AND document_id <> '' AND dataset_id = ?`, [dataset_id, since]];
  const columns = 'CAST(SUM(answers) AS BIGINT) AS cited, CAST(SUM(disliked) AS BIGINT) AS disliked';
  const text = `SELECT ${id} AS id, ${columns} FROM search_citations WHERE ${level} AND day >= ? ${rest(id)}`;
  return [text, ...values, value];
}

const worst = (id: string): string =>
  `GROUP BY ${id} HAVING SUM(disliked) > 0 ORDER BY SUM(disliked) DESC, ${id} LIMIT ?`;

/** A page of knowledge bases, or of the documents of one, with the answers that cite each. */
export async function listCited<R extends { id: string }, T extends { id: string }>(
  engine: ReadEngine,
  list: List,
  dataset_id: string | undefined,
  { since, isWorst, ...range }: KnowledgeRange,
  addTotals: (rows: R[]) => Promise<T[]>,
): Promise<ListRows<T & { cited: number; disliked: number }>> {
  const { dialect } = engine;
  const parents = dataset_id === undefined ? [] : [dataset_id];
  const found = isWorst ? await engine.read(...sums(dataset_id, since, worst, range.count)) : undefined;
  const inList = found && dialect.isIn(list.by.at(-1) ?? '');
  const selected = inList === undefined ? list : { ...list, where: [...(list.where ?? []), inList] };
  const values = found === undefined ? parents : [...parents, dialect.list(found.map(({ id }) => id))];
  const { rows, has_more } = await readList<R>(engine, selected, values, range);
  if (rows.length === 0) return { rows: [], has_more };
  const totals = await addTotals(rows);
  const ids = dialect.list(rows.map(({ id }) => id));
  const citedOf = sums(dataset_id, since, (id) => `AND ${dialect.isIn(id)} GROUP BY ${id}`, ids);
  const counts = new Map((await engine.read(...citedOf)).map((row) => [row.id, row]));
  const listed = totals.map((row) => {
    const { cited = 0, disliked = 0 } = counts.get(row.id) ?? {};
    return { ...row, cited, disliked };
  });
  if (!isWorst) return { rows: listed, has_more };
  return { rows: listed.sort((one, other) => other.disliked - one.disliked), has_more: false };
}

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
