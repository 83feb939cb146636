import type { RecordKind } from '../../contract/record.ts';
import type { Row } from '../engine.ts';
import { columnsOf, type RowKind, tables } from './tables.ts';

/** One kind of record of an export: its rows in the order of their keys, each written as one line. */
export type ExportStep = { sql: string; line: (row: Row) => string };

export const exportSteps: readonly ExportStep[] = Object.keys(tables).map((kind) => stepOf(kind as RecordKind));

function stepOf(kind: RecordKind): ExportStep {
  const table = tables[kind];
  if ('order' in table) {
    const sql = `SELECT doc FROM ${table.name} ORDER BY ${table.order.join(', ')}`;
    return { sql, line: ({ doc }) => `{"record":"${kind}",${(doc as string).slice(1)}` };
  }
  const columns = columnsOf(kind as RowKind).flatMap(({ name, field, read }) =>
    field === undefined ? [] : [{ name, field, read }],
  );
  const selected = columns.map(({ name, field }) => (name === table.idColumn ? `${name} AS ${field}` : name));
  return {
    sql: `SELECT ${selected.join(', ')} FROM ${table.name} ORDER BY ${table.key.join(', ')}`,
    line: (row) => {
      const record: Row = { record: kind };
      for (const { field, read } of columns) record[field] = read(row[field]);
      return JSON.stringify(record);
    },
  };
}
