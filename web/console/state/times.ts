import { orElse } from '../../shared/or-else.ts';
import { readSetting, storeSetting } from '../../shared/stored.ts';

/**
 * The console is in English, so its numbers and dates are too, in the user's variant of English if the browser names
 * one. A browser may name a tag that is not valid (`en-US@posix`, from the system's settings), which `Intl` rejects.
 */
export const locale =
  navigator.languages.find(
    (tag) => /^en\b/i.test(tag) && orElse(() => Intl.getCanonicalLocales(tag).length === 1, false),
  ) ?? 'en-GB';

/* Times as text: one format, in the zone of the user, or in UTC if the user chose that. */

export const localZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const zoneName = 'backscroll-zone';
/** A choice takes effect when the page is loaded again. */
export const zone = readSetting(zoneName) ?? localZone;
/** Null: local times. */
export const storeZone = (chosen: 'UTC' | null): void => storeSetting(zoneName, chosen);

const format = (options: Intl.DateTimeFormatOptions): ((date: Date) => string) => {
  const { format } = new Intl.DateTimeFormat(locale, { timeZone: zone, hourCycle: 'h23', ...options });
  return format;
};
const date = { day: 'numeric', month: 'short', year: 'numeric' } as const;
const minutes = { hour: '2-digit', minute: '2-digit' } as const;
const formats = {
  /** 16 Nov 2026, 05:43 */
  time: format({ ...date, ...minutes }),
  /** 16 Nov 2026 */
  day: format(date),
  /** 16 Nov */
  dayOfYear: format({ day: 'numeric', month: 'short' }),
  /** The same for a day of usage, which is a day in UTC. */
  shortDay: format({ day: 'numeric', month: 'short', timeZone: 'UTC' }),
  /** Monday, 16 November 2026 */
  longDay: format({ ...date, month: 'long', weekday: 'long' }),
  /** 05:43 */
  clock: format(minutes),
  /** 16 Nov 2026, 05:43 UTC */
  utc: format({ ...date, ...minutes, timeZone: 'UTC', timeZoneName: 'short' }),
};

export type TimeForm = keyof typeof formats;

/** A record may have any integer as its time, in seconds since 1970, also one that no date can express. */
export const isDate = (at: number): boolean => !Number.isNaN(new Date(at * 1000).getTime());

export const timeText = (at: number, form: TimeForm = 'time'): string =>
  isDate(at) ? formats[form](new Date(at * 1000)) : `${at} s`;

export const daySeconds = 86_400;

/** `2026-11-16`, as in an address and in the service. */
export const dayText = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 10);

/** The start of a day; undefined if the text is no day. */
export function daySecondsOf(text: string): number | undefined {
  const millis = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(millis) || millis < 0 ? undefined : millis / 1000;
}

/** Whether it is of this day. */
export const isToday = (at: number, now = Date.now() / 1000): boolean => timeText(at, 'day') === timeText(now, 'day');

/** For the heading of a day: `Today`, `Yesterday`, else the day with its name. */
export function dayName(at: number, now = Date.now() / 1000): string {
  if (isToday(at, now)) return 'Today';
  return isToday(at, now - daySeconds) ? 'Yesterday' : timeText(at, 'longDay');
}

/** The start and the end of a day such as `2026-11-16`, in the zone of the times. */
export function boundsOfDay(text: string): [from: number, to: number] | undefined {
  const day = daySecondsOf(text);
  if (day === undefined) return undefined;
  const date = new Date(day * 1000);
  const start = (days: number) =>
    zone === 'UTC'
      ? day + days * daySeconds
      : new Date(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate() + days).getTime() / 1000;
  return [start(0), start(1)];
}

/** For a list: `Today 05:43`, the day of this year, else the day with its year. The tooltip has the rest. */
export function briefText(at: number, now = Date.now() / 1000): string {
  if (isToday(at, now)) return `Today ${timeText(at, 'clock')}`;
  const isThisYear = new Date(at * 1000).getFullYear() === new Date(now * 1000).getFullYear();
  return timeText(at, isThisYear ? 'dayOfYear' : 'day');
}

const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
const units: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 365 * 86_400],
  ['month', 30 * 86_400],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];

/** `2 hours ago`, `in 3 days`. */
export function relativeText(at: number, now = Date.now() / 1000): string {
  const secondsAway = at - now;
  const unit = units.find(([, seconds]) => Math.abs(secondsAway) >= seconds);
  return unit === undefined ? 'just now' : relative.format(Math.trunc(secondsAway / unit[1]), unit[0]);
}
