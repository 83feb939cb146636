/** Where a page of a list begins, and how much of it is read: one row more than it shows, which tells whether it is the last. */
export type ListPlace = {
  /** What the list is sorted by, of the row before; undefined at the beginning. */
  after: readonly (string | number)[] | undefined;
  count: number;
};

/** A list that is sorted by a text looks at so many characters of it: an index and an address take no text of any length. */
export const sortedCharsMax = 200;

/** The part of a text that counts in a sorted list. */
export function sortText(text: string): string {
  return Array.from(text.slice(0, sortedCharsMax * 2))
    .slice(0, sortedCharsMax)
    .join('');
}

export type WorkspaceListed = { id: string; name: string };

/** What the console shows. Lists come in the order of their keys. */
export interface AdminReads {
  listWorkspaces(place: ListPlace): Promise<WorkspaceListed[]>;
}
