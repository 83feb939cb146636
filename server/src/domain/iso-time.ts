/** The times that the format can show, in seconds. */
const [first, last] = ['0000-01-01T00:00:00Z', '9999-12-31T23:59:59Z'].map((time) => Date.parse(time) / 1000) as [
  number,
  number,
];

/** The time in UTC, to the second, as RFC 3339 writes it. A time before the year 0 or after 9999 is the first or last one. */
export function isoTime(seconds: number): string {
  const shown = Math.min(Math.max(seconds, first), last);
  return new Date(shown * 1000).toISOString().replace('.000Z', 'Z');
}
