import { FoundMessages, MessageSearchQuery } from '../../contract/conversation.ts';
import { limits } from '../../contract/limits.ts';
import { decodeCursor, encodeCursor } from '../../domain/cursor.ts';
import { notFound } from '../../domain/errors.ts';
import type { OwnCursor } from '../../domain/store/searches.ts';
import { operation } from '../operation.ts';

/** The search of one user of an app in their own messages. */
export const messageSearchRoutes = operation(['app'], {
  url: '/v1/messages/search',
  tags: ['Conversations'],
  operationId: 'searchUserMessages',
  summary: 'Search Messages of a User',
  description:
    'Messages of one user of the app, newest first. A change is found about a second after it was made. A page may have ' +
    'fewer rows than `limit` although more follow. 404 if the setting `SEARCH` or `CHANGES` is `off`.',
  querystring: MessageSearchQuery,
  response: FoundMessages,
  errors: [404],
  run: async ({ query, caller, now, disconnected, store, dependencies: { search: whyOff } }) => {
    if (whyOff !== undefined) throw notFound(whyOff);
    const { query: q, user, limit = limits.listRowsDefault, cursor } = query;
    const [second, conversation_id, message_id] =
      cursor === undefined ? [] : decodeCursor(cursor, ['number', 'string', 'string']);
    const input = {
      search: { q, app_id: caller.app.id, user, now },
      cursor: second === undefined ? undefined : ({ second, conversation_id, message_id } as OwnCursor),
      limit,
    };
    const { hits, next } = await store.search.run('searchOwnMessages', input, disconnected());
    const nextCursor = next && encodeCursor([next.second, next.conversation_id, next.message_id]);
    return { limit, has_more: next !== undefined, cursor: nextCursor ?? null, data: hits };
  },
});
