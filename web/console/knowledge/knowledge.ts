import { limits } from '../../../server/src/contract/limits.ts';
import { Icon, type IconName } from '../../shared/controls.ts';
import { h, useEffect } from '../../shared/dom.ts';
import { RecentActivity } from '../activity/activity.ts';
import { type Column, DataTable } from '../components/table.ts';
import { counted, Dots, FirstSteps, ListEnd, listed, Time } from '../components/ui.ts';
import { type List, useList } from '../hooks/requests.ts';
import { cacheRecords } from '../hooks/use-record.ts';
import { pathOf } from '../state/api.ts';
import { hrefOf, type ViewProps } from '../state/route.ts';
import type { Dataset, Document } from '../state/types.ts';
import { DocumentPage } from './document-page.ts';
import { Level, useTrail } from './level.ts';

/** Datasets, their documents, and a document with its segments and chunks: one level at a time, each with its own address. */
export function View({ rest }: ViewProps) {
  const [dataset, document, segment, chunk] = rest;
  if (dataset === undefined) return h(Datasets, { key: 'datasets' });
  if (document === undefined) return h(Documents, { key: dataset, dataset });
  return h(DocumentPage, { key: document, dataset, document, segment, chunk });
}

/** Names are short: a page has more of them than of texts. */
const limit = limits.listRowsMax;

const name = <T extends Dataset | Document>(icon: IconName, ...above: string[]): Column<T> => ({
  title: 'Name',
  cell: ({ id, name }) =>
    h('a', { class: 'one-line', href: hrefOf('knowledge', ...above, id) }, h(Icon, { name: icon }), name || id),
});
const words = <T extends Dataset | Document>(): Column<T>[] => [
  { title: 'Words', count: ({ word_count }) => word_count },
  { title: 'Last change', cell: ({ changed_at }) => h(Time, { at: changed_at, none: 'unknown', form: 'brief' }) },
];

/** `2 documents · 551 words`: what a list has, as far as it is loaded. */
const sizeOf = (list: List<Dataset | Document>, thing: string) =>
  h(Dots, {
    parts: [listed(list, thing), list.rows.length > 0 && !list.hasMore && counted(wordsIn(list.rows), 'word')],
  });
const wordsIn = (rows: readonly { word_count: number }[]) => rows.reduce((all, { word_count }) => all + word_count, 0);

function Datasets() {
  const list = useList<Dataset>(pathOf(['admin', 'datasets'], { limit }));
  useEffect(() => cacheRecords(['admin', 'datasets'], list.rows), [list.rows]);
  const workspaces = new Set(list.rows.map(({ workspace_id }) => workspace_id));
  const workspace: Column<Dataset> = { title: 'Workspace', cell: ({ workspace_name }) => workspace_name };
  const columns: readonly Column<Dataset>[] = [
    name<Dataset>('knowledge'),
    ...(workspaces.size > 1 ? [workspace] : []),
    { title: 'Documents', count: ({ document_count }) => document_count },
    ...words<Dataset>(),
  ];
  return h(Level, { title: 'Knowledge', meta: sizeOf(list, 'knowledge base'), names: list.rows }, [
    h(DataTable<Dataset>, { label: 'Datasets', columns, rows: list.rows, rowKey: ({ id }) => id }),
    h(ListEnd, {
      list,
      nothing: h(FirstSteps, { text: 'There are no datasets yet. A file of records can be dropped in' }),
    }),
    h(RecentActivity, { title: 'Recent changes', filters: { record: 'child_chunk' }, isOptional: true }),
  ]);
}

function Documents({ dataset }: { dataset: string }) {
  const list = useList<Document>(pathOf(['admin', 'datasets', dataset, 'documents'], { limit }));
  const { trail, name: title } = useTrail(dataset);
  const columns: readonly Column<Document>[] = [
    name<Document>('file', dataset),
    { title: 'Segments', count: ({ segment_count }) => segment_count },
    ...words<Document>(),
  ];
  return h(Level, { title, dataset, trail, meta: sizeOf(list, 'document'), names: list.rows }, [
    h(DataTable<Document>, { label: 'Documents', columns, rows: list.rows, rowKey: ({ id }) => id }),
    h(ListEnd, { list, nothing: 'This dataset has no documents.' }),
    h(RecentActivity, { title: 'Recent changes', filters: { dataset_id: dataset }, isOptional: true }),
  ]);
}
