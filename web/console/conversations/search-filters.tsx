import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { limits } from '../../../server/src/contract/limits.ts';
import { Field } from '../../shared/controls.tsx';
import { DownloadButton } from '../components/download.tsx';
import { Chip, Chips } from '../components/filters.tsx';
import { duration, whole } from '../components/format-number.ts';
import { PeriodFields } from '../components/period-fields.tsx';
import { useResponse } from '../hooks/requests.ts';
import { pathOf } from '../state/api.ts';
import { useChanges } from '../state/changes.ts';
import { type FilterChange, type Filters, hrefOf, hrefWith, readFilters } from '../state/route.ts';
import type { SearchCounts } from '../state/types.ts';
import { isSearched, queryOf } from './search-query.ts';

/** The filters that have a chip, with the count that the service gives for each. */
const chips = [
  { label: 'Bad answers', name: 'has', value: 'bad_answer', count: 'bad_answer' },
  { label: 'Disliked', name: 'rating', value: 'dislike', count: 'disliked' },
  { label: 'Failed', name: 'status', value: 'error', count: 'failed' },
  { label: 'Files', name: 'has', value: 'files', count: 'files' },
  { label: 'Waiting form', name: 'has', value: 'waiting_form', count: 'waiting_form' },
] as const;

/** After a change, the index of the search is up to date in about a second. */
const indexMillis = 2_000;

/** The filters of the search, as chips with counts, and the others in a form. Another filter opens another list. */
export function SearchFilters({ filters }: { filters: Filters }) {
  const { counts, isStale } = useCounts(filters);
  const change = (values: FilterChange) => hrefWith(['conversations'], { ...filters, ...values });
  const setFilters = (values: FilterChange) => {
    location.hash = hrefWith(['conversations'], { ...readFilters(), ...values });
  };
  const { segment_id, document_id, dataset_id } = filters;
  const cited = segment_id ? 'segment' : document_id ? 'document' : 'knowledge base';
  const notCited = { dataset_id: '', document_id: '', segment_id: '' };
  const place = [dataset_id, document_id, segment_id].filter((id) => id !== undefined);
  const others: [name: string, label: string][] = [
    ['user', `User: ${filters.user}`],
    ['model_provider', `Provider: ${filters.model_provider}`],
    ['model', `Model: ${filters.model}`],
    ['min_cost', `Cost from ${filters.min_cost}`],
    ['min_latency', `Latency from ${duration(Number(filters.min_latency))}`],
  ];
  return (
    <div class="search-filters stack tight">
      {counts?.is_building && (
        <p class="note" role="status">
          The search index is being built. Results are incomplete.
        </p>
      )}
      <Chips label="Filters">
        {chips.map(({ label, name, value, count }) => {
          const isActive = filters[name] === value;
          const href = change({ [name]: isActive ? undefined : value });
          const counted = { count: counts?.[count] ?? null, isPartial: counts?.is_partial };
          if (name === 'has' && counted.count === 0 && !isActive) return null;
          return <Chip key={label} label={label} isActive={isActive} href={href} {...counted} />;
        })}
        {others
          .filter(([name]) => filters[name] !== undefined)
          .map(([name, label]) => (
            <Chip key={name} label={label} isActive canRemove href={change({ [name]: '' })} />
          ))}
        {place.length > 0 && (
          <>
            <Chip label={`Cites a ${cited}`} isActive canRemove href={change(notCited)} />
            {dataset_id && <a href={hrefOf('knowledge', ...place)}>Open the {cited}</a>}
          </>
        )}
      </Chips>
      <div class="row">
        {filters.q !== undefined && (
          <Chip
            label="Best match"
            isActive={filters.order === 'best'}
            href={change({ order: filters.order === 'best' ? '' : 'best' })}
          />
        )}
        {filters.order === 'best' && (
          <span class="soft small">The best of the newest {whole(limits.searchRankedMax)} hits, on one page</span>
        )}
        <details class="more-filters">
          <summary>More filters</summary>
          <MoreFilters filters={filters} setFilters={setFilters} />
        </details>
        {/* The service exports no results of a search. */}
        {!isSearched(filters) && (
          <DownloadButton
            label="Export CSV"
            name="messages.csv"
            look="quiet small"
            path={pathOf(['admin', 'messages.csv'], queryOf(filters))}
          />
        )}
        <span class={`live at-end soft small ${isStale ? 'stale' : ''}`} role="status">
          {isStale ? 'Not live: the service cannot be reached' : 'Live'}
        </span>
      </div>
    </div>
  );
}

/**
 * The count of each chip as if the other chips were off: else the one that is on would make the others 0. Without counts, the chips
 * are filters all the same.
 */
function useCounts(filters: Filters): { counts: SearchCounts | undefined; isStale: boolean } {
  const { rating, status, has, ...others } = filters;
  const { body, reload } = useResponse<SearchCounts>(pathOf(['admin', 'search', 'counts'], queryOf(others)));
  const timer = useRef<number | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), [reload]);
  const isStale = useChanges(({ length }) => {
    if (length === 0) return;
    clearTimeout(timer.current);
    timer.current = setTimeout(reload, indexMillis);
  });
  return { counts: body, isStale };
}

type MoreProps = { filters: Filters; setFilters: (values: FilterChange) => void };

function MoreFilters({ filters, setFilters }: MoreProps) {
  // The field keeps what is being typed, until the filter changes.
  const field = (label: string, name: string, attributes: JSX.IntrinsicElements['input']) => (
    <Field
      key={filters[name]}
      label={label}
      defaultValue={filters[name]}
      {...attributes}
      onChange={({ currentTarget: { value } }) => setFilters({ [name]: value.trim() })}
    />
  );
  return (
    <div class="more-fields">
      {field('User, exactly', 'user', { type: 'text', autoComplete: 'off' })}
      {field('Model, exactly', 'model', { type: 'text', autoComplete: 'off' })}
      <div class="whole-row">
        Days
        <PeriodFields filters={filters} set={setFilters} />
      </div>
      {field('Cost from', 'min_cost', { type: 'number', min: 0, step: 'any' })}
      {field('Latency from (s)', 'min_latency', { type: 'number', min: 0, step: 'any' })}
    </div>
  );
}
