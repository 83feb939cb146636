import type { UserListed, UserOrder } from '../../contract/console/users.ts';
import { limits } from '../../contract/limits.ts';
import type { UserKey, Users } from '../../domain/store/activity-reads.ts';
import type { ListRange } from '../../domain/store/admin-reads.ts';
import { priceOf } from '../accounting/user-totals.ts';
import type { ReadEngine, Value } from '../base/engine.ts';
import type { Bound, Statement } from '../base/statement.ts';
import { contains } from '../knowledge/statements.ts';
import { type List, listPage, readList } from './admin-statements.ts';

/** The column of each order. The others have the names of the fields. By name, the first value is the same in all rows. */
const renamed: Readonly<Record<string, string>> = { app_ids: 'app_count', total_price: 'price_nanos', user: 'app_id' };
const columnOf = (order: UserOrder): string => {
  const field = order.replace('-', '');
  return renamed[field] ?? field;
};

type Found = Omit<UserListed, 'app_ids' | 'total_price' | 'currency'> &
  Record<'app_ids' | 'prices' | 'user_key', string> &
  Record<string, unknown>;

/** Rows of one app, or of all apps, in an order. An index has the order of each column. */
export function usersIn(order: UserOrder): List {
  const sums = 'app_count, conversations, messages, disliked, failed, price_nanos, currency, first_at, last_at';
  return {
    columns: [`user_key, app_id, ${sums}`],
    texts: { '"user"': '"user"', app_ids: 'app_ids', prices: 'prices' },
    from: 'user_totals',
    where: ['app_id = ?'],
    by: [columnOf(order), 'user_key'],
    descending: order.startsWith('-'),
  };
}

const countUsers: Statement<{ n: number }> = 'SELECT COUNT(*) AS n FROM user_totals WHERE app_id = ?';

/** The key of the last row that one request compares with a part of a name. */
export function scanEnd(
  order: UserOrder,
  app_id: string,
  after: ListRange['after'],
): Bound<Record<string, UserKey[0]>> {
  const list = { ...usersIn(order), columns: [`${columnOf(order)} AS value, user_key`], texts: {} };
  const [text, ...values] = listPage(list, [app_id], { after, count: 1 });
  return [`${text} OFFSET ${limits.usersScanMax - 1}`, ...values];
}

/** The list of users. Totals over all apps are rows with an empty app. */
export const userReads = (reads: ReadEngine): Users => ({
  list: async ({ app_id = '', q, order }, range) => {
    const { where = [], ...list } = usersIn(order);
    const end = q === undefined ? undefined : await findEnd(reads, order, app_id, range);
    const [isNamed, ...pattern] = q === undefined ? [] : contains('"user"', q);
    const isBefore = `(${list.by.join(', ')}) ${list.descending ? '>=' : '<='} (?, ?)`;
    const conditions = [...where, isNamed, end && isBefore].filter((one) => one !== undefined);
    const values: Value[] = [app_id, ...pattern, ...(end ?? [])];
    const { rows, has_more } = await readList<Found>(reads, { ...list, where: conditions }, values, range);
    const last = has_more ? rows.at(-1) : undefined;
    return {
      rows: rows.map(listed),
      next: last === undefined ? end : [last[columnOf(order)] as UserKey[0], last.user_key],
    };
  },
  count: async (app_id = '') => (await reads.read(countUsers, app_id))[0]?.n ?? 0,
});

async function findEnd(
  reads: ReadEngine,
  order: UserOrder,
  app_id: string,
  { after }: ListRange,
): Promise<UserKey | undefined> {
  const [end] = await reads.read(...scanEnd(order, app_id, after));
  return end && [end.value ?? '', `${end.user_key}`];
}

function listed(row: Found): UserListed {
  const { user, conversations, messages, disliked, failed, first_at, last_at } = row;
  const price = priceOf(JSON.parse(row.prices));
  const total_price = price === undefined ? null : price.price_nanos / 1e9;
  const currency = price?.currency ?? null;
  const counts = { conversations, messages, disliked, failed };
  return { user, app_ids: JSON.parse(row.app_ids), ...counts, total_price, currency, first_at, last_at };
}
