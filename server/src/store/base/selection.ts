import { sortedCharsMax } from '../../domain/store/admin-reads.ts';
import type { Selection } from '../../domain/store/selection.ts';
import type { Value } from './statement.ts';

/** The SQL of filters that lists, exports and purges share. */

/** The part of a text column that a list is sorted by; its index has the same expression. */
export const sorted = (column: string): string => `substr(${column}, 1, ${sortedCharsMax})`;

export type Condition = readonly [text: string, ...values: Value[]];

/** A condition with one parameter; none if that is undefined. */
export const given = (text: string, value: Value | undefined): Condition[] =>
  value === undefined ? [] : [[text, value]];

/** Compares a user in the form that the indexes support: they have only the beginning of a user. */
export const isUser = (column: string, user: string): Condition => [
  `${sorted(column)} = ${sorted('CAST(? AS TEXT)')} AND ${column} = ?`,
  user,
  user,
];

/** Which conversations; `table` is their table, with its dot. */
export function ofConversation(table: string, { app_id, user, conversation_id }: Selection): Condition[] {
  return [
    ...given(`${table}conversation_id = ?/*@*/`, conversation_id),
    ...given(`${table}app_id = ?`, app_id),
    ...(user === undefined ? [] : [isUser(`${table}"user"`, user)]),
  ];
}

export const inPeriod = (column: string, { from, to }: Selection): Condition[] => [
  ...given(`${column} >= ?`, from),
  ...given(`${column} < ?`, to),
];

export function split(conditions: readonly Condition[]): { texts: string[]; values: Value[] } {
  return { texts: conditions.map(([text]) => text), values: conditions.flatMap(([, ...values]) => values) };
}
