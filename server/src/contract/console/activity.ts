import type { Static } from 'typebox';
import { conversationFilters, listParameters, periodFilters } from '../admin.ts';
import { limits } from '../limits.ts';
import { MessageQuery } from '../message.ts';
import { epochSeconds, id, integer, list, nullable, number, optional, shape, text } from '../primitives.ts';
import { Type } from '../type.ts';

export const ConversationListed = shape(
  {
    id: id('Conversation ID.'),
    user: nullable(text('End user of the conversation.')),
    name: text('Name. Without a name of its own, the beginning of its first query.'),
    created_at: epochSeconds('Creation time.'),
    message_count: integer('Number of messages in it.'),
    last_message_at: nullable(epochSeconds('Time of its newest message; null if it has none.')),
    updated_at: epochSeconds('The latest of its creation, its newest message and its last rename.'),
  },
  { title: 'Conversation', description: 'A conversation of an app.' },
);

export type ConversationListed = Static<typeof ConversationListed>;

const { message_count, last_message_at, updated_at, ...ofConversation } = ConversationListed.properties;

export const ConversationSummary = shape(
  {
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
  },
  { title: 'ConversationSummary', description: 'A conversation of any app, with counts of its messages.' },
);

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

export const LocateQuery = Type.Object({
  message_id: optional.text('A message ID. Absent: the beginning of the conversation.'),
  newer: optional.integer('Number of newer messages that the page should have before this one.', {
    minimum: 0,
    maximum: limits.pageMessagesMax - 1,
    default: 0,
  }),
});

export const LocatedPage = shape(
  { first_id: nullable(id('`first_id` of the page. Null: the newest page has the message.')) },
  { title: 'LocatedPage' },
);
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

const MessageDetails = shape(
  {
    message_id: id('Message ID.'),
    feedback_content: nullable(text(`Text of the feedback; at most the first ${limits.feedbackUnitsMax} characters.`)),
    model_provider: nullable(text('Provider of the model that answered.')),
    model: nullable(text('Model that answered.')),
    trace_url: nullable(text('Address of the trace, if the message has one and `TRACE_URL` is set.')),
  },
  { title: 'MessageDetails' },
);
export type MessageDetails = Static<typeof MessageDetails>;

export const MessageDetailsList = shape(
  { data: list(MessageDetails, 'One entry for each of the messages that exist, oldest message first.') },
  { title: 'MessageDetailsList' },
);
export type MessageDetailsList = Static<typeof MessageDetailsList>;

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
const prices = list(
  Price,
  `Sums of their prices by currency, in the order of the currencies: the ${limits.overviewCurrenciesMax} with the most messages.`,
);

const users = integer('Number of different users.');

const Totals = shape(
  { ...sums, users, prices },
  { title: 'OverviewTotals', description: 'Totals of the messages of a period.' },
);

/** Of another period, to compare with. */
const ComparedSums = shape({ ...sums, prices }, { title: 'ComparedSums' });
const Point = shape(
  { at: epochSeconds('Start of the day or hour in UTC.'), ...sums, prices },
  { title: 'OverviewPoint' },
);

export const Overview = shape(
  {
    from: epochSeconds('Start of the period: midnight UTC.'),
    to: epochSeconds('End of the period: midnight UTC, exclusive.'),
    totals: Totals,
    before: Totals,
    step_seconds: integer(
      `Distance of points: a day, or an hour if the period has up to ${limits.overviewHourlyDaysMax} days.`,
    ),
    points: list(
      shape({ ...Point.properties, users }, { title: 'OverviewPointWithUsers' }),
      'Days or hours of the period that have messages, oldest first.',
    ),
    points_before: list(Point, 'Those of the period before.'),
    series: list(
      list(Point, 'Days or hours that have messages, oldest first.'),
      `The points of each of the first ${limits.overviewSeriesMax} of \`models\` or \`apps\`, in their order, and if there are more, ` +
        'those of all others.',
    ),
    so_far: nullable(
      shape(
        { today: ComparedSums, yesterday: ComparedSums },
        { description: 'The complete hours of the running day, and the same hours of the day before.' },
      ),
    ),
    apps: list(
      shape(
        { app_id: id('App ID.'), app_name: text('Name of the app.'), ...sums, prices, before: ComparedSums },
        { title: 'OverviewApp' },
      ),
      `The ${limits.overviewAppsMax} apps with the most messages, most messages first.`,
    ),
    models: list(
      shape(
        {
          model_provider: nullable(text('Provider of the model; null if it is not known.')),
          model: nullable(text('Model that answered; null if it is not known.')),
          ...{ ...sums, prices, before: ComparedSums },
        },
        { title: 'OverviewModel' },
      ),
      `The ${limits.overviewModelsMax} models with the most messages, most messages first.`,
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
export type OverviewPoint = Static<typeof Point>;

const time = (description: string) => optional.seconds(description, { minimum: 0, maximum: limits.overviewSecondsMax });

export const OverviewQuery = Type.Object({
  from: time(`Start; the whole day in UTC counts. Default: ${limits.overviewDaysDefault} days, including the last.`),
  to: time('End, exclusive; the whole day in UTC counts. Default: now.'),
  app_id: optional.text('Only this app.'),
  series: optional.choice(['app', 'model'], 'What has a series of points.', 'model'),
});
