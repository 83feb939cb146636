import type { ComponentChildren } from 'preact';
import { Select } from '../../shared/controls.tsx';
import { FilterChips, FilterSearch } from '../components/filters.tsx';
import { contains } from '../components/marked-text.tsx';
import { DataTable } from '../components/table.tsx';
import { count, FirstSteps, ListEnd, Nothing, Page } from '../components/ui.tsx';
import { type CursorPage, useAll, useReading } from '../hooks/requests.ts';
import { pathOf, request } from '../state/api.ts';
import { hrefOf, useFilters, type ViewProps } from '../state/route.ts';
import type { WholeModelProvider, Workspace } from '../state/types.ts';
import { columns, localized, modelKeyOf, modelsOf, modelTypes, Provider } from './model-columns.tsx';
import { ModelUsage } from './usage.tsx';

/** The models of a workspace, by provider in the order of the records. */
export function View({ rest: [chosen] }: ViewProps) {
  const workspaces = useAll<Workspace>('/admin/workspaces');
  const first = useFirstWithProviders(chosen === undefined ? workspaces.rows : []);
  const workspace = chosen ?? first;
  const isKnown = workspaces.rows.some(({ id }) => id === workspace);
  const hasChoice = workspaces.rows.length > 1 || !isKnown;
  if (workspace === undefined)
    return (
      <Page title="Models">
        <ListEnd
          list={{ ...workspaces, isLoading: workspaces.isLoading || workspaces.rows.length > 0 }}
          icon="models"
          nothing={<FirstSteps text="There are no workspaces yet. A file of records can be dropped in" />}
        />
      </Page>
    );
  const choice = workspaces.rows.length > 0 && hasChoice && (
    <Select
      label="Workspace"
      class="row"
      value={workspace}
      options={[...(isKnown ? [] : [{ id: workspace, name: '' }]), ...workspaces.rows].map(nameOf)}
      change={(id) => {
        location.hash = hrefOf('models', id);
      }}
    />
  );
  const part = workspaces.rows.find(({ id }) => id === chosen)?.name;
  return <Models key={workspace} workspace={workspace} part={part} choice={choice} />;
}

const nameOf = ({ id, name }: { id: string; name: string }) => [id, name || id] as const;

/** More workspaces than this are not searched for one with providers. */
const searchedMax = 20;

/** The first workspace that has model providers, else the first one; undefined until that is known. */
function useFirstWithProviders(workspaces: readonly Workspace[]): string | undefined {
  const ids = workspaces.slice(0, searchedMax).map(({ id }) => id);
  const { body: first, error } = useReading(ids.join(), async (signal) => {
    for (const id of ids) {
      const path = pathOf(['admin', 'workspaces', id, 'model-providers'], { limit: 1 });
      const { body } = await request<CursorPage<unknown>>(path, { signal });
      if (body.data.length > 0) return id;
    }
    return ids[0];
  });
  // The error shows again where the providers of the first workspace are read.
  return first ?? (error && ids[0]);
}

type Props = { workspace: string; part: string | undefined; choice: ComponentChildren };

function Models({ workspace, part, choice }: Props) {
  const list = useAll<WholeModelProvider>(pathOf(['admin', 'workspaces', workspace, 'model-providers']));
  const { q = '', type } = useFilters().filters;
  const models = (provider: WholeModelProvider, ofType?: string) => {
    const names = [provider.provider, localized(provider.label)];
    return modelsOf(
      provider,
      ({ model, model_type, label }) =>
        (ofType === undefined || model_type === ofType) && contains(q, ...names, model, localized(label)),
    );
  };
  const groups = list.rows
    .map((provider) => ({
      id: provider.provider,
      heading: <Provider provider={provider} />,
      rows: models(provider, type),
    }))
    // A provider without models is shown, unless a filter asks for models.
    .filter(({ rows }) => rows.length > 0 || (type === undefined && q === ''));
  const shown = groups.reduce((sum, { rows }) => sum + rows.length, 0);
  return (
    <Page title="Models" part={part} look="models" meta={shown > 0 && count(shown)} actions={choice}>
      <ModelUsage />
      {list.rows.length > 0 && (
        <div class="tools row">
          <FilterSearch label="Search models" />
          <FilterChips
            label="Type"
            name="type"
            values={Object.entries(modelTypes)}
            countOf={(type) => list.rows.reduce((sum, provider) => sum + models(provider, type).length, 0)}
          />
        </div>
      )}
      <DataTable label="Models" columns={columns} groups={groups} rowKey={modelKeyOf} />
      {groups.length === 0 && list.rows.length > 0 && <Nothing icon="search">No model matches these filters.</Nothing>}
      <ListEnd list={list} icon="models" nothing="This workspace has no model providers." />
    </Page>
  );
}
