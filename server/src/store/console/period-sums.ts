import type { DayRange, DaySelection, PeriodSums } from '../../domain/store/activity-reads.ts';
import type { Reader } from '../base/engine.ts';
import * as sql from './overview-statements.ts';

/** The cost grows with the conversations that were active on each day. */
export async function readSums(read: Reader, selection: DaySelection, before: DayRange): Promise<PeriodSums> {
  const countIn = async (range: DayRange) => {
    const [row] = await read(...sql.countUsers({ ...selection, ...range }));
    return Number(row?.users ?? 0);
  };
  const days = await read(...sql.sumDays({ ...selection, first: before.first }));
  const apps = await read(...sql.sumApps(selection));
  const models = await read(...sql.sumModels(selection));
  const rows = await read(...sql.topUsers(selection));
  const top = rows.map(({ last_currency, ...row }) => {
    const currency = row.currency === last_currency ? (row.currency ?? '') : '';
    return { ...row, currency };
  });
  const users = await countIn(selection);
  const counts = await read(...sql.countUsersByDay(selection));
  const usersByDay = new Map(counts.map(({ day, users }) => [day, Number(users)]));
  return { days, apps, models, users, usersByDay, usersBefore: await countIn(before), top };
}
