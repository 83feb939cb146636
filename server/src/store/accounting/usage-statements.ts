import { keysOf } from '../../contract/primitives.ts';
import type { UsageSum } from '../../domain/store/activity-reads.ts';
import type { Statement } from '../base/statement.ts';

/** The columns that are sums, with their types on PostgreSQL. */
export const sumTypes = {
  messages: 'bigint',
  tokens: 'float8',
  price_nanos: 'float8',
  liked: 'bigint',
  disliked: 'bigint',
  failed: 'bigint',
} as const;
export type UsageSums = Record<keyof typeof sumTypes, number>;
export const sumColumns = keysOf(sumTypes);

export type ConversationSums = Omit<UsageSum, 'tokens' | 'liked'> & { conversation_id: string };

/** Sums of each conversation and currency. `isListed` compares the conversation's id with the parameter. */
export const conversationSums = (isListed: string): Statement<ConversationSums> => `
  SELECT d.conversation_id, d.currency, CAST(SUM(d.messages) AS BIGINT) AS messages,
    CAST(SUM(d.disliked) AS BIGINT) AS disliked, CAST(SUM(d.failed) AS BIGINT) AS failed,
    SUM(d.price_nanos) AS price_nanos
  FROM conversation_days d WHERE ${isListed} GROUP BY d.conversation_id, d.currency`;
