import { dirname } from 'node:path';
import type { ModelType } from '../contract/model.ts';
import { unavailable } from '../domain/errors.ts';
import type { PreparedRecord } from '../domain/prepare-record.ts';
import type {
  ChildChunkEdit,
  ChildChunkFound,
  ChildChunkOutcome,
  ChildChunkPlace,
  ConversationFound,
  ImportProgress,
  Intake,
  KeyFound,
  KeyListed,
  Known,
  MessagePlace,
  MessageRow,
  Purge,
  Referable,
  Store,
} from '../domain/store.ts';
import { settleEdit } from '../domain/update-child-chunk.ts';
import { exportSteps } from './export-records.ts';
import { findChildChunk } from './find-child-chunk.ts';
import { SeenIds } from './seen-ids.ts';
import { Spool } from './spool.ts';
import { Connection, type Row, sqliteCode, sqlitePassing } from './sqlite-connection.ts';
import * as sql from './statements.ts';
import { WriterQueue } from './writer-queue.ts';

/** Readers do not wait for the writer in WAL mode; this covers recovery after a crash. */
const readerBusyMillis = 5_000;
const exportBytes = 65_536;

/** The embedded engine: this thread reads, the writer's thread writes. */
export class SqliteStore implements Store {
  readonly #path: string;
  readonly #reader: Connection;
  readonly #writer: WriterQueue;

  /** The schema is up to date already. */
  constructor(path: string) {
    this.#path = path;
    this.#reader = new Connection(path, readerBusyMillis);
    this.#reader.db.exec('PRAGMA query_only = ON');
    this.#writer = new WriterQueue(path);
  }

  async findKey(digest: string): Promise<KeyFound | undefined> {
    const row = this.#read((db) => db.get(sql.findKey, digest));
    if (row === undefined) return undefined;
    const { app_id, mode, ...key } = parseKey(row);
    return { ...key, app: app_id === null || mode === null ? null : { id: app_id, mode } } as KeyFound;
  }

  async findVersion(place: MessagePlace): Promise<ConversationFound | undefined> {
    const statement = place.first_id === undefined ? sql.findVersion.latest : sql.findVersion.before;
    const row = this.#read((db) => db.get(statement(place.user !== undefined), ...placeValues(place)));
    return row && conversationOf(row);
  }

  async findPage(place: MessagePlace, count: number) {
    const statement = place.first_id === undefined ? sql.findPage.latest : sql.findPage.before;
    const rows = this.#read((db) => db.all(statement(place.user !== undefined), ...placeValues(place), count));
    const head = rows[0];
    if (head === undefined) return undefined;
    const messages = head.id === null ? [] : (rows as MessageRow[]);
    return { ...conversationOf(head), messages };
  }

  async findChildChunk(place: ChildChunkPlace): Promise<ChildChunkFound> {
    return this.#read((db) => findChildChunk(db, place));
  }

  async updateChildChunk(edit: ChildChunkEdit): Promise<ChildChunkOutcome> {
    // What needs no write does not wait for the writer.
    const settled = settleEdit(await this.findChildChunk(edit), edit);
    return settled ?? this.#writer.run({ name: 'updateChildChunk', edit });
  }

  async findModelEntries(workspace_id: string, model_type: ModelType): Promise<string[]> {
    const rows = this.#read((db) => db.all(sql.findModelEntries, workspace_id, model_type));
    return rows.map(({ entry }) => entry as string);
  }

  async openIntake(): Promise<Intake> {
    const spool = new Spool(dirname(this.#path));
    const seen = new SeenIds();
    const stored = (kind: Referable, id: string) =>
      this.#read((db) => db.get(sql.findKnown[kind], id)) as Known | undefined;
    return {
      known: async (kind, ids) => {
        const known = new Map<string, Known>();
        for (const id of ids) {
          const found = seen.get(kind, id) ?? stored(kind, id);
          if (found !== undefined) known.set(id, found);
        }
        return known;
      },
      remember: (kind, known) => seen.set(kind, known),
      add: (records: readonly PreparedRecord[]) => spool.add(records),
      apply: async (progress?: ImportProgress) => {
        const spooled = await spool.finish();
        const applied = (count: number) => progress?.('applied', count);
        applied(
          await this.#writer.run<number>({ name: 'applyRecords', spooled }, { patient: true, progress: applied }),
        );
      },
      discard: async () => {
        seen.close();
        await spool.discard();
      },
    };
  }

  /** A connection of its own, so that one transaction spans the whole export. */
  async *exportRecords(): AsyncGenerator<Uint8Array> {
    const db = new Connection(this.#path, readerBusyMillis);
    try {
      db.db.exec('PRAGMA query_only = ON; BEGIN');
      let lines: string[] = [];
      let units = 0;
      for (const { sql: statement, line } of exportSteps) {
        for (const row of db.iterate(statement)) {
          const text = line(row);
          lines.push(text, '\n');
          units += text.length;
          if (units < exportBytes) continue;
          yield Buffer.from(lines.join(''));
          lines = [];
          units = 0;
        }
      }
      if (lines.length > 0) yield Buffer.from(lines.join(''));
    } finally {
      db.close();
    }
  }

  async listKeys(): Promise<KeyListed[]> {
    return this.#read((db) => db.all(sql.listKeys)).map((row) => parseKey(row) as KeyListed);
  }

  revokeKey(id: string, now: number): Promise<boolean> {
    return this.#writer.run({ name: 'revokeKey', id, now }, { patient: true });
  }

  async countConversations(selection: Purge) {
    const [by, values] = sql.purgeBy(selection);
    const count = (statement: string) => this.#read((db) => db.get(statement, ...values))?.n as number;
    return {
      conversations: count(sql.purge.countConversations(by)),
      messages: count(sql.purge.countMessages(by)),
    };
  }

  purge(selection: Purge): Promise<{ conversations: number; messages: number }> {
    return this.#writer.run({ name: 'purge', selection }, { patient: true });
  }

  async isEmpty(): Promise<boolean> {
    return this.#read((db) => db.get(sql.findAnything)) === undefined;
  }

  async ping(): Promise<void> {
    this.#read((db) => db.get('SELECT COUNT(*) FROM schema_migrations'));
  }

  async close(): Promise<void> {
    await this.#writer.close();
    this.#reader.close();
  }

  #read<T>(question: (db: Connection) => T): T {
    try {
      return question(this.#reader);
    } catch (error) {
      const code = sqliteCode(error);
      if (code === undefined || !sqlitePassing.includes(code)) throw error;
      throw Object.assign(unavailable('the database cannot answer'), { cause: error });
    }
  }
}

function placeValues({ first_id, conversation_id, app_id, user }: MessagePlace): string[] {
  return [
    ...(first_id === undefined ? [] : [first_id]),
    conversation_id,
    app_id,
    ...(user === undefined ? [] : [user]),
  ];
}

function conversationOf(row: Row): ConversationFound {
  return { version: row.version as string, first_message_exists: row.first_message_exists === 1 };
}

function parseKey(row: Row): Row {
  return { ...row, dataset_ids: row.dataset_ids === null ? null : JSON.parse(row.dataset_ids as string) };
}
