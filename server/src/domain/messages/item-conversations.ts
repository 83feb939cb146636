import { hash, randomUUID } from 'node:crypto';
import { limits } from '../../contract/limits.ts';
import { isUuid } from '../../contract/primitives.ts';
import { derivedId, withHyphens } from '../derived-id.ts';
import { invalidParam } from '../errors.ts';
import { bytesOf, readInTurn, slicesOf } from '../large-text.ts';
import type { Item } from '../records/items.ts';
import { readRows } from '../render-list.ts';
import type { ConversationRow, ConversationScope } from '../store/app-store.ts';
import type { ItemAuthor, ItemOrder, ItemScope } from '../store/items.ts';
import type { Store } from '../store/store.ts';
import { conversationMissing, type Repetition, requireAppended, requireConversation } from './items.ts';

/** Conversations as OpenAI clients see them: their metadata is what `inputs` has of texts. */

export type Metadata = Readonly<Record<string, string>>;
export type ItemConversation = { id: string; object: 'conversation'; created_at: number; metadata: Metadata };

/** The conversation with this id, `conv_` and 32 hexadecimal digits, or a UUID. Throws if it cannot be one. */
export function scopeOf(scope: ConversationScope, id: string): ItemScope {
  const hex = /^conv_([0-9a-f]{32})$/.exec(id)?.[1];
  const conversation_id = hex === undefined ? id.toLowerCase() : withHyphens(hex);
  // No stored user contains NUL, and PostgreSQL would reject the parameter.
  if (!isUuid(conversation_id) || scope.user?.includes('\0')) throw conversationMissing();
  return { ...scope, conversation_id };
}

const shownId = (id: string): string => `conv_${id.replaceAll('-', '')}`;

function toConversation({ id, created_at, inputs }: Pick<ConversationRow, 'id' | 'created_at' | 'inputs'>) {
  const texts = Object.entries(JSON.parse(inputs ?? '{}')).filter(([, value]) => typeof value === 'string');
  const metadata: Metadata = Object.fromEntries(texts) as Metadata;
  return { id: shownId(id), object: 'conversation', created_at, metadata } satisfies ItemConversation;
}

export async function getConversation(
  { items }: Store,
  scope: ItemScope,
  signal?: AbortSignal,
): Promise<ItemConversation> {
  const row = requireConversation(await items.findConversation(scope));
  if (row.bytes <= limits.joinedDocBytesMax) return toConversation(row);
  return readInTurn(row.bytes, signal, async () =>
    toConversation(requireConversation(await items.findConversation(scope, 'all'))),
  );
}

/** The id of a conversation that a key creates with an idempotency key. */
export const conversationIdOf = (key_id: string, idempotency_key: string): string =>
  derivedId('conversation', key_id, idempotency_key);

export type NewConversation = { metadata: Metadata | null; items: readonly Item[] };

export async function createConversation(
  store: Store,
  scope: ConversationScope,
  { metadata, items }: NewConversation,
  author: ItemAuthor,
  { idempotency_key }: Pick<Repetition, 'idempotency_key'>,
): Promise<ItemConversation> {
  const { key_id } = author;
  const name = idempotency_key && conversationIdOf(key_id, idempotency_key);
  const itemScope = { ...scope, conversation_id: name ?? randomUUID() };
  const outcome = await store.run('appendItems', {
    scope: itemScope,
    author,
    items,
    idempotency_key: name,
    isRetry: false,
    created: { inputs: metadata },
    digest: hash('sha256', JSON.stringify([key_id, scope.user ?? null, metadata, items])),
  });
  requireAppended(outcome);
  return getConversation(store, itemScope);
}

export async function changeMetadata(
  store: Store,
  scope: ItemScope,
  metadata: Metadata,
  author: ItemAuthor,
): Promise<ItemConversation> {
  const row = requireConversation(await store.items.findConversation(scope));
  if (metadata.user !== undefined && metadata.user !== row.user) throw invalidParam('metadata.user must not change');
  if (!(await store.run('changeMetadata', { scope, author, metadata }))) throw conversationMissing();
  return getConversation(store, scope);
}

export async function deleteConversation(store: Store, scope: ItemScope, author: ItemAuthor) {
  requireConversation(await store.run('changeConversation', { ...scope, ...author, deleted: true }));
  return { id: shownId(scope.conversation_id), object: 'conversation.deleted' as const, deleted: true as const };
}

export type ConversationListQuery = { after: string | undefined; limit: number; order: ItemOrder };
export type ConversationList = { data: ItemConversation[]; has_more: boolean };

/** By their creation. The list ends early, with `has_more`, if their metadata is large. */
export async function listConversations(
  { apps }: Store,
  scope: ConversationScope,
  { after, limit, order }: ConversationListQuery,
  signal: AbortSignal,
): Promise<ConversationList> {
  if (scope.user?.includes('\0')) return { data: [], has_more: false };
  const query = {
    ...scope,
    limit,
    order: order === 'asc' ? ('created_at' as const) : ('-created_at' as const),
    after: after === undefined ? undefined : { id: scopeOf(scope, after).conversation_id, value: undefined },
  };
  const list = requireConversation(await apps.listConversations(query));
  const [slice = []] = slicesOf(list.items, limits.pageBytesMax);
  const unread = slice.filter(({ row }) => row === undefined);
  const rows = await readInTurn(bytesOf(unread), signal, () => readRows(slice));
  return { data: rows.map(toConversation), has_more: list.has_more || slice.length < list.items.length };
}
