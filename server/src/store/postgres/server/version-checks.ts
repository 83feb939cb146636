import { asError, unavailable } from '../../../domain/errors.ts';
import type { FoundPage, PagePosition, PageShape } from '../../../domain/store/store.ts';
import { connectionsBusy } from '../pool/errors.ts';
import type { PostgresPool } from '../pool/pool.ts';
import { readPage } from './page.ts';
import { type ConversationVersion, findVersions } from './statements.ts';

/** A cached page, to check whether it is current. */
type VersionCheck = { position: PagePosition; shape: PageShape; version: string };

type Result = FoundPage | undefined;
type WaitingCheck = {
  check: VersionCheck;
  since: number;
  resolve: (result: Result) => void;
  reject: (error: Error) => void;
};

const inFlightMax = 2;
const waitingMax = 1_000;

/**
 * Checks that arrive while others are in flight wait for them, and then share one statement: the checks of many clients
 * need a few round trips to the server, and that of a single client needs one. A result is never older than its check.
 */
export class VersionChecks {
  readonly #pool: PostgresPool;
  #inFlight = 0;
  #waiting: WaitingCheck[] = [];

  constructor(pool: PostgresPool) {
    this.#pool = pool;
  }

  async check(check: VersionCheck): Promise<Result> {
    if (this.#inFlight < inFlightMax) return this.#run(() => this.#readPage(check));
    if (this.#waiting.length >= waitingMax) throw connectionsBusy();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ check, since: performance.now(), resolve, reject });
    });
  }

  #readPage({ position, shape, version }: VersionCheck): Promise<Result> {
    return readPage(this.#pool, position, shape, version);
  }

  async #run<T>(work: () => Promise<T>): Promise<T> {
    this.#inFlight += 1;
    try {
      return await work();
    } finally {
      this.#inFlight -= 1;
      if (this.#waiting.length > 0) void this.#checkTogether(this.#waiting.splice(0));
    }
  }

  async #checkTogether(waiting: WaitingCheck[]): Promise<void> {
    const timer = this.#failInTime(waiting);
    try {
      const ids = new Set(waiting.map(({ check }) => check.position.conversation_id));
      const rows = await this.#run(() => this.#pool.query(findVersions, [...ids]));
      const versions = new Map(rows.map((row) => [row.conversation_id, row]));
      await Promise.all(waiting.map((one) => this.#settle(one, versions)));
    } catch (error) {
      for (const { reject } of waiting) reject(asError(error));
    } finally {
      clearTimeout(timer);
    }
  }

  /** A page that is not current, or not the caller's, is read by itself. */
  async #settle({ check, resolve, reject }: WaitingCheck, versions: Map<string, ConversationVersion>): Promise<void> {
    if (isCurrent(check, versions)) resolve(unchanged(check));
    else await this.#readPage(check).then(resolve, reject);
  }

  /** The time limit includes the wait for others. One timer for all: the first check has waited longest, and not much longer than the others. */
  #failInTime(waiting: readonly WaitingCheck[]): NodeJS.Timeout {
    const waited = performance.now() - (waiting[0]?.since ?? 0);
    return setTimeout(
      () => {
        for (const { reject } of waiting) reject(unavailable('the database is not available'));
      },
      Math.max(0, this.#pool.statementMillis - waited),
    );
  }
}

function isCurrent({ position, version }: VersionCheck, versions: Map<string, ConversationVersion>): boolean {
  const row = versions.get(position.conversation_id);
  if (row?.version !== version || row.app_id !== position.app_id) return false;
  return position.user === undefined || position.user === row.user;
}

const unchanged = ({ version }: VersionCheck): FoundPage => ({
  version,
  first_message_exists: true,
  messages: undefined,
});
