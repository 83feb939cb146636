import { limits } from '../../contract/limits.ts';
import type { DayRange, DaySelection, PeriodSums, UsageSum, UserSum } from '../../domain/store/activity-reads.ts';
import type { Dialect, ReadEngine, ScanSnapshot } from '../base/engine.ts';
import * as sql from './overview-statements.ts';

/** The cost grows with the conversations that were active on each day. */
export async function querySums(engine: ReadEngine, selection: DaySelection, before: DayRange): Promise<PeriodSums> {
  const countIn = async (range: DayRange) => {
    const [row] = await engine.read(...sql.countUsers({ ...selection, ...range }));
    return Number(row?.users ?? 0);
  };
  const days = await engine.read(...sql.sumDays({ ...selection, first: before.first }));
  const apps = await engine.read(...sql.sumApps(selection));
  const models = await engine.read(...sql.sumModels(selection));
  const rows = await engine.read(...sql.topUsers(selection));
  const top = rows.map(({ last_currency, ...row }) => {
    const currency = row.currency === last_currency ? (row.currency ?? '') : '';
    return { ...row, currency };
  });
  const users = await countIn(selection);
  const counts = await engine.read(...sql.countUsersByDay(selection));
  const usersByDay = new Map(counts.map(({ day, users }) => [day, Number(users)]));
  return { days, apps, models, users, usersByDay, usersBefore: await countIn(before), top };
}

/** For an engine that reads on this thread: one scan for all sums, and other requests run in between. */
export async function scanSums(
  { read, scan, close }: ScanSnapshot,
  { isIn, list }: Dialect,
  selection: DaySelection,
  before: DayRange,
): Promise<PeriodSums> {
  const days = new SumsByKey<{ day: number }>();
  const apps = new SumsByKey<{ app_id: string }>();
  const models = new SumsByKey<{ model_provider: string; model: string }>();
  const users = new Map<string, UserSum & { hasSeveral: boolean }>();
  const usersByDay = new Map<number, Set<string>>();
  const usersBefore = new Set<string>();
  const addToUser = (user: string, row: UsageSum): void => {
    const { currency } = row;
    let sum = users.get(user);
    if (sum === undefined) users.set(user, (sum = { user, ...noUsage(currency), hasSeveral: false }));
    addTo(sum, row);
    sum.hasSeveral ||= currency !== '' && sum.currency !== '' && currency !== sum.currency;
    sum.currency ||= currency;
  };
  const visit = (row: sql.UsageOfConversation): void => {
    const { user, day, app_id, model_provider, model } = row;
    days.add({ day }, `${day}`, row);
    if (day < selection.first) {
      if (user !== null) usersBefore.add(user);
      return;
    }
    apps.add({ app_id }, app_id, row);
    models.add({ model_provider, model }, `${model_provider}\0${model}\0`, row);
    if (user === null) return;
    addToUser(user, row);
    const ofDay = usersByDay.get(day);
    if (ofDay === undefined) usersByDay.set(day, new Set([user]));
    else ofDay.add(user);
  };
  try {
    await scan(visit, ...sql.scanUsage({ ...selection, first: before.first }));
    const names = await read(sql.appNames(isIn('id')), list(apps.sums.map(({ app_id }) => app_id)));
    const nameOf = new Map(names.map(({ id, name }) => [id, name]));
    const top = [...users.values()]
      .sort((one, other) => other.messages - one.messages || compareBytes(one.user, other.user))
      .slice(0, limits.overviewUsersMax)
      .map(({ hasSeveral, ...sum }) => ({ ...sum, currency: hasSeveral ? '' : sum.currency }));
    return {
      days: days.sums,
      apps: apps.sums.map((sum) => ({ ...sum, app_name: nameOf.get(sum.app_id) ?? '' })),
      models: models.sums,
      users: users.size,
      usersByDay: new Map([...usersByDay].map(([day, { size }]) => [day, size])),
      usersBefore: usersBefore.size,
      top,
    };
  } finally {
    close();
  }
}

/** Sums by key and currency. */
class SumsByKey<Key> {
  readonly #sums = new Map<string, Key & UsageSum>();

  get sums(): (Key & UsageSum)[] {
    return [...this.#sums.values()];
  }

  add(key: Key, text: string, row: UsageSum): void {
    const id = `${text} ${row.currency}`;
    let sum = this.#sums.get(id);
    if (sum === undefined) this.#sums.set(id, (sum = { ...key, ...noUsage(row.currency) }));
    addTo(sum, row);
  }
}

const noUsage = (currency: string): UsageSum => ({
  ...{ currency, messages: 0, tokens: 0, price_nanos: 0, liked: 0, disliked: 0, failed: 0 },
});

function addTo(sum: UsageSum, row: UsageSum): void {
  sum.messages += row.messages;
  sum.tokens += row.tokens;
  sum.price_nanos += row.price_nanos;
  sum.liked += row.liked;
  sum.disliked += row.disliked;
  sum.failed += row.failed;
}

/** The order of texts in both engines. */
const compareBytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));
