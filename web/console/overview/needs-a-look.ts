import { h } from '../../shared/dom.ts';
import { pathOf } from '../parts/api.ts';
import { type FilterChange, hrefWith } from '../parts/route.ts';
import type { SearchHit } from '../parts/types.ts';
import { ErrorNote, Time } from '../parts/ui.ts';
import { useResponse } from '../parts/use-reading.ts';
import { disliked, failed } from './measures.ts';
import type { Period } from './period.ts';

const shown = 5;

/** The newest answers that someone should read. */
export const NeedsALook = ({ period }: { period: Period }) =>
  h(
    'section',
    { class: 'stack', 'aria-labelledby': 'needs-a-look' },
    h('h2', { id: 'needs-a-look' }, 'Needs a look'),
    h(
      'div',
      { class: 'pair' },
      h(Newest, { title: 'Newest disliked answers', filters: disliked, period }),
      h(Newest, { title: 'Newest failed answers', filters: failed, period }),
    ),
  );

function Newest({ title, filters, period: { from, to } }: { title: string; filters: FilterChange; period: Period }) {
  const inPeriod = { ...filters, from, to };
  const { body, error, reload } = useResponse<{ data: SearchHit[]; has_more: boolean }>(
    pathOf(['admin', 'search'], { ...inPeriod, limit: shown }),
  );
  const hrefOf = ({ app_id, conversation_id, message_id }: SearchHit) =>
    hrefWith(['conversations', app_id, conversation_id, message_id], inPeriod);
  const entry = (hit: SearchHit) =>
    h(
      'li',
      { key: hit.message_id },
      h('a', { class: 'one-line', href: hrefOf(hit) }, hit.snippet || 'no text'),
      h('span', { class: 'soft one-line' }, hit.user ?? 'no user', ' · ', h(Time, { at: hit.created_at })),
    );
  return h(
    'div',
    { class: 'card stack' },
    h('h3', null, title),
    // 404: the search is turned off.
    error?.status === 404 ? h('p', { class: 'soft' }, error.message) : h(ErrorNote, { error, retry: reload }),
    body === undefined
      ? error === undefined && h('p', { class: 'soft', role: 'status' }, 'Loading…')
      : body.data.length === 0 && !body.has_more
        ? h('p', { class: 'soft' }, 'None in this period.')
        : h('ul', { class: 'plain stack newest' }, body.data.map(entry)),
    body?.has_more && h('a', { href: hrefWith(['conversations'], inPeriod) }, 'Show all'),
  );
}
