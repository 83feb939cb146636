import type { TObject, TSchema } from 'typebox';
import { header } from '../openapi/openapi.ts';
import { type Operation, operation, requireChat } from '../operation.ts';
import { type Routes, together } from '../route-types.ts';
import type { operations } from './operations.ts';
import * as schemas from './schemas.ts';

/**
 * The Conversations resource of OpenAI's API, over the conversations of an app. Its wire is another company's: nothing depends on
 * this folder.
 */

type Described = Omit<Operation<'app' | 'writer', TObject, TObject, TSchema>, 'run'>;

const url = '/openai/v1/conversations';
const params = schemas.ConversationPath;
const conversation = { params, response: schemas.Conversation };
const itemList = { params, response: schemas.ItemList };
const item = { params: schemas.ItemPath };

function route(
  name: keyof typeof operations,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  described: Described,
): Routes {
  // These clients have one key for reading and writing, so a writer key also reads.
  const kinds = method === 'POST' ? (['writer'] as const) : (['app', 'writer'] as const);
  return operation<'app' | 'writer', TObject, TObject, TSchema>(
    `openai${name.replace(/^./, (letter) => letter.toUpperCase())}`,
    kinds,
    method,
    url + path,
    {
      ...described,
      tags: ['OpenAI'],
      headers: header(schemas.userHeader, 'End user: conversations of others do not exist.'),
      errors: [400, 404],
      errorBody: schemas.ErrorBody,
      config: { isBodyOptional: described.optionalBody !== undefined },
      onRequest: [requireChat],
      run: async ({ caller, now, store, disconnected }, reply) => {
        const app_id = caller.app.id;
        const { operations } = await import('./operations.ts');
        const author = { key_id: caller.key_id, now };
        const result = await operations[name](reply.request, { store, app_id, author, disconnected });
        reply.header('content-type', 'application/json; charset=utf-8').header('cache-control', 'no-store');
        return typeof result === 'string' ? result : JSON.stringify(result);
      },
    },
  );
}

export const openaiRoutes = together(
  route('createConversation', 'POST', '', {
    summary: 'Create a conversation',
    description:
      'The end user is that of the header, or `metadata.user`. With `Idempotency-Key`, the same request creates one conversation.',
    optionalBody: schemas.NewConversation,
    response: schemas.Conversation,
  }),
  route('listConversations', 'GET', '', {
    summary: 'List conversations',
    description: 'By their creation. OpenAI has no such list.',
    querystring: schemas.ConversationQuery,
    response: schemas.ConversationList,
  }),
  route('getConversation', 'GET', '/:conversation_id', { ...conversation, summary: 'Get a conversation' }),
  route('updateConversation', 'POST', '/:conversation_id', {
    ...conversation,
    summary: 'Replace the metadata of a conversation',
    description: 'Other inputs of the conversation, which are no texts, stay.',
    body: schemas.NewMetadata,
  }),
  route('deleteConversation', 'DELETE', '/:conversation_id', {
    params,
    summary: 'Delete a conversation',
    description: 'Marks it as deleted, as `DELETE /v1/conversations/{conversation_id}` does.',
    response: schemas.DeletedConversation,
  }),
  route('listItems', 'GET', '/:conversation_id/items', {
    ...itemList,
    summary: 'List items',
    description:
      'Each item once, in the order in which they were added, also while others are added. A page ends early, with `has_more`, if its ' +
      'items are large. Messages of any origin are shown as items.',
    querystring: schemas.ItemQuery,
  }),
  route('addItems', 'POST', '/:conversation_id/items', {
    ...itemList,
    summary: 'Add items',
    description:
      'All or none. A question starts a message, and what follows belongs to it. A request that a client sends again ' +
      '(`X-Stainless-Retry-Count`, or `Idempotency-Key`) adds its items once.',
    body: schemas.NewItems,
  }),
  route('getItem', 'GET', '/:conversation_id/items/:item_id', {
    ...item,
    summary: 'Get an item',
    response: schemas.Item,
  }),
  route('deleteItem', 'DELETE', '/:conversation_id/items/:item_id', {
    ...item,
    summary: 'Delete an item',
    description: 'Its text is gone. A message without other items is erased.',
    response: schemas.Conversation,
  }),
);
