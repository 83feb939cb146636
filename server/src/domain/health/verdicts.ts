import { type Verdict, verdictStates } from '../../contract/console/health.ts';
import type { JobState } from '../store/monitoring.ts';
import type { DatabaseState } from './read-state.ts';

/** Requests of the last hour that failed with a status of 500 or above. */
type LastHour = { requests: number; failed: number; last: { at: number; message: string } | undefined };

/** The upstream since the start of the instance. `isAvailable`: undefined if it was not asked lately. */
type UpstreamFacts = {
  isAvailable: boolean | undefined;
  passed_on: number;
  errors: number;
  response_millis: number | null;
  /** The last error of the last hour. */
  last: { at: number; message: string } | undefined;
};

/** What the verdicts are about. Times are in seconds; what is not used, or did not respond in time, is undefined. */
export type HealthFacts = Pick<DatabaseState, 'dify' | 'copy' | 'jobs' | 'copies' | 'size'> & {
  now: number;
  version: string;
  upSeconds: number;
  lastHour: LastHour;
  upstream: UpstreamFacts | undefined;
  /** A text: why it is off. */
  search: DatabaseState['search'] | string;
  isDamaged: boolean;
  /** Seconds between two backups. */
  backup_every: number;
};

type State = Verdict['state'];

/** A share of failed requests of the last hour that is worth a look, and one that is a failure if there are some. */
const failedShareWarn = 0.01;
const failedShareFail = 0.1;
const failedMin = 10;
/** Seconds that a copy, or the search, may be behind. */
const lagWarn = 60;
const lagFail = 600;
const hour = 3_600;
const day = 24 * hour;

const healthView = '/console#/overview/health';
const guide = (name: string) => `/docs#guide/${name}`;

/** The verdicts, worst first. */
export function verdictsOf(facts: HealthFacts): Verdict[] {
  const verdict = (name: Verdict['name'], link: string | null, result: readonly [State, string] | undefined) =>
    result === undefined ? [] : [{ name, state: result[0], text: result[1], link }];
  const badness = ({ state }: Verdict) => verdictStates.indexOf(state);
  return [
    ...verdict('requests', healthView, requests(facts)),
    ...verdict('upstream', healthView, facts.upstream && upstream(facts.upstream, facts.now)),
    ...verdict('dify', guide('coming-from-dify'), dify(facts)),
    ...verdict('search', guide('feed-and-search'), search(facts)),
    ...verdict('backup', guide('backup'), backup(facts)),
    ...verdict('retention', guide('retention-and-erasure'), retention(facts)),
    ...verdict('erased_copies', guide('retention-and-erasure'), erasedCopies(facts)),
    ...verdict('database', guide('databases'), database(facts)),
    ...verdict('service', null, ['ok', `Version ${facts.version}, up ${duration(facts.upSeconds)}`]),
  ].sort((one, other) => badness(other) - badness(one));
}

export const worstOf = (verdicts: readonly Verdict[]): State => verdicts[0]?.state ?? 'ok';

/** `40 s`, `9 min`, `26 h`, `3 days` */
function duration(seconds: number): string {
  const rounded = Math.max(0, Math.floor(seconds));
  if (rounded < 60) return `${rounded} s`;
  if (rounded < hour) return `${Math.floor(rounded / 60)} min`;
  return rounded < 2 * day ? `${Math.floor(rounded / hour)} h` : `${Math.floor(rounded / day)} days`;
}

const above = (value: number, warn: number, fail: number): State =>
  value > fail ? 'fail' : value > warn ? 'warn' : 'ok';

function requests({ lastHour: { requests, failed, last }, now }: HealthFacts): [State, string] {
  if (last === undefined) return ['ok', 'No failed request in the last hour'];
  const share = failed / Math.max(1, requests);
  const ofAll = failed === 0 ? '' : ` (${failed} of ${requests} requests failed in the last hour)`;
  return [
    above(share, failedShareWarn, failed < failedMin ? 1 : failedShareFail),
    `Last error ${duration(now - last.at)} ago: ${last.message}${ofAll}`,
  ];
}

function upstream(facts: UpstreamFacts, now: number): [State, string] {
  const { isAvailable, passed_on, errors, response_millis, last } = facts;
  const lost = errors === 0 ? '' : `, ${errors} of ${passed_on} requests got no response`;
  const why = last === undefined ? '' : `, last ${duration(now - last.at)} ago: ${last.message}`;
  if (isAvailable === false) return ['fail', `Upstream does not respond${why || lost}`];
  if (response_millis === null) return ['ok', 'Upstream was not asked yet'];
  return ['ok', `Upstream answers in ${Math.round(response_millis)} ms${lost}${why}`];
}

function dify({ dify: lag, copy }: HealthFacts): [State, string] | undefined {
  if (copy !== undefined) {
    const share = copy.total ? `, ${Math.min(99, Math.floor((100 * copy.done) / copy.total))} % done` : '';
    return ['warn', `Dify is being copied${share}`];
  }
  if (lag === undefined) return undefined;
  const seconds = Math.max(lag.messages_lag_seconds, lag.others_lag_seconds);
  return [above(seconds, lagWarn, lagFail), `Dify copy ${duration(seconds)} behind`];
}

function search({ search: index, now }: HealthFacts): [State, string] | undefined {
  if (index === undefined) return undefined;
  if (typeof index === 'string') return ['ok', 'Search is off'];
  if (index.isBuilding) return ['warn', 'Search index is being built'];
  const seconds = index.oldest === null ? 0 : now - index.oldest;
  const age = index.changes === 0 ? '' : ` change${index.changes === 1 ? '' : 's'}, ${duration(seconds)}`;
  return [above(seconds, lagWarn, lagFail), `Search ${index.changes}${age} behind`];
}

/** Backups of PostgreSQL are usually made by its own tools, which this service does not see. */
function backup({ jobs, size, backup_every, now }: HealthFacts): [State, string] | undefined {
  const isCopy = ({ kind }: JobState) => kind === 'store' || kind === 'backup';
  const last = jobs?.filter(isCopy).toSorted((one, other) => (other.at ?? 0) - (one.at ?? 0))[0];
  if (last === undefined || last.at === null) {
    if (last?.failure) return ['fail', `No backup succeeded: ${last.failure}`];
    return jobs && size?.isEmbedded ? ['warn', 'No backup yet'] : undefined;
  }
  const age = `Backup ${duration(now - last.at)} old`;
  const failing = jobs?.find(({ kind, failing_since }) => kind === 'store' && failing_since !== null);
  if (failing) return ['fail', `${age}; backups fail: ${failing.failure}`];
  // One may be late, and a large one takes a while.
  return [now - last.at > 2 * backup_every + hour ? 'warn' : 'ok', age];
}

function retention({ jobs, now }: HealthFacts): [State, string] | undefined {
  const job = jobs?.find(({ kind }) => kind === 'retention');
  if (job === undefined) return undefined;
  const ran = job.at === null ? 'never ran' : `ran ${duration(now - job.at)} ago`;
  return job.failing_since === null
    ? ['ok', `Retention ${ran}`]
    : ['fail', `Retention fails: ${job.failure}; it ${ran}`];
}

function erasedCopies({ copies, now }: HealthFacts): [State, string] | undefined {
  const since = copies?.waiting_since ?? null;
  if (since === null || now - since < lagWarn) return undefined;
  return ['warn', `Erased texts are left in the files for ${duration(now - since)}`];
}

function database({ isDamaged, size }: HealthFacts): [State, string] {
  if (isDamaged) return ['fail', 'Damaged pages were found in the database'];
  if (size === undefined) return ['fail', 'Database does not respond'];
  const instances = size.instances > 1 ? `, ${size.instances} instances` : '';
  return ['ok', `Database ${bytesText(size.bytes)}${instances}`];
}

function bytesText(bytes: number): string {
  const power = Math.min(4, Math.max(2, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
  const value = bytes / 1000 ** power;
  return `${value >= 100 ? Math.round(value) : value.toFixed(1)} ${['', '', 'MB', 'GB', 'TB'][power]}`;
}
