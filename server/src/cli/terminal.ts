import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { ServiceError } from '../domain/errors.ts';

/** The arguments of the command line are wrong. */
export class Usage extends Error {}

/** Kinds of options: with a value, with values, without. */
export const text = { type: 'string' } as const;
export const texts = { type: 'string', multiple: true } as const;
export const flag = { type: 'boolean' } as const;

/** Options and operands of a command; throws Usage for anything else. */
export function parse<const O extends ParseArgsOptionsConfig>(argv: string[], options: O, operands: { max: number }) {
  const parsed = parseStrictly(argv, options, operands.max > 0);
  // As of a variable that is not set: it must not select everything.
  const empty = Object.entries(parsed.values).find(([, value]) => [value].flat().includes(''));
  if (empty !== undefined) throw new Usage(`--${empty[0]} must not be empty`);
  if (parsed.positionals.length > operands.max)
    throw new Usage(`unexpected argument '${parsed.positionals[operands.max]}'`);
  return parsed;
}

function parseStrictly<const O extends ParseArgsOptionsConfig>(args: string[], options: O, allowPositionals: boolean) {
  try {
    return parseArgs({ args, options, allowPositionals, strict: true });
  } catch (error) {
    const [sentence = ''] = (error as Error).message.split('. ', 1);
    throw new Usage(`${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}`);
  }
}

export function actionOf<A extends string>(command: string, given: string | undefined, actions: readonly A[]): A {
  const action = actions.find((one) => one === given);
  if (action !== undefined) return action;
  const names = `${actions.slice(0, -1).join(', ')} or ${actions.at(-1)}`;
  throw new Usage(given === undefined ? `${command} needs ${names}` : `unknown command '${command} ${given}'`);
}

const unitSeconds: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };

/** The seconds of a duration such as `90d`. */
export function secondsOf(option: string, text: string): number {
  const [, count, unit] = /^([1-9]\d{0,5})([smhdw])$/.exec(text) ?? [];
  if (count === undefined || unit === undefined) {
    throw new Usage(`${option} ${text}: must be a number and s, m, h, d or w, such as 90d`);
  }
  return Number(count) * (unitSeconds[unit] ?? 0);
}

/** Not so 2026-02-30, which would be read as 2026-03-02. */
const isDay = (text: string): boolean => {
  const date = new Date(text);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
};

/** Throws Usage if the parameters of an operation, which have the names of the options, are not valid. */
export function requireOptions<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'invalid_param') throw new Usage(`--${error.message}`);
    throw error;
  }
}

/** The seconds of a time such as `2026-01-31` (UTC), `2026-01-31T12:00:00Z` or `1769817600`. */
export function timeOption(option: string, text: string): number {
  if (/^\d{1,12}$/.test(text)) return Number(text);
  const [, day = ''] = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d))?$/.exec(text) ?? [];
  const millis = isDay(day) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(millis)) return Math.floor(millis / 1000);
  throw new Usage(
    `${option} ${text}: must be a date such as 2026-01-31, a time such as 2026-01-31T12:00:00Z, or seconds`,
  );
}

export const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** One line on the terminal, rewritten in place. Nothing is shown elsewhere. */
export const showLine = (text: string): void => void (process.stderr.isTTY && process.stderr.write(`\r\x1b[K${text}`));

/** Untrusted text, with control characters escaped so that a terminal does not interpret them. */
export const visible = (text: string): string =>
  text.replaceAll(/[\x00-\x1f\x7f-\x9f]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

export const timeOf = (seconds: number | null): string =>
  seconds === null ? '-' : new Date(seconds * 1000).toISOString().replace('.000', '');

export function printRows<R>(
  rows: readonly R[],
  isJson: boolean,
  header: string[],
  cellsOf: (row: R) => string[],
): void {
  if (isJson) for (const row of rows) print(JSON.stringify(row));
  else printTable([header, ...rows.map(cellsOf)]);
}

export function printTable(rows: string[][]): void {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  for (const row of rows) {
    const cells = row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
    print(cells.join('  ').trimEnd());
  }
}
