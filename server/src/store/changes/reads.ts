import { type ChangeKind, changeKinds } from '../../contract/change.ts';
import { limits } from '../../contract/limits.ts';
import {
  type ChangeCounts,
  type ChangedIds,
  type ChangePosition,
  type ChangeReads,
  type ChangeScope,
  type ChangesHead,
  type FoundChange,
  type FoundChanges,
  newEpoch,
} from '../../domain/change-reads.ts';
import type { Engine, Row, Value } from '../engine.ts';
import * as numbering from './numbering.ts';
import { RecordReader } from './records.ts';
import { type Candidate, keysStatement, sourceOf } from './sources.ts';

const batch = limits.changesBatchMax;
const findEntries = (ofWorkspace: boolean): string => `
  SELECT kind, scope, id, position, at, workspace_id, owner FROM changes
  WHERE ${ofWorkspace ? 'workspace_id = ? AND ' : ''} position > ? AND position <= ? ORDER BY position LIMIT ${batch}`;

/** The change feed, on either engine. */
export class SqlChangeReads implements ChangeReads {
  readonly #engine: Engine;
  readonly #records: RecordReader;
  readonly #owners;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#records = new RecordReader(engine);
    this.#owners = numbering.ownerStatements(engine.dialect);
  }

  async number(): Promise<ChangesHead> {
    // Without notes there is nothing to number, and a reader needs no write.
    if ((await this.#engine.read(numbering.findAnyNote)).length === 0) return this.head();
    for (;;) {
      const { hasMore, ...head } = await this.#engine.write('numberChanges', undefined);
      if (!hasMore) return head;
    }
  }

  async head(): Promise<ChangesHead> {
    const [row] = await this.#engine.read(numbering.findHead);
    return row as ChangesHead;
  }

  async hasNews(since: ChangesHead): Promise<boolean> {
    const { epoch, position } = await this.head();
    if (epoch !== since.epoch || position > since.position) return true;
    return (await this.#engine.read(numbering.findAnyNote)).length > 0;
  }

  async count(): Promise<ChangeCounts> {
    const [row] = await this.#engine.read(numbering.countNotes);
    return { ...(await this.head()), notes: Number(row?.n), oldestNote: row?.oldest as number | null };
  }

  async startEpoch(epoch = newEpoch()): Promise<ChangesHead> {
    await this.#engine.write('startEpoch', { epoch });
    return this.head();
  }

  read(place: ChangePosition, scope: ChangeScope, limit: number): Promise<FoundChanges> {
    return place.replay === undefined ? this.#readEntries(place, scope, limit) : this.#replay(place, scope, limit);
  }

  async readIds(place: ChangePosition, kinds: readonly ChangeKind[]): Promise<ChangedIds> {
    if (place.replay !== undefined) {
      const { kind } = place.replay;
      const { rows, next } = await this.#replayKeys(place, kinds);
      const changes = rows.map((row) => ({
        at: placeOf(kind, row, place.position),
        kind,
        scope: row.change_scope as string,
        id: row.change_id as string,
      }));
      return { changes, next, hasMore: true };
    }
    const { rows, next, hasMore } = await this.#entriesAfter(place.position, undefined);
    const wanted = rows.filter(({ kind }) => kinds.includes(kind));
    return {
      changes: wanted.map(({ position, kind, scope, id }) => ({ at: { position }, kind, scope, id })),
      next: { position: next },
      hasMore,
    };
  }

  /** `next` is the position behind them. */
  async #entriesAfter(
    position: number,
    workspace_id: string | undefined,
  ): Promise<{ rows: numbering.Entry[]; next: number; hasMore: boolean }> {
    const head = (await this.number()).position;
    const inWorkspace = workspace_id === undefined ? [] : [workspace_id];
    const statement = findEntries(workspace_id !== undefined);
    const rows = (await this.#engine.read(statement, ...inWorkspace, position, head)) as unknown as numbering.Entry[];
    const isAll = rows.length < batch;
    return { rows, next: isAll ? head : (rows.at(-1)?.position ?? head), hasMore: !isAll };
  }

  async #readEntries({ position }: ChangePosition, scope: ChangeScope, limit: number): Promise<FoundChanges> {
    const { rows, next: end, hasMore } = await this.#entriesAfter(position, scope.workspace_id);
    const candidates = rows
      .filter((row) => isVisible(row, scope))
      .map(({ position: at, ...entry }) => ({ ...entry, place: { position: at } }));
    const { changes, next } = await this.#attach(candidates, scope, limit);
    if (next !== undefined) return { changes, next, hasMore: true };
    return { changes, next: { position: end }, hasMore };
  }

  /** Reads the tables, one after another, in the order of their keys. The entries since `position` follow. */
  async #replay(place: ChangePosition, scope: ChangeScope, limit: number): Promise<FoundChanges> {
    const { position } = place;
    const { kind, rows, next: end } = await this.#replayKeys(place, scope.kinds);
    const candidates = await this.#ownedBy(kind, rows, position);
    const visible = candidates.filter((candidate) => isVisible(candidate, scope));
    const { changes, next } = await this.#attach(visible, scope, limit);
    const present = changes.filter(({ line }) => line !== undefined);
    if (next !== undefined) return { changes: present, next, hasMore: true };
    return { changes: present, next: end, hasMore: true };
  }

  /** The next rows of a table. `next` is the place behind them: if they are the last ones, the next table. */
  async #replayKeys(
    { position, replay }: ChangePosition,
    kinds: readonly ChangeKind[] | undefined,
  ): Promise<{ kind: ChangeKind; rows: Row[]; next: ChangePosition }> {
    if (replay === undefined) throw new Error('nothing to replay');
    const { kind, key } = replay;
    const isFirst = key.length === 0;
    const isWanted = kinds?.includes(kind) ?? true;
    const statement = keysStatement(sourceOf(kind), isFirst);
    const rows = isWanted ? await this.#engine.read(statement, ...(isFirst ? [] : key), batch) : [];
    const last = rows.length < batch ? undefined : rows.at(-1);
    if (last !== undefined) return { kind, rows, next: placeOf(kind, last, position) };
    const following = changeKinds[changeKinds.indexOf(kind) + 1];
    return { kind, rows, next: { position, ...(following && { replay: { kind: following, key: [] } }) } };
  }

  /** Finds the apps and workspaces of replayed rows. */
  async #ownedBy(kind: ChangeKind, rows: readonly Row[], position: number): Promise<Candidate[]> {
    const read = async (statement: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>> =>
      numbering.ownersOf(
        ids.length === 0 ? [] : await this.#engine.read(statement, this.#engine.dialect.list([...new Set(ids)])),
      );
    const scopes = rows.map(({ change_scope }) => change_scope as string);
    const appOf = kind === 'message' ? await read(this.#owners.conversations, scopes) : undefined;
    const owners = rows.map((row, at) => appOf?.get(scopes[at] as string) ?? (row.change_owner as string | null));
    const ofApp = kind === 'app' || kind === 'conversation' || kind === 'message';
    const known = owners.filter((owner) => owner !== null);
    const workspaceOf = await read(ofApp ? this.#owners.apps : this.#owners.datasets, known);
    const at = Math.floor(Date.now() / 1000);
    return rows.flatMap((row, index) => {
      const { change_id: id, change_scope: scope } = row as { change_id: string; change_scope: string };
      const owner = owners[index] ?? null;
      const workspace_id = kind === 'workspace' ? id : kind === 'model_provider' ? scope : workspaceOf.get(owner ?? '');
      return workspace_id === undefined
        ? []
        : [{ kind, scope, id, at, workspace_id, owner, place: placeOf(kind, row, position) }];
    });
  }

  /** Reads the texts, up to the limit and the size of a page. `next` is the place behind the last one, if some are left. */
  async #attach(
    candidates: readonly Candidate[],
    scope: ChangeScope,
    limit: number,
  ): Promise<{ changes: FoundChange[]; next: ChangePosition | undefined }> {
    const changes: FoundChange[] = [];
    let bytes = 0;
    let slice = firstSlice;
    for (let at = 0; at < candidates.length; slice = nextSlice(slice, bytes, at)) {
      const part = candidates.slice(at, at + Math.min(slice, limit - changes.length));
      for (const [index, change] of (await this.#records.read(part)).entries()) {
        const { place } = part[index] as Candidate;
        const size = Buffer.byteLength(change?.line ?? '');
        if (changes.length > 0 && bytes + size > limits.changesBytesMax) {
          return { changes, next: candidates[at + index - 1]?.place };
        }
        if (change === undefined || !isWanted(change, scope)) continue;
        bytes += size;
        changes.push(change);
        if (changes.length === limit && at + index < candidates.length - 1) return { changes, next: place };
      }
      at += part.length;
    }
    return { changes, next: undefined };
  }
}

/** Texts are read in slices, so that a page of large ones is not in memory many times over. */
const firstSlice = 25;
const nextSlice = (slice: number, bytes: number, read: number): number =>
  bytes === 0 ? slice * 2 : Math.max(1, Math.min(slice * 2, Math.floor((limits.changesBytesMax * read) / bytes)));

function placeOf(kind: ChangeKind, row: Row, position: number): ChangePosition {
  const key: Value[] = [];
  for (let at = 0; `key_${at}` in row; at += 1) key.push(row[`key_${at}`] as Value);
  return { position, replay: { kind, key: key as (string | number)[] } };
}

const ofApps: readonly ChangeKind[] = ['app', 'conversation', 'message'];
const ofDatasets: readonly ChangeKind[] = ['dataset', 'document', 'segment', 'child_chunk'];

/** A conversation may be gone, which readers of its messages have to know. */
function isVisible({ kind, workspace_id, owner }: Omit<Candidate, 'place'>, scope: ChangeScope): boolean {
  const { app_id, dataset_ids, kinds } = scope;
  if (kinds !== undefined && !kinds.includes(kind) && !(kind === 'conversation' && kinds.includes('message'))) {
    return false;
  }
  if (scope.workspace_id !== undefined && workspace_id !== scope.workspace_id) return false;
  if (app_id === undefined && dataset_ids === undefined) return true;
  if (app_id !== undefined && ofApps.includes(kind) && owner === app_id) return true;
  return dataset_ids !== undefined && ofDatasets.includes(kind) && owner !== null && dataset_ids.includes(owner);
}

const isWanted = ({ kind, line }: FoundChange, { kinds }: ChangeScope): boolean =>
  kinds === undefined || kinds.includes(kind) || line === undefined;
