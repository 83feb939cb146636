import type { UserListed, UserOrder } from '../../contract/console/users.ts';
import { limits } from '../../contract/limits.ts';
import type { UserKey, Users } from '../../domain/store/activity-reads.ts';
import type { ListRange } from '../../domain/store/admin-reads.ts';
import { priceOf } from '../accounting/user-totals.ts';
import type { ReadEngine, Value } from '../base/engine.ts';
import type { Bound, Statement } from '../base/statement.ts';
import { contains } from '../knowledge/statements.ts';
import { type List, readList } from './admin-statements.ts';

type Sorted = Exclude<keyof UserListed, 'app_ids' | 'total_price' | 'user'> | 'app_count' | 'price_nanos' | 'app_id';

/** The column of each order. The others have the names of the fields. By name, the first value is the same in all rows. */
const renamed = { app_ids: 'app_count', total_price: 'price_nanos', user: 'app_id' } as const;

const fieldOf = (order: UserOrder): keyof UserListed => order.replace('-', '') as keyof UserListed;
const columnOf = (order: UserOrder): Sorted => {
  const field = fieldOf(order);
  return field in renamed ? renamed[field as keyof typeof renamed] : (field as Sorted);
};

type Found = Omit<UserListed, 'app_ids' | 'total_price' | 'currency'> & {
  app_ids: string;
  currency: string;
  prices: string;
  user_key: string;
  app_id: string;
} & Record<'app_count' | 'price_nanos', number>;

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

/** Parameters: app_id. */
const countUsers: Statement<{ n: number }> = 'SELECT COUNT(*) AS n FROM user_totals WHERE app_id = ?';

/** The key of the last row that one request compares with a part of a name. */
export function scanEnd(
  order: UserOrder,
  app_id: string,
  after: ListRange['after'],
): Bound<Record<string, UserKey[0]>> {
  const { by, descending } = usersIn(order);
  const beyond = after === undefined ? '' : `AND (${by.join(', ')}) ${descending ? '<' : '>'} (?, ?)`;
  const sortedBy = by.map((column) => (descending ? `${column} DESC` : column)).join(', ');
  const text = `
    SELECT ${by[0]} AS value, user_key FROM user_totals WHERE app_id = ? ${beyond}
    ORDER BY ${sortedBy} LIMIT 1 OFFSET ${limits.usersScanMax - 1}`;
  return [text, app_id, ...(after ?? [])];
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
    return { rows: rows.map(listed), next: last === undefined ? end : [last[columnOf(order)], last.user_key] };
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

function listed({
  user,
  app_ids,
  conversations,
  messages,
  disliked,
  failed,
  prices,
  first_at,
  last_at,
}: Found): UserListed {
  const price = priceOf(JSON.parse(prices));
  const total_price = price === undefined ? null : price.price_nanos / 1e9;
  const currency = price?.currency ?? null;
  const counts = { conversations, messages, disliked, failed };
  return { user, app_ids: JSON.parse(app_ids), ...counts, total_price, currency, first_at, last_at };
}
