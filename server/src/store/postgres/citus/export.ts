import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordKind } from '../../../contract/record.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { type KindRules, kindRules } from '../../../domain/records/record-kinds.ts';
import { distribution } from '../../base/distribution.ts';
import type { ExportedRows, ExportStep, Reader, Row, Value } from '../../base/engine.ts';
import type { Condition } from '../../base/selection.ts';
import { readByKey } from '../../base/sized.ts';
import type { Statement } from '../../base/statement.ts';
import { SeenIds } from '../../import/seen-ids.ts';
import { exportSteps } from '../../tables/export.ts';
import type { PostgresPool, Transaction } from '../pool/pool.ts';

/** A page of a large table on many shards takes longer than other statements. */
const pageMillis = 60_000;
/** An export that has begun waits this long for a node that is down. */
const outageMillis = 60_000;
const retryMillis = 500;

/**
 * The rows of a distributed database. Its nodes have no common snapshot, and a cursor would collect the whole table first.
 * So every table is read in pages, by key, after the tables that it refers to, and a row is left out if the export does not
 * have what it refers to: it was added after the export began. The result can always be imported, and has every record that
 * was stored before the export began and was not erased since. Each row is as it was when its page was read.
 *
 * The rows of a dataset are read dataset by dataset, on one shard. Conversations are read from all shards at once, and their
 * messages by ranges of conversations that have about one page of messages.
 */
export async function* exportPages(pool: PostgresPool, steps: readonly ExportStep[]): AsyncGenerator<ExportedRows> {
  const reader = new PageReader(pool);
  // The rows of what others refer to are read in any case.
  const rowsOf = async function* (step: ExportStep, pages: AsyncIterable<Row[]>): AsyncGenerator<ExportedRows> {
    for await (const rows of pages) if (steps.includes(step) && rows.length > 0) yield { step, rows };
  };
  try {
    const needed = neededKinds(steps);
    const all = exportSteps.filter(({ kind }) => needed.has(kind));
    const isSmall = ({ table }: ExportStep) => distribution.reference.includes(table);
    // These are on every node. In one snapshot of one node they fit together.
    yield* pool.snapshot(async function* (transaction) {
      for (const step of all.filter(isSmall)) yield* rowsOf(step, reader.readTable(step, transaction));
    });
    for (const step of all) if (!isSmall(step)) yield* rowsOf(step, reader.readDistributed(step));
  } finally {
    reader.close();
  }
}

/** These kinds, and those that they refer to. */
function neededKinds(steps: readonly ExportStep[]): ReadonlySet<RecordKind> {
  const needed = new Set<RecordKind>();
  const add = (kind: RecordKind): void => {
    needed.add(kind);
    const { parent }: KindRules = kindRules[kind];
    if (parent !== null) add(parent.kind);
    if (kind === 'api_key') for (const other of ['app', 'dataset'] as const) add(other);
  };
  for (const { kind } of steps) add(kind);
  return needed;
}

/** A part of a table: conditions, and the columns of the key that they leave open. */
type Part = { conditions: readonly Condition[]; key: readonly string[] };

/** Messages of a range of conversations, about. */
const rangeMessages = 1_000;

class PageReader {
  readonly #pool: PostgresPool;
  readonly #exported = new SeenIds();
  readonly #datasets: string[] = [];
  /** Ranges of conversations, by the last id of each; `single`: the range has one conversation. */
  readonly #ranges: { last: string; single: boolean }[] = [];

  constructor(pool: PostgresPool) {
    this.#pool = pool;
  }

  close(): void {
    this.#exported.close();
  }

  readTable(step: ExportStep, transaction?: Transaction): AsyncGenerator<Row[]> {
    return this.#readPart(step, { conditions: [], key: step.key }, transaction);
  }

  readDistributed(step: ExportStep): AsyncGenerator<Row[]> {
    if (step.kind === 'conversation') return this.#readConversations(step);
    const isInConversation = step.kind === 'message' || step.kind === 'review';
    return isInConversation ? this.#readMessages(step) : this.#readByDataset(step);
  }

  async *#readByDataset(step: ExportStep): AsyncGenerator<Row[]> {
    const key = step.key.slice(1);
    for (const id of this.#datasets) yield* this.#readPart(step, { conditions: [['dataset_id = ?/*@*/', id]], key });
  }

  async *#readConversations(step: ExportStep): AsyncGenerator<Row[]> {
    let [messages, conversations] = [0, 0];
    const withSequence = { ...step, columns: [...step.columns, 'next_sequence'] };
    for await (const rows of this.readTable(withSequence)) {
      for (const { id, next_sequence } of rows) {
        messages += Number(next_sequence);
        conversations += 1;
        if (messages < rangeMessages) continue;
        this.#ranges.push({ last: `${id}`, single: conversations === 1 });
        [messages, conversations] = [0, 0];
      }
      yield rows;
    }
    // No id is greater than this.
    this.#ranges.push({ last: '\u{10ffff}', single: false });
  }

  async *#readMessages(step: ExportStep): AsyncGenerator<Row[]> {
    let first = '';
    for (const { last, single } of this.#ranges) {
      const part: Part = single
        ? { conditions: [['conversation_id = ?/*@*/', last]], key: step.key.slice(1) }
        : { conditions: [['conversation_id > ? AND conversation_id <= ?', first, last]], key: step.key };
      yield* this.#readPart(step, part);
      first = last;
    }
  }

  async *#readPart(step: ExportStep, part: Part, transaction?: Transaction): AsyncGenerator<Row[]> {
    const { conditions, key } = part;
    const columns = [...new Set([...step.columns, ...step.key])];
    const read: Reader = (text, ...values) => this.#query(transaction, text, values);
    const pages = readByKey(read, { ...step, columns, key }, conditions);
    for await (const rows of pages) yield rows.filter((row) => this.#add(step.kind, row));
  }

  /** Whether the export has what the row refers to. */
  #add(kind: RecordKind, row: Row): boolean {
    const { parent, identity }: KindRules = kindRules[kind];
    const id = `${row.id}`;
    const references: [RecordKind, unknown][] = parent === null ? [] : [[parent.kind, row[parent.field]]];
    if (kind === 'api_key') {
      references.push(['app', row.app_id]);
      for (const dataset of JSON.parse(`${row.dataset_ids ?? '[]'}`)) references.push(['dataset', dataset]);
    }
    const isExported = (of: RecordKind, parentId: unknown) => this.#exported.get(of, `${parentId}`) !== undefined;
    if (!references.every(([of, parentId]) => parentId === null || isExported(of, parentId))) return false;
    if (identity.length === 1) this.#exported.set(kind, { id, parent: null, scope: null });
    if (kind === 'dataset') this.#datasets.push(id);
    return true;
  }

  /** Inside the transaction nothing is retried. */
  async #query<R extends object>(
    transaction: Transaction | undefined,
    text: Statement<R>,
    values: readonly Value[],
  ): Promise<R[]> {
    if (transaction !== undefined) return transaction.query(text, ...values);
    const deadline = performance.now() + outageMillis;
    for (;;) {
      try {
        return await this.#pool.queryWithin(pageMillis, text, ...values);
      } catch (error) {
        if (!(error instanceof ServiceError) || performance.now() > deadline) throw error;
      }
      await sleep(retryMillis);
    }
  }
}
