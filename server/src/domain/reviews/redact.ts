const group = '[0-9a-f]{1,4}';
const groups = `${group}(?::${group}){0,6}`;
const ipv6 = `(?<![\\w:])(?=:*[0-9a-f])(?:(?:${group}:){7}${group}|(?:${groups})?::(?:${groups})?)(?![\\w:])`;

/** The repetitions are bounded, so that a long text takes time in proportion to its length. */
const patterns: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['email', /(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}._%+-]{1,64}@(?:[\p{L}\p{N}-]{1,63}\.){1,8}\p{L}{2,63}/gu],
  [
    'iban',
    /\b[A-Z]{2}\d{2}(?:\p{Zs}?[A-Z0-9]{4}){2,7}(?:\p{Zs}?[A-Z0-9]{1,3})?\b|\b[A-Za-z]{2}\d{2}[A-Za-z0-9]{11,30}\b/gu,
  ],
  ['ip', /(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)/g],
  ['ip', new RegExp(ipv6, 'gi')],
  ['card', /(?<![\w.])\d(?:[\p{Zs}\p{Pd}]?\d){12,18}(?!\w)/gu],
  // With points only in the groups of a card: other numbers have decimals.
  ['card', /(?<![\w.])\d{4}\.\d{4,6}\.\d{4,5}(?:\.\d{1,7})?(?!\w|\.\d)/g],
  // International, with a leading zero, or in groups of 3, 3 and 4 digits: a date or an amount is none.
  ['phone', /(?<!\w|\d[.,-])(?:\+|\(?0(?!\.))\d?(?:[\p{Zs}\p{Pd}()./]{0,2}\d){6,14}(?!\w)/gu],
  ['phone', /(?<![\w.,-])\(?\d{3}\)?[\p{Zs}\p{Pd}.]\d{3}[\p{Zs}\p{Pd}.]\d{4}(?!\w)/gu],
];

/** Replaces what looks like personal data, best effort. */
export function redact(text: string): string {
  return patterns.reduce((left, [name, pattern]) => left.replace(pattern, `[${name}]`), text);
}
