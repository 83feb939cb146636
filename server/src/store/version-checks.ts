import { unavailable } from '../domain/errors.ts';
import type { MessagePlace, PageFound, PageShape } from '../domain/store.ts';

/** Is a page that we hold in this version current? */
export type VersionCheck = { place: MessagePlace; shape: PageShape; version: string };
export type ConversationVersion = { conversation_id: string; app_id: string; user: string | null; version: string };

type Answer = PageFound | undefined;
type Waiting = {
  check: VersionCheck;
  resolve: (answer: Answer | Promise<Answer>) => void;
  reject: (error: Error) => void;
};

const underWayMax = 2;
const waitingMax = 1_000;

/**
 * Checks that come while others are under way wait for these, and are then asked together: many clients cost a few trips
 * to the server, and one client still costs one. Nothing is answered from before it was asked.
 */
export class VersionChecks {
  readonly #readPage: (check: VersionCheck) => Promise<Answer>;
  readonly #findVersions: (conversation_ids: readonly string[]) => Promise<ConversationVersion[]>;
  #underWay = 0;
  #waiting: Waiting[] = [];

  constructor(
    readPage: (check: VersionCheck) => Promise<Answer>,
    findVersions: (conversation_ids: readonly string[]) => Promise<ConversationVersion[]>,
  ) {
    this.#readPage = readPage;
    this.#findVersions = findVersions;
  }

  async ask(check: VersionCheck): Promise<Answer> {
    if (this.#underWay < underWayMax) return this.#run(() => this.#readPage(check));
    if (this.#waiting.length >= waitingMax) throw unavailable('all database connections are busy');
    return new Promise((resolve, reject) => this.#waiting.push({ check, resolve, reject }));
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

  /** A page that is not current, or not the caller's, is asked for by itself. */
  async #askTogether(waiting: Waiting[]): Promise<void> {
    try {
      const ids = new Set(waiting.map(({ check }) => check.place.conversation_id));
      const found = await this.#run(() => this.#findVersions([...ids]));
      const versions = new Map(found.map((row) => [row.conversation_id, row]));
      for (const { check, resolve } of waiting) {
        resolve(isCurrent(check, versions) ? current(check) : this.#readPage(check));
      }
    } catch (error) {
      for (const { reject } of waiting) reject(error as Error);
    }
  }
}

function isCurrent({ place, version }: VersionCheck, versions: Map<string, ConversationVersion>): boolean {
  const row = versions.get(place.conversation_id);
  if (row?.version !== version || row.app_id !== place.app_id) return false;
  return place.user === undefined || place.user === row.user;
}

const current = ({ version }: VersionCheck): PageFound => ({
  version,
  first_message_exists: true,
  messages: undefined,
});
