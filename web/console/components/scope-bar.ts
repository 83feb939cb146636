import { el, h, useEffect } from '../../shared/dom.ts';
import { Select } from '../../shared/select.ts';
import { useAll } from '../hooks/use-all.ts';
import { type FilterChange, hrefWith, readFilters, useFilters } from '../state/route.ts';
import { rememberScope, viewsWithPeriod } from '../state/scope.ts';
import { daySeconds, timeText } from '../state/times.ts';
import type { App } from '../state/types.ts';

const hidden = (text: string) => el('span.hidden-label', text);
const periods: readonly (readonly [string, string])[] = [7, 30, 90].map((days) => [`${days}`, `Last ${days} days`]);
const periodDefault = '30';

/** The app and the period of the view, beside its menu. Another choice opens the view at its beginning. */
export function ScopeBar({ view }: { view: string }) {
  const apps = useAll<App>('/admin/apps');
  const { filters } = useFilters();
  const { app_id = '', days, from, to } = filters;
  useEffect(() => rememberScope(filters), [app_id, days, from, to]);
  const change = (values: FilterChange) => {
    // The browser's address: that of a link that was clicked just now may not be shown yet.
    location.hash = hrefWith([view], { ...readFilters(), ...values });
  };
  const isKnown = apps.rows.some(({ id }) => id === app_id);
  const hasDates = from !== undefined || to !== undefined;
  const isOverview = view === 'overview';
  return [
    h(Select, {
      label: hidden('App'),
      value: app_id,
      options: [
        ['', 'All apps'],
        ...apps.rows.map(({ id, name }) => [id, name || id] as const),
        ...(app_id === '' || isKnown ? [] : [[app_id, app_id] as const]),
      ],
      change: (id) => change({ app_id: id }),
    }),
    viewsWithPeriod.includes(view) &&
      h(Select, {
        label: hidden('Period'),
        value: days ?? (hasDates ? 'dates' : isOverview ? periodDefault : ''),
        options: [
          ...(isOverview ? [] : [['', 'All time'] as const]),
          ...periods,
          ['dates', hasDates ? datesText(from, to) : 'Choose dates'],
        ],
        change: (chosen) =>
          change(chosen === 'dates' ? lastDays(days ?? periodDefault) : { days: chosen, from: '', to: '' }),
      }),
  ];
}

/** The days of a choice as dates, which can then be changed. */
function lastDays(days: string): FilterChange {
  const tomorrow = (Math.floor(Date.now() / 1000 / daySeconds) + 1) * daySeconds;
  return { days: '', from: tomorrow - Number(days) * daySeconds, to: tomorrow };
}

/** `3 Nov – 9 Nov`. A date in the address is in seconds, or already a day; the end is exclusive in seconds. */
function datesText(from: string | undefined, to: string | undefined): string {
  const dayText = (text: string | undefined, minus: number) => {
    if (text === undefined) return '…';
    return timeText(/^\d+$/.test(text) ? Number(text) - minus : Date.parse(text) / 1000, 'shortDay');
  };
  const [first, last] = [dayText(from, 0), dayText(to, 1)];
  return first === last ? first : `${first} – ${last}`;
}
