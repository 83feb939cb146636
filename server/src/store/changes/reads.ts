import { type ChangeKind, changeKinds } from '../../contract/change.ts';
import { limits } from '../../contract/limits.ts';
import { ServiceError } from '../../domain/errors.ts';
import {
  type ChangeCounts,
  type ChangedIds,
  type ChangePosition,
  type ChangeReads,
  type ChangeScope,
  type ChangeSelection,
  type ChangesHead,
  type FoundChange,
  type FoundChanges,
  newEpoch,
} from '../../domain/store/change-reads.ts';
import type { Engine } from '../base/engine.ts';
import { Slots } from '../base/large-responses.ts';
import type { Statement } from '../base/statement.ts';
import { isInConversation } from './outbox.ts';
import { type Candidate, type KeyRow, keysStatement, readRecords, sourceOf } from './records.ts';
import * as sequencing from './sequencing.ts';

/** Time between two looks into the outbox of a cluster, which is on all shards, while readers wait. */
const clusterOutboxMillis = 1_000;

const batch = limits.changesBatchMax;
const findEntries = (ofWorkspace: boolean): Statement<sequencing.FeedEntry> => `
  SELECT kind, scope, id, position, at, workspace_id, owner FROM changes
  WHERE ${ofWorkspace ? 'workspace_id = ? AND ' : ''} position > ? AND position <= ? ORDER BY position LIMIT ${batch}`;

export class SqlChangeReads implements ChangeReads {
  readonly #engine: Engine;
  readonly #slots: Slots;
  /** One page at a time reads large texts: several pages would wait for each other with what they have already read. */
  readonly #largeReads = new Slots(1);
  readonly #clock: () => number;
  readonly #owners;
  #lastRun: Promise<unknown> = Promise.resolve();
  #nextRun: Promise<ChangesHead> | undefined;

  /** `slots`: the slots for large pages. `clock`: the time in seconds. */
  constructor(engine: Engine, slots: Slots, clock: () => number) {
    this.#engine = engine;
    this.#slots = slots;
    this.#clock = clock;
    this.#owners = sequencing.ownerStatements(engine.dialect);
  }

  async sequence(): Promise<ChangesHead> {
    // If the outbox is empty, there is nothing to sequence, and a reader needs no write.
    if (!(await this.hasUnsequenced())) return this.head();
    // The current run may have read the outbox before this call. All calls until it ends share the next one.
    this.#nextRun ??= this.#lastRun.then(() => {
      const run = this.#sequenceAll();
      this.#lastRun = run.catch(() => undefined);
      this.#nextRun = undefined;
      return run;
    });
    return this.#nextRun;
  }

  /** The head is read again: what was committed on several nodes may not be visible yet, and no reader may pass it. */
  async #sequenceAll(): Promise<ChangesHead> {
    while (await this.#engine.write('sequenceChanges', undefined));
    return this.head();
  }

  async sequenceIfPossible(): Promise<ChangesHead> {
    try {
      return await this.sequence();
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'service_unavailable') return this.head();
      throw error;
    }
  }

  async head(): Promise<ChangesHead> {
    const [head] = await this.#engine.read(sequencing.findHead);
    return head ?? sequencing.noHead();
  }

  async hasNews(since: ChangesHead): Promise<boolean> {
    const { epoch, position } = await this.head();
    if (epoch !== since.epoch || position > since.position) return true;
    return this.hasUnsequenced();
  }

  async hasUnsequenced(): Promise<boolean> {
    return (await this.#engine.read(sequencing.findAnyOutboxEntry)).length > 0;
  }

  get outboxMillis(): number {
    return this.#engine.dialect.unfinished === undefined ? 0 : clusterOutboxMillis;
  }

  async count(): Promise<ChangeCounts> {
    const [row] = await this.#engine.read(sequencing.countOutbox);
    return { ...(await this.head()), unsequenced: Number(row?.n), oldestUnsequenced: row?.oldest ?? null };
  }

  async startEpoch(epoch = newEpoch()): Promise<ChangesHead> {
    await this.#engine.write('startEpoch', { epoch });
    return this.head();
  }

  read(place: ChangePosition, selection: ChangeSelection): Promise<FoundChanges> {
    return place.snapshot === undefined ? this.#readEntries(place, selection) : this.#readSnapshot(place, selection);
  }

  async readIds(place: ChangePosition, kinds: readonly ChangeKind[]): Promise<ChangedIds> {
    if (place.snapshot !== undefined) {
      const { kind } = place.snapshot;
      const { rows, next } = await this.#snapshotKeys(place, kinds);
      const changes = rows.map((row) => ({
        at: placeOf(kind, row, place.position),
        kind,
        scope: row.change_scope,
        id: row.change_id,
      }));
      return { changes, next, hasMore: true };
    }
    const { rows, next, hasMore } = await this.#entriesAfter(place.position, undefined);
    const changes = rows
      .filter(({ kind }) => kinds.includes(kind))
      .map(({ position, kind, scope, id }) => ({ at: { position }, kind, scope, id }));
    return { changes, next: { position: next }, hasMore };
  }

  /** `next` is the position after them. */
  async #entriesAfter(
    position: number,
    workspace_id: string | undefined,
  ): Promise<{ rows: sequencing.FeedEntry[]; next: number; hasMore: boolean }> {
    const head = (await this.sequenceIfPossible()).position;
    const inWorkspace = workspace_id === undefined ? [] : [workspace_id];
    const statement = findEntries(workspace_id !== undefined);
    const rows = await this.#engine.read(statement, ...inWorkspace, position, head);
    const isAll = rows.length < batch;
    return { rows, next: isAll ? head : (rows.at(-1)?.position ?? head), hasMore: !isAll };
  }

  async #readEntries({ position }: ChangePosition, selection: ChangeSelection): Promise<FoundChanges> {
    const { scope } = selection;
    const { rows, next: end, hasMore } = await this.#entriesAfter(position, scope.workspace_id);
    const candidates = rows
      .filter((row) => isVisible(row, scope))
      .map(({ position: at, ...entry }) => ({ ...entry, place: { position: at } }));
    const { next, ...found } = await this.#attach(candidates, selection);
    return { ...found, next: next ?? { position: end }, hasMore: next !== undefined || hasMore };
  }

  /** Reads the tables, one after another, in the order of their keys. The entries since `position` follow. */
  async #readSnapshot(place: ChangePosition, selection: ChangeSelection): Promise<FoundChanges> {
    const { scope } = selection;
    const { position } = place;
    const { kind, rows, next: end } = await this.#snapshotKeys(place, scope.kinds);
    const candidates = await this.#ownedBy(kind, rows, position);
    const visible = candidates.filter((candidate) => isVisible(candidate, scope));
    const { next = end, ...found } = await this.#attach(visible, selection);
    return { ...found, changes: found.changes.filter(({ gone }) => !gone), next, hasMore: true };
  }

  /** The next rows of a table. `next` is the place after them: if they are the last ones, the next table. */
  async #snapshotKeys(
    { position, snapshot }: ChangePosition,
    kinds: readonly ChangeKind[] | undefined,
  ): Promise<{ kind: ChangeKind; rows: KeyRow[]; next: ChangePosition }> {
    if (snapshot === undefined) throw new Error('the position is not in a snapshot');
    const { kind, key } = snapshot;
    const isFirst = key.length === 0;
    const isWanted = kinds?.includes(kind) ?? true;
    const statement = keysStatement(sourceOf(kind), isFirst);
    const rows = isWanted ? await this.#engine.read(statement, ...(isFirst ? [] : key), batch) : [];
    const last = rows.length < batch ? undefined : rows.at(-1);
    if (last !== undefined) return { kind, rows, next: placeOf(kind, last, position) };
    const following = changeKinds[changeKinds.indexOf(kind) + 1];
    return { kind, rows, next: { position, ...(following && { snapshot: { kind: following, key: [] } }) } };
  }

  /** Finds the apps and workspaces of rows of the initial snapshot. */
  async #ownedBy(kind: ChangeKind, rows: readonly KeyRow[], position: number): Promise<Candidate[]> {
    const read = async (statement: sequencing.FindOwners, ids: readonly string[]) => {
      const list = this.#engine.dialect.list([...new Set(ids)]);
      return sequencing.ownersOf(ids.length === 0 ? [] : await this.#engine.read(statement, list));
    };
    const scopes = rows.map(({ change_scope }) => change_scope);
    const appOf = kind === 'message' ? await read(this.#owners.conversations, scopes) : undefined;
    const owners = rows.map((row) => appOf?.get(row.change_scope) ?? row.change_owner);
    const ofApp = ofApps.includes(kind);
    const known = owners.filter((owner) => owner !== null);
    const workspaceOf = await read(ofApp ? this.#owners.apps : this.#owners.datasets, known);
    const at = this.#clock();
    return rows.flatMap((row, index) => {
      const entry = { kind, id: row.change_id, scope: row.change_scope, owner: owners[index] ?? null, at };
      const workspace_id = sequencing.workspaceIdOf(entry, workspaceOf);
      return workspace_id === undefined ? [] : [{ ...entry, workspace_id, place: placeOf(kind, row, position) }];
    });
  }

  /**
   * Reads the texts, up to the limits of a page. A large text is read after its size is known to fit. `next` is the place after
   * the last one, if some are left.
   */
  async #attach(
    candidates: readonly Candidate[],
    { scope, limit, include, bytesMax, wholeBytesMax, signal }: ChangeSelection,
  ): Promise<Omit<FoundChanges, 'next' | 'hasMore'> & { next: ChangePosition | undefined }> {
    const changes: FoundChange[] = [];
    let bytes = 0;
    let close = () => {};
    let endReading: (() => void) | undefined;
    const { dialect, background } = this.#engine;
    const engine = { dialect, read: background?.reader(signal) ?? this.#engine.read };
    const pageUntil = (next: ChangePosition | undefined) => ({ changes, bytes, close, next });
    try {
      for (let at = 0, slice = firstSlice; at < candidates.length; slice = Math.min(2 * slice, lastSlice)) {
        const part = candidates.slice(at, at + Math.min(slice, limit - changes.length));
        const records = await readRecords(engine, part, include === 'none' ? 'none' : 'small');
        for (const [index, candidate] of part.entries()) {
          let change = records[index];
          if (change === undefined || !isWanted(change, candidate, scope)) continue;
          const size = change.isLarge ? change.bytes : Buffer.byteLength(change.line ?? '');
          if (changes.length > 0 && bytes + size > bytesMax) return pageUntil(candidates[at + index - 1]?.place);
          if (bytes <= wholeBytesMax && bytes + size > wholeBytesMax) {
            const slot = changes.length === 0 ? await this.#slots.acquire(signal) : this.#slots.acquireNow();
            // A page that waited for a slot would be in memory meanwhile.
            if (slot === undefined) return pageUntil(candidates[at + index - 1]?.place);
            close = slot;
          }
          if (change.isLarge) {
            endReading ??= await this.#largeReads.acquire(signal);
            [change] = await readRecords(engine, [candidate], 'all');
          }
          // Its conversation was erased in the meantime, which has an entry of its own.
          if (change === undefined) continue;
          bytes += size;
          changes.push(change);
          if (changes.length === limit && at + index < candidates.length - 1) return pageUntil(candidate.place);
        }
        at += part.length;
      }
      return pageUntil(undefined);
    } catch (error) {
      close();
      throw error;
    } finally {
      endReading?.();
    }
  }
}

/** Records that are read at once: few at first, as the page may end after a few. */
const firstSlice = 25;
const lastSlice = 100;

function placeOf(kind: ChangeKind, { key_0, key_1, key_2 }: KeyRow, position: number): ChangePosition {
  return { position, snapshot: { kind, key: [key_0, key_1, key_2].filter((part) => part !== undefined) } };
}

const ofApps: readonly ChangeKind[] = ['app', 'conversation', 'message', 'review'];
const ofDatasets: readonly ChangeKind[] = ['dataset', 'document', 'segment', 'child_chunk'];

/** A conversation may be gone, which readers of its messages and reviews have to know. */
function isVisible({ kind, workspace_id, owner }: Omit<Candidate, 'place'>, scope: ChangeScope): boolean {
  const { app_id, dataset_ids, kinds } = scope;
  if (kinds !== undefined && !kinds.includes(kind) && !(kind === 'conversation' && kinds.some(isInConversation))) {
    return false;
  }
  if (scope.workspace_id !== undefined && workspace_id !== scope.workspace_id) return false;
  if (app_id === undefined && dataset_ids === undefined) return true;
  if (app_id !== undefined && ofApps.includes(kind) && owner === app_id) return true;
  return dataset_ids !== undefined && ofDatasets.includes(kind) && owner !== null && dataset_ids.includes(owner);
}

/** A conversation that was erased and created again in another app has another owner, until that is sequenced. */
const isWanted = ({ kind, gone, path }: FoundChange, { owner }: Candidate, { kinds, workspace_id }: ChangeScope) =>
  (kinds === undefined || kinds.includes(kind) || gone) &&
  (workspace_id === undefined || path.app_id === undefined || path.app_id === owner);
