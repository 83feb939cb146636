import { useState } from 'preact/hooks';
import { Button, Field } from '../../shared/controls.tsx';
import { counted, Dialog, ErrorNote, Skeleton } from '../components/ui.tsx';
import { useAttempt, useReading } from '../hooks/requests.ts';
import { request } from '../state/api.ts';
import { hrefOf } from '../state/route.ts';
import type { Purged, User } from '../state/types.ts';

type Props = { of: User; close: () => void; erased: () => void };

/** Erases all conversations of a user, after their numbers were shown and the name was typed. The audit entries are the receipt. */
export function Erasure({ of: { user, app_ids }, close, erased }: Props) {
  const { body: due, error: unknown, reload } = useReading(user, () => purge(app_ids, user, true));
  const { error, isBusy, attempt } = useAttempt();
  const [typed, setTyped] = useState('');
  const [done, setDone] = useState<Purged[]>();
  const erase = (event: SubmitEvent) => {
    event.preventDefault();
    return attempt(async () => setDone(await purge(app_ids, user, false)));
  };
  const leave = () => {
    close();
    if (done !== undefined) erased();
  };
  if (done !== undefined)
    return (
      <Dialog title="Erased" close={leave}>
        <p role="status">
          {textOf(done)} of {user} were erased. The audit log has the receipt:
        </p>
        <ul class="plain stack">
          {done.flatMap(({ audit_id }) =>
            audit_id === null ? (
              []
            ) : (
              <li key={audit_id}>
                <code>{audit_id}</code>
              </li>
            ),
          )}
        </ul>
        <div class="row">
          <Button autoFocus onClick={leave}>
            Done
          </Button>
          <a href={hrefOf('activity')}>Activity</a>
        </div>
      </Dialog>
    );
  return (
    <Dialog title={`Erase ${user}?`} close={close}>
      <ErrorNote error={unknown} retry={reload} />
      {due === undefined && unknown === undefined && <Skeleton lines={2} />}
      {due !== undefined && (
        <form class="stack" onSubmit={erase}>
          <p class="note bad">
            {textOf(due)} in {counted(app_ids.length, 'app')} are erased for good, also in the search.
          </p>
          <Field
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
          <ErrorNote error={error} />
          <div class="row">
            <button type="submit" class="danger primary" disabled={isBusy || typed !== user}>
              {isBusy ? 'Erasing…' : 'Erase for good'}
            </button>
            <Button onClick={close}>Cancel</Button>
          </div>
        </form>
      )}
    </Dialog>
  );
}

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
