import { tmpdir } from 'node:os';
import { unavailable } from '../domain/errors.ts';
import type { PreparedRecord } from '../domain/prepare-record.ts';
import type { ChildChunkEdit, ChildChunkOutcome, Purge } from '../domain/store.ts';
import { settleEdit } from '../domain/update-child-chunk.ts';
import type { Engine, Row, Value, Write, WriteOptions } from './engine.ts';
import type { PostgresPool, Transaction } from './postgres-pool.ts';
import { BulkRecordWriter } from './postgres-records.ts';
import * as postgres from './postgres-statements.ts';
import { readSpool, type Spooled } from './spool.ts';
import * as sql from './statements.ts';

/** Rows that one trip to the server brings or takes. */
const batchRows = 1_000;
/** For imports and erasures, whose statements are larger than a request's. */
const patientMillis = 600_000;
/** An edit that others keep coming before is given up after this many tries. */
const editTriesMax = 100;

export class PostgresEngine implements Engine {
  readonly dialect = postgres.dialect;
  readonly spoolFolder = tmpdir();
  readonly keyCacheMillis = 4_000;
  readonly #pool: PostgresPool;

  /** The schema is up to date already. */
  constructor(pool: PostgresPool) {
    this.#pool = pool;
  }

  read(statement: string, ...values: Value[]): Promise<Row[]> {
    return this.#pool.query(statement, ...values);
  }

  async write<T>(write: Write, options: WriteOptions = {}): Promise<T> {
    return (await this.#perform(write, options)) as T;
  }

  async #perform(write: Write, options: WriteOptions): Promise<unknown> {
    switch (write.name) {
      case 'updateChildChunk':
        return this.#updateChildChunk(write.edit);
      case 'applyRecords':
        return this.#applyRecords(write.spooled, options);
      case 'revokeKey':
        return (await this.#pool.query(`${sql.revokeKey} RETURNING id`, write.now, write.id)).length > 0;
      case 'purge':
        return this.#purge(write.selection);
    }
  }

  async #updateChildChunk(edit: ChildChunkEdit): Promise<ChildChunkOutcome> {
    const { dataset_id, workspace_id, document_id, segment_id, child_chunk_id, precondition } = edit;
    const place = [dataset_id, workspace_id, document_id, segment_id, child_chunk_id];
    const tags = precondition === undefined || precondition === 'any' ? null : precondition;
    const { content, word_count, now, version, key_id } = edit;
    for (let tries = 0; tries < editTriesMax; tries += 1) {
      const values = [...place, content, word_count, now, version, key_id, tags];
      const rows = await this.#pool.query(postgres.updateChildChunk, ...values);
      const found = sql.childChunkOf(rows.map(({ changed_at, ...row }) => row));
      const changed_at = rows[0]?.changed_at;
      if (typeof changed_at === 'number' && found.child_chunk !== undefined) {
        const changes = { content, word_count, type: 'customized', updated_at: changed_at };
        return { chunk: { ...found.child_chunk.chunk, ...changes }, version };
      }
      const settled = settleEdit(found, edit);
      if (settled !== undefined) return settled;
    }
    throw unavailable('the child chunk is being edited by too many at once');
  }

  /** Imports of anything but chat, and large ones, go one after another; appends of chat back ends need not wait. */
  #applyRecords(spooled: Spooled, { progress }: WriteOptions): Promise<number> {
    return this.#pool.transaction(
      async (transaction) => {
        const writer = new BulkRecordWriter(transaction);
        let applied = 0;
        let locked = false;
        for (const batch of batchesOf(spooled)) {
          if (!locked && ('fd' in spooled || !batch.every(isChat))) {
            await transaction.query(postgres.lockImports);
            locked = true;
          }
          await writer.write(batch);
          applied += batch.length;
          progress?.(applied);
        }
        return applied;
      },
      { statementMillis: patientMillis },
    );
  }

  #purge(selection: Purge): Promise<{ conversations: number; messages: number }> {
    const [by, values] = sql.purgeBy(selection);
    const count = async (transaction: Transaction, statement: string) =>
      (await transaction.query(`WITH gone AS (${statement} RETURNING 1) SELECT COUNT(*) AS n FROM gone`, ...values))[0]
        ?.n as number;
    return this.#pool.transaction(
      async (transaction) => {
        const messages = await count(transaction, sql.purge.messages(by));
        return { conversations: await count(transaction, sql.purge.conversations(by)), messages };
      },
      { statementMillis: patientMillis },
    );
  }

  snapshot(statements: readonly string[]): AsyncIterable<{ statement: number; rows: Row[] }> {
    return this.#pool.open('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', async function* (transaction) {
      for (const [statement, text] of statements.entries()) {
        await transaction.query(`DECLARE export NO SCROLL CURSOR FOR ${text}`);
        for (;;) {
          const rows = await transaction.query(`FETCH ${batchRows} FROM export`);
          if (rows.length === 0) break;
          yield { statement, rows };
        }
        await transaction.query('CLOSE export');
      }
    });
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}

const isChat = ({ record }: PreparedRecord): boolean => record === 'message' || record === 'conversation';

/** Batches of the spool, joined until a trip to the server is worth it. */
function* batchesOf(spooled: Spooled): Generator<PreparedRecord[]> {
  let joined: PreparedRecord[] = [];
  for (const batch of readSpool(spooled)) {
    joined.push(...batch);
    if (joined.length < batchRows) continue;
    yield joined;
    joined = [];
  }
  if (joined.length > 0) yield joined;
}
