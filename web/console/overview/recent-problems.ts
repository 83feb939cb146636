import { Icon } from '../../shared/controls.ts';
import { el, h } from '../../shared/dom.ts';
import { ListEnd, Section, Time } from '../components/ui.ts';
import { useList } from '../hooks/requests.ts';
import { pathOf } from '../state/api.ts';
import type { Period } from '../state/period.ts';
import { type FilterChange, hrefWith } from '../state/route.ts';
import type { SearchHit } from '../state/types.ts';
import { disliked, failed } from './measures.ts';

const shown = 5;

type Props = { period: Period; app_id: string | undefined };

/** The newest answers that someone should read. */
export const RecentProblems = ({ period, app_id }: Props) =>
  h(Section, { title: 'Recent problems' }, [
    el('div.pair', [
      h(Newest, { title: 'Newest disliked answers', filters: disliked, period, app_id }),
      h(Newest, { title: 'Newest failed answers', filters: failed, period, app_id }),
    ]),
  ]);

function Newest({ title, filters, period: { from, to }, app_id }: Props & { title: string; filters: FilterChange }) {
  const inPeriod = { app_id, ...filters, from, to };
  const look = filters === failed ? 'failed' : 'disliked';
  const list = useList<SearchHit>(pathOf(['admin', 'search'], { ...inPeriod, limit: shown }));
  const hrefOf = ({ app_id, conversation_id, message_id }: SearchHit) =>
    hrefWith(['conversations', app_id, conversation_id, message_id], inPeriod);
  const entry = (hit: SearchHit) =>
    h('li', { key: hit.message_id }, [
      h('a', { href: hrefOf(hit) }, [
        el('span.one-line', hit.snippet || 'no text'),
        el('span.soft.small.one-line', hit.user ?? 'no user', ' · ', h(Time, { at: hit.created_at })),
      ]),
    ]);
  return el('div.card.stack', [
    el('h3.row', el(`span.row.${look}`, h(Icon, { name: look })), title),
    list.rows.length > 0 && el('ul.plain.newest', list.rows.map(entry)),
    // 404: the search is turned off.
    list.error?.status === 404 && el('p.soft', list.error.message),
    list.hasMore
      ? h('a', { href: hrefWith(['conversations'], inPeriod) }, 'Show all')
      : list.error?.status !== 404 && h(ListEnd, { list, nothing: 'None in this period.' }),
  ]);
}
