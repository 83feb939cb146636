import { kindRules } from '../../domain/records/record-kinds.ts';
import { insertInto, type KeyedRowStatements, type Row, type Scalar } from '../base/statement.ts';
import { type Column, columnsOf, type RowKind, tables } from './tables.ts';

/** The statements that write records of a kind that has one row per record. A stored row with another parent is not changed. */
export type Upsert = KeyedRowStatements & {
  /** As `one`, but a row that already has these values is not written either. */
  changed: string;
  /** The parameters of a record, in the order of the columns. */
  values: (record: object) => Scalar[];
};

const upserts = new Map<string, Upsert>();

/** The values of `omitted` fields are only for new rows. */
export function upsertOf(kind: RowKind, omitted: readonly string[] = []): Upsert {
  const key = omitted.length === 0 ? kind : `${kind} ${omitted}`;
  let upsert = upserts.get(key);
  if (upsert === undefined) upserts.set(key, (upsert = makeUpsert(kind, omitted)));
  return upsert;
}

/** The fields that a record omits and that keep their stored values. */
export const omittedIn = (record: object): readonly string[] =>
  'omitted' in record ? (record.omitted as string[]) : [];

function makeUpsert(kind: RowKind, omitted: readonly string[]): Upsert {
  const { name, key } = tables[kind];
  const columns = columnsOf(kind);
  const names = columns.map((column) => column.name);
  const types = Object.fromEntries(columns.map((column) => [column.name, column.type]));
  return {
    ...insertInto(name, types, onConflict(kind, columns, omitted)),
    changed: insertInto(name, types, onConflict(kind, columns, omitted, true)).one,
    key: key.map((column) => names.indexOf(column)),
    returning: `RETURNING ${key.map((column) => `${name}.${column}`).join(', ')}`,
    values: (record) => columns.map(({ write }) => write(record as Row)),
  };
}

/** A stored row with another parent is not changed; then the caller rejects the record. */
function onConflict(
  kind: RowKind,
  columns: readonly Column[],
  omitted: readonly string[],
  onlyChanged = false,
): string {
  const { name: table, key, unchanged = [], computed = {} } = tables[kind];
  const kept = columns.filter(({ field }) => field !== undefined && omitted.includes(field)).map(({ name }) => name);
  const value = (name: string) => `${kept.includes(name) ? table : 'excluded'}.${name}`;
  const sets = columns
    .map(({ name }) => name)
    .filter((name) => !key.includes(name) && !unchanged.includes(name) && !kept.includes(name))
    .map((name) => `${name} = ${computed[name]?.(value) ?? value(name)}`);
  const { parent } = kindRules[kind];
  // An admin key has no parent.
  const parentIn = (row: string) => `COALESCE(${row}.${parent?.field}, '')`;
  const isGuarded = parent !== null && !key.includes(parent.field);
  const guards = isGuarded ? [`${parentIn(table)} = ${parentIn('excluded')}`] : [];
  if (onlyChanged) {
    const compared = columns.filter(
      ({ name, field }) => field !== undefined && !key.includes(name) && !kept.includes(name),
    );
    const list = (row: string) => compared.map(({ name }) => `${row}.${name}`).join(', ');
    guards.push(`(${list(table)}) IS NOT (${list('excluded')})`);
  }
  const guard = guards.length === 0 ? '' : ` WHERE ${guards.join(' AND ')}`;
  return `ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${sets.join(', ')}${guard}`;
}
