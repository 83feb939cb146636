import { limits } from '../../contract/limits.ts';
import type { ChangeReads } from '../../domain/store/change-reads.ts';
import type { ChunkKind, IndexCheck, IndexDifference } from '../../domain/store/search-reads.ts';
import { indexedMessage, tokensWithIds } from '../../domain/words/search-document.ts';
import type { Dialect, Engine, SearchTable } from '../base/engine.ts';
import type { Statement } from '../base/statement.ts';
import { type Digest, digestOf, EntrySlice } from './entry-slice.ts';
import * as sql from './statements.ts';

/**
 * Compares the index with the records, by short statements. A record that has changed since the check has begun, or that is
 * not indexed yet, is behind the cursor in the change feed, and no difference.
 */

type Report = (difference: IndexDifference) => void;
type RecordKind = IndexDifference['kind'];
type Fault = IndexDifference['fault'];
type Difference = Omit<IndexDifference, 'kind'>;
type Key = { scope: string; id: string };
/** `text` is null if the record is gone. The last columns are only those of messages. */
type EntryRow = Key & {
  position: number;
  kind: RecordKind;
  tokens: string[] | null;
  text: string | null;
  app_id: string;
  user: string | null;
  model_provider: string | null;
  model: string | null;
  created_at: number;
  cost: number | null;
  latency: number;
  waits_until: number | null;
};
type Confirm = (kind: RecordKind, differences: readonly Difference[]) => Promise<void>;

/** Records in the order of an index. Parameters: id, scope, count. */
const keysOf: Record<RecordKind, Statement<Key>> = {
  message: `
    SELECT conversation_id AS scope, id FROM messages
    WHERE (id, conversation_id) > (?, ?) ORDER BY id, conversation_id LIMIT ?`,
  segment: keysOfChunks('segments', ''),
  child_chunk: keysOfChunks('child_chunks', 'AND deleted = 0'),
};

function keysOfChunks(table: string, condition: string): Statement<Key> {
  return `
    SELECT dataset_id AS scope, id FROM ${table}
    WHERE (id, dataset_id) > (?, ?) ${condition} ORDER BY id, dataset_id LIMIT ?`;
}

/** Those of some records that have an entry. Parameters: scopes, ids. */
const findIndexed: Record<RecordKind, (dialect: Dialect) => Statement<Key>> = {
  message: ({ isIn }) => `
    SELECT conversation_id AS scope, id FROM search_messages WHERE ${isIn('conversation_id')} AND ${isIn('id')}`,
  segment: findIndexedChunks('segment'),
  child_chunk: findIndexedChunks('child_chunk'),
};

function findIndexedChunks(kind: ChunkKind): (dialect: Dialect) => Statement<Key> {
  return ({ isIn }) => `
    SELECT dataset_id AS scope, id FROM search_chunks WHERE ${isIn('dataset_id')} AND kind = '${kind}' AND ${isIn('id')}`;
}

const findDeleted = ({ isIn }: Dialect): Statement<{ scope: string }> =>
  `SELECT conversation_id AS scope FROM conversations WHERE ${isIn('conversation_id')} AND deleted = 1`;

/** Entries in the order of their positions, with the text of their record. `tokens` are those of the entry. */
const entriesOf: Record<SearchTable, (tokens: string) => Statement<EntryRow>> = {
  search_messages: (tokens) => `
    SELECT s.position, s.conversation_id AS scope, s.id, s.created_at, s.cost, s.latency, s.waits_until, ${tokens} AS tokens,
      'message' AS kind, c.app_id, c."user", r.model_provider, r.model, CASE WHEN c.deleted = 0 THEN r.doc END AS text
    FROM search_messages s LEFT JOIN messages r ON r.conversation_id = s.conversation_id AND r.id = s.id
    LEFT JOIN conversations c ON c.conversation_id = s.conversation_id
    WHERE (s.position, s.id) > (?, ?) ORDER BY s.position, s.id LIMIT ?`,
  search_chunks: (tokens) => `
    SELECT s.position, s.dataset_id AS scope, s.id, ${tokens} AS tokens, s.kind, COALESCE(g.content, k.content) AS text
    FROM search_chunks s LEFT JOIN segments g ON s.kind = 'segment' AND g.dataset_id = s.dataset_id AND g.id = s.id
    LEFT JOIN child_chunks k ON s.kind = 'child_chunk' AND k.dataset_id = s.dataset_id AND k.id = s.id AND k.deleted = 0
    WHERE (s.position, s.id) > (?, ?) ORDER BY s.position, s.id LIMIT ?`,
};

/** Parameters: position, kind, scopes, ids; position, scopes. */
const findChanges = ({ isIn }: Dialect) => `
  SELECT kind, scope, id FROM changes WHERE position > ? AND kind = ? AND ${isIn('scope')} AND ${isIn('id')}
  UNION ALL SELECT kind, scope, id FROM changes
  WHERE position > ? AND kind = 'conversation' AND scope = '' AND ${isIn('id')}`;

/** `sliceMax`: how many entries are in memory at the same time. */
export async function checkIndex(
  engine: Engine,
  changes: Pick<ChangeReads, 'sequence'>,
  report: Report,
  sliceMax: number,
): Promise<IndexCheck> {
  const { dialect } = engine;
  const [state] = await engine.read(sql.findState);
  const since = Number(state?.cursor.split('.')[1]);
  const counts = { records: 0, strayWords: 0 };
  /** Reports those that are not behind the cursor. */
  const confirm: Confirm = async (kind, differences) => {
    if (differences.length === 0) return;
    await changes.sequence();
    const scopes = dialect.list([...new Set(differences.map(({ scope }) => scope))]);
    const ids = dialect.list(differences.map(({ id }) => id));
    const rows = await engine.read(findChanges(dialect), since, kind, scopes, ids, since, scopes);
    const changed = new Set(rows.map((row) => `${row.scope} ${row.id}`));
    for (const difference of differences) {
      const { scope, id } = difference;
      if (!changed.has(`${scope} ${id}`) && !changed.has(` ${scope}`)) report({ kind, ...difference });
    }
  };
  for (const kind of ['message', 'segment', 'child_chunk'] as const) {
    for await (const rows of pages(engine, keysOf[kind], limits.indexCheckRows, ['', ''], sortKeyOf)) {
      counts.records += rows.length;
      await confirm(kind, await missingOf(engine, kind, rows));
    }
  }
  for (const table of ['search_messages', 'search_chunks'] as const) {
    counts.strayWords += await checkEntries(engine, table, confirm, sliceMax);
  }
  return counts;
}

/** Those of these records that have no entry, without messages of deleted conversations. */
async function missingOf(engine: Engine, kind: RecordKind, rows: readonly Key[]): Promise<Difference[]> {
  const { dialect } = engine;
  const listOf = (values: readonly string[]) => dialect.list([...new Set(values)]);
  const scopes = listOf(rows.map(({ scope }) => scope));
  const entries = await engine.read(findIndexed[kind](dialect), scopes, listOf(rows.map(({ id }) => id)));
  const indexed = new Set(entries.map(({ scope, id }) => `${scope} ${id}`));
  const missing = rows.filter(({ scope, id }) => !indexed.has(`${scope} ${id}`));
  const deleted = missing.length === 0 || kind !== 'message' ? [] : await engine.read(findDeleted(dialect), scopes);
  const hidden = new Set(deleted.map(({ scope }) => scope));
  return missing.filter(({ scope }) => !hidden.has(scope)).map((row) => differenceOf(row, 'missing'));
}

const sortKeyOf = ({ scope, id }: Key) => [id, scope] as const;
const placeOf = ({ position, id }: EntryRow) => [position, id] as const;

/** All rows of a statement that continues behind a key. */
async function* pages<R extends object, K extends readonly [string | number, string]>(
  engine: Engine,
  statement: Statement<R>,
  count: number,
  first: K,
  keyOfRow: (row: R) => K,
): AsyncGenerator<R[]> {
  for (let after = first; ; ) {
    const rows = await engine.read(statement, ...after, count);
    yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < count) return;
    after = keyOfRow(last);
  }
}

/** The number of words at positions without an entry. */
async function checkEntries(engine: Engine, table: SearchTable, confirm: Confirm, sliceMax: number): Promise<number> {
  const { tokensOfEntry, tokenList } = engine.dialect.search;
  let strayWords = 0;
  let slice = new EntrySlice(-Infinity, sliceMax);
  const confirmRows = async (rows: readonly EntryRow[], fault: Fault) => {
    for (const [kind, group] of Map.groupBy(rows, (row) => row.kind)) {
      await confirm(
        kind,
        group.map((row) => differenceOf(row, fault)),
      );
    }
  };
  const checkSlice = async (end: number) => {
    if (tokenList === undefined) return;
    strayWords += await slice.subtractStored(engine, table, tokenList[table], end);
    for (const position of slice.different()) {
      const rows = await engine.read(entriesOf[table]('NULL'), position - 1, '\u{ffff}', 1);
      await confirmRows(
        rows.filter((row) => row.position === position),
        'differs',
      );
    }
    slice = new EntrySlice(end, sliceMax);
  };
  const before = [Number.MIN_SAFE_INTEGER, ''] as const;
  const statement = entriesOf[table](tokensOfEntry);
  for await (const rows of pages(engine, statement, limits.indexCheckRows, before, placeOf)) {
    const erased = rows.filter(({ text }) => text === null);
    const different: EntryRow[] = [];
    for (const row of rows) {
      if (row.text === null) continue;
      const { digest, hasValues } = expectedOf(row, row.text);
      if (!hasValues) different.push(row);
      else if (tokenList !== undefined) {
        if (slice.isFull) await checkSlice(row.position);
        slice.add(row.position, digest);
      } else {
        const found = digestOf(new Set(row.tokens));
        if (found.count !== digest.count || found.sum !== digest.sum) different.push(row);
      }
    }
    await confirmRows(erased, 'erased');
    await confirmRows(different, 'differs');
  }
  await checkSlice(Infinity);
  return strayWords;
}

const differenceOf = ({ scope, id }: Key, fault: Fault): Difference => ({ scope, id, fault });

/** The tokens that an entry should have. `hasValues`: its columns have the values that they should have. */
function expectedOf(row: EntryRow, text: string): { digest: Digest; hasValues: boolean } {
  if (row.kind !== 'message') {
    return { digest: digestOf(new Set(tokensWithIds([text], [row.id]))), hasValues: true };
  }
  const { words, filterTerms, created_at, cost, latency, waits_until } = indexedMessage(text, row);
  return {
    digest: digestOf(new Set(`${words} ${filterTerms}`.split(' ').filter((token) => token !== ''))),
    hasValues:
      row.created_at === created_at && row.cost === cost && row.latency === latency && row.waits_until === waits_until,
  };
}
