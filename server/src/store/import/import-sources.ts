import type { RecordKind } from '../../contract/record.ts';
import type { ImportSources, StoredRecord } from '../../domain/store/import-sources.ts';
import { markOf } from '../base/distribution.ts';
import type { Dialect, Engine, ImportSourceChange, Row, Value, WriteContext, WriteInput } from '../base/engine.ts';
import * as leases from '../base/leases.ts';
import { sizedColumns } from '../base/sized.ts';
import { type Bound, begin, execute, type Statement, type Write } from '../base/statement.ts';
import { countMessagesOf } from '../erasure/statements.ts';
import { stepOf } from '../tables/export.ts';
import { tables } from '../tables/tables.ts';

const idColumnOf = (kind: RecordKind): string => {
  const table = tables[kind];
  return kind === 'model_provider' ? 'provider' : ('idColumn' in table && table.idColumn) || 'id';
};

export function importSources(engine: Engine): ImportSources {
  const { isIn } = engine.dialect;
  const change = (changed: ImportSourceChange) => engine.write('changeImportSource', changed, { waitForever: true });
  const readList = async <R extends object = Row>(
    statement: Statement<R>,
    ids: readonly string[],
    ...first: Value[]
  ) => (ids.length === 0 ? [] : engine.read(statement, ...first, engine.dialect.list(ids)));
  const findIds: ImportSources['findIds'] = async (source, kind, ids) => {
    const statement: Statement<{ id: string }> = `
      SELECT id FROM import_source_records WHERE source = ? AND kind = ? AND ${isIn('id')}`;
    return new Set((await readList(statement, ids, source, kind)).map(({ id }) => id));
  };
  return {
    read: async (source) => new Map((await engine.read(findValues, source)).map(({ name, value }) => [name, value])),
    write: (source, values) => change({ source, values }),
    findSources: async (name) => (await engine.read(findSourcesWith, name)).map(({ source }) => source),
    findValues: async (pattern) => (await engine.read(findValuesOfAll, pattern)).map(({ value }) => value),
    // Reads first: usually all are listed, and then nothing is written.
    addIds: async (source, kind, ids) => {
      const listed = await findIds(source, kind, ids);
      const added = ids.filter((id) => !listed.has(id));
      if (added.length > 0) await change({ source, kind, added });
    },
    removeIds: async (source, kind, ids) => {
      if (ids.length > 0) await change({ source, kind, removed: ids });
    },
    listIds: async (source, kind, after, limit) =>
      (await engine.read(listIds, source, kind, after, limit)).map(({ id }) => id),
    countIds: async (source, kind) => Number((await engine.read(countIds, source, kind))[0]?.n),
    findIds,
    findRecords: async (kind, ids, conversation_ids) => {
      const step = stepOf(kind);
      const inConversations = conversation_ids === undefined ? [] : [`${isIn('conversation_id')}/*@*/`];
      const column = idColumnOf(kind);
      const condition = [...inConversations, isIn(column) + markOf(step.table, column)].join(' AND ');
      const statement = `SELECT ${sizedColumns(step, 'all')} FROM ${step.table} WHERE ${condition}`;
      const isProvider = kind === 'model_provider';
      const values = isProvider ? ids.map((id) => id.slice(id.indexOf('/') + 1)) : ids;
      const first = conversation_ids === undefined ? [] : [engine.dialect.list(conversation_ids)];
      const rows = await readList(statement, values, ...first);
      const records = rows.map((row): StoredRecord => JSON.parse(step.line(row)));
      return new Map(
        records.map((record) => [isProvider ? `${record.workspace_id}/${record.provider}` : record.id, record]),
      );
    },
    findEdited: async (child_chunk_ids) => {
      const statement: Statement<{ id: string; revision: number; author: string | null }> = `
        SELECT child_chunk_id AS id, revision, COALESCE(key_id, person_id) AS author FROM child_chunk_revisions
        WHERE ${isIn('child_chunk_id')} ORDER BY child_chunk_id, revision`;
      const newest = new Map((await readList(statement, child_chunk_ids)).map((row) => [row.id, row]));
      return new Set([...newest].filter(([, { author }]) => author !== null).map(([id]) => id));
    },
    countMessages: async (conversation_ids) => {
      const counted = await readList(countMessagesOf(engine.dialect), conversation_ids);
      const counts = new Map(counted.map(({ conversation_id, messages }) => [conversation_id, Number(messages)]));
      const rows = await readList<{ id: string; newest: number | null }>(
        `SELECT conversation_id AS id, CASE WHEN first_message_at IS NOT NULL THEN last_message_at END AS newest
         FROM conversations WHERE ${isIn('conversation_id')}/*@*/`,
        conversation_ids,
      );
      return new Map(rows.map(({ id, newest }) => [id, { messages: counts.get(id) ?? 0, newest }]));
    },
    countKnowledge: async (dataset_ids) => {
      const counts = new Map(dataset_ids.map((id) => [id, { documents: 0, segments: 0, child_chunks: 0 }]));
      for (const table of ['documents', 'segments', 'child_chunks'] as const) {
        const statement: Statement<{ id: string; n: number }> = `
          SELECT dataset_id AS id, COUNT(*) AS n FROM ${table} WHERE ${isIn('dataset_id')}/*@*/ GROUP BY dataset_id`;
        for (const { id, n } of await readList(statement, dataset_ids)) {
          const count = counts.get(id);
          if (count !== undefined) count[table] = Number(n);
        }
      }
      return counts;
    },
  };
}

export function* changeImportSource(change: ImportSourceChange, { dialect }: WriteContext): Write<undefined> {
  yield* begin();
  for (const statement of changeStatements(change, dialect)) yield* execute(...statement);
}

function changeStatements(change: ImportSourceChange, dialect: Dialect): Bound[] {
  const { source } = change;
  if ('values' in change) {
    return Object.entries(change.values).map(([name, value]) =>
      value === null ? [removeValue, source, name] : [setValue, source, name, value],
    );
  }
  const { kind } = change;
  if ('removed' in change) {
    const remove = `DELETE FROM import_source_records WHERE source = ? AND kind = ? AND ${dialect.isIn('id')}`;
    return [[remove, source, kind, dialect.list(change.removed)]];
  }
  // SQLite needs a WHERE before ON CONFLICT (https://sqlite.org/lang_upsert.html#parsing_ambiguity).
  const add = `
    INSERT INTO import_source_records (source, kind, id)
    SELECT CAST(? AS TEXT), CAST(? AS TEXT), value FROM ${dialect.listTable} WHERE true ON CONFLICT DO NOTHING`;
  return [[add, source, kind, dialect.list(change.added)]];
}

const findValues: Statement<{ name: string; value: string }> = `
  SELECT name, value FROM import_sources WHERE source = ?`;
const findValuesOfAll: Statement<{ value: string }> = 'SELECT value FROM import_sources WHERE name LIKE ?';
const findSourcesWith: Statement<{ source: string }> = 'SELECT source FROM import_sources WHERE name = ?';
const listIds: Statement<{ id: string }> = `
  SELECT id FROM import_source_records WHERE source = ? AND kind = ? AND id > ? ORDER BY id LIMIT ?`;
const countIds = 'SELECT COUNT(*) AS n FROM import_source_records WHERE source = ? AND kind = ?';
const removeValue = 'DELETE FROM import_sources WHERE source = ? AND name = ?';
const setValue = `
  INSERT INTO import_sources (source, name, value) VALUES (?, ?, ?)
  ON CONFLICT (source, name) DO UPDATE SET value = excluded.value`;

export function* takeLease({ name, holder, expires_at, now }: WriteInput<'takeLease'>): Write<boolean> {
  return (yield* execute(leases.takeLease, name, holder, expires_at, now)) > 0;
}
