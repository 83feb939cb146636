import { el, h } from '../../shared/dom.ts';
import { ActivityTable, useActivity } from '../activity/activity.ts';
import { Fold, ListEnd } from '../components/ui.ts';
import { type Filters, hrefWith } from '../state/route.ts';

/** The newest edits with these filters of the audit log, folded until the user opens them. */
export const RecentEdits = ({ filters }: { filters: Filters }) =>
  h(Fold, { title: 'Recent edits', content: () => h(Edits, { filters }) });

function Edits({ filters }: { filters: Filters }) {
  const list = useActivity(filters, 10);
  return el(
    'div.stack',
    h(ActivityTable, { rows: list.rows }),
    list.hasMore
      ? h('a', { href: hrefWith(['activity'], filters) }, 'All edits')
      : h(ListEnd, { list, nothing: 'No edits in the audit log.' }),
  );
}
