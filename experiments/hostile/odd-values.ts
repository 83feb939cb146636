import type { Random } from '../support/random.ts';

/** Raw texts for a path segment or a query value: visible ASCII only. */
export const oddParts: readonly string[] = [
  '%00',
  '%0d%0aX-Injected:%201',
  '%c0%af',
  '%ed%a0%80',
  '%ef%bb%bf',
  '%f0%9f%98%80',
  '%e4%bd%a0',
  '%2e%2e%2f%2e%2e',
  '%2F',
  '%252e',
  '%',
  '%zz',
  '%e4%bd',
  '%u0041',
  '..',
  '.',
  '~',
  '*',
  '-1',
  '0',
  '1e2',
  '1.5',
  '0x10',
  '101',
  '99999999999999999999',
  'NaN',
  'null',
  'undefined',
  'true',
  '__proto__',
  'constructor',
  'toString',
  "'%20OR%201=1--",
  '%22;DROP%20TABLE%20messages;--',
  '$1',
  '$%7bx%7d',
  '{{x}}',
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-fffffffffffff',
  '{00000000-0000-0000-0000-000000000000}',
  'a'.repeat(256),
  'a'.repeat(4000),
  '%41'.repeat(1500),
  ';a=b',
  '@',
  ':',
  '+',
  '[]',
];

/** Unusual query strings. */
export const oddQueries: readonly string[] = [
  '',
  '&',
  '&&&===',
  '=',
  '?',
  '?a=1?b=2',
  '__proto__[a]=1&constructor[prototype][a]=1',
  'a=%',
  '%=%&%00=%00',
  'limit[]=1&limit[a]=2',
  'limit=1&limit=2',
  'LIMIT=0',
  'user=a&user=b',
  Array.from({ length: 800 }, (_, at) => `p${at}=${at}`).join('&'),
  `x=${'%f0%9f%98%80'.repeat(600)}`,
  'a;b;c',
  '#fragment',
];

/** JSON values that a field may not expect. */
export const oddJson: readonly string[] = [
  'null',
  'true',
  '0',
  '-0',
  '-1',
  '1.5',
  '1e400',
  '-1e400',
  '9007199254740993',
  '1e-400',
  '""',
  '" "',
  '"\\u0000"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\u2028\\u2029\\u0085"',
  '"__proto__"',
  '[]',
  '{}',
  '[null]',
  '[[[[[[[[[[]]]]]]]]]]',
  '{"__proto__":{"admin":true}}',
  '{"constructor":{"prototype":{"admin":true}}}',
  '{"toString":1,"valueOf":2,"then":3}',
  '{"":""}',
  `"${'x'.repeat(300)}"`,
  `"${'\\ud83d\\ude00'.repeat(200)}"`,
  `${'['.repeat(150)}${']'.repeat(150)}`,
  `${'{"a":'.repeat(101)}1${'}'.repeat(101)}`,
];

/** Malformed JSON, or JSON in an unusual form. */
export function malformJson(random: Random, json: string): Buffer | string {
  return random.pick<() => Buffer | string>([
    () => '',
    () => '{',
    () => json.slice(0, random.below(json.length)),
    () => `${json}${json}`,
    () => `${json}x`,
    () => `\ufeff${json}`,
    () => Buffer.from(json, 'utf16le'),
    () => Buffer.concat([Buffer.from(json.slice(0, -2)), random.bytes(3), Buffer.from('"}')]),
    () => Buffer.from(`{"content":"\xff\xfe\xc0"}`, 'latin1'),
    () => json.replaceAll('"', "'"),
    () => json.replace('{', '{,'),
    () => json.replace(/}$/, ',}'),
    () => `/* */${json}`,
    () => '['.repeat(20_000),
    () => `${'['.repeat(20_000)}${']'.repeat(20_000)}`,
    () => `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`,
    () => random.bytes(1 + random.below(200)),
    () => 'NaN',
    () => '\0',
  ])();
}

/** The JSON of an object with one of its fields changed, removed, added or moved. */
export function mutateJson(random: Random, object: Record<string, unknown>): string {
  const fields = Object.entries(object).map(([name, value]) => [name, JSON.stringify(value)] as const);
  const json = (all: readonly (readonly [string, string])[]) =>
    `{${all.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`;
  const at = random.below(fields.length);
  const [name] = fields[at] ?? ['x', 'null'];
  return random.weighted<() => string>([
    [8, () => json(fields.with(at, [name, random.pick(oddJson)]))],
    [3, () => json(fields.toSpliced(at, 1))],
    [2, () => json([...fields, [random.pick(['__proto__', 'constructor', 'extra', '', 'id ', 'ID']), 'null']])],
    [1, () => json([...fields, [name, random.pick(oddJson)]])],
    [1, () => json(fields.toReversed())],
    [1, () => json(fields.with(at, [name.toUpperCase(), random.pick(oddJson)]))],
    [1, () => random.pick(oddJson)],
  ])();
}
