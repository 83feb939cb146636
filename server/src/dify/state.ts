import { createHash } from 'node:crypto';
import {
  type CopyProgress,
  copyEnd,
  type FollowTimes,
  followStart,
  type ImportSources,
} from '../domain/store/import-sources.ts';
import type { SourcePoint } from './point.ts';
import type { DifySource, ImportOptions } from './source.ts';

/** The position of an interrupted full sync. `after` is the last id of the stage that was imported. */
export type PassPosition = CopyProgress & { start: SourcePoint; isForced: boolean; stage: string; after: string };

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

/**
 * `revoked`: the times of revocations that imports have made, by key id. `differs`: differences of datasets that remained after a second
 * read, by id. `table`: a table when its ids were compared the last time: the file with its rows, and the time of the newest message.
 */
type Values = { revoked: number; differs: unknown; table: { file: string; newest: number } };

/** The stored state of one source and one selection. */
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

  /** The values of a table, by their keys. */
  async readValues<N extends keyof Values>(table: N): Promise<Map<string, Values[N]>> {
    const start = this.#startOf(table);
    const values = (await this.#imports?.read(this.source)) ?? new Map<string, string>();
    const matching = [...values].filter(([name]) => name.startsWith(start));
    return new Map(matching.map(([name, value]) => [name.slice(start.length), JSON.parse(value)]));
  }

  async writeValues<N extends keyof Values>(table: N, values: ReadonlyMap<string, Values[N]>): Promise<void> {
    const named = [...values].map(([key, value]) => [`${this.#startOf(table)}${key}`, JSON.stringify(value)]);
    if (named.length > 0) await this.#write(Object.fromEntries(named));
  }

  /** What differs depends on what is selected. */
  #startOf(table: keyof Values): string {
    return table === 'differs' ? `${this.#selection} differs ` : `${table} `;
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

  async #write(values: Readonly<Record<string, string | null>>): Promise<void> {
    if (!this.#isDry) await this.#imports?.write(this.source, values);
  }
}
