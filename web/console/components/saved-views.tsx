import { limits } from '../../../server/src/contract/limits.ts';
import { IconButton } from '../../shared/controls.tsx';
import { useAll, useAttempt } from '../hooks/requests.ts';
import { pathOf, request } from '../state/api.ts';
import { useFilters, useMayWrite } from '../state/route.ts';
import type { SavedView } from '../state/types.ts';
import { ActionForm, NameField, nameIn } from './action-dialog.tsx';
import { Menu } from './menu.tsx';
import { ErrorNote } from './ui.tsx';

/** Names for addresses, which everyone in this installation sees, and a name for the address that is shown. */
export const SavedViews = () => (
  <Menu class="saved-views" label="Saved views" icon="bookmark" isLate>
    <Content />
  </Menu>
);

function Content() {
  const list = useAll<SavedView>('/admin/views');
  const { error, attempt } = useAttempt();
  const mayWrite = useMayWrite('saveView');
  // Drawn again with the address.
  useFilters();
  const change = (name: string, options: { method: string; body?: object }) =>
    request(pathOf(['admin', 'views', name]), options).then(list.reload);
  const remove = (name: string) => void attempt(() => change(name, { method: 'DELETE' }));
  const save = (values: FormData) => change(nameIn(values), { method: 'PUT', body: { address: location.hash } });
  return (
    <>
      <ErrorNote error={list.error ?? error} />
      {list.rows.length === 0 && !list.isLoading && <p class="soft">No view is saved yet.</p>}
      {list.rows.map(({ name, address }) => (
        <div key={name} class="row">
          <a class="entry" href={address} aria-current={address === location.hash ? 'true' : undefined}>
            {name}
          </a>
          {mayWrite && <IconButton icon="close" label={`Delete the view ${name}`} onClick={() => remove(name)} />}
        </div>
      ))}
      {mayWrite && (
        <ActionForm action="Save" look="" run={save}>
          <NameField label="Save this view as" maxLength={limits.savedViewUnitsMax} />
        </ActionForm>
      )}
    </>
  );
}
