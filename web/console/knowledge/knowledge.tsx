import { useEffect } from 'preact/hooks';
import { limits } from '../../../server/src/contract/limits.ts';
import { Icon, type IconName } from '../../shared/controls.tsx';
import { RecentActivity } from '../activity/activity.tsx';
import { type Column, DataTable } from '../components/table.tsx';
import { counted, Dots, FirstSteps, ListEnd, listed, Time } from '../components/ui.tsx';
import { type List, useList } from '../hooks/requests.ts';
import { cacheRecords } from '../hooks/use-record.ts';
import { pathOf } from '../state/api.ts';
import { hrefOf, type ViewProps } from '../state/route.ts';
import type { Dataset, Document } from '../state/types.ts';
import { DocumentPage } from './document-page.tsx';
import { Level, useTrail } from './level.tsx';

/** Datasets, their documents, and a document with its segments and chunks: one level at a time, each with its own address. */
export function View({ rest }: ViewProps) {
  const [dataset, document, segment, chunk] = rest;
  if (dataset === undefined) return <Datasets key="datasets" />;
  if (document === undefined) return <Documents key={dataset} dataset={dataset} />;
  return <DocumentPage key={document} dataset={dataset} document={document} segment={segment} chunk={chunk} />;
}

/** Names are short: a page has more of them than of texts. */
const limit = limits.listRowsMax;

const name = <T extends Dataset | Document>(icon: IconName, ...above: string[]): Column<T> => ({
  title: 'Name',
  cell: ({ id, name }) => (
    <a class="one-line" href={hrefOf('knowledge', ...above, id)}>
      <Icon name={icon} />
      {name || id}
    </a>
  ),
});
const words = <T extends Dataset | Document>(): Column<T>[] => [
  { title: 'Words', count: ({ word_count }) => word_count },
  { title: 'Last change', cell: ({ changed_at }) => <Time at={changed_at} none="unknown" form="brief" /> },
];

/** `2 documents · 551 words`: what a list has, as far as it is loaded. */
const sizeOf = (list: List<Dataset | Document>, thing: string) => (
  <Dots>
    {listed(list, thing)}
    {list.rows.length > 0 && !list.hasMore && counted(wordsIn(list.rows), 'word')}
  </Dots>
);
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
  return (
    <Level title="Knowledge" meta={sizeOf(list, 'knowledge base')} names={list.rows}>
      <DataTable<Dataset> label="Datasets" columns={columns} rows={list.rows} rowKey={({ id }) => id} />
      <ListEnd
        list={list}
        nothing={<FirstSteps text="There are no datasets yet. A file of records can be dropped in" />}
      />
      <RecentActivity title="Recent changes" filters={{ record: 'child_chunk' }} isOptional />
    </Level>
  );
}

function Documents({ dataset }: { dataset: string }) {
  const list = useList<Document>(pathOf(['admin', 'datasets', dataset, 'documents'], { limit }));
  const { trail, name: title } = useTrail(dataset);
  const columns: readonly Column<Document>[] = [
    name<Document>('file', dataset),
    { title: 'Segments', count: ({ segment_count }) => segment_count },
    ...words<Document>(),
  ];
  return (
    <Level title={title} dataset={dataset} trail={trail} meta={sizeOf(list, 'document')} names={list.rows}>
      <DataTable<Document> label="Documents" columns={columns} rows={list.rows} rowKey={({ id }) => id} />
      <ListEnd list={list} nothing="This dataset has no documents." />
      <RecentActivity title="Recent changes" filters={{ dataset_id: dataset }} isOptional />
    </Level>
  );
}
