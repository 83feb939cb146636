import { locale as consoleLocale } from '../state/times.ts';

/* Numbers as text, in the console's locale by default. */
type Locale = string | undefined;

const number = (value: number, options: Intl.NumberFormatOptions, locale: Locale): string =>
  new Intl.NumberFormat(locale ?? consoleLocale, options).format(value);

/** 1,234 in full; 1,234,567 as 1.23M. */
export function brief(value: number, locale?: Locale): string {
  const isLong = Math.abs(value) >= 100_000;
  return isLong ? compact(value, { maximumSignificantDigits: 3 }, locale) : number(value, fine(value), locale);
}

/** 123,456 in full; 258,512,345 as 258.5M. */
export const short = (value: number, locale?: Locale): string =>
  Math.abs(value) < 1_000_000 ? whole(value, locale) : compact(value, { maximumFractionDigits: 1 }, locale);

/** Some variants of English write a small m, which looks like a metre. */
const compact = (value: number, options: Intl.NumberFormatOptions, locale: Locale): string =>
  number(value, { notation: 'compact', ...options }, locale).toUpperCase();

export const whole = (value: number, locale?: Locale): string => number(value, { maximumFractionDigits: 0 }, locale);

/** A duration, which looks the same everywhere: `600 ms`, `1.5 s`, `2.5 min`. */
export function millis(value: number, locale?: Locale): string {
  if (value >= 120_000) return `${number(value / 60_000, fine(value / 60_000), locale)} min`;
  return value >= 1000 ? `${number(value / 1000, fine(value / 1000), locale)} s` : `${brief(value, locale)} ms`;
}

export const duration = (seconds: number): string => millis(1000 * seconds);

/** `expires soon` as `Expires soon`. */
export const capital = (words: string): string => `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;

/** `1 word`, `2 words`. */
export const counted = (n: number, thing: string): string => `${whole(n)} ${thing}${n === 1 ? '' : 's'}`;

type Listed = { rows: readonly unknown[]; hasMore: boolean; total?: number | null | undefined };

/** How many rows a list has; without its total, as far as it is loaded: `12`, `50+`, `12 users`. */
export function listed({ rows, hasMore, total }: Listed, thing = ''): string {
  const n = total ?? rows.length;
  if (n === 0) return '';
  const number = `${whole(n)}${hasMore && n === rows.length ? '+' : ''}`;
  return thing === '' ? number : `${number} ${thing}${n === 1 ? '' : 's'}`;
}

const decimalsOf = (value: number): number => (value !== 0 && Math.abs(value) < 1 ? 4 : 2);

/**
 * Every price has this format: two decimals, or four below 1. In a column all have those of the largest. The currency comes from
 * the record, and may be none that the browser knows.
 */
export function money(value: number, currency: string, locale?: Locale, largest = value): string {
  const decimals = decimalsOf(largest);
  const least = 10 ** -decimals;
  if (value > 0 && value < least / 2) return `<${money(least, currency, locale, largest)}`;
  const options = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  if (!/^[A-Za-z]{3}$/.test(currency)) return `${number(value, options, locale)} ${currency}`.trim();
  return number(value, { style: 'currency', currency, ...options }, locale);
}

/** The cost of a record; a dash if it has none. `column`: the costs of which it is one, and whose decimals it has. */
export const cost = (price: number | null, currency: string | null, column = [price]): string =>
  price === null ? '–' : money(price, currency ?? '', undefined, Math.max(...column.map((one) => one ?? 0)));

export function percent(part: number, all: number, locale?: Locale): string {
  const share = all === 0 ? 0 : part / all;
  return number(share, { style: 'percent', maximumSignificantDigits: 2 }, locale);
}

/** For a column: all have one decimal. */
export const share = (part: number, all: number, locale?: Locale): string =>
  number(all === 0 ? 0 : part / all, { style: 'percent', minimumFractionDigits: 1, maximumFractionDigits: 1 }, locale);

const fine = (value: number): Intl.NumberFormatOptions =>
  Math.abs(value) >= 100 ? { maximumFractionDigits: 0 } : { minimumFractionDigits: 0, maximumSignificantDigits: 3 };
