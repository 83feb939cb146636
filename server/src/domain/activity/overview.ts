import type { Static } from 'typebox';
import type { Overview, OverviewQuery, OverviewTotals } from '../../contract/console/activity.ts';
import { limits } from '../../contract/limits.ts';
import type { Call } from '../call.ts';
import { invalidParam } from '../errors.ts';
import { dayOf, days, hourOf, hourSeconds } from '../records/usage.ts';
import type { DayRange, PartSum, PeriodSums, PeriodWanted, RankedSum, UsageSum } from '../store/activity-reads.ts';
import { requireApp } from './require-app.ts';

/** The days of a period that is given in seconds. */
export function periodOf(from: number | undefined, to: number | undefined, now: number): DayRange {
  const last = dayOf((to ?? now + 1) - 1);
  const first = from === undefined ? last - limits.overviewDaysDefault + 1 : dayOf(from);
  if (to !== undefined && from !== undefined && from >= to) throw invalidParam('from must be before to');
  if (first > last) throw invalidParam('from must not be in the future');
  if (last - first >= limits.overviewDaysMax)
    throw invalidParam(`from and to must be at most ${limits.overviewDaysMax} days apart`);
  return { first, last };
}

/** The period before, which is equally long. */
export const periodBefore = ({ first, last }: DayRange): DayRange => ({ first: 2 * first - last - 1, last: first - 1 });

/** Totals of a period. */
export async function findOverview(
  { store, now, disconnected }: Pick<Call<'admin'>, 'store' | 'now' | 'disconnected'>,
  { from, to, app_id, user, series: by = 'model' }: Static<typeof OverviewQuery>,
): Promise<Overview> {
  const period = periodOf(from, to, now);
  const id = app_id === undefined ? undefined : (await requireApp(store, app_id)).id;
  const step = period.last - period.first < limits.overviewHourlyDaysMax ? 'hour' : 'day';
  const isRunning = period.last === dayOf(now) && hourOf(now) > 0;
  const wanted: PeriodWanted = {
    selection: { ...period, app_id: id, user },
    before: periodBefore(period),
    step,
    by,
    parts: limits.overviewSeriesMax,
    running: isRunning ? hourOf(now) : undefined,
  };
  return overviewOf(wanted, await store.activity.sumPeriod(wanted, disconnected()));
}

function overviewOf({ selection, step, running }: PeriodWanted, sums: PeriodSums): Overview {
  const { slots, untilHour, apps, models, users, usersBySlot, usersBefore, top } = sums;
  const step_seconds = step === 'hour' ? hourSeconds : days.seconds;
  const start = selection.first * days.seconds;
  const currencies = frequentCurrencies(slots);
  const total = (rows: readonly UsageSum[]) => totalOf(rows, currencies);
  const ofDay = (day: number) => total(untilHour.filter((row) => row.day === day));
  const pointsOf = (rows: readonly PartSum[]) =>
    [...Map.groupBy(rows, ({ slot }) => slot)]
      .sort(([one], [other]) => one - other)
      .map(([slot, rows]) => ({ at: slot * step_seconds, ...total(rows) }));
  const { inPeriod = [], earlier = [] } = Object.groupBy(slots, ({ slot }) =>
    slot * step_seconds < start ? 'earlier' : 'inPeriod',
  );
  const compared = (rows: readonly RankedSum[]) => ({
    ...total(rows.filter(({ earlier }) => earlier === 0)),
    before: total(rows.filter(({ earlier }) => earlier === 1)),
  });
  return {
    from: start,
    to: (selection.last + 1) * days.seconds,
    totals: { ...total(inPeriod), users },
    before: { ...total(earlier), users: usersBefore },
    step_seconds,
    points: pointsOf(inPeriod).map((point) => ({ ...point, users: usersBySlot.get(point.at / step_seconds) ?? 0 })),
    points_before: pointsOf(earlier),
    series: [...Map.groupBy(inPeriod, ({ part }) => part)]
      .sort(([one], [other]) => one - other)
      .map(([, rows]) => pointsOf(rows)),
    so_far: running === undefined ? null : { today: ofDay(selection.last), yesterday: ofDay(selection.last - 1) },
    apps: apps
      .slice(0, limits.overviewAppsMax)
      .map(({ first: { app_id, app_name }, rows }) => ({ app_id, app_name, ...compared(rows) })),
    models: models.slice(0, limits.overviewModelsMax).map(({ first: { model_provider, model }, rows }) => ({
      model_provider: model_provider || null,
      model: model || null,
      ...compared(rows),
    })),
    users: top.map(({ user, currency, price_nanos, ...sum }) => ({
      user,
      ...sum,
      price: currency === '' ? null : price_nanos / 1e9,
      currency: currency || null,
    })),
  };
}

/** The currencies with the most messages, in their order. */
function frequentCurrencies(sums: readonly UsageSum[]): string[] {
  const messages = new Map<string, number>();
  for (const sum of sums) messages.set(sum.currency, (messages.get(sum.currency) ?? 0) + sum.messages);
  messages.delete('');
  return [...messages]
    .sort(([one, few], [other, many]) => many - few || (one < other ? -1 : 1))
    .slice(0, limits.overviewCurrenciesMax)
    .map(([currency]) => currency)
    .sort();
}

/** Adds up rows, each of one currency. */
function totalOf(rows: readonly UsageSum[], currencies: readonly string[]): Omit<OverviewTotals, 'users'> {
  const total = (name: 'messages' | 'tokens' | 'liked' | 'disliked' | 'failed') =>
    rows.reduce((sum, row) => sum + row[name], 0);
  const nanos = new Map<string, number>();
  for (const { currency, price_nanos } of rows) nanos.set(currency, (nanos.get(currency) ?? 0) + price_nanos);
  return {
    messages: total('messages'),
    liked: total('liked'),
    disliked: total('disliked'),
    failed: total('failed'),
    tokens: total('tokens'),
    prices: currencies.flatMap((currency) => {
      const price = nanos.get(currency);
      return price === undefined ? [] : { currency, price: price / 1e9 };
    }),
  };
}
