import type { Usage } from '../parts/types.ts';
import { type Series, sum } from './series.ts';

/** One plot: its series by app, those with the most use at the bottom. */
export type UsagePlot = { what: 'messages' | 'tokens' | 'cost'; currency: string | null; series: Series[] };

const appsShown = 6;
/** Currencies come from the records: there may be any number of them. */
export const currenciesShown = 6;

/** The day (in UTC, as in the service) that is `days` days before a time. */
export function dayBefore(millis: number, days: number): string {
  return new Date(millis - days * 86_400_000).toISOString().slice(0, 10);
}

/** The last `count` days up to today, with or without use. */
export function daysUntil(millis: number, count: number): string[] {
  return Array.from({ length: count }, (_, n) => dayBefore(millis, count - 1 - n));
}

type Measure = { what: UsagePlot['what']; currency: string | null; of: (use: Usage) => number };

/** Messages, tokens, and the cost in each currency. An app has the same look in all of them. */
export function usagePlots(uses: readonly Usage[], days: readonly string[]): UsagePlot[] {
  const currencies = currenciesOf(uses).slice(0, currenciesShown).sort();
  const measures: Measure[] = [
    { what: 'messages', currency: null, of: ({ messages }) => messages },
    { what: 'tokens', currency: null, of: ({ tokens }) => tokens },
    ...currencies.map(
      (currency): Measure => ({ what: 'cost', currency, of: (use) => (use.currency === currency ? use.price : 0) }),
    ),
  ];
  const ranked = rank(uses, measures);
  const looks = new Map(ranked.map((app_id, look) => [app_id, look]));
  const names = namesOf(uses);
  const places = new Map(days.map((day, place) => [day, place]));
  return measures.map(({ what, currency, of }) => {
    const rows: number[][] = Array.from({ length: appsShown + 1 }, () => days.map(() => 0));
    for (const use of uses) {
      const place = places.get(use.day);
      const row = rows[looks.get(use.app_id) ?? appsShown];
      if (place !== undefined && row !== undefined) row[place] = (row[place] ?? 0) + of(use);
    }
    const nameOf = (look: number) => names.get(ranked[look] ?? '') ?? 'others';
    const series = rows
      .map((values, look): Series => ({ name: nameOf(look), look, values }))
      .filter(({ values }) => sum(values) !== 0);
    return { what, currency, series };
  });
}

/** Currencies, those with the most messages first. */
export function currenciesOf(uses: readonly Usage[]): string[] {
  const messages = new Map<string, number>();
  for (const use of uses)
    if (use.currency !== null) messages.set(use.currency, (messages.get(use.currency) ?? 0) + use.messages);
  return [...messages].sort(([one, few], [other, many]) => many - few || (one < other ? -1 : 1)).map(([name]) => name);
}

/**
 * The apps that are shown by name, those with the most messages first: those with the largest share in any plot, so
 * that no app that matters in one plot is hidden among the others.
 */
function rank(uses: readonly Usage[], measures: readonly Measure[]): string[] {
  const shares = measures.map(({ of }) => sharesOf(uses, of));
  const largest = (app_id: string) => Math.max(...shares.map((share) => share.get(app_id) ?? 0));
  const ofMessages = (app_id: string) => shares[0]?.get(app_id) ?? 0;
  const by = (value: (app_id: string) => number) => (one: string, other: string) =>
    value(other) - value(one) || (one < other ? -1 : 1);
  return [...(shares[0]?.keys() ?? [])].sort(by(largest)).slice(0, appsShown).sort(by(ofMessages));
}

function sharesOf(uses: readonly Usage[], of: Measure['of']): Map<string, number> {
  const parts = new Map<string, number>();
  for (const use of uses) parts.set(use.app_id, (parts.get(use.app_id) ?? 0) + of(use));
  const all = sum([...parts.values()]) || 1;
  return new Map([...parts].map(([app_id, part]) => [app_id, part / all]));
}

/** Names of apps; if two have the same name, with the beginning of their ids. */
function namesOf(uses: readonly Usage[]): Map<string, string> {
  const names = new Map(uses.map(({ app_id, app_name }) => [app_id, app_name]));
  const count = (name: string) => [...names.values()].filter((one) => one === name).length;
  return new Map([...names].map(([id, name]) => [id, count(name) > 1 ? `${name} (${id.slice(0, 8)})` : name]));
}

/** The sentence above a plot. */
export function usageSummary({ series }: UsagePlot, format: (value: number) => string, days: number): string {
  const today = sum(series.map(({ values }) => values.at(-1) ?? 0));
  const all = sum(series.map(({ values }) => sum(values)));
  return `today ${format(today)}; ${format(all)} in ${days} days`;
}
