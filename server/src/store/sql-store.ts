import { limits } from '../contract/limits.ts';
import { firstEntryId } from '../domain/store/audit.ts';
import type { CommandName } from '../domain/store/commands.ts';
import type { StoredKey, StoredSession } from '../domain/store/keys.ts';
import type { ListReads, LookupKind, PendingImport, ReferenceTarget, Store } from '../domain/store/store.ts';
import * as audit from './accounting/audit.ts';
import { monitoring } from './accounting/monitoring.ts';
import type { Engine, Reader, Scan } from './base/engine.ts';
import { type SlotMemory, Slots } from './base/large-responses.ts';
import type { Statement } from './base/statement.ts';
import { SqlChangeReads } from './changes/reads.ts';
import { activityReads } from './console/activity-reads.ts';
import { adminReads, parseKey } from './console/admin-reads.ts';
import { type KeyRow, selectKeys } from './console/admin-statements.ts';
import { reviewStore } from './console/review-reads.ts';
import { findSession } from './console/sessions.ts';
import { userReads } from './console/user-reads.ts';
import { sqlErasure } from './erasure/sql-erasure.ts';
import { doubts } from './import/doubts.ts';
import { importSources } from './import/import-sources.ts';
import { SeenIds } from './import/seen-ids.ts';
import { Spool } from './import/spool.ts';
import { itemReads } from './items/statements.ts';
import { keyCache } from './keys/key-cache.ts';
import { chunkOf, findChunkPath } from './knowledge/path.ts';
import { SqlKnowledgeReads } from './knowledge/reads.ts';
import { appStore } from './messages/app-store.ts';
import { searchStore } from './search/search-reads.ts';
import { exportsOf } from './tables/export.ts';
import { lookupStatement } from './tables/statements.ts';

/** They change what keys allow, and wait as long as they have to: the operator has no other way to stop a key. */
const keyCommands = new Set<CommandName>(['createKey', 'revokeKey', 'rotateKey', 'updateKey']);

type KeyCache = ReturnType<typeof keyCache>;

/** For scans without a client. */
const unaborted = new AbortController().signal;

/** The store for both engines. An engine runs the statements. */
export function sqlStore(engine: Engine, keyChanges: Int32Array<SharedArrayBuffer>, slotMemory: SlotMemory): Store {
  const { read, dataVersion, findPage, ping } = engine;
  const keys = keyCache(keyChanges);
  const slots = new Slots(limits.largePagesMax, engine.openPagesMax, slotMemory);
  const subjects = subjectsOf(engine, slots);
  return {
    ...subjects,
    ...keyReads(engine, keys),
    ...auditReads(engine),
    dataVersion,
    findPage,
    openPage: (position, shape, signal) => slots.open(() => engine.openPage(position, shape), signal),
    run: async (name, input) => {
      const isOfKeys = keyCommands.has(name);
      const result = await engine.write(name, input, { waitForever: isOfKeys });
      if (isOfKeys) keys.invalidate();
      return result;
    },
    findChildChunk: async (location) => chunkOf(await read(...findChunkPath(location))),
    openImport: async () => openImport(engine, keys),
    lookup: async (kind, ids) => new Map((await findTargets(engine, kind, ids)).map((target) => [target.id, target])),
    isEmpty: async () => (await read('SELECT 1 FROM workspaces UNION ALL SELECT 1 FROM api_keys LIMIT 1')).length === 0,
    ping,
    close: async () => {
      await subjects.erasure.end();
      await engine.close();
    },
  };
}

function subjectsOf(engine: Engine, slots: Slots) {
  const { dialect, read, scans } = engine;
  const scanSlots = new Slots(limits.scansMax);
  const scan: Scan = async (work, signal = unaborted) =>
    scans === undefined ? work(read) : scanSlots.run(() => work(scans.reader(signal)), signal);
  // A page of a list of the console may read large rows. Hundreds of them would fill the memory together.
  const readSlowly: Reader = engine.background?.reader() ?? read;
  const largeReads = new Slots(1);
  const readLarge: Reader = (...statement) => largeReads.run(() => readSlowly(...statement), unaborted);
  const lists = { dialect, read: readSlowly, readLarge };
  const listReads = (reader: Reader, slowReader: Reader): ListReads => ({
    apps: appStore({ dialect, read: reader }, slowReader),
    knowledge: new SqlKnowledgeReads(reader, dialect, scan),
  });
  return {
    ...listReads(read, readSlowly),
    openReads: async (signal: AbortSignal) => {
      const snapshot = await slots.open(() => engine.openSnapshot(), signal);
      return { ...listReads(snapshot.read, snapshot.read), close: snapshot.close };
    },
    admin: adminReads(lists),
    activity: activityReads(lists, scan),
    users: userReads(lists),
    items: itemReads(lists),
    reviews: reviewStore(engine, lists, slots),
    erasure: sqlErasure(engine, readSlowly),
    exports: exportsOf(engine, slots),
    changes: new SqlChangeReads(engine, slots, () => Math.floor(Date.now() / 1000)),
    search: searchStore(engine, scanSlots),
    imports: importSources(engine),
    doubts: doubts(engine),
    monitoring: monitoring(engine),
  };
}

/**
 * Finds only valid keys. If expired and revoked keys were read and then rejected, they would take longer than unknown keys,
 * and a client could measure the difference. Parameters: digest, now.
 */
const findKey: Statement<
  Omit<StoredKey, 'app' | 'dataset_ids' | 'read_only'> &
    Pick<KeyRow, 'app_id' | 'dataset_ids' | 'read_only'> & { mode: string | null }
> = `
  SELECT k.id, k.kind, k.workspace_id, k.app_id, k.dataset_ids, k.expires_at, k.read_only, k.role, a.mode
  FROM api_keys k LEFT JOIN apps a ON a.id = k.app_id
  WHERE k.digest = ? AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?)`;
const findEndedKey = 'SELECT 1 FROM api_keys WHERE digest = ? AND (revoked_at IS NOT NULL OR expires_at <= ?)';
const listKeys: Statement<KeyRow> = `${selectKeys} ORDER BY created_at, id`;

function keyReads(
  { read }: Engine,
  keys: KeyCache,
): Pick<Store, 'findKey' | 'isKeyEnded' | 'findSession' | 'listKeys'> {
  const queryKey = async (digest: string, now: number): Promise<StoredKey | undefined> => {
    const [row] = await read(findKey, digest, now);
    if (row === undefined) return undefined;
    const { app_id, mode, ...key } = parseKey(row);
    if (app_id === null) return { ...key, app: null };
    // A key of an app that does not exist allows nothing.
    return mode === null ? undefined : { ...key, app: { id: app_id, mode } };
  };
  return {
    findKey: (digest, now, dataVersion) => keys.find(digest, dataVersion, () => queryKey(digest, now)),
    isKeyEnded: async (digest, now) => (await read(findEndedKey, digest, now)).length > 0,
    findSession: async (digest, now) => {
      const [row] = await read(findSession, now, digest, now);
      if (row === undefined) return undefined;
      const { expires_at, key_expires_at, read_only, ...session } = row;
      const end = Math.min(expires_at, key_expires_at ?? expires_at);
      return { ...session, expires_at: end, read_only: read_only === 1 } as StoredSession;
    },
    listKeys: async () => (await read(listKeys)).map(parseKey),
  };
}

const auditReads = ({ read, write }: Engine): Pick<Store, 'listAudit' | 'trimAudit'> => ({
  listAudit: async (query) => {
    const scanEnd = audit.scanEnd(query);
    const end = scanEnd && (await read(...scanEnd))[0]?.id;
    const rows = await read(...audit.findEntries(query, end));
    const entries = rows.slice(0, query.limit).map(audit.entryOfRow);
    return { entries, next: rows.length > query.limit ? entries.at(-1)?.id : end };
  },
  trimAudit: async (before) => {
    const input = { before: firstEntryId(before * 1000) };
    for (let deleted = 0; ; ) {
      const count = await write('trimAudit', input, { waitForever: true });
      deleted += count;
      if (count < limits.auditBatchMax) return deleted;
    }
  },
});

function openImport(engine: Engine, keys: KeyCache): PendingImport {
  const spool = new Spool(engine.spoolFolder);
  const seen = new SeenIds();
  return {
    lookup: async (kind, ids) => {
      const targets = ids.flatMap((id) => seen.get(kind, id) ?? []);
      const known = new Set(targets.map(({ id }) => id));
      const unseen = ids.filter((id) => !known.has(id));
      targets.push(...(await findTargets(engine, kind, unseen)));
      return new Map(targets.map((target) => [target.id, target]));
    },
    addTarget: (kind, target) => seen.set(kind, target),
    add: (batch) => spool.add(batch),
    apply: async (author, progress) => {
      const handle = await spool.finish();
      const applied = (count: number) => progress?.('applied', count);
      const input = { spool: handle, author };
      applied(await engine.write('applyRecords', input, { waitForever: true, progress: applied }));
      if (handle.kinds.has('api_key') || handle.kinds.has('app')) keys.invalidate();
    },
    discard: async () => {
      seen.close();
      await spool.discard();
    },
  };
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
