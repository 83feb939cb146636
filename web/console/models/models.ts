import { h } from '../../shared/dom.ts';
import { pathOf } from '../parts/api.ts';
import { go, type ViewProps } from '../parts/route.ts';
import { limits } from '../parts/server-rules.ts';
import type { WholeModelProvider, Workspace } from '../parts/types.ts';
import { ListEnd } from '../parts/ui.ts';
import { useList } from '../parts/use-list.ts';
import { ProviderCard } from './provider-card.ts';

/** The model providers of a workspace, in the order they were recorded. */
export function ModelsView({ rest: [chosen] }: ViewProps) {
  const workspaces = useList<Workspace>(`/admin/workspaces?limit=${limits.listRowsMax}`);
  const workspace = chosen ?? workspaces.rows[0]?.id;
  const isKnown = workspaces.rows.some(({ id }) => id === workspace);
  const hasChoice = workspaces.rows.length > 1 || !isKnown;
  return h(
    'div',
    { class: 'models stack' },
    h('h1', null, 'Models'),
    workspaces.rows.length > 0 &&
      hasChoice &&
      h(
        'div',
        { class: 'row' },
        h(
          'label',
          null,
          'Workspace',
          h(
            'select',
            {
              value: workspace,
              onChange: ({ currentTarget }: { currentTarget: HTMLSelectElement }) => go('models', currentTarget.value),
            },
            !isKnown && h('option', { value: workspace }, workspace),
            workspaces.rows.map(({ id, name }) => h('option', { key: id, value: id }, name || id)),
          ),
        ),
        workspaces.hasMore && h('button', { type: 'button', onClick: workspaces.more }, 'Show more workspaces'),
      ),
    workspace === undefined
      ? h(ListEnd, {
          list: workspaces,
          nothing: 'There are no workspaces yet. They come in as records, with backscroll import.',
        })
      : h(Providers, { key: workspace, workspace }),
  );
}

function Providers({ workspace }: { workspace: string }) {
  const list = useList<WholeModelProvider>(pathOf(['admin', 'workspaces', workspace, 'model-providers']));
  return h(
    'div',
    { class: 'stack' },
    list.rows.map((provider) => h(ProviderCard, { key: provider.provider, provider })),
    h(ListEnd, { list, nothing: 'This workspace has no model providers.' }),
  );
}
