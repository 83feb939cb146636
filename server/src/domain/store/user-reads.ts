import type { UserListed, UserOrder } from '../../contract/console/users.ts';
import type { ListRange } from './admin-reads.ts';

/** `app_id`: undefined for all apps. `q`: part of the name. The sort key is the value of the order, then a text. */
export type UserSelection = { app_id: string | undefined; q: string | undefined; order: UserOrder };
export type UserKey = readonly [value: string | number, user_key: string];
/** `next` is the key after which the list continues; undefined at its end. */
export type UserRows = { rows: UserListed[]; next: UserKey | undefined };

/** Totals of end users, which follow their conversations. */
export interface Users {
  /** With `q` only a part of the list is compared: rows may be fewer than requested, even none, although more follow. */
  list(selection: UserSelection, range: ListRange): Promise<UserRows>;
}
