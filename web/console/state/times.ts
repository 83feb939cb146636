/**
 * The console is in English, so its numbers and dates are too, in the user's variant of English if the browser names
 * one. A browser may name a tag that is not valid (`en-US@posix`, from the system's settings), which `Intl` rejects.
 */
export const locale = navigator.languages.find((tag) => /^en\b/i.test(tag) && isValid(tag)) ?? 'en-GB';

function isValid(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}

/* Times as text: one format, in UTC. The frame of the console names the zone. */

export const zone = 'UTC';

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
  shortDay: format({ day: 'numeric', month: 'short' }),
  /** Monday, 16 November 2026 */
  longDay: format({ ...date, month: 'long', weekday: 'long' }),
  /** 05:43 */
  clock: format(minutes),
};

export type TimeForm = keyof typeof formats;

/** A time in seconds since 1970. A record may have any integer as its time, also one that no date can express. */
export function timeText(at: number, form: TimeForm = 'time'): string {
  const date = new Date(at * 1000);
  return Number.isNaN(date.getTime()) ? `${at} s` : formats[form](date);
}

export const daySeconds = 86_400;

/** `2026-11-16`, as in an address and in the service. */
export const dayText = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 10);

/** The start of a day; undefined if the text is no day. */
export function daySecondsOf(text: string): number | undefined {
  const millis = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(millis) || millis < 0 ? undefined : millis / 1000;
}

/** Whether it is of this day. */
export const isToday = (at: number, now = Date.now() / 1000): boolean =>
  Math.floor(at / daySeconds) === Math.floor(now / daySeconds);

/** For a list: `Today 05:43`, the day of this year, else the day with its year. The tooltip has the rest. */
export function briefText(at: number, now = Date.now() / 1000): string {
  if (isToday(at, now)) return `Today ${timeText(at, 'clock')}`;
  const isThisYear = new Date(at * 1000).getUTCFullYear() === new Date(now * 1000).getUTCFullYear();
  return timeText(at, isThisYear ? 'shortDay' : 'day');
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
