import type { Static } from 'typebox';
import type { Overview, OverviewQuery, OverviewTotals } from '../../contract/console/activity.ts';
import { limits } from '../../contract/limits.ts';
import { invalidParam } from '../errors.ts';
import { dayOf, days, formatDay } from '../records/usage.ts';
import type { ActivityReads, DayRange, DaySelection, UsageSum } from '../store/activity-reads.ts';
import type { Store } from '../store/store.ts';
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

/** Totals of a period. `now` is in seconds; `signal` aborts when the client disconnects. */
export async function findOverview(
  store: Store,
  { from, to, app_id }: Static<typeof OverviewQuery>,
  now: number,
  signal: AbortSignal,
): Promise<Overview> {
  const period = periodOf(from, to, now);
  const id = app_id === undefined ? undefined : (await requireApp(store, app_id)).id;
  return readOverview(store.activity, { ...period, app_id: id }, signal);
}

async function readOverview(activity: ActivityReads, selection: DaySelection, signal: AbortSignal): Promise<Overview> {
  const { first, last } = selection;
  const before = periodBefore(selection);
  const found = await activity.sumPeriod(selection, before, signal);
  const { days: sums, apps, models, users, usersByDay, usersBefore, top } = found;
  const inPeriod = sums.filter(({ day }) => day >= first);
  const currencies = frequentCurrencies(sums);
  const total = (rows: readonly UsageSum[]) => totalOf(rows, currencies);
  return {
    from: first * days.seconds,
    to: (last + 1) * days.seconds,
    totals: { ...total(inPeriod), users },
    before: { ...total(sums.filter(({ day }) => day < first)), users: usersBefore },
    days: [...Map.groupBy(inPeriod, ({ day }) => day)]
      .sort(([one], [other]) => one - other)
      .map(([day, rows]) => ({ day: formatDay(day), ...total(rows), users: usersByDay.get(day) ?? 0 })),
    apps: [...Map.groupBy(apps, ({ app_id }) => app_id)]
      .map(([app_id, rows]) => ({ app_id, app_name: rows[0]?.app_name ?? '', ...total(rows) }))
      .sort((one, other) => other.messages - one.messages || (one.app_id < other.app_id ? -1 : 1))
      .slice(0, limits.overviewAppsMax),
    models: [...Map.groupBy(models, ({ model_provider, model }) => `${model_provider}\0${model}`).values()]
      .map((rows) => ({
        ...{ model_provider: rows[0]?.model_provider || null, model: rows[0]?.model || null },
        ...total(rows),
      }))
      .sort((one, other) => other.messages - one.messages || compareModels(one, other))
      .slice(0, limits.overviewModelsMax),
    users: top.map(({ user, currency, price_nanos, ...sum }) => ({
      user,
      ...sum,
      price: currency === '' ? null : price_nanos / 1e9,
      currency: currency || null,
    })),
  };
}

type Model = { model_provider: string | null; model: string | null };
const nameOf = ({ model_provider, model }: Model): string => `${model_provider ?? ''}\0${model ?? ''}`;
const compareModels = (one: Model, other: Model): number => (nameOf(one) < nameOf(other) ? -1 : 1);

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
