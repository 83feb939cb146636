import { h, useState } from '../../shared/dom.ts';
import { ActivityTable, useActivity } from '../activity/activity.ts';
import { type Filters, hrefWith } from '../parts/route.ts';
import { ListEnd } from '../parts/ui.ts';

/** The newest edits with these filters of the audit log, folded until the user opens them. */
export function RecentEdits({ filters }: { filters: Filters }) {
  const [isOpen, setOpen] = useState(false);
  return h(
    'details',
    { onToggle: ({ currentTarget }: { currentTarget: HTMLDetailsElement }) => setOpen(currentTarget.open) },
    h('summary', null, 'Recent edits'),
    isOpen && h(Edits, { filters }),
  );
}

function Edits({ filters }: { filters: Filters }) {
  const list = useActivity(filters, 10);
  return h(
    'div',
    { class: 'stack' },
    h(ActivityTable, { rows: list.rows }),
    list.hasMore
      ? h('a', { href: hrefWith(['activity'], filters) }, 'All edits')
      : h(ListEnd, { list, nothing: 'No edits, as far as the audit log reaches.' }),
  );
}
