import { h, useEffect } from '../../shared/dom.ts';
import { counted, listed } from '../components/format-number.ts';
import { type Column, DataTable } from '../components/table.ts';
import { FirstSteps, ListEnd, Time } from '../components/ui.ts';
import { type List, useList } from '../hooks/use-list.ts';
import { cacheRecords } from '../hooks/use-record.ts';
import { pathOf } from '../state/api.ts';
import { hrefOf, type ViewProps } from '../state/route.ts';
import { limits } from '../state/server-rules.ts';
import type { Dataset, Document } from '../state/types.ts';
import { DocumentPage } from './document-page.ts';
import { Level, useTrail } from './level.ts';
import { RecentEdits } from './recent-edits.ts';

/** Datasets, their documents, and a document with its segments and chunks: one level at a time, each with its own address. */
export function KnowledgeView({ rest }: ViewProps) {
  const [dataset, document, segment, chunk] = rest;
  if (dataset === undefined) return h(Datasets, { key: 'datasets' });
  if (document === undefined) return h(Documents, { key: dataset, dataset });
  return h(DocumentPage, { key: document, dataset, document, segment, chunk });
}

/** Names are short: a page has more of them than of texts. */
const limit = limits.listRowsMax;

const name = <T extends Dataset | Document>(...above: string[]): Column<T> => ({
  title: 'Name',
  cell: ({ id, name }) => h('a', { class: 'one-line', href: hrefOf('knowledge', ...above, id) }, name || id),
});
const words = <T extends Dataset | Document>(): Column<T>[] => [
  { title: 'Words', count: ({ word_count }) => word_count },
  { title: 'Last change', cell: ({ changed_at }) => h(Time, { at: changed_at, none: 'unknown', form: 'brief' }) },
];

/** `2 documents · 551 words`: what a list has, as far as it is loaded. */
const sizeOf = (list: List<Dataset | Document>, thing: string): string =>
  [listed(list, thing), list.rows.length > 0 && !list.hasMore && counted(wordsIn(list.rows), 'word')]
    .filter(Boolean)
    .join(' · ');
const wordsIn = (rows: readonly { word_count: number }[]) => rows.reduce((all, { word_count }) => all + word_count, 0);

const datasetColumns: readonly Column<Dataset>[] = [
  name<Dataset>(),
  { title: 'Workspace', cell: ({ workspace_name }) => workspace_name },
  { title: 'Documents', count: ({ document_count }) => document_count },
  ...words<Dataset>(),
];

function Datasets() {
  const list = useList<Dataset>(pathOf(['admin', 'datasets'], { limit }));
  useEffect(() => cacheRecords(['admin', 'datasets'], list.rows), [list.rows]);
  return h(
    Level,
    { title: 'Knowledge', meta: sizeOf(list, 'knowledge base'), names: list.rows },
    h(DataTable<Dataset>, { label: 'Datasets', columns: datasetColumns, rows: list.rows, rowKey: ({ id }) => id }),
    h(ListEnd, {
      list,
      nothing: h(FirstSteps, { text: 'There are no datasets yet. A file of records can be dropped in' }),
    }),
    list.rows.length > 0 && h(RecentEdits, { filters: { record: 'child_chunk', action: 'update' } }),
  );
}

function Documents({ dataset }: { dataset: string }) {
  const list = useList<Document>(pathOf(['admin', 'datasets', dataset, 'documents'], { limit }));
  const { trail, name: title } = useTrail(dataset);
  const columns: readonly Column<Document>[] = [
    name<Document>(dataset),
    { title: 'Segments', count: ({ segment_count }) => segment_count },
    ...words<Document>(),
  ];
  return h(
    Level,
    { title, dataset, trail, meta: sizeOf(list, 'document'), names: list.rows },
    h(DataTable<Document>, { label: 'Documents', columns, rows: list.rows, rowKey: ({ id }) => id }),
    h(ListEnd, { list, nothing: 'This dataset has no documents.' }),
    list.rows.length > 0 && h(RecentEdits, { filters: { dataset_id: dataset } }),
  );
}
