import type { Static } from 'typebox';
import { conversationFilters, listParameters, periodFilters } from '../admin.ts';
import { limits } from '../limits.ts';
import { MessageQuery } from '../message.ts';
import { described, epochSeconds, id, integer, list, named, nullable, number, optional, text } from '../primitives.ts';
import { Type } from '../type.ts';

export const ConversationListed = named('Conversation', 'A conversation of an app.', {
  id: id('Conversation ID.'),
  user: nullable(text('End user of the conversation.')),
  name: text('Name. Without a name of its own, the beginning of its first query.'),
  created_at: epochSeconds('Creation time.'),
  message_count: integer('Number of messages in it.'),
  last_message_at: nullable(epochSeconds('Time of its newest message; null if it has none.')),
  updated_at: epochSeconds('The latest of its creation, its newest message and its last rename.'),
});

export type ConversationListed = Static<typeof ConversationListed>;

const { message_count, last_message_at, updated_at, ...ofConversation } = ConversationListed.properties;

export const ConversationSummary = named('ConversationSummary', 'A conversation of any app, with counts.', {
  ...ofConversation,
  name: text(
    `Name. Without a name of its own, the beginning of its first query: up to ${limits.listedTextCharsMax} characters.`,
  ),
  app_id: id('App ID.'),
  app_name: text('Name of the app.'),
  updated_at,
  last_message_at,
  message_count,
  disliked_count: integer('Number of messages that the user disliked.'),
  failed_count: integer('Number of messages whose status is `error`.'),
  price: nullable(
    number('double', 'Sum of the prices of its messages; null without prices, or in several currencies.'),
  ),
  currency: nullable(text('Currency of price; null if price is null.')),
  last_text: text(
    `Beginning of the newest answer, or of its query if the answer is empty: up to ${limits.listedTextCharsMax} characters. ` +
      `Empty if that message is larger than ${limits.joinedDocBytesMax / 1024} KiB.`,
  ),
});

export type ConversationSummary = Static<typeof ConversationSummary>;

export const SummaryQuery = Type.Object({
  ...listParameters,
  ...conversationFilters,
  ...periodFilters('activity (`updated_at`)'),
  id: Type.Optional(
    Type.Array(Type.String(), {
      minItems: 1,
      maxItems: limits.listRowsMax,
      description: 'A conversation ID. Repeat it for several conversations: only these are listed, on one page.',
    }),
  ),
});

const { first_id, limit, page_order } = MessageQuery.properties;
/** Parameters of a page of messages, for routes whose path has the conversation. */
export const TranscriptQuery = Type.Object({ first_id, limit, page_order });

export const AppConversationPath = Type.Object({
  app_id: Type.String({ description: 'App ID.' }),
  conversation_id: Type.String({ description: 'Conversation ID.' }),
});
export const AppMessagePath = Type.Object({
  ...AppConversationPath.properties,
  message_id: Type.String({ description: 'Message ID.' }),
});

export const LocateQuery = Type.Object({
  message_id: optional.text('A message ID. Absent: the beginning of the conversation.'),
  newer: optional.integer('Number of newer messages that the page should have before this one.', {
    minimum: 0,
    maximum: limits.pageMessagesMax - 1,
    default: 0,
  }),
});

export const LocatedPage = named('LocatedPage', 'Where a page begins.', {
  first_id: nullable(id('`first_id` of the page. Null: the newest page has the message.')),
});
export type LocatedPage = Static<typeof LocatedPage>;

export const DetailsQuery = Type.Object({
  message_id: Type.Array(Type.String(), {
    minItems: 1,
    maxItems: limits.pageMessagesMax,
    description: 'A message ID. Repeat it for several messages.',
  }),
});

/** In `TRACE_URL`. */
export const traceIdMark = '{trace_id}';

const MessageDetails = named('MessageDetails', 'What readers of `/v1` do not see of a message.', {
  message_id: id('Message ID.'),
  feedback_content: nullable(text(`Text of the feedback; at most the first ${limits.feedbackUnitsMax} characters.`)),
  model_provider: nullable(text('Provider of the model that answered.')),
  model: nullable(text('Model that answered.')),
  trace_url: nullable(text('Address of the trace, if the message has one and `TRACE_URL` is set.')),
});
export type MessageDetails = Static<typeof MessageDetails>;

export const MessageDetailsList = named('MessageDetailsList', 'Details of messages.', {
  data: list(MessageDetails, 'One entry for each of the messages that exist, oldest message first.'),
});

const sums = {
  messages: integer('Number of messages.'),
  liked: integer('Messages that their users liked.'),
  disliked: integer('Messages that their users disliked.'),
  failed: integer('Messages whose status is `error`.'),
  tokens: number('double', 'Sum of their total_tokens.'),
};

const Price = named('Price', 'A sum of prices.', {
  currency: text('Currency.'),
  price: number('double', 'Sum of the prices in this currency.'),
});
const prices = list(
  Price,
  `Sums of their prices by currency, in the order of the currencies: the ${limits.overviewCurrenciesMax} with the most messages.`,
);

const users = integer('Number of different users.');

const Totals = named('OverviewTotals', 'Totals of the messages of a period.', { ...sums, users, prices });

const ComparedSums = named('ComparedSums', 'Totals of another period, to compare with.', { ...sums, prices });
const at = epochSeconds('Start of the day or hour in UTC.');
const Point = named('OverviewPoint', 'Totals of a day or hour.', { at, ...sums, prices });

export const Overview = named(
  'Overview',
  'Totals of a period, and as `before` those of the equally long one before it.',
  {
    from: epochSeconds('Start of the period: midnight UTC.'),
    to: epochSeconds('End of the period: midnight UTC, exclusive.'),
    totals: Totals,
    before: Totals,
    step_seconds: integer(
      `Distance of points: a day, or an hour if the period has up to ${limits.overviewHourlyDaysMax} days.`,
    ),
    points: list(
      named('OverviewPointWithUsers', 'Totals of a day or hour, with its users.', { ...Point.properties, users }),
      'Days or hours of the period that have messages, oldest first.',
    ),
    points_before: list(Point, 'Those of the period before.'),
    series: list(
      list(Point, 'Days or hours that have messages, oldest first.'),
      `The points of each of the first ${limits.overviewSeriesMax} of \`models\` or \`apps\`, in their order, and if there are more, ` +
        'those of all others.',
    ),
    so_far: nullable(
      described('The complete hours of the running day, and the same hours of the day before.', {
        today: ComparedSums,
        yesterday: ComparedSums,
      }),
    ),
    apps: list(
      named('OverviewApp', 'Totals of an app.', {
        app_id: id('App ID.'),
        app_name: text('Name of the app.'),
        ...sums,
        prices,
        before: ComparedSums,
      }),
      `The ${limits.overviewAppsMax} apps with the most messages, most messages first.`,
    ),
    models: list(
      named('OverviewModel', 'Totals of a model.', {
        model_provider: nullable(text('Provider of the model; null if it is not known.')),
        model: nullable(text('Model that answered; null if it is not known.')),
        ...sums,
        prices,
        before: ComparedSums,
      }),
      `The ${limits.overviewModelsMax} models with the most messages, most messages first.`,
    ),
    users: list(
      named('OverviewUser', 'Totals of a user.', {
        user: text('End user.'),
        ...sums,
        price: nullable(number('double', 'Sum of the prices; null without prices, or in several currencies.')),
        currency: nullable(text('Currency of price; null if price is null.')),
      }),
      `The ${limits.overviewUsersMax} users with the most messages, most messages first.`,
    ),
  },
);

export type Overview = Static<typeof Overview>;
export type OverviewTotals = Static<typeof Totals>;
export type OverviewPoint = Static<typeof Point>;

const time = (description: string) => optional.seconds(description, { minimum: 0, maximum: limits.overviewSecondsMax });

export const OverviewQuery = Type.Object({
  from: time(`Start; the whole day in UTC counts. Default: ${limits.overviewDaysDefault} days, including the last.`),
  to: time('End, exclusive; the whole day in UTC counts. Default: now.'),
  ...conversationFilters,
  series: optional.choice(['app', 'model'], 'What has a series of points.', 'model'),
});
