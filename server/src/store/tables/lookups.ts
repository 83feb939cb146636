import { kindRules } from '../../domain/records/record-kinds.ts';
import type { LookupKind, ReferenceTarget } from '../../domain/store/store.ts';
import type { Statement } from '../base/statement.ts';
import { tables } from './tables.ts';

/**
 * The statement that finds references of one kind: id, parent and scope. `condition` compares the id's column with the
 * parameter.
 */
export function lookupStatement(kind: LookupKind, condition: (column: string) => string): Statement<ReferenceTarget> {
  const { table, id, parent, scope } = columnsFor(kind);
  return `SELECT ${id} AS id, ${parent} AS parent, ${scope} AS scope FROM ${table} WHERE ${condition(id)}`;
}

function columnsFor(kind: LookupKind): { table: string; id: string; parent: string; scope: string } {
  if (kind === 'digest') return { table: tables.api_key.name, id: 'digest', parent: 'id', scope: 'NULL' };
  if (kind === 'key_digest') return { table: tables.api_key.name, id: 'id', parent: 'digest', scope: 'NULL' };
  const { name: table, idColumn: id = 'id' } = tables[kind];
  const { parent, scope } = kindRules[kind];
  return { table, id, parent: parent?.field ?? 'NULL', scope: scope ?? 'NULL' };
}
