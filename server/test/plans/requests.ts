import { randomUUID } from 'node:crypto';
import { userColumns } from '../../src/contract/console/users.ts';
import { conversationOrders } from '../../src/contract/conversation.ts';
import type { KeyKind } from '../../src/contract/key-kinds.ts';
import { message } from '../support/harness.ts';

/** Requests on the starter records, beside the recorded examples: every filter, every order, and second pages. */

export const ids = {
  workspace: 'f2ea4643-6eeb-4dc8-8414-6734b1461808',
  app: '3ccf2629-6bc4-4b26-9774-7084d2d1a2c9',
  conversation: 'abde975c-1f8d-4221-9ba1-35bb1bcee975',
  message: 'c0130a53-bcce-426b-9daa-4ba5ce459454',
  dataset: '99c3347d-f3ad-4d0e-8b28-833bdfae48c2',
  document: '5472522e-dd15-42d1-b208-958d8ab250ed',
  segment: '53d0cc2f-b5e4-4d62-93e3-09a263bd539b',
  chunk: '7f25d0b8-1c2b-46cc-bbaf-08268ca9c5c0',
};
const user = 'visitor-1';
const now = Math.floor(Date.now() / 1000);
const period = `from=${now - 86_400_000}&to=${now + 86_400}`;

const conversations = Array.from({ length: 4 }, (_, at) => ({
  record: 'conversation',
  id: randomUUID(),
  app_id: ids.app,
  user: `visitor-${at % 2}`,
  created_at: now - 1_000 + at,
}));
const [first = conversations[0], second] = conversations;
/** More records, so that each list has a second page. */
export const moreRecords: object[] = [
  ...conversations,
  ...conversations.flatMap(({ id }, at) =>
    [0, 1].map((later) =>
      message(id, now - 900 + 10 * at + later, {
        ...{ feedback: { rating: 'dislike' }, model_provider: 'p', model: 'm', total_price: '1', currency: 'EUR' },
      }),
    ),
  ),
  ...[1, 2].map((at) => ({ record: 'dataset', id: randomUUID(), workspace_id: ids.workspace, name: `base ${at}` })),
];

const weeks = `from=${now - 2_000_000}&to=${now}`;

const inDataset = `datasets/${ids.dataset}`;
const inDocument = `${inDataset}/documents/${ids.document}`;
const inSegment = `${inDocument}/segments/${ids.segment}`;
const ofApp = `app_id=${ids.app}`;
const ofUser = `${ofApp}&user=${user}`;
const ofConversation = `conversation_id=${ids.conversation}`;
const words = 'q=machine';
const withEach = (path: string, queries: readonly string[]) => queries.map((query) => `${path}?${query}`);

/** Each is read with `limit=1`, and then from the end of that page. */
export const lists: Partial<Record<KeyKind, string[]>> = {
  app: [
    ...withEach('/v1/conversations', [
      ...conversationOrders.flatMap((order) => [`sort_by=${order}`, `sort_by=${order}&user=${user}`]),
      `created_after=1&created_before=${now}`,
    ]),
    ...withEach('/v1/messages', [
      ...['newest_first', 'oldest_first'].flatMap((order) =>
        [`page_order=${order}`, `page_order=${order}&user=visitor-204`].map((query) => `${ofConversation}&${query}`),
      ),
    ]),
    `/openai/v1/conversations?user=${user}`,
    `/openai/v1/conversations/conv_${ids.conversation.replaceAll('-', '')}/items?order=asc`,
    '/v1/messages/search?user=visitor-204&query=machine',
  ],
  knowledge: [
    ...withEach('/v1/datasets', ['', 'keyword=manual', 'tag_ids=t']),
    ...withEach(`/v1/${inDataset}/documents`, ['', 'status=available', 'keyword=a', 'keyword=a&status=available']),
    ...withEach(`/v1/${inDocument}/segments`, ['', 'status=completed', 'keyword=a', 'keyword=a&status=completed']),
    ...withEach(`/v1/${inSegment}/child_chunks`, ['', 'keyword=a']),
  ],
  admin: [
    ...['workspaces', 'apps', 'keys', 'people', 'views', `workspaces/${ids.workspace}/model-providers`].map(
      (path) => `/admin/${path}?`,
    ),
    ...withEach('/admin/datasets', ['', 'sort=-disliked']),
    ...withEach(`/admin/${inDataset}/documents`, ['', 'sort=-disliked']),
    ...withEach(`/admin/${inDocument}/segments`, ['', 'order=desc', 'include=child_chunks']),
    `/admin/${inSegment}/child_chunks?`,
    `/admin/${inSegment}/child_chunks/${ids.chunk}/revisions?`,
    ...withEach('/admin/conversations', ['', ofApp, ofUser, period, `${ofApp}&${period}`, `${ofUser}&${period}`]),
    ...userColumns
      .flatMap((column) => [column, `-${column}`])
      .flatMap((sort) => withEach('/admin/users', [`sort=${sort}`, `sort=${sort}&${ofApp}`])),
    '/admin/users?q=visitor',
    ...withEach('/admin/activity', [
      ...[
        '',
        'action=update',
        'record=message',
        `record_id=${ids.chunk}`,
        'key_id=2f1c6f0e-7f0c-4a53-8c11-5a0b6c1d7e04',
      ],
      ...[
        `dataset_id=${ids.dataset}`,
        `dataset_id=${ids.dataset}&document_id=${ids.document}`,
        'appends=hidden',
        period,
      ],
    ]),
    ...withEach('/admin/reads', ['key_id=2f1c6f0e-7f0c-4a53-8c11-5a0b6c1d7e04', ofUser, ofConversation]),
    ...withEach('/admin/reviews', [
      ...['', 'state=open', 'state=done', 'label=price', `state=open&${ofApp}`, `state=done&${period}`],
      ...[`message_id=${ids.message}`, `document_id=${ids.document}`, 'assignee=ann'],
    ]),
    ...withEach('/admin/search', [
      ...[
        words,
        `${words}&${ofApp}`,
        `${words}&${ofUser}`,
        `${words}&${ofConversation}`,
        `${words}&group=conversation`,
      ],
      ...[
        'rating=dislike',
        'status=error',
        'min_cost=1',
        'min_latency=1',
        `${words}&${period}`,
        'model_provider=p&model=m',
      ],
      ...[`in=knowledge&${words}`, `in=knowledge&${words}&dataset_id=${ids.dataset}`, `document_id=${ids.document}`],
    ]),
  ],
};

/** Each is read as it is. */
export const reads: Partial<Record<KeyKind, string[]>> = {
  app: [`/v1/messages?${ofConversation}&first_id=${ids.message}`, `/v1/conversations?last_id=${first?.id}`],
  admin: [
    `/admin/conversations?id=${ids.conversation}`,
    ...withEach('/admin/overview', [
      ...[
        weeks,
        `${weeks}&${ofApp}`,
        `${weeks}&series=app`,
        `${weeks}&${ofUser}`,
        `${weeks}&user=${user}`,
        `from=${now - 3_600}&to=${now}`,
      ],
      `from=${now - 3_600}&to=${now}&${ofApp}`,
    ]),
    ...withEach(`/admin/apps/${ids.app}/conversations/${ids.conversation}/messages`, [
      ...['page_order=oldest_first', `first_id=${ids.message}`, `first_id=${ids.message}&page_order=oldest_first`],
    ]),
    ...withEach(`/admin/apps/${ids.app}/conversations/${ids.conversation}/locate`, [
      `message_id=${ids.message}`,
      'newer=2',
    ]),
    ...withEach('/admin/retention', [ofApp, `${ofApp}&period=30`]),
    ...withEach('/admin/reviews/counts', ['', ofApp, period]),
    ...withEach('/admin/records', ['', ofApp, ofUser, `user=${user}`, ofConversation, period, `kinds=message,dataset`]),
    ...withEach('/admin/messages.csv', ['', ofApp, ofUser, ofConversation, period]),
    '/admin/evals.jsonl?',
    ...withEach('/admin/changes', [`kinds=message&${ofApp}`, `dataset_id=${ids.dataset}`, 'include=none']),
  ],
};

const known = message(first?.id ?? '', now, { message_tokens: 1 });
/** Imported one after another: a conversation with new, changed and moved messages, and records of every kind again. */
export const imports: readonly (readonly object[])[] = [
  [{ ...first, updated_at: now }, known],
  [{ ...known, answer: 'changed', message_tokens: 2 }],
  [{ ...known, created_at: now + 5 }],
  [message(second?.id ?? '', 1), message(second?.id ?? '', 2)],
];

/** The user whose conversations are erased at the end. */
export const erasedUser = { app_id: ids.app, user: 'visitor-0' };
