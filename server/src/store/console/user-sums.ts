import { limits } from '../../contract/limits.ts';
import type { DayRange, DaySelection, UserSum, UserSums } from '../../domain/store/activity-reads.ts';
import { sumColumns } from '../accounting/usage-statements.ts';
import type { ReadEngine, Row, ScanSnapshot } from '../engine.ts';
import * as sql from './overview-statements.ts';

/** Users of a period and of the period before. The cost grows with the conversations that were active on each day. */
export async function queryUsers(engine: ReadEngine, selection: DaySelection, before: DayRange): Promise<UserSums> {
  const countIn = async (range: DayRange) => {
    const [row] = await engine.read(...sql.countUsers({ ...selection, ...range }));
    return Number(row?.users ?? 0);
  };
  const rows = await engine.read(...sql.topUsers(selection));
  const top = rows.map(({ last_currency, ...row }) => {
    const currency = row.currency === last_currency ? (row.currency ?? '') : '';
    return { ...row, currency } as UserSum;
  });
  return { users: await countIn(selection), usersBefore: await countIn(before), top };
}

/** For an engine that reads on this thread: other requests run in between. */
export async function scanUsers(
  { scan, close }: ScanSnapshot,
  selection: DaySelection,
  before: DayRange,
): Promise<UserSums> {
  const sums = new Map<string, UserSum & { hasSeveral: boolean }>();
  const usersBefore = new Set<string>();
  const visit = (row: Row): void => {
    const { user, day, currency } = row as UserSum & { day: number };
    if (day < selection.first) return void usersBefore.add(user);
    let sum = sums.get(user);
    if (sum === undefined) {
      const none = { messages: 0, tokens: 0, price_nanos: 0, liked: 0, disliked: 0, failed: 0 };
      sums.set(user, (sum = { user, currency, ...none, hasSeveral: false }));
    }
    for (const column of sumColumns) sum[column] += row[column] as number;
    sum.hasSeveral ||= currency !== '' && sum.currency !== '' && currency !== sum.currency;
    sum.currency ||= currency;
  };
  try {
    await scan(visit, ...sql.scanUsers({ ...selection, first: before.first }));
  } finally {
    close();
  }
  const top = [...sums.values()]
    .sort((one, other) => other.messages - one.messages || compareBytes(one.user, other.user))
    .slice(0, limits.overviewUsersMax)
    .map(({ hasSeveral, ...sum }) => ({ ...sum, currency: hasSeveral ? '' : sum.currency }));
  return { users: sums.size, usersBefore: usersBefore.size, top };
}

/** The order of texts in both engines. */
const compareBytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));
