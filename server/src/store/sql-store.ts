import type { ListedKey } from '../contract/admin.ts';
import { limits } from '../contract/limits.ts';
import type { ModelType } from '../contract/model.ts';
import { type AuditEntry, type AuditQuery, type Author, firstEntryId } from '../domain/audit.ts';
import type {
  CachedVersion,
  ChildChunkEdit,
  ChildChunkOutcome,
  ChildChunkPlace,
  CreatedKey,
  FoundChunkPath,
  FoundPage,
  ImportProgress,
  Intake,
  KeyLookup,
  MessagePlace,
  PageShape,
  Purge,
  Referable,
  ReferenceTarget,
  Store,
  StoredKey,
} from '../domain/store.ts';
import * as audit from './accounting/audit.ts';
import { SqlActivityReads } from './console/activity-reads.ts';
import { parseKey, SqlAdminReads } from './console/admin-reads.ts';
import { SqlSessions } from './console/sessions.ts';
import type { Engine } from './engine.ts';
import { KeyCache } from './key-cache.ts';
import { exportSteps } from './records/export.ts';
import { SeenIds } from './records/seen-ids.ts';
import { Spool } from './records/spool.ts';
import { ValidationPool } from './records/validation-pool.ts';
import * as sql from './statements.ts';

/** The store, written once: an engine below it runs the statements. */
export class SqlStore implements Store {
  readonly admin: SqlAdminReads;
  readonly activity: SqlActivityReads;
  readonly sessions: SqlSessions;
  readonly #engine: Engine;
  readonly #keys = new KeyCache();

  constructor(engine: Engine) {
    this.#engine = engine;
    this.admin = new SqlAdminReads(engine);
    this.activity = new SqlActivityReads(engine);
    this.sessions = new SqlSessions(engine);
  }

  findKey(digest: string, now: number, dataVersion: number | undefined): KeyLookup {
    return this.#keys.find(digest, dataVersion, () => this.#queryKey(digest, now));
  }

  async #queryKey(digest: string, now: number): Promise<StoredKey | undefined> {
    const [row] = await this.#engine.read(sql.findKey, digest, now);
    if (row === undefined) return undefined;
    const { app_id, mode, ...key } = parseKey(row);
    return { ...key, app: app_id === null || mode === null ? null : { id: app_id, mode } } as StoredKey;
  }

  dataVersion(): number | undefined {
    return this.#engine.dataVersion();
  }

  findPage(place: MessagePlace, shape: PageShape, held: CachedVersion | undefined): Promise<FoundPage | undefined> {
    return this.#engine.findPage(place, shape, held);
  }

  async findChildChunk(place: ChildChunkPlace): Promise<FoundChunkPath> {
    return sql.childChunkOf(await this.#engine.read(sql.findChildChunk, ...sql.childChunkValues(place)));
  }

  async updateChildChunk(edit: ChildChunkEdit): Promise<ChildChunkOutcome> {
    return this.#engine.write({ name: 'updateChildChunk', edit });
  }

  async findModelEntries(workspace_id: string, model_type: ModelType): Promise<string[]> {
    const rows = await this.#engine.read(sql.findModelEntries, workspace_id, model_type);
    return rows.map(({ entry }) => entry as string);
  }

  async openIntake(): Promise<Intake> {
    const engine = this.#engine;
    const spool = new Spool(engine.spoolFolder);
    const seen = new SeenIds();
    const threads = new ValidationPool();
    return {
      prepare: (pieces, now) => threads.prepare(pieces, now),
      lookup: async (kind, ids) => {
        const known = new Map<string, ReferenceTarget>();
        const unseen: string[] = [];
        for (const id of ids) {
          const found = seen.get(kind, id);
          if (found === undefined) unseen.push(id);
          else known.set(id, found);
        }
        for (const stored of await findKnown(engine, kind, unseen)) known.set(stored.id, stored);
        return known;
      },
      remember: (kind, known) => seen.set(kind, known),
      add: (batch) => spool.add(batch),
      apply: async (author: Author, progress?: ImportProgress) => {
        const spooled = await spool.finish();
        const applied = (count: number) => progress?.('applied', count);
        const write = { name: 'applyRecords', spooled, author } as const;
        applied(await engine.write<number>(write, { waitForever: true, progress: applied }));
        if (spooled.kinds.has('api_key') || spooled.kinds.has('app')) this.#keys.clear();
      },
      discard: async () => {
        threads.close();
        seen.close();
        await spool.discard();
      },
    };
  }

  async *exportRecords(): AsyncGenerator<Uint8Array> {
    for await (const { statement, rows } of this.#engine.snapshot(exportSteps.map((step) => step.sql))) {
      const line = exportSteps[statement]?.line;
      if (line !== undefined) yield Buffer.from(rows.map((row) => `${line(row)}\n`).join(''));
    }
  }

  async lookup(kind: Referable, ids: readonly string[]): Promise<Map<string, ReferenceTarget>> {
    return new Map((await findKnown(this.#engine, kind, ids)).map((target) => [target.id, target]));
  }

  async createKey(key: CreatedKey, createdBy: string | null): Promise<void> {
    await this.#engine.write({ name: 'createKey', key, createdBy }, { waitForever: true });
    this.#keys.clear();
  }

  async listKeys(): Promise<ListedKey[]> {
    return (await this.#engine.read(sql.listKeys)).map((row) => parseKey(row) as ListedKey);
  }

  async revokeKey(id: string, by: string | null, now: number): Promise<boolean> {
    const known = await this.#engine.write<boolean>({ name: 'revokeKey', id, by, now }, { waitForever: true });
    this.#keys.clear();
    return known;
  }

  async countConversations(selection: Purge) {
    const [by, values] = sql.purgeBy(selection);
    const count = async (statement: string) => (await this.#engine.read(statement, ...values))[0]?.n as number;
    return {
      conversations: await count(sql.purge.countConversations(by)),
      messages: await count(sql.purge.countMessages(by)),
    };
  }

  purge(selection: Purge, now: number): Promise<{ conversations: number; messages: number }> {
    return this.#engine.write({ name: 'purge', selection, now }, { waitForever: true });
  }

  async listAudit(question: AuditQuery): Promise<AuditEntry[]> {
    const rows = await this.#engine.read(...audit.findEntries(question));
    return rows.map((row) => ({ ...row, ids: JSON.parse(row.ids as string) }) as AuditEntry);
  }

  async trimAudit(before: number): Promise<number> {
    const write = { name: 'trimAudit', before: firstEntryId(before * 1000) } as const;
    for (let gone = 0; ; ) {
      const count = await this.#engine.write<number>(write, { waitForever: true });
      gone += count;
      if (count < limits.auditBatchMax) return gone;
    }
  }

  noteKeyUse(uses: ReadonlyMap<string, number>): Promise<void> {
    return this.#engine.write({ name: 'noteKeyUse', uses: [...uses] });
  }

  async isEmpty(): Promise<boolean> {
    return (await this.#engine.read(sql.findAnything)).length === 0;
  }

  ping(): Promise<void> {
    return this.#engine.ping();
  }

  close(): Promise<void> {
    return this.#engine.close();
  }
}

async function findKnown(engine: Engine, kind: Referable, ids: readonly string[]): Promise<ReferenceTarget[]> {
  if (ids.length === 0) return [];
  const { among, list } = engine.dialect;
  return (await engine.read(sql.findKnown(kind, among), list(ids))) as ReferenceTarget[];
}
