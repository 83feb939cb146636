import { limits } from '../../contract/limits.ts';
import type {
  DaySelection,
  Part,
  PartSum,
  PeriodSums,
  PeriodWanted,
  Ranked,
  RankedSum,
  SlotUsers,
  Step,
  UsageSum,
  UserSum,
} from '../../domain/store/activity-reads.ts';
import { sumColumns, type UsageSums } from '../accounting/usage-tally.ts';
import type { Reader, Value } from '../base/engine.ts';
import { isUser, sorted } from '../base/selection.ts';
import type { Bound } from '../base/statement.ts';

/** Each statement reads one range of days. */

const isCount = (column: keyof UsageSums) => column !== 'tokens' && column !== 'price_nanos';
const sumOf = (column: keyof UsageSums): string => {
  const sum = `SUM(u.${column})`;
  return `${isCount(column) ? `CAST(${sum} AS BIGINT)` : sum} AS ${column}`;
};
const sums = sumColumns.map(sumOf).join(', ');

/** The days of a user are found by the conversations, so that no index of days is read: `+`. Those of users begin with the app. */
function within({ first, last, app_id, user }: DaySelection): [condition: string, ...values: Value[]] {
  if (user === undefined) {
    const days = 'u.day >= ? AND u.day <= ?';
    return app_id === undefined ? [days, first, last] : [`${days} AND u.app_id = ?`, first, last, app_id];
  }
  const [ofUser, ...values] = isUser('o."user"', user);
  const [apps, ...ids] = app_id === undefined ? ['SELECT id FROM apps'] : ['?', app_id];
  const conversations = `
    SELECT o.conversation_id FROM conversations o WHERE o.app_id IN (${apps}) AND o.deleted IN (0, 1) AND ${ofUser}`;
  return [`+u.day >= ? AND +u.day <= ? AND u.conversation_id IN (${conversations})`, first, last, ...ids, ...values];
}

/** Days or hours since 1970-01-01. */
const slotOf: Record<Step, string> = { day: 'u.day', hour: 'u.day * 24 + u.hour' };

export function sumParts(selection: DaySelection, step: Step, parts: readonly Part[]): Bound<PartSum> {
  const [condition, ...values] = within(selection);
  const cases = parts.map((part, n) => {
    const isPart = Object.keys(part).map((column) => `u.${column} = ?`);
    return `WHEN ${isPart.join(' AND ')} THEN ${n}`;
  });
  const part = parts.length === 0 ? '0' : `CASE ${cases.join(' ')} ELSE ${parts.length} END`;
  const text = `
    SELECT ${slotOf[step]} AS slot, ${part} AS part, u.currency, ${sums} FROM conversation_days u WHERE ${condition}
    GROUP BY 1, 2, u.currency HAVING SUM(u.messages) > 0`;
  return [text, ...parts.flatMap((part) => Object.values(part)), ...values];
}

export function sumUntilHour(selection: DaySelection, hour: number): Bound<UsageSum & { day: number }> {
  const [condition, ...values] = within(selection);
  const text = `
    SELECT u.day, u.currency, ${sums} FROM conversation_days u WHERE ${condition} AND u.hour < ?
    GROUP BY u.day, u.currency HAVING SUM(u.messages) > 0`;
  return [text, ...values, hour];
}

export function sumAppsAndModels(selection: DaySelection, first: number): Bound<RankedSum> {
  const [condition, ...values] = within(selection);
  const text = `
    SELECT CASE WHEN u.day < ? THEN 1 ELSE 0 END AS earlier, u.app_id,
      (SELECT ${sorted('a.name')} FROM apps a WHERE a.id = u.app_id) AS app_name, u.model_provider, u.model, u.currency, ${sums}
    FROM conversation_days u WHERE ${condition}
    GROUP BY 1, u.app_id, u.model_provider, u.model, u.currency HAVING SUM(u.messages) > 0`;
  return [text, first, ...values];
}

/** SQLite reads the tables of a CROSS JOIN in this order (https://sqlite.org/optoverview.html#crossjoin). */
const withUser = `FROM conversation_days u CROSS JOIN conversations c
    WHERE c.conversation_id = u.conversation_id AND u.messages > 0 AND c."user" IS NOT NULL`;

export function countUsers(selection: DaySelection): Bound<{ users: number }> {
  const [condition, ...values] = within(selection);
  return [`SELECT COUNT(DISTINCT c."user") AS users ${withUser} AND ${condition}`, ...values];
}

export function countUsersBySlot(selection: DaySelection, step: Step): Bound<SlotUsers> {
  const [condition, ...values] = within(selection);
  const text = `SELECT ${slotOf[step]} AS slot, COUNT(DISTINCT c."user") AS users ${withUser} AND ${condition} GROUP BY 1`;
  return [text, ...values];
}

type TopUser = Omit<UserSum, 'currency'> & { currency: string | null; last_currency: string | null };

/** The smallest and the greatest currency are the same if there is one. */
export function topUsers(selection: DaySelection): Bound<TopUser> {
  const [condition, ...values] = within(selection);
  const text = `
    SELECT c."user", ${sums}, MIN(NULLIF(u.currency, '')) AS currency, MAX(NULLIF(u.currency, '')) AS last_currency
    ${withUser} AND ${condition}
    GROUP BY c."user" ORDER BY SUM(u.messages) DESC, c."user" LIMIT ${limits.overviewUsersMax}`;
  return [text, ...values];
}

/** The cost grows with the conversations that were active on each day. */
export async function readSums(read: Reader, wanted: PeriodWanted): Promise<PeriodSums> {
  const { selection, before, step, by, parts, running } = wanted;
  const both = { ...selection, first: before.first };
  const countIn = async (range: typeof both) => {
    const [row] = await read(...countUsers(range));
    return Number(row?.users ?? 0);
  };
  const sums = await read(...sumAppsAndModels(both, selection.first));
  const apps = ranked(sums, ({ app_id }) => app_id);
  const models = ranked(sums, ({ model_provider, model }) => `${model_provider}\0${model}`);
  const drawn =
    by === 'app'
      ? apps.map(({ first: { app_id } }) => ({ app_id }))
      : models.map(({ first: { model_provider, model } }) => ({ model_provider, model }));
  const slots = await read(...sumParts(both, step, drawn.slice(0, parts)));
  const lastDays = { ...selection, first: selection.last - 1 };
  const untilHour = running === undefined ? [] : await read(...sumUntilHour(lastDays, running));
  const rows = await read(...topUsers(selection));
  const top = rows.map(({ last_currency, ...row }) => {
    const currency = row.currency === last_currency ? (row.currency ?? '') : '';
    return { ...row, currency };
  });
  const users = await countIn(selection);
  const counts = await read(...countUsersBySlot(selection, step));
  const usersBySlot = new Map(counts.map(({ slot, users }) => [slot, Number(users)]));
  const usersBefore = await countIn({ ...selection, ...before });
  return { slots, untilHour, apps, models, users, usersBySlot, usersBefore, top };
}

/** The rows of each key; the keys with the most messages in the period first. */
function ranked(sums: readonly RankedSum[], keyOf: (sum: RankedSum) => string): Ranked[] {
  const messagesOf = (rows: readonly RankedSum[]) =>
    rows.reduce((sum, row) => sum + (row.earlier === 1 ? 0 : row.messages), 0);
  return [...Map.groupBy(sums, keyOf)]
    .flatMap(([key, [first, ...others]]) => (first === undefined ? [] : { key, first, rows: [first, ...others] }))
    .map((one) => ({ ...one, messages: messagesOf(one.rows) }))
    .sort((one, other) => other.messages - one.messages || (one.key < other.key ? -1 : 1));
}
