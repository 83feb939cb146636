import { createHash } from 'node:crypto';
import {
  type CopyProgress,
  copyEnd,
  type FollowTimes,
  followStart,
  type ImportSources,
} from '../domain/store/import-sources.ts';
import type { SourcePoint } from './point.ts';
import type { DifySource, ImportOptions, PendingKind, Target } from './source.ts';

const batchIds = 5_000;
const pendingList = (kind: PendingKind): string => `pending ${kind}`;

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
 * The stored state of one source: points of each selection, lists of ids, and rows that are pending. `listIds` and the like have the
 * ids of records that came from the source by their kind; messages with feedback of the source (`feedback`); records that an
 * import has marked as deleted (`deleted KIND`); and revocations that imports have made (`revocation`).
 */
export class SourceState {
  readonly #imports: ImportSources | undefined;
  readonly #isDry: boolean;
  readonly #selection: string;
  readonly source: string;

  /** Without `imports` nothing is stored yet. If `isDry`, nothing is written. */
  constructor(imports: ImportSources | undefined, source: string, options: ImportOptions, isDry: boolean) {
    this.#imports = imports;
    this.#isDry = isDry;
    this.source = source;
    this.#selection = selectionOf(options);
  }

  /** The start of the last complete sync, the position in a sync that is not complete, and how far a follower was. */
  async read(): Promise<{
    complete: SourcePoint | undefined;
    position: PassPosition | undefined;
    followed: FollowPoint | undefined;
  }> {
    const values = await this.#imports?.read(this.source);
    const parse = (name: string) => {
      const value = values?.get(`${this.#selection} ${name}`);
      return value === undefined ? undefined : JSON.parse(value);
    };
    const followed = values?.get(this.#followName);
    return {
      complete: parse('complete'),
      position: parse(copyEnd.trim()),
      followed: followed === undefined ? undefined : JSON.parse(followed),
    };
  }

  /** Null: the source is not followed. */
  async writeFollowed(followed: FollowPoint | null): Promise<void> {
    await this.#write({ [this.#followName]: followed === null ? null : JSON.stringify(followed) });
  }

  get #followName(): string {
    return `${followStart}${this.#selection}`;
  }

  async writePosition(position: PassPosition): Promise<void> {
    await this.#write({ [`${this.#selection}${copyEnd}`]: JSON.stringify(position) });
  }

  async complete(start: SourcePoint): Promise<void> {
    await this.#write({
      [`${this.#selection} complete`]: JSON.stringify(start),
      [`${this.#selection}${copyEnd}`]: null,
    });
  }

  async readTable(table: string): Promise<ComparedTable | undefined> {
    const value = (await this.#imports?.read(this.source))?.get(`table ${table}`);
    return value === undefined ? undefined : JSON.parse(value);
  }

  async writeTable(table: string, compared: ComparedTable): Promise<void> {
    await this.#write({ [`table ${table}`]: JSON.stringify(compared) });
  }

  async listIds(kind: string, after: string, limit: number): Promise<string[]> {
    return (await this.#imports?.listIds(this.source, kind, after, limit)) ?? [];
  }

  async countIds(kind: string): Promise<number | undefined> {
    return this.#imports?.countIds(this.source, kind);
  }

  async findIds(kind: string, ids: readonly string[]): Promise<Set<string>> {
    return (await this.#imports?.findIds(this.source, kind, ids)) ?? new Set();
  }

  async addIds(kind: string, ids: readonly string[]): Promise<void> {
    if (ids.length > 0 && !this.#isDry) await this.#imports?.addIds(this.source, kind, ids);
  }

  async removeIds(kind: string, ids: readonly string[]): Promise<void> {
    if (ids.length > 0 && !this.#isDry) await this.#imports?.removeIds(this.source, kind, ids);
  }

  /** Rows that must be read, with all of their children, whatever has changed since: they outlive a kill. */
  async listPending(kind: PendingKind): Promise<string[]> {
    const ids: string[] = [];
    for (let after: string | undefined = ''; after !== undefined; ) {
      const batch: string[] = await this.listIds(pendingList(kind), after, batchIds);
      ids.push(...batch);
      after = batch.length === batchIds ? batch.at(-1) : undefined;
    }
    return ids;
  }

  findPending(kind: PendingKind, ids: readonly string[]): Promise<Set<string>> {
    return this.findIds(pendingList(kind), ids);
  }

  addPending(kind: PendingKind, ids: readonly string[]): Promise<void> {
    return this.addIds(pendingList(kind), ids);
  }

  /** Rows that are not pending are ignored. */
  async endPending(kind: PendingKind, ids: readonly string[]): Promise<void> {
    await this.removeIds(pendingList(kind), [...(await this.findPending(kind, ids))]);
  }

  async #write(values: Readonly<Record<string, string | null>>): Promise<void> {
    if (!this.#isDry) await this.#imports?.write(this.source, values);
  }
}
