import { type ListPlace, sortedCharsMax } from '../domain/admin-reads.ts';
import type { Value } from './engine.ts';

/** The SQL of what the console shows, in the subset that both engines take. */

/** The part of a text column that counts in a sorted list; an index on it says the same. */
export const sorted = (column: string): string => `substr(${column}, 1, ${sortedCharsMax})`;

export type List = {
  /** SELECT … FROM …, with its joins. */
  select: string;
  /** What limits it, each with one `?` for each of its values. */
  where?: readonly string[];
  /** The sort key: together no two rows have it. */
  by: readonly string[];
  descending?: boolean;
};

/** One page of a list: a range of its sort key, never an offset. The statement and its parameters. */
export function page(
  { select, where = [], by, descending = false }: List,
  values: readonly Value[],
  { after, count }: ListPlace,
): [string, ...Value[]] {
  const beyond = `(${by.join(', ')}) ${descending ? '<' : '>'} (${by.map(() => '?').join(', ')})`;
  const conditions = after === undefined ? where : [...where, beyond];
  const order = by.map((column) => (descending ? `${column} DESC` : column)).join(', ');
  const text = `
    ${select} ${conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''} ORDER BY ${order} LIMIT ?`;
  return [text, ...values, ...(after ?? []), count];
}

export const workspaces: List = { select: 'SELECT w.id, w.name FROM workspaces w', by: [sorted('w.name'), 'w.id'] };
