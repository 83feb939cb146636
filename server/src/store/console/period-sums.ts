import type { PeriodSums, PeriodWanted, Ranked, RankedSum } from '../../domain/store/activity-reads.ts';
import type { Reader } from '../base/engine.ts';
import * as sql from './overview-statements.ts';

/** The cost grows with the conversations that were active on each day. */
export async function readSums(read: Reader, wanted: PeriodWanted): Promise<PeriodSums> {
  const { selection, before, step, by, parts, running } = wanted;
  const both = { ...selection, first: before.first };
  const countIn = async (range: typeof both) => {
    const [row] = await read(...sql.countUsers(range));
    return Number(row?.users ?? 0);
  };
  const sums = await read(...sql.sumAppsAndModels(both, selection.first));
  const apps = ranked(sums, ({ app_id }) => app_id);
  const models = ranked(sums, ({ model_provider, model }) => `${model_provider}\0${model}`);
  const drawn =
    by === 'app'
      ? apps.map(({ first: { app_id } }) => ({ app_id }))
      : models.map(({ first: { model_provider, model } }) => ({ model_provider, model }));
  const slots = await read(...sql.sumParts(both, step, drawn.slice(0, parts)));
  const lastDays = { ...selection, first: selection.last - 1 };
  const untilHour = running === undefined ? [] : await read(...sql.sumUntilHour(lastDays, running));
  const rows = await read(...sql.topUsers(selection));
  const top = rows.map(({ last_currency, ...row }) => {
    const currency = row.currency === last_currency ? (row.currency ?? '') : '';
    return { ...row, currency };
  });
  const users = await countIn(selection);
  const counts = await read(...sql.countUsersBySlot(selection, step));
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
