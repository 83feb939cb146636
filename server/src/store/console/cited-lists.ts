import type { KnowledgeRange, ListRows } from '../../domain/store/admin-reads.ts';
import type { Dialect, ReadEngine, Value } from '../base/engine.ts';
import type { Bound } from '../base/statement.ts';
import { type List, readList } from './admin-statements.ts';

type Cited = { id: string; cited: number; disliked: number };

/** Sums of the rows of knowledge bases, or of the documents of one. */
const sums = (dataset_id: string | undefined, since: number): Bound => {
  const [id, level, values] =
    dataset_id === undefined
      ? ['dataset_id', `document_id = '' AND segment_id = '' AND dataset_id <> ''`, [since]]
      : ['document_id', `segment_id = '' AND document_id <> '' AND dataset_id = ?`, [dataset_id, since]];
  const columns = 'CAST(SUM(answers) AS BIGINT) AS cited, CAST(SUM(disliked) AS BIGINT) AS disliked';
  return [`SELECT ${id} AS id, ${columns} FROM search_citations WHERE ${level} AND day >= ?`, ...values];
};

/** Parameters: those of the sums, then the ids. */
function citedOf(dataset_id: string | undefined, since: number, ids: Value, { isIn }: Dialect): Bound<Cited> {
  const id = dataset_id === undefined ? 'dataset_id' : 'document_id';
  const [text, ...values] = sums(dataset_id, since);
  return [`${text} AND ${isIn(id)} GROUP BY ${id}`, ...values, ids];
}

function worst(dataset_id: string | undefined, since: number, count: number): Bound<Cited> {
  const id = dataset_id === undefined ? 'dataset_id' : 'document_id';
  const [text, ...values] = sums(dataset_id, since);
  return [
    `${text} GROUP BY ${id} HAVING SUM(disliked) > 0 ORDER BY SUM(disliked) DESC, ${id} LIMIT ?`,
    ...[...values, count],
  ];
}

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
  const found = isWorst ? await engine.read(...worst(dataset_id, since, range.count)) : undefined;
  const inList = found && dialect.isIn(list.by.at(-1) ?? '');
  const selected = inList === undefined ? list : { ...list, where: [...(list.where ?? []), inList] };
  const values = found === undefined ? parents : [...parents, dialect.list(found.map(({ id }) => id))];
  const { rows, has_more } = await readList<R>(engine, selected, values, range);
  if (rows.length === 0) return { rows: [], has_more };
  const totals = await addTotals(rows);
  const ids = dialect.list(rows.map(({ id }) => id));
  const counts = new Map((await engine.read(...citedOf(dataset_id, since, ids, dialect))).map((row) => [row.id, row]));
  const listed = totals.map((row) => {
    const { cited = 0, disliked = 0 } = counts.get(row.id) ?? {};
    return { ...row, cited, disliked };
  });
  if (!isWorst) return { rows: listed, has_more };
  return { rows: listed.sort((one, other) => other.disliked - one.disliked), has_more: false };
}
