import { h, useEffect } from '../../shared/dom.ts';
import { type Column, DataTable } from '../components/table.ts';
import { count, FirstSteps, ListEnd, Time } from '../components/ui.ts';
import { useList } from '../hooks/use-list.ts';
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

const words = <T extends Dataset | Document>(): Column<T>[] => [
  { title: 'Words', isNumber: true, cell: ({ word_count }) => count(word_count) },
  { title: 'Last change', cell: ({ changed_at }) => h(Time, { at: changed_at, none: 'unknown' }) },
];

const datasetColumns: readonly Column<Dataset>[] = [
  { title: 'Name', cell: ({ id, name }) => h('a', { href: hrefOf('knowledge', id) }, name || id) },
  { title: 'Workspace', cell: ({ workspace_name }) => workspace_name },
  { title: 'Documents', isNumber: true, cell: ({ document_count }) => count(document_count) },
  ...words<Dataset>(),
];

function Datasets() {
  const list = useList<Dataset>(pathOf(['admin', 'datasets'], { limit }));
  useEffect(() => cacheRecords(['admin', 'datasets'], list.rows), [list.rows]);
  return h(
    Level,
    { title: 'Knowledge' },
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
  const { trail, name } = useTrail(dataset);
  const columns: readonly Column<Document>[] = [
    { title: 'Name', cell: ({ id, name }) => h('a', { href: hrefOf('knowledge', dataset, id) }, name || id) },
    { title: 'Segments', isNumber: true, cell: ({ segment_count }) => count(segment_count) },
    ...words<Document>(),
  ];
  return h(
    Level,
    { title: name, dataset, trail },
    h(DataTable<Document>, { label: 'Documents', columns, rows: list.rows, rowKey: ({ id }) => id }),
    h(ListEnd, { list, nothing: 'This dataset has no documents.' }),
    list.rows.length > 0 && h(RecentEdits, { filters: { dataset_id: dataset } }),
  );
}
