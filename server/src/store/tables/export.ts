import { keysOf } from '../../contract/primitives.ts';
import type { RecordKind } from '../../contract/record.ts';
import type { ExportStep, Row } from '../base/engine.ts';
import { columnsOf, type RowKind, tables, textColumnsOf } from './tables.ts';

export const exportSteps: readonly ExportStep[] = keysOf(tables).map(newStep);

export function stepOf(kind: RecordKind): ExportStep {
  const step = exportSteps.find((one) => one.kind === kind);
  if (step === undefined) throw new Error(`no export of ${kind}`);
  return step;
}

function newStep(kind: RecordKind): ExportStep {
  const table = tables[kind];
  const names = textColumnsOf(kind);
  if ('order' in table) {
    const { extraColumns = [], jsonColumns = [] } = table;
    const line = (row: Row) => {
      const others = extraColumns.map((field) => `,"${field}":${JSON.stringify(row[field])}`).join('');
      const lists = jsonColumns.map((field) => `,"${field}":${row[field] ?? '[]'}`).join('');
      return `{"record":"${kind}",${(row.doc as string).slice(1, -1)}${others}${lists}}`;
    };
    const columns = [...extraColumns, ...jsonColumns].filter((name) => !names.includes(name));
    const texts = Object.fromEntries(names.map((name) => [name, name]));
    return { kind, table: table.name, columns, texts, key: table.order, line };
  }
  const columns = columnsOf(kind as RowKind).flatMap(({ name, field, read }) =>
    field === undefined ? [] : [{ name, field, read }],
  );
  const isText = ({ name }: { name: string }) => names.includes(name);
  const selected = columns.filter((column) => !isText(column)).map(({ name, field }) => `${name} AS ${field}`);
  const texts = Object.fromEntries(columns.filter(isText).map(({ name, field }) => [field, name]));
  return {
    ...{ kind, table: table.name, columns: selected, texts, key: table.key },
    line: (row) => {
      const record: Row = { record: kind };
      for (const { name, field, read } of columns) {
        if (name === 'details') Object.assign(record, read(row.details));
        else record[field] = read(row[field]);
      }
      return JSON.stringify(record);
    },
  };
}
