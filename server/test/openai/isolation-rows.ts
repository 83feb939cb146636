import { randomUUID } from 'node:crypto';
import type { IsolationFixture } from '../support/isolation-fixture.ts';
import type { Rows, Target, TestRequest } from '../support/isolation-matrix.ts';

const url = '/openai/v1/conversations';

/** Writes are repeated, so each names something that exists only for its caller, or changes nothing that is read. */
export function openaiRows(fixture: IsolationFixture): Rows {
  const { one, second, other, ownConversations, messages, spareConversations } = fixture;
  const readers = (name: string) => [`${name} app`, `${name} writer`];
  const itemId = (id = '') => `msg_${id.replaceAll('-', '')}_0`;
  const all = { one: one.ids.conversation, second: second.conversation, other: other.ids.conversation };
  const spare = {
    one: spareConversations.one[1],
    second: spareConversations.second[1],
    other: spareConversations.other[1],
  };
  const of = (
    make: (id: string) => TestRequest,
    callers: (name: string) => string[],
    ids = all,
  ): [Target, ...Target[]] => {
    const target = (name: string, id: string, visibleTo: string[], headers = {}): Target => ({
      name,
      visibleTo,
      request: () => ({ headers, ...make(id) }),
      missing: () => ({ headers, ...make(randomUUID()) }),
    });
    return [
      target('a conversation of one', ids.one, callers('one')),
      target('of another user', ids.one, [], { 'x-ms-user-isolation-key': 'nobody' }),
      target('a deleted conversation', ownConversations.deleted, []),
      target('a conversation of second', ids.second, callers('second')),
      target('a conversation of other', ids.other, callers('other')),
    ];
  };
  const get = (path: string): TestRequest => ({ method: 'GET', path: `${url}${path}` });
  const post = (path: string, body: object): TestRequest => ({ method: 'POST', path: `${url}${path}`, body });
  const writer = (name: string) => [`${name} writer`];
  const items = [{ role: 'user', content: 'question' }];
  const conversation = `${url}/{conversation_id}`;
  const newestOf: Record<string, string | undefined> = {
    [one.ids.conversation]: messages.one[0]?.id,
    [second.conversation]: messages.second.id,
    [other.ids.conversation]: messages.other.id,
    [ownConversations.deleted]: messages.deleted.id,
  };
  const item = (id: string) => get(`/${id}/items/${itemId(newestOf[id] ?? messages.other.id)}`);
  const removal = (name: string, id: string, itemOf: string): Target => ({
    name,
    visibleTo: [],
    request: () => ({ method: 'DELETE', path: `${url}/${id}${itemOf}` }),
    missing: () => ({ method: 'DELETE', path: `${url}/${randomUUID()}${itemOf}` }),
  });
  return {
    [`POST ${url}`]: {
      targets: [
        {
          name: 'a new conversation',
          visibleTo: ['one', 'second', 'other'].flatMap(writer),
          request: () => post('', {}),
        },
      ],
      invalid: { 'POST conversation without JSON': () => ({ ...post('', {}), body: '{' }) },
    },
    [`GET ${url}`]: {
      targets: of((id) => get(`?after=conv_${id.replaceAll('-', '')}`), readers),
      invalid: { 'GET conversations with a bad limit': () => get('?limit=0') },
    },
    [`GET ${conversation}`]: { targets: of((id) => get(`/${id}`), readers) },
    [`POST ${conversation}`]: { targets: of((id) => post(`/${id}`, { metadata: {} }), writer, spare) },
    [`DELETE ${conversation}`]: { targets: [removal('a deleted conversation', ownConversations.deleted, '')] },
    [`GET ${conversation}/items`]: { targets: of((id) => get(`/${id}/items?limit=2`), readers) },
    [`POST ${conversation}/items`]: { targets: of((id) => post(`/${id}/items`, { items }), writer, spare) },
    [`GET ${conversation}/items/{item_id}`]: { targets: of(item, readers) },
    [`DELETE ${conversation}/items/{item_id}`]: {
      targets: [
        removal('an item of a deleted conversation', ownConversations.deleted, `/items/${itemId(messages.deleted.id)}`),
      ],
    },
  };
}
