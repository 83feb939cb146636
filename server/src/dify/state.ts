import { createHash } from 'node:crypto';
import type { Doubt } from '../domain/store/doubts.ts';
import { type CopyProgress, copyEnd, type FollowTimes, followStart } from '../domain/store/import-sources.ts';
import type { Store } from '../domain/store/store.ts';
import type { DifySource, ImportOptions, PendingKind, SourcePoint, Target } from './source.ts';

const batchIds = 5_000;
const pendingList = (kind: PendingKind): string => `pending ${kind}`;
/** Objects in doubt that one poll reads. */
const doubtsMax = 1_000;

/** The position of an interrupted full sync. `after` is the last id of the stage that was imported. */
export type PassPosition = CopyProgress & { start: SourcePoint; isForced: boolean; stage: Stage; after: string };
export type Stage = Exclude<Target, 'message'>;

/** The installation, by its content: a restored copy has the same oldest workspace. */
export async function readSourceId(source: DifySource): Promise<string> {
  if (!source.has('tenants') || !source.has('messages'))
    throw new Error('this is not the database of a Dify installation');
  const order = source.has('tenants', 'created_at') ? 'created_at, id' : 'id';
  const [row] = await source.query<{ id: string }>(`SELECT id FROM tenants ORDER BY ${order} LIMIT 1`, []);
  if (row === undefined) throw new Error('the Dify database has no workspace');
  return `dify ${row.id}`;
}

/** Options that decide which rows are read, or how. Another selection begins with a full sync of its own. */
function selectionOf({ keys: _keys, ...selection }: ImportOptions): string {
  const sorted = {
    ...selection,
    workspaceIds: selection.workspaceIds?.toSorted(),
    appIds: selection.appIds?.toSorted(),
  };
  return createHash('sha256').update(JSON.stringify(sorted)).digest('hex').slice(0, 16);
}

/** The name of the value that a source has when everything of a selection was read. */
export const completeName = (options: ImportOptions): string => `${selectionOf(options)} complete`;

/** Progress of a follower: messages that were committed before `messages` are stored. */
export type FollowPoint = { messages: SourcePoint } & FollowTimes;

/** A table when its ids were compared the last time: the file with its rows, and the time of the newest message. */
export type ComparedTable = { file: string; newest: number };

/**
 * The stored state of one source is of three kinds. Points of each selection. Lists of ids: of records that came from the source by
 * their kind, of messages with feedback of the source (`feedback`), of records that an import has marked as deleted (`deleted KIND`),
 * and of revocations that imports have made (`revocation`). And pending rows, which must be read whatever has changed since.
 */
export class SourceState {
  readonly #store: Store | undefined;
  readonly #isDry: boolean;
  readonly #selection: string;
  readonly #followName: string;
  readonly source: string;

  /** Without `store` nothing is stored yet. If `isDry`, nothing is written. */
  constructor(store: Store | undefined, source: string, options: ImportOptions, isDry: boolean) {
    this.#store = store;
    this.#isDry = isDry;
    this.source = source;
    this.#selection = selectionOf(options);
    this.#followName = `${followStart}${this.#selection}`;
  }

  /** The start of the last complete sync, the position in a sync that is not complete, and how far a follower was. */
  async read() {
    return {
      complete: await this.#readValue<SourcePoint>(`${this.#selection} complete`),
      position: await this.#readValue<PassPosition>(`${this.#selection}${copyEnd}`),
      followed: await this.#readValue<FollowPoint>(this.#followName),
    };
  }

  /** Null: the source is not followed. */
  async writeFollowed(followed: FollowPoint | null): Promise<void> {
    await this.#write({ [this.#followName]: followed });
  }

  async writePosition(position: PassPosition): Promise<void> {
    await this.#write({ [`${this.#selection}${copyEnd}`]: position });
  }

  async complete(start: SourcePoint): Promise<void> {
    await this.#write({ [`${this.#selection} complete`]: start, [`${this.#selection}${copyEnd}`]: null });
  }

  readTable(table: string): Promise<ComparedTable | undefined> {
    return this.#readValue(`table ${table}`);
  }

  async writeTable(table: string, compared: ComparedTable): Promise<void> {
    await this.#write({ [`table ${table}`]: compared });
  }

  async listIds(kind: string, after: string, limit: number): Promise<string[]> {
    return (await this.#store?.imports.listIds(this.source, kind, after, limit)) ?? [];
  }

  async listAll(kind: string): Promise<string[]> {
    const ids: string[] = [];
    for (;;) {
      const batch = await this.listIds(kind, ids.at(-1) ?? '', batchIds);
      ids.push(...batch);
      if (batch.length < batchIds) return ids;
    }
  }

  async countIds(kind: string): Promise<number | undefined> {
    return this.#store?.imports.countIds(this.source, kind);
  }

  async findIds(kind: string, ids: readonly string[]): Promise<Set<string>> {
    return (await this.#store?.imports.findIds(this.source, kind, ids)) ?? new Set();
  }

  async addIds(kind: string, ids: readonly string[]): Promise<void> {
    if (ids.length > 0 && !this.#isDry) await this.#store?.imports.addIds(this.source, kind, ids);
  }

  async removeIds(kind: string, ids: readonly string[]): Promise<void> {
    if (ids.length > 0 && !this.#isDry) await this.#store?.imports.removeIds(this.source, kind, ids);
  }

  listPending(kind: PendingKind): Promise<string[]> {
    return this.listAll(pendingList(kind));
  }

  findPending(kind: PendingKind, ids: readonly string[]): Promise<Set<string>> {
    return this.findIds(pendingList(kind), ids);
  }

  /** With all of their children. They outlive a kill. */
  addPending(kind: PendingKind, ids: readonly string[]): Promise<void> {
    return this.addIds(pendingList(kind), ids);
  }

  /** Rows that are not pending are ignored. */
  async endPending(kind: PendingKind, ids: readonly string[]): Promise<void> {
    await this.removeIds(pendingList(kind), [...(await this.findPending(kind, ids))]);
  }

  /** Pending objects that requests have changed in the source, and could not store in time: nothing in doubt is served from here. */
  async listDoubts(): Promise<Doubt[]> {
    return (await this.#store?.doubts.list(doubtsMax)) ?? [];
  }

  async endDoubts(doubts: readonly Doubt[]): Promise<void> {
    if (doubts.length > 0 && !this.#isDry) await this.#store?.run('endDoubts', doubts);
  }

  async #readValue<V>(name: string): Promise<V | undefined> {
    const value = (await this.#store?.imports.read(this.source))?.get(name);
    return value === undefined ? undefined : JSON.parse(value);
  }

  async #write(values: Readonly<Record<string, object | null>>): Promise<void> {
    const texts = Object.entries(values).map(([name, value]) => [name, value === null ? null : JSON.stringify(value)]);
    if (!this.#isDry) await this.#store?.imports.write(this.source, Object.fromEntries(texts));
  }
}
