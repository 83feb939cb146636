import type { TObject, TSchema } from 'typebox';
import { requireChatApp } from '../../domain/messages/list-messages.ts';
import { header, responses } from '../openapi/openapi.ts';
import { requireContentType } from '../request/body.ts';
import { checkFirst } from '../request/check-first.ts';
import type { Routes } from '../route-types.ts';
import type { operations } from './operations.ts';
import * as schemas from './schemas.ts';

/**
 * The Conversations resource of OpenAI's API, over the conversations of an app. Its wire is another company's: nothing depends on
 * this folder.
 */

type Route = {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  operation: keyof typeof operations;
  summary: string;
  description?: string;
  params?: TObject;
  querystring?: TObject;
  body?: TSchema;
  optionalBody?: TSchema;
  response: object;
};

const conversation = { path: '/:conversation_id', params: schemas.ConversationPath, response: schemas.Conversation };
const itemList = { path: '/:conversation_id/items', params: schemas.ConversationPath, response: schemas.ItemList };
const item = { path: '/:conversation_id/items/:item_id', params: schemas.ItemPath };

const routes: readonly Route[] = [
  {
    method: 'POST',
    path: '',
    operation: 'createConversation',
    summary: 'Create a conversation',
    description:
      'The end user is that of the header, or `metadata.user`. With `Idempotency-Key`, the same request creates one conversation.',
    optionalBody: schemas.NewConversation,
    response: schemas.Conversation,
  },
  {
    method: 'GET',
    path: '',
    operation: 'listConversations',
    summary: 'List conversations',
    description: 'By their creation. OpenAI has no such list.',
    querystring: schemas.ConversationQuery,
    response: schemas.ConversationList,
  },
  { ...conversation, method: 'GET', operation: 'getConversation', summary: 'Get a conversation' },
  {
    ...conversation,
    method: 'POST',
    operation: 'updateConversation',
    summary: 'Replace the metadata of a conversation',
    description: 'Other inputs of the conversation, which are no texts, stay.',
    body: schemas.NewMetadata,
  },
  {
    ...conversation,
    method: 'DELETE',
    operation: 'deleteConversation',
    summary: 'Delete a conversation',
    description: 'Marks it as deleted, as `DELETE /v1/conversations/{conversation_id}` does.',
    response: schemas.DeletedConversation,
  },
  {
    ...itemList,
    method: 'GET',
    operation: 'listItems',
    summary: 'List items',
    description:
      'Each item once, in the order in which they were added, also while others are added. A page ends early, with `has_more`, if its ' +
      'items are large. Messages of any origin are shown as items.',
    querystring: schemas.ItemQuery,
  },
  {
    ...itemList,
    method: 'POST',
    operation: 'addItems',
    summary: 'Add items',
    description:
      'All or none. A question starts a message, and what follows belongs to it. A request that a client sends again ' +
      '(`X-Stainless-Retry-Count`, or `Idempotency-Key`) adds its items once.',
    body: schemas.NewItems,
  },
  { ...item, method: 'GET', operation: 'getItem', summary: 'Get an item', response: schemas.Item },
  {
    ...item,
    method: 'DELETE',
    operation: 'deleteItem',
    summary: 'Delete an item',
    description: 'Its text is gone. A message without other items is erased.',
    response: schemas.Conversation,
  },
];

const requireJson = requireContentType('application/json');
/** These clients have one key for reading and writing, so a writer key also reads. */
const readers = { kinds: ['app', 'writer'], security: [{ appKey: [] }, { writerKey: [] }] } as const;
const writers = { kinds: ['writer'], security: [{ writerKey: [] }] } as const;

export const openaiRoutes: Routes = (app, dependencies) => {
  const { bearer, owned } = dependencies;
  for (const { path, operation, method, response, ...schema } of routes) {
    const { kinds, security } = method === 'POST' ? writers : readers;
    app.route({
      method,
      url: `/openai/v1/conversations${path}`,
      schema: {
        ...schema,
        tags: ['OpenAI'],
        operationId: `openai${operation.replace(/^./, (letter) => letter.toUpperCase())}`,
        security: security.map((one) => ({ ...one })),
        headers: header(schemas.userHeader, 'End user: conversations of others do not exist.'),
        response: responses(
          { 200: response },
          method === 'GET' ? [400, 401, 404] : [400, 401, 403, 404, 408, 413, 415],
          schemas.ErrorBody,
        ),
      },
      config: { isBodyOptional: schema.optionalBody !== undefined },
      onRequest: [
        bearer.requireKey([...kinds]),
        checkFirst(({ caller }) => {
          if (caller !== null && 'app' in caller) requireChatApp(caller.app);
        }),
        ...(schema.body === undefined ? [] : [requireJson]),
      ],
      handler: async (request, reply) => {
        const { caller } = request;
        if (caller?.kind !== 'app' && caller?.kind !== 'writer')
          throw new Error('the route requires one of these kinds');
        if (method !== 'GET') await owned?.requireOwnApp(caller.app.id);
        const loaded = await import('./operations.ts');
        const result = await loaded.operations[operation](request, { ...dependencies, caller, reply });
        reply.header('content-type', 'application/json; charset=utf-8').header('cache-control', 'no-store');
        return typeof result === 'string' ? result : JSON.stringify(result);
      },
    });
  }
};
