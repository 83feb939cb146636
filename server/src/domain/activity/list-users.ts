import { limits } from '../../contract/limits.ts';
import { ServiceError } from '../errors.ts';
import type { ListRange } from '../store/admin-reads.ts';
import type { Store } from '../store/store.ts';
import type { UserRows, UserSelection } from '../store/user-reads.ts';

/**
 * Counts changed conversations, for at most this time. No write of a message waits for the totals of its user: many writes
 * of one user would wait for each other, and on a distributed database each would need a second node.
 */
export async function countUsers({ users }: Store, millisMax: number): Promise<void> {
  const end = performance.now() + millisMax;
  while ((await users.count()) > 0 && performance.now() < end);
}

/** Totals are up to date, unless very many conversations have changed, or the database cannot be written to now. */
export async function listUsers(store: Store, selection: UserSelection, range: ListRange): Promise<UserRows> {
  await countUsers(store, limits.countUsersMillis).catch((error) => {
    if (!(error instanceof ServiceError)) throw error;
  });
  return store.users.list(selection, range);
}
