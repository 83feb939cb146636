import type { FastifyRequest } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { limits } from '../../contract/limits.ts';
import { findBadValue } from '../../contract/problem.ts';
import { invalidParam } from '../../domain/errors.ts';
import * as conversations from '../../domain/messages/item-conversations.ts';
import * as items from '../../domain/messages/items.ts';
import { toItem } from '../../domain/records/items.ts';
import type { ItemAuthor } from '../../domain/store/items.ts';
import type { Store } from '../../domain/store/store.ts';
import { requireValid } from '../request/query.ts';
import * as schemas from './schemas.ts';

type Context = { store: Store; app_id: string; author: ItemAuthor; disconnected: () => AbortSignal };

/** Runs an operation. Its result is the response, or the text of it. */
type Operation = (request: FastifyRequest, context: Context) => Promise<object | string>;

/** The end user that the request is limited to. */
function userOf({ headers }: FastifyRequest): string | undefined {
  const user = headers[schemas.userHeader]?.toString();
  if (user === '') throw invalidParam(`${schemas.userHeader} must not be empty`);
  return user;
}

const pathOf = ({ params }: FastifyRequest) => params as { conversation_id: string; item_id: string };

const scopeOf = (request: FastifyRequest, { app_id }: Context) =>
  conversations.scopeOf({ app_id, user: userOf(request) }, pathOf(request).conversation_id);

const repetitionOf = ({ headers }: FastifyRequest): items.Repetition => ({
  idempotency_key: headers['idempotency-key']?.toString() || undefined,
  isRetry: Number(headers['x-stainless-retry-count']) > 0,
});

/** Throws if a value of the body is not valid, or cannot be stored and returned unchanged. */
function bodyOf<S extends TSchema>(schema: S, { body = {} }: FastifyRequest): Static<S> {
  const valid = requireValid(schema, body);
  const problem = findBadValue(body, '\\u');
  if (problem !== undefined) throw invalidParam(problem.text, problem.logged);
  return valid;
}

type Listed = { data: readonly string[]; ids: readonly string[]; has_more: boolean };

function listText({ data, ids, has_more }: Listed): string {
  const [first, last] = [ids[0] ?? null, ids.at(-1) ?? null].map((id) => JSON.stringify(id));
  return `{"object":"list","data":[${data.join(',')}],"first_id":${first},"last_id":${last},"has_more":${has_more}}`;
}

const pageOf = ({ after, limit = limits.listRowsDefault, order = 'desc' }: Static<typeof schemas.ItemQuery>) => ({
  after,
  limit,
  order,
});

export const operations = {
  async createConversation(request, { store, app_id, author }) {
    const { metadata = null, items: newItems } = bodyOf(schemas.NewConversation, request);
    const user = userOf(request);
    if (user !== undefined && metadata?.user !== undefined && metadata.user !== user)
      throw invalidParam(`metadata.user is not the user in ${schemas.userHeader}`);
    const scope = { app_id, user: user ?? (metadata?.user || undefined) };
    const created = { metadata, items: (newItems ?? []).map(toItem) };
    return conversations.createConversation(store, scope, created, author, repetitionOf(request));
  },

  async listConversations(request, { store, app_id, disconnected }) {
    const query = request.query as Static<typeof schemas.ConversationQuery>;
    const user = userOf(request);
    if (user !== undefined && query.user !== undefined && query.user !== user)
      return listText({ data: [], ids: [], has_more: false });
    const scope = { app_id, user: user ?? query.user };
    const { data, has_more } = await conversations.listConversations(store, scope, pageOf(query), disconnected());
    return listText({ data: data.map((one) => JSON.stringify(one)), ids: data.map(({ id }) => id), has_more });
  },

  getConversation: (request, context) =>
    conversations.getConversation(context.store, scopeOf(request, context), context.disconnected()),

  async updateConversation(request, context) {
    const { metadata } = bodyOf(schemas.NewMetadata, request);
    return conversations.changeMetadata(context.store, scopeOf(request, context), metadata ?? {}, context.author);
  },

  deleteConversation: (request, context) =>
    conversations.deleteConversation(context.store, scopeOf(request, context), context.author),

  async listItems(request, context) {
    const query = pageOf(request.query as Static<typeof schemas.ItemQuery>);
    return listText(await items.listItems(context.store, scopeOf(request, context), query, context.disconnected()));
  },

  async addItems(request, context) {
    const added = bodyOf(schemas.NewItems, request).items.map(toItem);
    const scope = scopeOf(request, context);
    return listText(await items.appendItems(context.store, scope, added, context.author, repetitionOf(request)));
  },

  getItem: (request, context) =>
    items.getItem(context.store, scopeOf(request, context), pathOf(request).item_id, context.disconnected()),

  async deleteItem(request, context) {
    const scope = scopeOf(request, context);
    await items.deleteItem(context.store, scope, pathOf(request).item_id, context.author);
    return conversations.getConversation(context.store, scope);
  },
} satisfies Record<string, Operation>;
