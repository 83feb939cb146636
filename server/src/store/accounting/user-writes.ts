import { limits } from '../../contract/limits.ts';
import type { Dialect, WriteContext } from '../base/engine.ts';
import { lockOf } from '../base/leases.ts';
import { isUser } from '../base/selection.ts';
import {
  type Bound,
  begin,
  type Columns,
  execute,
  first,
  lock,
  query,
  type Scalar,
  type Statement,
  upsertInto,
  type Write,
  writeRows,
} from '../base/statement.ts';
import { type ConversationSums, conversationSums } from './usage-tally.ts';
import {
  type CountChange,
  type CountedConversation,
  countsOf,
  priceOf,
  UserApps,
  type UserTotals,
  userKeyOf,
} from './user-totals.ts';

/** The totals of users: which conversations they have to count again, and how. */

type Uncounted = {
  conversation_id: string;
  app_id: string;
  user: string | null;
  created_at: number;
  updated_at: number;
  version: string;
  counted_version: string;
  counted: string | null;
};

/** Every change of a conversation or its messages replaces its version. Parameters: id, number. */
export const findUncounted: Statement<Uncounted> = `
  SELECT conversation_id, app_id, "user", created_at, updated_at, version, counted_version, counted
  FROM conversations WHERE counted_version <> version AND conversation_id > ? ORDER BY conversation_id LIMIT ?`;

/** Changes nothing if another process has counted it. Parameters: version, counted, conversation_id, counted_version. */
const markCounted = `
  UPDATE conversations SET counted_version = ?, counted = ? WHERE conversation_id = ?/*@*/ AND counted_version = ?`;

/** One transaction changes totals at a time. Taken after the locks of conversations. */
const lockTotals = lockOf('user totals');

const totalsOfUsers = (isListed: string): Statement<TotalsRow> => `
  SELECT user_key, app_id, "user", conversations, messages, disliked, failed, prices, first_at, last_at
  FROM user_totals WHERE ${isListed} AND app_id <> ''`;
type TotalsRow = Omit<UserTotals, 'prices'> & { user_key: string; prices: string };

const totalsColumns: Columns = {
  ...{ user_key: 'text', app_id: 'text', '"user"': 'text', app_ids: 'text', app_count: 'bigint' },
  ...{ conversations: 'bigint', messages: 'bigint', disliked: 'bigint', failed: 'bigint' },
  ...{ prices: 'text', price_nanos: 'bigint', currency: 'text', first_at: 'bigint', last_at: 'bigint' },
};
const writeTotals = upsertInto('user_totals', totalsColumns, ['user_key', 'app_id']);

function totalsValues(user_key: string, totals: UserTotals, app_ids: readonly string[]): Scalar[] {
  const { app_id, user, conversations, messages, disliked, failed, prices, first_at, last_at } = totals;
  const { price_nanos = 0, currency = '' } = priceOf(prices) ?? {};
  // An integer that a cursor can have.
  const price = Math.round(Math.min(Math.max(price_nanos, Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER));
  return [
    ...[user_key, app_id, user, JSON.stringify(app_ids), app_ids.length, conversations, messages, disliked, failed],
    ...[JSON.stringify(prices), price, currency, first_at, last_at],
  ];
}

/** Counts one batch of the changed conversations after this id. Returns the last one; undefined if there are no more. */
export function* countUsers(after: string, { dialect }: WriteContext): Write<string | undefined> {
  yield* begin();
  const uncounted = yield* query(findUncounted, after, limits.countedTogetherMax);
  if (uncounted.length === 0) return undefined;
  const ids = dialect.list(uncounted.map(({ conversation_id }) => conversation_id));
  // Read after the versions: what is added in between is counted with the next version.
  const sums = Map.groupBy(yield* query(conversationSums(dialect), ids), ({ conversation_id }) => conversation_id);
  const changes: CountChange[] = [];
  for (const row of uncounted) {
    const { conversation_id, version, counted_version, counted } = row;
    const after = countedOf(row, sums.get(conversation_id) ?? []);
    const text = after && JSON.stringify(after);
    if ((yield* execute(markCounted, version, text, conversation_id, counted_version)) === 0) continue;
    if (text !== counted) changes.push({ before: counted === null ? null : JSON.parse(counted), after });
  }
  yield* applyChanges(changes, dialect);
  return uncounted.length < limits.countedTogetherMax ? undefined : uncounted.at(-1)?.conversation_id;
}

/** For conversations that were erased in this transaction. */
export function* uncountUsers(erased: readonly { counted: string | null }[], dialect: Dialect): Write<void> {
  const changes = erased.flatMap(({ counted }) =>
    counted === null ? [] : { before: JSON.parse(counted), after: null },
  );
  yield* applyChanges(changes, dialect);
}

/** Null without a user. */
const countedOf = (row: Uncounted, sums: readonly ConversationSums[]): CountedConversation | null => {
  const { app_id, user, created_at: first_at, updated_at: last_at } = row;
  return user === null ? null : { user, app_id, ...countsOf(sums), first_at, last_at };
};

function* applyChanges(changes: readonly CountChange[], dialect: Dialect): Write<void> {
  if (changes.length === 0) return;
  yield* lock(lockTotals);
  const names = new Set(changes.flatMap(({ before, after }) => [before?.user ?? [], after?.user ?? []].flat()));
  const keys = new Map([...names].map((user) => [user, userKeyOf(user)]));
  const rows = yield* query(totalsOfUsers(dialect.isIn('user_key')), dialect.list([...keys.values()]));
  const stored = Map.groupBy(rows, ({ user_key }) => user_key);
  const users = new Map(
    [...keys].map(([user, key]) => {
      const totals = (stored.get(key) ?? []).map((row) => ({ ...row, prices: JSON.parse(row.prices) }));
      return [user, new UserApps(user, totals)];
    }),
  );
  for (const { before, after } of changes) {
    if (before !== null) users.get(before.user)?.subtract(before, after);
    if (after !== null) users.get(after.user)?.add(after);
  }
  const written: Scalar[][] = [];
  for (const [user, user_key] of keys) {
    const apps = users.get(user);
    if (apps !== undefined) written.push(...(yield* writtenRows(user_key, apps, dialect)));
  }
  yield* writeRows(writeTotals, written);
}

/** The rows of a user to write; those of apps without conversations are deleted. */
function* writtenRows(user_key: string, apps: UserApps, dialect: Dialect): Write<Scalar[][]> {
  const written: Scalar[][] = [];
  for (const app_id of apps.changed) {
    const totals = apps.totalsIn(app_id);
    if (totals === undefined) {
      yield* execute(deleteTotals, user_key, app_id);
      continue;
    }
    if (apps.unbounded.has(app_id)) {
      const bounds = yield* first(...findBounds(totals, dialect));
      totals.first_at = bounds?.first_at ?? totals.first_at;
      totals.last_at = bounds?.last_at ?? totals.last_at;
    }
    written.push(totalsValues(user_key, totals, [app_id]));
  }
  const { total } = apps;
  if (total === undefined) yield* execute(deleteTotals, user_key, '');
  else written.push(totalsValues(user_key, total.totals, total.app_ids));
  return written;
}

type Bounds = { first_at: number | null; last_at: number | null };

const deleteTotals = 'DELETE FROM user_totals WHERE user_key = ? AND app_id = ?';

/**
 * Reads all conversations of the user in the app. It is rare that the first or the last one is changed or erased. The times are
 * those that were counted: if a conversation has changed since, its next count replaces them. Null if another count gives all of
 * them to another user.
 */
function findBounds({ app_id, user }: UserTotals, { jsonField }: Dialect): Bound<Bounds> {
  const [ofUser, ...values] = isUser('"user"', user);
  const time = (name: string) => `CAST(${jsonField('counted', name)} AS BIGINT)`;
  const text = `
    SELECT MIN(${time('first_at')}) AS first_at, MAX(${time('last_at')}) AS last_at FROM conversations
    WHERE app_id = ? AND deleted IN (0, 1) AND ${ofUser} AND ${jsonField('counted', 'user')} = ?`;
  return [text, app_id, ...values, user];
}
