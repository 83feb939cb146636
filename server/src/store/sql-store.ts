import type { ListedKey } from '../contract/admin.ts';
import { limits } from '../contract/limits.ts';
import { type AuditEntry, type AuditPage, type AuditQuery, type Author, firstEntryId } from '../domain/store/audit.ts';
import type { ChunkLocation, FoundChunk } from '../domain/store/child-chunks.ts';
import type { CommandName, RunCommand } from '../domain/store/commands.ts';
import type { KeyLookup, StoredKey } from '../domain/store/keys.ts';
import type {
  CachedVersion,
  FoundPage,
  ImportProgress,
  ListReads,
  LookupKind,
  OpenPage,
  PagePosition,
  PageShape,
  PendingImport,
  ReferenceTarget,
  Store,
} from '../domain/store/store.ts';
import * as audit from './accounting/audit.ts';
import { monitoring } from './accounting/monitoring.ts';
import type { Engine, Reader, Scan } from './base/engine.ts';
import { type SlotMemory, Slots } from './base/large-responses.ts';
import { SqlChangeReads } from './changes/reads.ts';
import { activityReads } from './console/activity-reads.ts';
import { adminReads, parseKey } from './console/admin-reads.ts';
import { reviewStore } from './console/evals.ts';
import { sessions } from './console/sessions.ts';
import { userReads } from './console/user-reads.ts';
import { SqlErasure } from './erasure/sql-erasure.ts';
import { doubts } from './import/doubts.ts';
import { importSources } from './import/import-sources.ts';
import { SeenIds } from './import/seen-ids.ts';
import { Spool } from './import/spool.ts';
import { itemReads } from './items/reads.ts';
import { KeyCache } from './keys/key-cache.ts';
import { chunkOf, findChunkPath } from './knowledge/path.ts';
import { SqlKnowledgeReads } from './knowledge/reads.ts';
import { appStore } from './messages/app-store.ts';
import { searchStore } from './search/search-store.ts';
import * as sql from './statements.ts';
import { exportsOf } from './tables/exports.ts';
import { lookupStatement } from './tables/lookups.ts';

/** They change what keys allow, and wait as long as they have to: the operator has no other way to stop a key. */
const keyCommands = new Set<CommandName>(['createKey', 'revokeKey', 'rotateKey', 'updateKey']);

/** For scans without a client. */
const unaborted = new AbortController().signal;

/** The store for both engines. An engine runs the statements. */
export class SqlStore implements Store {
  readonly admin: Store['admin'];
  readonly activity: Store['activity'];
  readonly users: Store['users'];
  readonly reviews: Store['reviews'];
  readonly sessions: Store['sessions'];
  readonly apps: Store['apps'];
  readonly items: Store['items'];
  readonly knowledge: SqlKnowledgeReads;
  readonly changes: SqlChangeReads;
  readonly imports: Store['imports'];
  readonly exports: Store['exports'];
  readonly doubts: Store['doubts'];
  readonly erasure: SqlErasure;
  readonly search: Store['search'];
  readonly monitoring: Store['monitoring'];
  readonly #engine: Engine;
  readonly #keys: KeyCache;
  readonly #slots: Slots;
  readonly #scan: Scan;

  constructor(engine: Engine, keyChanges: Int32Array<SharedArrayBuffer>, slotMemory: SlotMemory) {
    this.#engine = engine;
    this.#keys = new KeyCache(keyChanges);
    this.sessions = sessions(engine);
    this.imports = importSources(engine);
    this.doubts = doubts(engine);
    this.monitoring = monitoring(engine);
    const slots = new Slots(limits.scansMax);
    const { scans } = engine;
    this.#scan = async (work, signal = unaborted) =>
      scans === undefined ? work(engine.read.bind(engine)) : slots.run(() => work(scans.reader(signal)), signal);
    // A page of a list of the console may read large rows. Hundreds of them would fill the memory together.
    const read: Reader = engine.background?.reader() ?? engine.read.bind(engine);
    const largeReads = new Slots(1);
    const readLarge: Reader = (...statement) => largeReads.run(() => read(...statement), unaborted);
    const lists = { dialect: engine.dialect, read, readLarge };
    this.admin = adminReads(lists);
    this.erasure = new SqlErasure(engine, lists.read);
    this.activity = activityReads(lists, this.#scan);
    this.users = userReads(lists);
    this.items = itemReads(lists);
    const { apps, knowledge } = this.#listReads(engine.read.bind(engine), lists.read);
    this.apps = apps;
    this.knowledge = knowledge;
    this.#slots = new Slots(limits.largePagesMax, engine.openPagesMax, slotMemory);
    this.exports = exportsOf(engine, this.#slots);
    this.reviews = reviewStore(engine, lists, this.#slots);
    this.changes = new SqlChangeReads(engine, this.#slots, () => Math.floor(Date.now() / 1000));
    this.search = searchStore(engine, slots);
  }

  findKey(digest: string, now: number, dataVersion: number | undefined): KeyLookup {
    return this.#keys.find(digest, dataVersion, () => this.#queryKey(digest, now));
  }

  async isKeyEnded(digest: string, now: number): Promise<boolean> {
    return (await this.#engine.read(sql.findEndedKey, digest, now)).length > 0;
  }

  async #queryKey(digest: string, now: number): Promise<StoredKey | undefined> {
    const [row] = await this.#engine.read(sql.findKey, digest, now);
    if (row === undefined) return undefined;
    const { app_id, mode, ...key } = parseKey(row);
    if (app_id === null) return { ...key, app: null };
    // A key of an app that does not exist allows nothing.
    return mode === null ? undefined : { ...key, app: { id: app_id, mode } };
  }

  dataVersion(): number | undefined {
    return this.#engine.dataVersion();
  }

  findPage(
    position: PagePosition,
    shape: PageShape,
    cached: CachedVersion | undefined,
  ): Promise<FoundPage | undefined> {
    return this.#engine.findPage(position, shape, cached);
  }

  openPage(position: PagePosition, shape: PageShape, signal: AbortSignal): Promise<OpenPage | undefined> {
    return this.#slots.open(() => this.#engine.openPage(position, shape), signal);
  }

  readonly run: RunCommand = async (name, input) => {
    const isOfKeys = keyCommands.has(name);
    const result = await this.#engine.write(name, input, { waitForever: isOfKeys });
    if (isOfKeys) this.#keys.invalidate();
    return result;
  };

  async findChildChunk(location: ChunkLocation): Promise<FoundChunk> {
    return chunkOf(await this.#engine.read(...findChunkPath(location)));
  }

  async openReads(signal: AbortSignal): Promise<ListReads & { close(): void }> {
    const { read, close } = await this.#slots.open(() => this.#engine.openSnapshot(), signal);
    return { ...this.#listReads(read, read), close };
  }

  #listReads(read: Reader, readSlowly: Reader): { apps: Store['apps']; knowledge: SqlKnowledgeReads } {
    const { dialect } = this.#engine;
    return {
      apps: appStore({ dialect, read }, readSlowly),
      knowledge: new SqlKnowledgeReads(read, dialect, this.#scan),
    };
  }

  async openImport(): Promise<PendingImport> {
    const engine = this.#engine;
    const spool = new Spool(engine.spoolFolder);
    const seen = new SeenIds();
    return {
      lookup: async (kind, ids) => {
        const targets = new Map<string, ReferenceTarget>();
        const unseen: string[] = [];
        for (const id of ids) {
          const target = seen.get(kind, id);
          if (target === undefined) unseen.push(id);
          else targets.set(id, target);
        }
        for (const stored of await findTargets(engine, kind, unseen)) targets.set(stored.id, stored);
        return targets;
      },
      addTarget: (kind, target) => seen.set(kind, target),
      add: (batch) => spool.add(batch),
      apply: async (author: Author, progress?: ImportProgress) => {
        const handle = await spool.finish();
        const applied = (count: number) => progress?.('applied', count);
        const input = { spool: handle, author };
        applied(await engine.write('applyRecords', input, { waitForever: true, progress: applied }));
        if (handle.kinds.has('api_key') || handle.kinds.has('app')) this.#keys.invalidate();
      },
      discard: async () => {
        seen.close();
        await spool.discard();
      },
    };
  }

  async lookup(kind: LookupKind, ids: readonly string[]): Promise<Map<string, ReferenceTarget>> {
    return new Map((await findTargets(this.#engine, kind, ids)).map((target) => [target.id, target]));
  }

  async listKeys(): Promise<ListedKey[]> {
    return (await this.#engine.read(sql.listKeys)).map(parseKey);
  }

  async listAudit(query: AuditQuery): Promise<AuditPage> {
    const scanEnd = audit.scanEnd(query);
    const end = scanEnd && (await this.#engine.read(...scanEnd))[0]?.id;
    const rows = await this.#engine.read(...audit.findEntries(query, end));
    const entries = rows.slice(0, query.limit).map((row): AuditEntry => ({ ...row, ids: JSON.parse(row.ids) }));
    return { entries, next: rows.length > query.limit ? entries.at(-1)?.id : end };
  }

  async trimAudit(before: number): Promise<number> {
    const input = { before: firstEntryId(before * 1000) };
    for (let deleted = 0; ; ) {
      const count = await this.#engine.write('trimAudit', input, { waitForever: true });
      deleted += count;
      if (count < limits.auditBatchMax) return deleted;
    }
  }

  async isEmpty(): Promise<boolean> {
    return (await this.#engine.read(sql.findAnyRecord)).length === 0;
  }

  ping(): Promise<void> {
    return this.#engine.ping();
  }

  async close(): Promise<void> {
    await this.erasure.end();
    await this.#engine.close();
  }
}

const isEqual = (column: string) => `${column} = ?`;

async function findTargets(engine: Engine, kind: LookupKind, ids: readonly string[]): Promise<ReferenceTarget[]> {
  if (ids.length === 0) return [];
  const { isIn, list } = engine.dialect;
  const [id] = ids;
  // One id: an equality, which a distributed database plans once.
  if (ids.length === 1 && id !== undefined) return engine.read(lookupStatement(kind, isEqual), id);
  return engine.read(lookupStatement(kind, isIn), list(ids));
}
