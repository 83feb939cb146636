import type { RecordKind } from '../../contract/record.ts';
import type { ExportStep, Row } from '../engine.ts';
import { columnsOf, type RowKind, tables } from './tables.ts';

export const exportSteps: readonly ExportStep[] = Object.keys(tables).map((kind) => stepOf(kind as RecordKind));

function stepOf(kind: RecordKind): ExportStep {
  const table = tables[kind];
  if ('order' in table) {
    const line = ({ doc }: Row) => `{"record":"${kind}",${(doc as string).slice(1)}`;
    return { ...readingOf(kind, ['doc'], table.name, table.order), line };
  }
  const columns = columnsOf(kind as RowKind).flatMap(({ name, field, read }) =>
    field === undefined ? [] : [{ name, field, read }],
  );
  const selected = columns.map(({ name, field }) => (name === table.idColumn ? `${name} AS ${field}` : name));
  return {
    ...readingOf(kind, selected, table.name, table.key),
    line: (row) => {
      const record: Row = { record: kind };
      for (const { field, read } of columns) record[field] = read(row[field]);
      return JSON.stringify(record);
    },
  };
}

function readingOf(
  kind: RecordKind,
  columns: readonly string[],
  table: string,
  key: readonly string[],
): Omit<ExportStep, 'line'> {
  return { kind, table, columns, key, sql: `SELECT ${columns.join(', ')} FROM ${table} ORDER BY ${key.join(', ')}` };
}
