import { ServiceError } from '../errors.ts';
import type { UserRows, UserSelection } from '../store/activity-reads.ts';
import type { ListRange } from '../store/admin-reads.ts';
import type { Store } from '../store/store.ts';

/** Time that a list of users spends on counting first. */
const countUsersMillis = 1_000;

/**
 * Counts the conversations that have changed, each once, until `pause` returns false. No write of a message waits for the
 * totals of its user: many writes of one user would wait for each other, and on a distributed database each would need a
 * second node.
 */
export async function countUsers(store: Store, pause: () => boolean | Promise<boolean>): Promise<void> {
  let after: string | undefined = '';
  do after = await store.run('countUsers', after);
  while (after !== undefined && (await pause()));
}

/** Totals are up to date, unless very many conversations have changed, or the database cannot be written to now. */
export async function listUsers(store: Store, selection: UserSelection, range: ListRange): Promise<UserRows> {
  const end = performance.now() + countUsersMillis;
  await countUsers(store, () => performance.now() < end).catch((error) => {
    if (!(error instanceof ServiceError)) throw error;
  });
  return store.users.list(selection, range);
}
