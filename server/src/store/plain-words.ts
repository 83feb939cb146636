import { sqliteCode } from './sqlite-codes.ts';

const full = 'the disk is full: free some space';
const words: Readonly<Record<string | number, string>> = {
  8: 'the database file is read-only: let the user who runs this write to it',
  10: 'the disk does not take it: look whether it is full or failing, and for limits on the size of files',
  13: full,
  14: 'a file cannot be opened: look at the permissions of the folder',
  ENOSPC: full,
  EDQUOT: full,
};

/** What keeps us from writing and what helps, in a line that is enough at night. */
export function explainDiskError(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  const message = error instanceof Error ? error.message : String(error);
  const plain = words[sqliteCode(error) ?? code ?? ''];
  return plain === undefined ? message : `${plain} (${message})`;
}
