import { locale as consoleLocale } from '../state/locale.ts';

/* Numbers as text, in the console's locale by default. */
type Locale = string | undefined;

const number = (value: number, options: Intl.NumberFormatOptions, locale: Locale): string =>
  new Intl.NumberFormat(locale ?? consoleLocale, options).format(value);

/** 1,234 in full; 1,234,567 as 1.23M. */
export function brief(value: number, locale?: Locale): string {
  const isLong = Math.abs(value) >= 100_000;
  return number(value, isLong ? { notation: 'compact', maximumSignificantDigits: 3 } : fine(value), locale);
}

export const whole = (value: number, locale?: Locale): string => number(value, { maximumFractionDigits: 0 }, locale);

export function millis(value: number, locale?: Locale): string {
  return value >= 1000 ? `${number(value / 1000, fine(value / 1000), locale)} s` : `${brief(value, locale)} ms`;
}

/**
 * Every price has this format; those of a column have the same number of decimals. The currency comes from the record,
 * and may be none that the browser knows.
 */
export function money(value: number, currency: string, locale?: Locale, decimals?: number): string {
  const isFine = decimals === undefined && value !== 0 && Math.abs(value) < 1;
  const options = isFine ? fine(value) : { minimumFractionDigits: decimals ?? 2, maximumFractionDigits: decimals ?? 2 };
  if (!/^[A-Za-z]{3}$/.test(currency)) return `${number(value, options, locale)} ${currency}`.trim();
  return number(value, { style: 'currency', currency, ...options }, locale);
}

export function percent(part: number, all: number, locale?: Locale): string {
  const share = all === 0 ? 0 : part / all;
  return number(share, { style: 'percent', maximumSignificantDigits: 2 }, locale);
}

const fine = (value: number): Intl.NumberFormatOptions =>
  Math.abs(value) >= 100 ? { maximumFractionDigits: 0 } : { minimumFractionDigits: 0, maximumSignificantDigits: 3 };
