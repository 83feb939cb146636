import { useContext, useState } from 'preact/hooks';
import { Button, Field } from '../../shared/controls.tsx';
import { ActionDialog, Dialog } from '../components/action-dialog.tsx';
import { counted, ErrorNote, Skeleton, Time } from '../components/ui.tsx';
import { useReading } from '../hooks/requests.ts';
import { request } from '../state/api.ts';
import { hrefWith, SessionContext } from '../state/route.ts';
import type { Purged, User } from '../state/types.ts';

type Props = { of: User; close: () => void; erased: () => void };

/** Erases all conversations of a user, after their numbers were shown and the name was typed. The audit entries are the receipt. */
export function Erasure({ of: { user, app_ids }, close, erased }: Props) {
  const { body: due, error: unknown, reload } = useReading(user, () => purge(app_ids, user, true));
  const [typed, setTyped] = useState('');
  const [done, setDone] = useState<{ purged: Purged[]; at: number }>();
  const { name } = useContext(SessionContext);
  const leave = () => {
    close();
    if (done !== undefined) erased();
  };
  if (done !== undefined)
    return (
      <Dialog title="Erased" close={leave}>
        <p role="status">
          Erased {textOf(done.purged)} of {user}, <Time at={done.at} /> by {name}.
        </p>
        <div class="row">
          <Button autoFocus onClick={leave}>
            Done
          </Button>
          <a href={hrefWith(['activity'], { action: 'purge', days: 1 })}>The entry in the audit log</a>
        </div>
      </Dialog>
    );
  return (
    <ActionDialog
      title={`Erase ${user}?`}
      action="Erase for good"
      look="danger primary"
      isReady={due !== undefined && typed === user}
      focusesCancel
      run={async () => setDone({ purged: await purge(app_ids, user, false), at: Date.now() / 1000 })}
      close={close}
    >
      <ErrorNote error={unknown} retry={reload} />
      {due === undefined && unknown === undefined && <Skeleton lines={2} />}
      {due !== undefined && (
        <>
          <p class="note bad">
            {textOf(due)} in {counted(app_ids.length, 'app')} are erased for good, also in the search.
          </p>
          <Field
            ref={focus}
            label={
              <span>
                Type <strong>{user}</strong> to confirm
              </span>
            }
            value={typed}
            autoComplete="off"
            spellcheck={false}
            input={setTyped}
          />
        </>
      )}
    </ActionDialog>
  );
}

/** The field comes after the dialog was opened. */
const focus = (field: HTMLInputElement | null) => field?.focus();

/** A purge is of one app. */
async function purge(app_ids: readonly string[], user: string, dry_run: boolean): Promise<Purged[]> {
  const results: Purged[] = [];
  for (const app_id of app_ids) {
    const { body } = await request<Purged>('/admin/purge', { method: 'POST', body: { app_id, user, dry_run } });
    results.push(body);
  }
  return results;
}

function textOf(purged: readonly Purged[]): string {
  const sum = (name: 'conversations' | 'messages' | 'held') => purged.reduce((all, one) => all + one[name], 0);
  const held = sum('held') === 0 ? '' : ` (${counted(sum('held'), 'conversation')} on hold)`;
  return `${counted(sum('conversations'), 'conversation')}${held} with ${counted(sum('messages'), 'message')}`;
}
