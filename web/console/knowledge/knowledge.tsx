import { useEffect } from 'preact/hooks';
import { limits } from '../../../server/src/contract/limits.ts';
import { Icon, type IconName } from '../../shared/controls.tsx';
import { RecentActivity } from '../activity/activity.tsx';
import { type Column, DataTable } from '../components/table.tsx';
import { Bar, count, counted, Dots, FirstSteps, Linked, ListEnd, listed, percent, Time } from '../components/ui.tsx';
import { type List, useList } from '../hooks/requests.ts';
import { cacheRecords } from '../hooks/use-record.ts';
import { pathOf } from '../state/api.ts';
import { type FilterChange, hrefOf, hrefWith, type ViewProps } from '../state/route.ts';
import type { Dataset, Document } from '../state/types.ts';
import { DocumentPage } from './document-page.tsx';
import { Level, useTrail } from './level.tsx';
import { WorstTexts } from './worst-texts.tsx';

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
  cell: ({ id, name }) => [<Icon name={icon} />, name || id],
  href: ({ id }) => hrefOf('knowledge', ...above, id),
});
/** `filters`: what the answers cite, for the link to them. */
function numbers<T extends Dataset | Document>(rows: readonly T[], filters: (row: T) => FilterChange): Column<T>[] {
  const most = Math.max(...rows.map(({ cited }) => cited));
  return [
    { title: 'Segments', count: ({ segment_count }) => segment_count },
    {
      title: `Cited (${limits.citedDays} days)`,
      unit: 'cited',
      cell: ({ cited }) => (
        <span class={cited === 0 ? 'soft' : undefined}>
          {count(cited)}
          <Bar part={cited} of={most} />
        </span>
      ),
    },
    {
      title: 'Disliked',
      unit: 'disliked',
      cell: (row) => (
        <Linked
          n={row.disliked}
          href={hrefWith(['conversations'], { ...filters(row), rating: 'dislike', days: limits.citedDays })}
        >
          {' '}
          <span class="soft">{percent(row.disliked, row.cited)}</span>
        </Linked>
      ),
    },
    {
      title: 'Changed by',
      cell: ({ changed_at: at, changed_by: name }) => [
        name && `${name}, `,
        <Time at={at} none="unknown" form="brief" />,
      ],
    },
  ];
}

/** The rows that disliked answers cite, most of them first; then the others by name. */
function useWorstFirst<T extends Dataset | Document>(parts: readonly string[]): List<T> {
  const worst = useList<T>(pathOf(parts, { sort: '-disliked', limit }));
  const list = useList<T>(pathOf(parts, { limit }));
  if (worst.isLoading) return { ...list, rows: [], isLoading: true };
  const ids = new Set(worst.rows.map(({ id }) => id));
  return { ...list, rows: [...worst.rows, ...list.rows.filter(({ id }) => !ids.has(id))] };
}

/** `2 documents · 551 words · most disliked first`: what a list has, as far as it is loaded. */
const sizeOf = (list: List<Dataset | Document>, thing: string) => (
  <Dots>
    {listed(list, thing)}
    {list.rows.length > 0 && !list.hasMore && counted(wordsIn(list.rows), 'word')}
    {list.rows.some(({ disliked }) => disliked > 0) && 'most disliked first'}
  </Dots>
);
const wordsIn = (rows: readonly { word_count: number }[]) => rows.reduce((all, { word_count }) => all + word_count, 0);

function Datasets() {
  const list = useWorstFirst<Dataset>(['admin', 'datasets']);
  useEffect(() => cacheRecords(['admin', 'datasets'], list.rows), [list.rows.length]);
  const workspaces = new Set(list.rows.map(({ workspace_id }) => workspace_id));
  const workspace: Column<Dataset> = { title: 'Workspace', cell: ({ workspace_name }) => workspace_name };
  const columns: readonly Column<Dataset>[] = [
    name<Dataset>('knowledge'),
    ...(workspaces.size > 1 ? [workspace] : []),
    ...numbers(list.rows, ({ id }) => ({ dataset_id: id })),
  ];
  return (
    <Level title="Knowledge" meta={sizeOf(list, 'knowledge base')} names={list.rows}>
      <WorstTexts />
      <DataTable label="Datasets" columns={columns} rows={list.rows} />
      <ListEnd
        list={list}
        icon="knowledge"
        nothing={<FirstSteps text="There are no datasets yet. A file of records can be dropped in" />}
      />
      <RecentActivity title="Recent changes" filters={{ record: 'child_chunk' }} isOptional />
    </Level>
  );
}

function Documents({ dataset }: { dataset: string }) {
  const list = useWorstFirst<Document>(['admin', 'datasets', dataset, 'documents']);
  const { trail, name: title } = useTrail(dataset);
  const columns: readonly Column<Document>[] = [
    name<Document>('file', dataset),
    ...numbers(list.rows, ({ id }) => ({ dataset_id: dataset, document_id: id })),
  ];
  return (
    <Level title={title} dataset={dataset} trail={trail} meta={sizeOf(list, 'document')} names={list.rows}>
      <DataTable label="Documents" columns={columns} rows={list.rows} />
      <ListEnd list={list} readsAhead icon="file" nothing="This dataset has no documents." />
      <RecentActivity title="Recent changes" filters={{ dataset_id: dataset }} isOptional />
    </Level>
  );
}
