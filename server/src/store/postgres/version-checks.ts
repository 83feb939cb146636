import { unavailable } from '../../domain/errors.ts';
import type { FoundPage, MessagePlace, PageShape } from '../../domain/store.ts';

/** Is a page that we hold in this version current? */
export type VersionCheck = { place: MessagePlace; shape: PageShape; version: string };
export type ConversationVersion = { conversation_id: string; app_id: string; user: string | null; version: string };

type Answer = FoundPage | undefined;
type Waiting = {
  check: VersionCheck;
  since: number;
  resolve: (response: Answer) => void;
  reject: (error: Error) => void;
};
type Ask = {
  readPage: (check: VersionCheck) => Promise<Answer>;
  findVersions: (conversation_ids: readonly string[]) => Promise<ConversationVersion[]>;
  /** A check that has waited so long for its answer is given up, whatever it waited for. */
  millisMax: number;
};

const underWayMax = 2;
const waitingMax = 1_000;

/**
 * Checks that come while others are under way wait for these, and are then asked together: many clients cost a few trips
 * to the server, and one client still costs one. Nothing is answered from before it was asked.
 */
export class VersionChecks {
  readonly #ask: Ask;
  #underWay = 0;
  #waiting: Waiting[] = [];

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  async ask(check: VersionCheck): Promise<Answer> {
    if (this.#underWay < underWayMax) return this.#run(() => this.#ask.readPage(check));
    if (this.#waiting.length >= waitingMax) throw unavailable('all database connections are busy');
    return new Promise((resolve, reject) => {
      this.#waiting.push({ check, since: performance.now(), resolve, reject });
    });
  }

  async #run<T>(work: () => Promise<T>): Promise<T> {
    this.#underWay += 1;
    try {
      return await work();
    } finally {
      this.#underWay -= 1;
      if (this.#waiting.length > 0) void this.#askTogether(this.#waiting.splice(0));
    }
  }

  async #askTogether(waiting: Waiting[]): Promise<void> {
    const timer = this.#giveUpInTime(waiting);
    try {
      const ids = new Set(waiting.map(({ check }) => check.place.conversation_id));
      const found = await this.#run(() => this.#ask.findVersions([...ids]));
      const versions = new Map(found.map((row) => [row.conversation_id, row]));
      await Promise.all(waiting.map((one) => this.#settle(one, versions)));
    } catch (error) {
      for (const { reject } of waiting) reject(error as Error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** A page that is not current, or not the caller's, is asked for by itself. */
  async #settle({ check, resolve, reject }: Waiting, versions: Map<string, ConversationVersion>): Promise<void> {
    if (isCurrent(check, versions)) resolve(current(check));
    else await this.#ask.readPage(check).then(resolve, reject);
  }

  /** The one that came first has waited longest, and not much longer than the others. */
  #giveUpInTime(waiting: readonly Waiting[]): NodeJS.Timeout {
    const waited = performance.now() - (waiting[0]?.since ?? 0);
    return setTimeout(
      () => {
        for (const { reject } of waiting) reject(unavailable('the database cannot answer'));
      },
      Math.max(0, this.#ask.millisMax - waited),
    );
  }
}

function isCurrent({ place, version }: VersionCheck, versions: Map<string, ConversationVersion>): boolean {
  const row = versions.get(place.conversation_id);
  if (row?.version !== version || row.app_id !== place.app_id) return false;
  return place.user === undefined || place.user === row.user;
}

const current = ({ version }: VersionCheck): FoundPage => ({
  version,
  first_message_exists: true,
  messages: undefined,
});
