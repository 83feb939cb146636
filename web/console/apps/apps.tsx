import { type Column, DataTable } from '../components/table.tsx';
import { FirstSteps, ListEnd, Page, whole } from '../components/ui.tsx';
import { useAll, useResponse } from '../hooks/requests.ts';
import { hrefOf, type ViewProps } from '../state/route.ts';
import type { App, Retention } from '../state/types.ts';
import { AppPage } from './app-page.tsx';
import { daysText } from './retention.tsx';

/** All apps, or one of them. */
export const View = ({ rest: [id] }: ViewProps) => (id === undefined ? <Apps /> : <AppPage key={id} id={id} />);

function Apps() {
  const list = useAll<App>('/admin/apps');
  const due = useResponse<Retention>('/admin/retention').body?.data ?? [];
  const rowOf = ({ id }: App) => due.find(({ app_id }) => app_id === id);
  const columns: Column<App>[] = [
    { title: 'App', cell: ({ id, name }) => <a href={hrefOf('apps', id)}>{name || id}</a>, value: ({ name }) => name },
    { title: 'Mode', cell: ({ mode }) => mode },
    { title: 'Workspace', isExtra: true, cell: ({ workspace_name }) => workspace_name },
    { title: 'Retention', cell: (app) => daysText(rowOf(app)?.retention_days ?? null) },
    { title: 'Due', count: (app) => rowOf(app)?.conversations_due ?? 0 },
  ];
  return (
    <Page title="Apps" meta={list.rows.length > 0 && whole(list.rows.length)}>
      <DataTable label="Apps" columns={columns} rows={list.rows} />
      <ListEnd list={list} icon="app" nothing={<FirstSteps text="There are no apps yet." />} />
    </Page>
  );
}
