import type { Static } from 'typebox';
import { conversationFilters, listOf, listParameters } from '../admin.ts';
import { limits } from '../limits.ts';
import { epochSeconds, id, integer, keysOf, list, named, nullable, number, optional, text } from '../primitives.ts';
import { noNul } from '../rules.ts';
import { Type } from '../type.ts';

export const UserListed = named('User', 'An end user, with totals of their conversations.', {
  user: text('End user.'),
  app_ids: list(id('App ID.'), 'Apps in which the user has conversations.'),
  conversations: integer('Number of conversations.'),
  messages: integer('Number of messages in them.'),
  disliked: integer('Messages that the user disliked.'),
  failed: integer('Messages whose status is `error`.'),
  total_price: nullable(
    number('double', 'Sum of the prices of the messages; null without prices, or in several currencies.'),
  ),
  currency: nullable(text('Currency of total_price; null if total_price is null.')),
  first_at: epochSeconds('Creation time of the first conversation.'),
  last_at: epochSeconds('Last activity: the latest `updated_at` of the conversations.'),
});
export type UserListed = Static<typeof UserListed>;

export const userColumns = keysOf(UserListed.properties);
const userOrders = userColumns.flatMap((column) => [column, `-${column}`] as const);
export type UserOrder = (typeof userOrders)[number];

export const UserPage = named('UserPage', 'A page of the list.', {
  ...listOf(UserListed).properties,
  total: nullable(integer('Number of users in the list; null with `q`.')),
});

export const UserQuery = Type.Object({
  ...listParameters,
  app_id: conversationFilters.app_id,
  q: optional.text('Part of the name. A–Z match in any case, other characters exactly.', {
    maxLength: limits.searchUnitsMax,
    pattern: noNul.source,
  }),
  sort: optional.choice(
    userOrders,
    'Sort order, then by name. `-` means descending. `app_ids` sorts by the number of apps.',
    '-last_at',
  ),
});
