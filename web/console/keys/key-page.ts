import { type ComponentChildren, el, h } from '../../shared/dom.ts';
import { Icon } from '../../shared/icon.ts';
import { ActivityTable, useActivity } from '../activity/activity.ts';
import { Facts } from '../components/facts.ts';
import { Page } from '../components/page.ts';
import { count, ErrorNote, ListEnd, Time } from '../components/ui.ts';
import type { All } from '../hooks/use-all.ts';
import { useResponse } from '../hooks/use-reading.ts';
import { FailureTable } from '../overview/failure-tables.ts';
import { hrefOf, hrefWith } from '../state/route.ts';
import type { Failures, Key } from '../state/types.ts';
import { Kind, Reach, State } from './key-facts.ts';
import { stateOf, titleOf } from './key-labels.ts';

type Props = { id: string; of: Key | undefined; list: All<Key>; act: (key: Key) => ComponentChildren };

/** What a key allows, how its requests fare, and what was changed with it. */
export function KeyPage({ id, of: key, list, act }: Props) {
  const { body: failures, error, reload } = useResponse<Failures>('/admin/failures', 10_000);
  const changes = useActivity({ key_id: id }, 10);
  const errors = failures?.by_key.find(({ key_id }) => key_id === id);
  return h(
    Page,
    {
      title: key === undefined ? `Key ${id.slice(0, 8)}` : titleOf(key),
      part: 'Keys',
      actions: [
        h('a', { class: 'button quiet first', href: hrefOf('keys') }, h(Icon, { name: 'left' }), 'All keys'),
        key && act(key),
      ],
    },
    h(ListEnd, { list, nothing: '' }),
    key === undefined
      ? !list.isLoading && el('p.soft', 'There is no key with this id.')
      : h(Facts, {
          facts: [
            ['State', h(State, { state: stateOf(key, Date.now() / 1000) })],
            ['Kind', h(Kind, { of: key })],
            ['Allows', h(Reach, { of: key })],
            ['Created', h(Time, { at: key.created_at, form: 'day' })],
            ['Ends', h(Time, { at: key.revoked_at ?? key.expires_at, form: 'day' })],
            ['Last used', h(Time, { at: key.last_used_at })],
            ['Rejected, 24 h', failures && count(errors?.client_errors ?? 0)],
            ['Failed, 24 h', failures && count(errors?.server_errors ?? 0)],
          ],
        }),
    h(ErrorNote, { error, retry: reload }),
    failures && h(FailureTable, { failures: failures.data.filter(({ key_id }) => key_id === id) }),
    h(
      'section',
      { class: 'stack', 'aria-labelledby': 'key-changes' },
      h('h2', { id: 'key-changes' }, 'Changes with this key'),
      h(ActivityTable, { rows: changes.rows }),
      changes.hasMore
        ? h('a', { href: hrefWith(['activity'], { key_id: id }) }, 'All changes')
        : h(ListEnd, { list: changes, nothing: 'None in the audit log.' }),
    ),
  );
}
