/** A conversation without a name is shown with the beginning of its first query. */
export const derivedName = {
  /** In code points, as SQL counts characters. */
  charsMax: 20,
  ellipsis: '…',
  /** For a conversation whose first query is empty, or that has no message. */
  withoutQuery: 'New conversation',
} as const;

const surrogate = /[\ud800-\udfff]/;

/** Null for an empty query. The store has the same rule in SQL: `derivedNameOf` in store/tables/conversation-columns.ts. */
export function deriveName(query: string): string | null {
  // No text has more code points than UTF-16 units.
  if (query.length <= derivedName.charsMax) return query || null;
  const beginning = query.slice(0, derivedName.charsMax);
  if (!surrogate.test(beginning)) return beginning + derivedName.ellipsis;
  const start = [...query.slice(0, 2 * derivedName.charsMax + 1)];
  if (start.length <= derivedName.charsMax) return query;
  return start.slice(0, derivedName.charsMax).join('') + derivedName.ellipsis;
}
