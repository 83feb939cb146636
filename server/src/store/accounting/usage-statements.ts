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
export const sumColumns = Object.keys(sumTypes) as (keyof UsageSums)[];
