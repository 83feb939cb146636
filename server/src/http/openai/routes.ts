import type { TObject, TSchema } from 'typebox';
import { requireChatApp } from '../../domain/messages/list-messages.ts';
import { header } from '../openapi/openapi.ts';
import { type Operation, operation } from '../operation.ts';
import { checkFirst } from '../request/check-first.ts';
import { type Routes, together } from '../route-types.ts';
import type { operations } from './operations.ts';
import * as schemas from './schemas.ts';

/**
 * The Conversations resource of OpenAI's API, over the conversations of an app. Its wire is another company's: nothing depends on
 * this folder.
 */

type Route = Pick<Described, 'summary' | 'description' | 'params' | 'querystring' | 'body' | 'optionalBody'> & {
  /** Default: GET. */
  method?: 'POST' | 'DELETE';
  path: string;
  run: keyof typeof operations;
  response: object;
};
type Described = Operation<'app' | 'writer', TObject, TObject, TSchema>;

const conversation = { path: '/:conversation_id', params: schemas.ConversationPath, response: schemas.Conversation };
const itemList = { path: '/:conversation_id/items', params: schemas.ConversationPath, response: schemas.ItemList };
const item = { path: '/:conversation_id/items/:item_id', params: schemas.ItemPath };

const routes: readonly Route[] = [
  {
    method: 'POST',
    path: '',
    run: 'createConversation',
    summary: 'Create a conversation',
    description:
      'The end user is that of the header, or `metadata.user`. With `Idempotency-Key`, the same request creates one conversation.',
    optionalBody: schemas.NewConversation,
    response: schemas.Conversation,
  },
  {
    path: '',
    run: 'listConversations',
    summary: 'List conversations',
    description: 'By their creation. OpenAI has no such list.',
    querystring: schemas.ConversationQuery,
    response: schemas.ConversationList,
  },
  { ...conversation, run: 'getConversation', summary: 'Get a conversation' },
  {
    ...conversation,
    method: 'POST',
    run: 'updateConversation',
    summary: 'Replace the metadata of a conversation',
    description: 'Other inputs of the conversation, which are no texts, stay.',
    body: schemas.NewMetadata,
  },
  {
    ...conversation,
    method: 'DELETE',
    run: 'deleteConversation',
    summary: 'Delete a conversation',
    description: 'Marks it as deleted, as `DELETE /v1/conversations/{conversation_id}` does.',
    response: schemas.DeletedConversation,
  },
  {
    ...itemList,
    run: 'listItems',
    summary: 'List items',
    description:
      'Each item once, in the order in which they were added, also while others are added. A page ends early, with `has_more`, if its ' +
      'items are large. Messages of any origin are shown as items.',
    querystring: schemas.ItemQuery,
  },
  {
    ...itemList,
    method: 'POST',
    run: 'addItems',
    summary: 'Add items',
    description:
      'All or none. A question starts a message, and what follows belongs to it. A request that a client sends again ' +
      '(`X-Stainless-Retry-Count`, or `Idempotency-Key`) adds its items once.',
    body: schemas.NewItems,
  },
  { ...item, run: 'getItem', summary: 'Get an item', response: schemas.Item },
  {
    ...item,
    method: 'DELETE',
    run: 'deleteItem',
    summary: 'Delete an item',
    description: 'Its text is gone. A message without other items is erased.',
    response: schemas.Conversation,
  },
];

/** These clients have one key for reading and writing, so a writer key also reads. */
const readers = ['app', 'writer'] as const;

const routeOf = ({ path, run, response, ...described }: Route): Routes =>
  operation(described.method === 'POST' ? ['writer'] : readers, {
    ...described,
    url: `/openai/v1/conversations${path}`,
    tags: ['OpenAI'],
    operationId: `openai${run.replace(/^./, (letter) => letter.toUpperCase())}`,
    headers: header(schemas.userHeader, 'End user: conversations of others do not exist.'),
    response,
    errors: [400, 404],
    errorBody: schemas.ErrorBody,
    config: { isBodyOptional: described.optionalBody !== undefined },
    onRequest: [
      checkFirst(({ caller }) => {
        if (caller !== null && 'app' in caller) requireChatApp(caller.app);
      }),
    ],
    run: async ({ caller, now, store, dependencies }, reply) => {
      const app_id = caller.app.id;
      if (described.method !== undefined) await dependencies.owned?.requireOwnApp(app_id);
      const { operations } = await import('./operations.ts');
      const result = await operations[run](reply.request, { store, app_id, author: { key_id: caller.key_id, now } });
      reply.header('content-type', 'application/json; charset=utf-8').header('cache-control', 'no-store');
      return typeof result === 'string' ? result : JSON.stringify(result);
    },
  });

export const openaiRoutes = together(...routes.map(routeOf));
