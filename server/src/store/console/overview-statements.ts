import { limits } from '../../contract/limits.ts';
import type { AppSum, DaySelection, DaySum, ModelSum, UserSum } from '../../domain/store/activity-reads.ts';
import { sumColumns, type UsageSums } from '../accounting/usage-statements.ts';
import type { Value } from '../base/engine.ts';
import type { Bound } from '../base/statement.ts';

/** The SQL of the overview, in the subset that both engines understand. Each statement reads one range of days. */

const isCount = (column: keyof UsageSums) => column !== 'tokens' && column !== 'price_nanos';
const sumOf = (column: keyof UsageSums): string => {
  const sum = `SUM(u.${column})`;
  return `${isCount(column) ? `CAST(${sum} AS BIGINT)` : sum} AS ${column}`;
};
const sums = sumColumns.map(sumOf).join(', ');

function within({ first, last, app_id }: DaySelection): [condition: string, ...values: Value[]] {
  const days = 'u.day >= ? AND u.day <= ?';
  return app_id === undefined ? [days, first, last] : [`${days} AND u.app_id = ?`, first, last, app_id];
}

export function sumDays(selection: DaySelection): Bound<DaySum> {
  const [condition, ...values] = within(selection);
  const text = `
    SELECT u.day, u.currency, ${sums} FROM conversation_days u WHERE ${condition}
    GROUP BY u.day, u.currency HAVING SUM(u.messages) > 0`;
  return [text, ...values];
}

export function sumApps(selection: DaySelection): Bound<AppSum> {
  const [condition, ...values] = within(selection);
  const text = `
    SELECT u.app_id, (SELECT a.name FROM apps a WHERE a.id = u.app_id) AS app_name, u.currency, ${sums}
    FROM conversation_days u WHERE ${condition}
    GROUP BY u.app_id, u.currency HAVING SUM(u.messages) > 0`;
  return [text, ...values];
}

export function sumModels(selection: DaySelection): Bound<ModelSum> {
  const [condition, ...values] = within(selection);
  const text = `
    SELECT u.model_provider, u.model, u.currency, ${sums} FROM conversation_days u WHERE ${condition}
    GROUP BY u.model_provider, u.model, u.currency HAVING SUM(u.messages) > 0`;
  return [text, ...values];
}

/** SQLite reads the tables of a CROSS JOIN in this order (https://sqlite.org/optoverview.html#crossjoin). */
const withUser = `FROM conversation_days u CROSS JOIN conversations c
    WHERE c.conversation_id = u.conversation_id AND u.messages > 0 AND c."user" IS NOT NULL`;

export function countUsers(selection: DaySelection): Bound<{ users: number }> {
  const [condition, ...values] = within(selection);
  return [`SELECT COUNT(DISTINCT c."user") AS users ${withUser} AND ${condition}`, ...values];
}

export function countUsersByDay(selection: DaySelection): Bound<{ day: number; users: number }> {
  const [condition, ...values] = within(selection);
  return [`SELECT u.day, COUNT(DISTINCT c."user") AS users ${withUser} AND ${condition} GROUP BY u.day`, ...values];
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
