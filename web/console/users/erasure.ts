import { button, el, field, h, useState } from '../../shared/dom.ts';
import { counted, Dialog, ErrorNote, Skeleton } from '../components/ui.ts';
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
    return h(Dialog, { title: 'Erased', close: leave }, [
      h('p', { role: 'status' }, `${textOf(done)} of ${user} were erased. The audit log has the receipt:`),
      el('ul.plain.stack', [
        done.flatMap(({ audit_id }) => (audit_id === null ? [] : h('li', { key: audit_id }, el('code', audit_id)))),
      ]),
      el('div.row', [
        button({ autoFocus: true, onClick: leave }, 'Done'),
        h('a', { href: hrefOf('activity') }, 'Activity'),
      ]),
    ]);
  return h(Dialog, { title: `Erase ${user}?`, close }, [
    h(ErrorNote, { error: unknown, retry: reload }),
    due === undefined && unknown === undefined && h(Skeleton, { lines: 2 }),
    due !== undefined &&
      h('form', { class: 'stack', onSubmit: erase }, [
        el('p.note.bad', [
          `${textOf(due)} in ${counted(app_ids.length, 'app')} are erased for good, also in the search.`,
        ]),
        field(el('span', 'Type ', el('strong', user), ' to confirm'), {
          value: typed,
          autoComplete: 'off',
          spellcheck: false,
          input: setTyped,
        }),
        h(ErrorNote, { error }),
        el('div.row', [
          h('button', { class: 'danger primary', disabled: isBusy || typed !== user }, [
            isBusy ? 'Erasing…' : 'Erase for good',
          ]),
          button({ onClick: close }, 'Cancel'),
        ]),
      ]),
  ]);
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
