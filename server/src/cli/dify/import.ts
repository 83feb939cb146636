import { type Config, difyOwnsData } from '../../config.ts';
import { isUuid } from '../../contract/primitives.ts';
import type { Verified } from '../../dify/compare.ts';
import type { Difference } from '../../dify/find/differing.ts';
import { importFromDify, type RunEvents, type RunResult } from '../../dify/run.ts';
import type { ImportOptions } from '../../dify/source.ts';
import type { Store } from '../../domain/store/store.ts';
import { databaseOf } from '../../store/open.ts';
import { withStore } from '../command.ts';
import {
  flag,
  parse,
  print,
  printTable,
  showLine,
  text,
  texts,
  timeOf,
  timeOption,
  Usage,
  visible,
} from '../terminal.ts';
import { ProgressDisplay, SkipReport, withTime } from './display.ts';
import { followSeconds } from './help.ts';

/** Of conversations that differ, the first are printed. */
const differencesMax = 10;
/** Everything but rare changes is followed within a minute. */
const settleMillis = 75_000;

const selecting = { workspace: texts, app: texts, since: text, console: flag };
const addresses = { 'files-base': text, 'dify-url': text };
const runs = {
  'from-dify': flag,
  verify: flag,
  'dry-run': flag,
  strict: flag,
  'no-keys': flag,
  force: flag,
  follow: text,
};

export async function importDify(argv: string[], config: Config): Promise<number> {
  const { values, positionals } = parse(withFollowValue(argv), { ...selecting, ...addresses, ...runs }, { max: 1 });
  const list = (name: 'workspace' | 'app') => values[name]?.map((id) => uuidOf(name, id));
  const url = positionals[0] ?? config.dify_database_url;
  if (url === undefined) throw new Usage('--from-dify needs DIFY_DATABASE_URL, or a URL');
  const options: ImportOptions = {
    console: values.console === true,
    filesBase: urlOf('--files-base', values['files-base']),
    workspaceIds: list('workspace'),
    appIds: list('app'),
    since: values.since === undefined ? undefined : timeOption('--since', values.since),
    keys: values['no-keys'] !== true,
  };
  const isVerifying = values.verify === true;
  const isDry = isVerifying || values['dry-run'] === true;
  const follow = values.follow === undefined ? undefined : followOf(values.follow);
  if (isDry && follow !== undefined) throw new Usage(`--${isVerifying ? 'verify' : 'dry-run'} does not allow --follow`);
  const isOwner = difyOwnsData(config);
  const isForced = values.force === true;
  const models = modelsOf(values['dify-url'], config);
  const verifying = isVerifying ? { settleMillis } : {};
  const run = { isDry, isForced, isOwner, models, follow, clock: Date.now, ...verifying };
  const skips = new SkipReport(values.strict === true, isDry);
  const stop = new AbortController();
  const abort = () => stop.abort();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, abort);
  let differs = false;
  try {
    const result = await withTarget(config, isDry, (store) =>
      importFromDify(url, store, options, run, skips, eventsOf(isDry), stop.signal),
    );
    differs = printResult(result, skips, isDry);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    print('stopped; the next run continues');
  } finally {
    showLine('');
    skips.close();
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.removeListener(name, abort);
  }
  if (differs) return 1;
  // A follower that is stopped has done its work.
  return skips.total > 0 && !(follow !== undefined && stop.signal.aborted) ? 3 : 0;
}

/** The value of --follow may be left out. */
function withFollowValue(argv: readonly string[]): string[] {
  const at = argv.indexOf('--follow');
  if (at === -1) return [...argv];
  const next = argv[at + 1];
  const isSeconds = next !== undefined && /^\d/.test(next);
  const value = `--follow=${isSeconds ? next : followSeconds}`;
  return [...argv.slice(0, at), value, ...argv.slice(at + (isSeconds ? 2 : 1))];
}

function followOf(text: string): number {
  const seconds = /^\d{1,5}(\.\d+)?$/.test(text) ? Number(text) : 0;
  if (seconds <= 0) throw new Usage(`--follow ${text}: must be a number of seconds`);
  return seconds;
}

function uuidOf(option: string, text: string): string {
  if (!isUuid(text)) throw new Usage(`--${option} ${text}: must be a UUID`);
  return text.toLowerCase();
}

function urlOf(option: string, text: string | undefined): string | undefined {
  if (text !== undefined && !/^https?:\/\/[^/\s]+/.test(text))
    throw new Usage(`${option}: must be http:// or https://`);
  return text;
}

function modelsOf(given: string | undefined, config: Config) {
  const url = urlOf('--dify-url', given);
  if (url === undefined) return undefined;
  const keys = (config.dify_api_key ?? '').split(',').filter((key) => key !== '');
  if (keys.length === 0) throw new Usage('--dify-url needs a knowledge key in DIFY_API_KEY');
  return { url, keys };
}

/** A dry run neither creates nor migrates the database. Without one, everything is new. */
async function withTarget<T>(
  config: Config,
  isDry: boolean,
  use: (store: Store | undefined) => Promise<T>,
): Promise<T> {
  if (!isDry) return withStore(config, 'create', use);
  const database = databaseOf(config);
  if (!database.exists()) return use(undefined);
  const { current, pending } = await database.status();
  if (current === 0) return use(undefined);
  if (pending.length > 0) throw new Error('the database needs a migration first: run backscroll migrate');
  const store = await database.open();
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

function eventsOf(isDry: boolean): RunEvents {
  const display = new ProgressDisplay();
  let differences = 0;
  const printProblem = (text: string) => {
    showLine('');
    process.stderr.write(`${withTime(visible(text))}\n`);
  };
  return {
    begin: (schema, kind) => {
      const work = isDry ? 'reading' : 'importing';
      const begun = {
        verify: 'comparing all records',
        full: `${work} all records`,
        resumed: `${work} the rest of an interrupted run`,
        changes: `${work} changes`,
      };
      print(`Dify with schema ${visible(schema)}: ${begun[kind]}`);
    },
    progress: (progress) => display.showProgress(progress),
    difference: ({ kind, id, source, target }) => {
      differences += 1;
      if (differences > differencesMax) return;
      showLine('');
      print(`${kind} ${id} differs: in Dify ${countsOf(source)}; in Backscroll ${countsOf(target)}`);
    },
    complete: (messages) => {
      showLine('');
      print(withTime(`complete: read ${messages.toLocaleString('en')} messages, and follows what changes`));
    },
    lag: (lag, written) => display.showLag(lag, written),
    warning: printProblem,
    elsewhere: () => printProblem('another process follows this Dify installation; waiting until it ends'),
    unavailable: (error) => printProblem(error?.message ?? 'the Dify database responds again'),
  };
}

function countsOf(one: Difference['source'] | undefined): string {
  if (one === undefined) return 'missing';
  if ('messages' in one) return `${one.messages} messages, newest ${timeOf(one.newest)}`;
  return `${one.documents} documents, ${one.segments} segments, ${one.child_chunks} child chunks`;
}

/** Whether a comparison of all records has found differences. */
function printResult(
  { counts, compared, differences, verified }: RunResult,
  skips: SkipReport,
  isDry: boolean,
): boolean {
  showLine('');
  if (verified !== undefined) return printVerified(verified, skips);
  const rows = [...counts].map(([kind, { read, written }]) => [kind, `${read}`, `${written}`]);
  if (rows.length > 0) printTable([['kind', 'read', isDry ? 'to write' : 'written'], ...rows]);
  skips.print();
  if (isDry) {
    print('nothing was written');
    return false;
  }
  const more = differences > differencesMax ? `, ${differences - differencesMax} of them not shown` : '';
  const found = differences === 0 ? 'no differences' : `${differences} differ${more}`;
  print(`compared ${compared} conversations: ${found}`);
  return false;
}

function printVerified({ compared, differing }: Verified, skips: SkipReport): boolean {
  skips.print();
  let total = 0;
  for (const [kind, ids] of differing) {
    total += ids.length;
    print(
      `${kind}: ${ids.length} differ: ${ids.slice(0, differencesMax).join(', ')}${ids.length > differencesMax ? ', …' : ''}`,
    );
  }
  print(`compared ${compared} records: ${total === 0 ? 'no differences' : `${total} differ`}`);
  return total > 0;
}
