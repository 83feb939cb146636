import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import { limits } from '../../contract/limits.ts';
import { findBadValue } from '../../contract/problem.ts';
import type { CallerOf } from '../../domain/caller.ts';
import { invalidParam } from '../../domain/errors.ts';
import * as conversations from '../../domain/messages/item-conversations.ts';
import * as items from '../../domain/messages/items.ts';
import { toItem } from '../../domain/records/items.ts';
import { requireValid } from '../request/query.ts';
import type { Dependencies } from '../route-types.ts';
import {
  type ConversationQuery,
  type ItemQuery,
  NewConversation,
  NewItems,
  NewMetadata,
  userHeader,
} from './schemas.ts';

/** Runs an operation. Its result is the response, or the text of it. */
type Operation = (
  request: FastifyRequest,
  dependencies: Dependencies & { caller: CallerOf<'app' | 'writer'>; reply: FastifyReply },
) => Promise<object | string>;

/** The end user that the request is limited to. */
function userOf({ headers }: FastifyRequest): string | undefined {
  const user = headers[userHeader]?.toString();
  if (user === '') throw invalidParam(`${userHeader} must not be empty`);
  return user;
}

function scopeOf(request: FastifyRequest, { caller }: { caller: CallerOf<'app' | 'writer'> }) {
  const { conversation_id } = request.params as { conversation_id: string };
  return conversations.scopeOf({ app_id: caller.app.id, user: userOf(request) }, conversation_id);
}

const authorOf = ({ caller, clock }: Parameters<Operation>[1]) => ({
  key_id: caller.key_id,
  now: Math.floor(clock() / 1000),
});

const repetitionOf = ({ headers }: FastifyRequest): items.Repetition => ({
  idempotency_key: headers['idempotency-key']?.toString() || undefined,
  isRetry: Number(headers['x-stainless-retry-count']) > 0,
});

/** Throws if a value of the body cannot be stored and returned unchanged. */
function requireStorable(body: unknown): void {
  const problem = findBadValue(body, '\\u');
  if (problem !== undefined) throw invalidParam(problem.text, problem.logged);
}

const itemIdOf = ({ params }: FastifyRequest): string => (params as { item_id: string }).item_id;

type Listed = { data: readonly string[]; ids: readonly string[]; has_more: boolean };

function listText({ data, ids, has_more }: Listed): string {
  const [first, last] = [ids[0] ?? null, ids.at(-1) ?? null].map((id) => JSON.stringify(id));
  return `{"object":"list","data":[${data.join(',')}],"first_id":${first},"last_id":${last},"has_more":${has_more}}`;
}

const pageOf = ({ after, limit = limits.listRowsDefault, order = 'desc' }: Static<typeof ItemQuery>) => ({
  after,
  limit,
  order,
});

export const operations = {
  async createConversation(request, context) {
    const body = requireValid(NewConversation, request.body ?? {});
    requireStorable(body);
    const metadata = body.metadata ?? null;
    const user = userOf(request);
    if (user !== undefined && metadata?.user !== undefined && metadata.user !== user)
      throw invalidParam(`metadata.user is not the user in ${userHeader}`);
    const scope = { app_id: context.caller.app.id, user: user ?? (metadata?.user || undefined) };
    const created = { metadata, items: (body.items ?? []).map(toItem) };
    return conversations.createConversation(context.store, scope, created, authorOf(context), repetitionOf(request));
  },

  async listConversations(request, { store, caller }) {
    const query = request.query as Static<typeof ConversationQuery>;
    const user = userOf(request);
    if (user !== undefined && query.user !== undefined && query.user !== user)
      return listText({ data: [], ids: [], has_more: false });
    const scope = { app_id: caller.app.id, user: user ?? query.user };
    const { data, has_more } = await conversations.listConversations(store, scope, pageOf(query));
    return listText({ data: data.map((one) => JSON.stringify(one)), ids: data.map(({ id }) => id), has_more });
  },

  getConversation: (request, context) => conversations.getConversation(context.store, scopeOf(request, context)),

  async updateConversation(request, context) {
    const { metadata } = requireValid(NewMetadata, request.body);
    requireStorable(metadata);
    return conversations.changeMetadata(context.store, scopeOf(request, context), metadata ?? {}, authorOf(context));
  },

  deleteConversation: (request, context) =>
    conversations.deleteConversation(context.store, scopeOf(request, context), authorOf(context)),

  async listItems(request, context) {
    const query = pageOf(request.query as Static<typeof ItemQuery>);
    return listText(await items.listItems(context.store, scopeOf(request, context), query));
  },

  async addItems(request, context) {
    const body = requireValid(NewItems, request.body);
    requireStorable(body);
    const added = body.items.map(toItem);
    const scope = scopeOf(request, context);
    return listText(await items.appendItems(context.store, scope, added, authorOf(context), repetitionOf(request)));
  },

  getItem: (request, context) => items.getItem(context.store, scopeOf(request, context), itemIdOf(request)),

  async deleteItem(request, context) {
    const scope = scopeOf(request, context);
    await items.deleteItem(context.store, scope, itemIdOf(request), authorOf(context));
    return conversations.getConversation(context.store, scope);
  },
} satisfies Record<string, Operation>;
