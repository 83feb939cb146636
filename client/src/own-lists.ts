import { type Items, itemsOf, type PageOptions, pageItems } from './lists.ts';
import type { CallOptions } from './options.ts';
import { type Query, withQuery } from './paths.ts';
import type { ExportedRecord, ExportQuery, MessageSearchQuery, UsersQuery } from './requests.ts';
import type { Transport } from './transport.ts';
import type { AppFeedback, AppFeedbacks, FoundMessage, User } from './types.ts';

/** Lists that only this service has. */

type CursorQuery = Query & { cursor?: string | undefined; limit?: number | undefined };

/** Items of a list whose pages have the cursor of the next one, under the name `next`. */
function cursorItems<I extends object>(
  transport: Transport,
  path: string,
  { cursor: first, limit = pageItems, ...query }: CursorQuery,
  { next, idOf }: { next: 'cursor' | 'next_cursor'; idOf: (item: I) => string },
  options: CallOptions,
): Items<I> {
  type Page = { data: I[] } & { [N in typeof next]?: string | null };
  const load = (cursor: string | undefined) =>
    transport.get<Page>(withQuery(path, { ...query, limit, cursor }), options);
  return itemsOf(first, load, (page) => page[next] ?? undefined, options.signal, idOf);
}

/** Pages of feedback have no total: the last one is not full. */
export function feedbackItems(
  transport: Transport,
  { page: first = 1, limit = pageItems }: PageOptions,
  options: CallOptions,
): Items<AppFeedback> {
  const load = async (page = first) => {
    return { ...(await transport.get<AppFeedbacks>(withQuery('/app/feedbacks', { page, limit }), options)), page };
  };
  return itemsOf(first, load, ({ data, page }) => (data.length < limit ? undefined : page + 1), options.signal);
}

export const foundMessages = (transport: Transport, query: MessageSearchQuery, options: CallOptions) =>
  cursorItems<FoundMessage>(
    transport,
    '/messages/search',
    query,
    { next: 'cursor', idOf: ({ conversation_id, message_id }) => `${conversation_id} ${message_id}` },
    options,
  );

export const listedUsers = (transport: Transport, query: UsersQuery, options: CallOptions) =>
  cursorItems<User>(transport, '/admin/users', query, { next: 'next_cursor', idOf: ({ user }) => user }, options);

export async function* exportedRecords(
  transport: Transport,
  { kinds, ...filters }: ExportQuery,
  options: CallOptions,
): Items<ExportedRecord> {
  const path = withQuery('/admin/records', { ...filters, kinds: kinds?.join(',') });
  for await (const line of transport.lines(path, options)) yield JSON.parse(line);
}
