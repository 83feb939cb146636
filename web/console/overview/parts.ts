import { percent } from '../components/format-number.ts';
import type { FilterChange } from '../state/address.ts';
import type { Overview, OverviewPoint } from '../state/types.ts';
import { isSum, type Measure } from './measures.ts';

/** What the bars are stacked by, in the address. */
export type SeriesBy = 'app' | 'model';
export const seriesBy = (by: string | undefined): SeriesBy => (by === 'app' ? 'app' : 'model');

type Part = { name: string; points: readonly OverviewPoint[]; look: number; filters: FilterChange };

/** Looks of parts follow those of other plots. All others, and messages without a known model, are grey. */
const firstPartLook = 4;
const othersLook = 9;
const unknownLook = 11;

/** The apps or models that have points, and all others as the last one. */
export function partsOf({ apps, models, series }: Overview, by: SeriesBy): Part[] {
  const named =
    by === 'app'
      ? apps.map(({ app_id, app_name }) => ({ name: app_name, filters: { app_id } }))
      : models.map(({ model_provider, model }) =>
          model === null
            ? { name: 'Model not known', filters: {}, look: unknownLook }
            : { name: model, filters: { model_provider: model_provider ?? '', model } },
        );
  const shown = othersLook - firstPartLook;
  return series.map((points, n) =>
    n < shown
      ? { name: '', filters: {}, look: firstPartLook + n, ...named[n], points }
      : { name: 'All others', filters: {}, points, look: othersLook },
  );
}

/** `71% of yesterday by this hour`: only what is added up can be compared. */
export function soFarText(measure: Measure, { so_far }: Overview): string {
  if (so_far === null || !isSum(measure)) return '';
  const [today, yesterday] = [so_far.today, so_far.yesterday].map((sums) => measure.value({ ...sums, users: 0 }));
  return yesterday ? `So far today, ${percent(today ?? 0, yesterday)} of yesterday by this hour` : '';
}
