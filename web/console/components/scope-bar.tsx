import { useEffect } from 'preact/hooks';
import { Icon, Select } from '../../shared/controls.tsx';
import { useAll } from '../hooks/requests.ts';
import { lastDays, lengthDefault, lengths, shownDays } from '../state/period.ts';
import { type FilterChange, type Filters, hrefOf, hrefWith, readFilters, useFilters } from '../state/route.ts';
import { rememberScope, viewsWithPeriod } from '../state/scope.ts';
import { daySecondsOf, timeText } from '../state/times.ts';
import type { App } from '../state/types.ts';

const hidden = (text: string) => <span class="hidden-label">{text}</span>;
const periods = lengths.map((days) => [`${days}`, `Last ${days} days`] as const);

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
  // The days of a choice as dates, which can then be changed.
  const dates = { days: '', ...lastDays(Number(days ?? lengthDefault)) };
  const isOverview = view === 'overview';
  return (
    <>
      <Select
        label={hidden('App')}
        value={app_id}
        options={[
          ['', 'All apps'],
          ...apps.rows.map(({ id, name }) => [id, name || id] as const),
          ...(app_id === '' || isKnown ? [] : [[app_id, app_id] as const]),
        ]}
        change={(id) => change({ app_id: id })}
      />
      {isKnown && (
        <a class="button quiet icon-only" href={hrefOf('apps', app_id)} title="Settings and keys of this app">
          <Icon name="app" />
          <span class="hidden-label">Settings and keys of this app</span>
        </a>
      )}
      {viewsWithPeriod.includes(view) && (
        <Select
          label={hidden('Period')}
          value={days ?? (hasDates ? 'dates' : isOverview ? `${lengthDefault}` : '')}
          options={[
            ...(isOverview ? [] : [['', 'All time'] as const]),
            ...periods,
            ['dates', hasDates ? datesText(filters) : 'Choose dates'],
          ]}
          change={(chosen) => change(chosen === 'dates' ? dates : { days: chosen, from: '', to: '' })}
        />
      )}
    </>
  );
}

/** `3 Nov – 9 Nov` */
function datesText(filters: Filters): string {
  const [first, last] = shownDays(filters).map((day) =>
    day === '' ? '…' : timeText(daySecondsOf(day) ?? 0, 'shortDay'),
  );
  return first === last ? `${first}` : `${first} – ${last}`;
}
