import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { day, epochSeconds, id, integer, list, nullable, number, shape, text } from './primitives.ts';
import { Type } from './type.ts';

const sums = {
  messages: integer('Number of messages.'),
  liked: integer('Messages that their users liked.'),
  disliked: integer('Messages that their users disliked.'),
  failed: integer('Messages whose status is `error`.'),
  tokens: number('double', 'Sum of their total_tokens.'),
};

const Price = shape(
  { currency: text('Currency.'), price: number('double', 'Sum of the prices in this currency.') },
  { title: 'Price' },
);
const prices = list(Price, 'Sums of their prices by currency, in the order of the currencies.');

const Totals = shape(
  { ...sums, users: integer('Number of different users of their conversations.'), prices },
  { title: 'OverviewTotals', description: 'What the messages of a period add up to.' },
);

export const Overview = shape(
  {
    from: epochSeconds('Start of the period: midnight UTC.'),
    to: epochSeconds('End of the period: midnight UTC, exclusive.'),
    totals: Totals,
    before: Totals,
    days: list(
      shape({ day: day('Day in UTC.'), ...sums, prices }, { title: 'OverviewDay' }),
      'Days of the period that have messages, oldest first.',
    ),
    apps: list(
      shape({ app_id: id('App ID.'), app_name: text('Name of the app.'), ...sums, prices }, { title: 'OverviewApp' }),
      `The ${limits.overviewAppsMax} apps with the most messages, most messages first.`,
    ),
    users: list(
      shape(
        {
          user: text('End user.'),
          ...sums,
          price: nullable(number('double', 'Sum of the prices; null without prices, or in several currencies.')),
          currency: nullable(text('Currency of price; null if price is null.')),
        },
        { title: 'OverviewUser' },
      ),
      `The ${limits.overviewUsersMax} users with the most messages, most messages first.`,
    ),
  },
  {
    title: 'Overview',
    description: 'Totals of a period, and as `before` those of the equally long period before it.',
  },
);

export type Overview = Static<typeof Overview>;
export type OverviewTotals = Static<typeof Totals>;

const time = (description: string) =>
  Type.Optional(
    Type.Integer({ minimum: 0, maximum: limits.overviewSecondsMax, description: `${description} Unix epoch seconds.` }),
  );

export const OverviewQuery = Type.Object({
  from: time(`Start; the whole day in UTC counts. Default: ${limits.overviewDaysDefault} days, including the last.`),
  to: time('End, exclusive; the whole day in UTC counts. Default: now.'),
  app_id: Type.Optional(Type.String({ description: 'Only this app.' })),
});
