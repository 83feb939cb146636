import type { TargetedSubmitEvent } from 'preact';
import { limits } from '../../../server/src/contract/limits.ts';
import { IconButton } from '../../shared/controls.tsx';
import { useAll, useAttempt } from '../hooks/requests.ts';
import { pathOf, request } from '../state/api.ts';
import { useFilters, useMayWrite } from '../state/route.ts';
import type { SavedView } from '../state/types.ts';
import { NameField, nameIn } from './action-dialog.tsx';
import { Menu } from './menu.tsx';
import { ErrorNote } from './ui.tsx';

/** The menu closes at a click on a link or a button, but here the result is in it. */
const staysOpen = (event: Event) => event.stopPropagation();

/** Names for addresses, which everyone in this installation sees, and a name for the address that is shown. */
export const SavedViews = () => (
  <Menu class="saved-views" label="Saved views" icon="bookmark" isLate>
    <Content />
  </Menu>
);

function Content() {
  const list = useAll<SavedView>('/admin/views');
  const { error, isBusy, attempt } = useAttempt();
  const mayWrite = useMayWrite('saveView');
  // Drawn again with the address.
  useFilters();
  const change = (name: string, options: { method: string; body?: object }) =>
    attempt(() => request(pathOf(['admin', 'views', name]), options).then(list.reload));
  const save = (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    return change(nameIn(new FormData(form)), { method: 'PUT', body: { address: location.hash } }).then(() =>
      form.reset(),
    );
  };
  return (
    <>
      <ErrorNote error={list.error ?? error} />
      {list.rows.length === 0 && !list.isLoading && <p class="soft">No view is saved yet.</p>}
      {list.rows.map(({ name, address }) => (
        <div key={name} class="row">
          <a class="entry" href={address} aria-current={address === location.hash ? 'true' : undefined}>
            {name}
          </a>
          {mayWrite && (
            <IconButton
              icon="close"
              label={`Delete the view ${name}`}
              onClick={(event) => {
                staysOpen(event);
                void change(name, { method: 'DELETE' });
              }}
            />
          )}
        </div>
      ))}
      {mayWrite && (
        <form class="stack" onSubmit={save}>
          <NameField label="Save this view as" maxLength={limits.savedViewUnitsMax} />
          <button type="submit" disabled={isBusy} onClick={staysOpen}>
            Save
          </button>
        </form>
      )}
    </>
  );
}
