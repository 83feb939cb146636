import { limits } from '../../contract/limits.ts';
import type { OffsetQuery } from '../store/knowledge-reads.ts';

/** The rest of an envelope, after its data. */
export const envelopeEnd = (fields: object): string => `],${JSON.stringify(fields).slice(1)}`;
export const hasMore = ({ page, limit }: OffsetQuery, total: number): boolean => page * limit < total;

type OffsetParameters = { page?: number; limit?: number };
/** With the defaults of the API. */
export const withPage = <Q extends OffsetParameters>(query: Q) => ({
  ...query,
  page: query.page ?? 1,
  limit: query.limit ?? limits.listRowsDefault,
});
