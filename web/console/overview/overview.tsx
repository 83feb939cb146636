import { IconButton } from '../../shared/controls.tsx';
import { PeriodFields } from '../components/period-fields.tsx';
import { ErrorNote, FirstSteps, Nothing, Page, Skeleton } from '../components/ui.tsx';
import { useResponse } from '../hooks/requests.ts';
import { ToReview } from '../review/to-review.tsx';
import { pathOf } from '../state/api.ts';
import { type Period, periodOf } from '../state/period.ts';
import { hrefWith, useFilters, type ViewProps } from '../state/route.ts';
import { daySeconds } from '../state/times.ts';
import type { Overview } from '../state/types.ts';
import { DayPlot } from './day-plot.tsx';
import { Health } from './health.tsx';
import { measuresOf } from './measures.ts';
import { Numbers } from './numbers.tsx';
import { seriesBy } from './parts.ts';
import { RecentProblems } from './recent-problems.tsx';
import { Tables } from './tables.tsx';
import { Verdicts } from './verdicts.tsx';

/** The start: what happened in a period, compared with the one before, and what needs a look. Another tab has the health. */
export function View({ rest: [tab] }: ViewProps) {
  return tab === 'health' ? (
    <Page title="Overview" part="Health" actions={<Tabs tab={tab} />}>
      <Health />
    </Page>
  ) : (
    <Totals />
  );
}

const Tabs = ({ tab }: { tab: string | undefined }) => {
  const { filters } = useFilters();
  const link = (label: string, ...rest: string[]) => {
    const current = rest[0] === tab ? 'page' : undefined;
    return (
      <a class="entry" href={hrefWith(['overview', ...rest], filters)} aria-current={current}>
        {label}
      </a>
    );
  };
  return (
    <nav class="tabs row" aria-label="Parts of the overview">
      {link('Usage')}
      {link('Health', 'health')}
    </nav>
  );
};

function Totals() {
  const { filters, setFilters } = useFilters();
  const period = periodOf(filters);
  const { from, to } = period;
  const { app_id } = filters;
  const path = pathOf(['admin', 'overview'], { app_id, from, to, series: seriesBy(filters.by) });
  const { body: overview, error, reload } = useResponse<Overview>(path);
  const measures = overview === undefined ? [] : measuresOf(overview);
  const measure = measures.find(({ id }) => id === filters.plot) ?? measures[0];
  return (
    <Page
      title="Overview"
      look="overview"
      actions={
        <>
          <Tabs tab={undefined} />
          {overview && <span class="soft small">{comparedText(overview, period)}</span>}
          {/* Any days, once the bar has chosen dates. */}
          {period.days === undefined && <PeriodFields filters={filters} set={setFilters} />}
          <IconButton icon="refresh" label="Refresh" onClick={reload} />
        </>
      }
    >
      <Verdicts />
      <ErrorNote error={error} retry={reload} />
      {overview === undefined || measure === undefined ? (
        error === undefined && <Skeleton lines={9} />
      ) : (
        <>
          <Numbers overview={overview} app_id={app_id} chosen={measure.id} />
          {overview.totals.messages === 0 ? (
            <Nothing icon="conversations">
              <FirstSteps text="No messages in this period." />
            </Nothing>
          ) : (
            <>
              <DayPlot overview={overview} app_id={app_id} measure={measure} />
              <RecentProblems filters={{ app_id, from, to }} />
              <ToReview app_id={app_id} />
              <Tables overview={overview} app_id={app_id} />
            </>
          )}
        </>
      )}
    </Page>
  );
}

function comparedText({ before, totals }: Overview, { from, to }: Period): string {
  const days = to - from === daySeconds ? 'day' : `${(to - from) / daySeconds} days`;
  const isAlone = before.messages === 0 && totals.messages > 0;
  return isAlone ? `No messages in the ${days} before` : `Compared with the ${days} before`;
}
