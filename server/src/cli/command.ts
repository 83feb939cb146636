import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import type { Config } from '../config.ts';
import { switchFeed } from '../domain/changes/changes.ts';
import { ServiceError } from '../domain/errors.ts';
import type { JobNote } from '../domain/store/monitoring.ts';
import type { Store } from '../domain/store/store.ts';
import { type Database, databaseOf } from '../store/open.ts';

/** The arguments of the command line are wrong. */
export class Usage extends Error {}

/** Returns the exit code. */
export type Command = { help: string; run: (argv: string[], config: Config) => Promise<number> };

export const epochSeconds = (): number => Math.floor(Date.now() / 1000);

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

/** The action of a command that has several. */
export function actionOf<A extends string>(command: string, given: string | undefined, actions: readonly A[]): A {
  const action = actions.find((one) => one === given);
  if (action !== undefined) return action;
  const names = `${actions.slice(0, -1).join(', ')} or ${actions.at(-1)}`;
  throw new Usage(given === undefined ? `${command} needs ${names}` : `unknown command '${command} ${given}'`);
}

/** For commands that do not create a database. */
export function requireDatabase(database: Database): void {
  if (!database.exists()) throw new Error(`there is no database at ${database.location} (see DATABASE_URL)`);
}

/** For commands about a file of a database. */
export function requireEmbedded(database: Database, command: string): void {
  if (database.engine === 'sqlite') return;
  throw new Error(
    `${command} is for the embedded database, and this is PostgreSQL: use pg_dump, the backups of your provider, or export (see docs/run/backup.md)`,
  );
}

/** Opens the configured database and migrates it. A command that only reads does not create a new one. */
export async function withStore<T>(
  config: Config,
  mode: 'create' | 'existing',
  use: (store: Store) => Promise<T>,
): Promise<T> {
  const database = databaseOf(config);
  if (mode === 'existing') requireDatabase(database);
  await database.migrate(epochSeconds());
  const store = await database.open();
  try {
    if (!config.changes) await switchFeed(store, false, (text) => void process.stderr.write(`${text}\n`));
    return await use(store);
  } finally {
    await store.close();
  }
}

/** Stores that the data was copied, or why not, for the metrics. If this fails, the copy is as good. */
export async function noteBackup(store: Store, note: Omit<JobNote, 'at'> & { at?: number }): Promise<void> {
  await store.run('noteJob', { at: epochSeconds(), ...note }).catch(() => undefined);
}

const fileErrors: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or folder',
  EISDIR: 'is a folder',
  EACCES: 'permission denied',
};

/** Names the file as the user gave it. */
export function fileError(file: string, error: unknown): Error {
  const { code, message } = error as NodeJS.ErrnoException;
  return new Error(`${file}: ${fileErrors[code ?? ''] ?? message}`);
}

export const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** One line on the terminal, rewritten in place. */
export const showLine = (text: string): void => void process.stderr.write(`\r\x1b[K${text}`);

/** Untrusted text, with control characters escaped so that a terminal does not interpret them. */
export const visible = (text: string): string =>
  text.replaceAll(/[\x00-\x1f\x7f-\x9f]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

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

export const timeOf = (seconds: number | null): string =>
  seconds === null ? '-' : new Date(seconds * 1000).toISOString().replace('.000', '');

/** Prints rows as JSON, one in a line, or as a table. */
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
