import type { TSchema } from 'typebox';
import {
  choice,
  epochSeconds,
  flag,
  list,
  named,
  nullable,
  openObject,
  optional,
  shape,
  text,
  texts,
} from '../../contract/primitives.ts';
import { Type } from '../../contract/type.ts';

/** What OpenAI clients send and get. Unknown fields and parameters are ignored: their clients change. */

export const userHeader = 'x-ms-user-isolation-key';

const itemsMax = 20;
/** Of metadata. */
const pairsMax = 16;
const nameUnitsMax = 64;
const valueUnitsMax = 512;

export const ErrorBody = named('OpenAIError', 'Errors under /openai have this shape.', {
  error: shape({
    message: text('Error message, for people.'),
    type: choice(
      ['invalid_request_error', 'authentication_error', 'rate_limit_error', 'server_error'],
      'Kind of error.',
    ),
    param: nullable(text('Always null.')),
    code: text('Error code, for programs: one of those of the other operations.'),
  }),
});

const metadata = Type.Unsafe<Record<string, string> | null>({
  type: ['object', 'null'],
  maxProperties: pairsMax,
  propertyNames: { maxLength: nameUnitsMax },
  additionalProperties: { type: 'string', maxLength: valueUnitsMax },
  description: 'Texts by name. `user` is the end user of the conversation, which never changes.',
});
const items = (minItems: number) =>
  Type.Unsafe<unknown[]>({
    type: 'array',
    minItems,
    maxItems: itemsMax,
    items: {},
    description: 'Items, as clients of OpenAI send them.',
  });

export const NewConversation = Type.Object({
  items: Type.Optional(Type.Unsafe<unknown[] | null>({ ...items(0), type: ['array', 'null'] })),
  metadata: Type.Optional(metadata),
});
export const NewMetadata = Type.Object({ metadata });
export const NewItems = Type.Object({ items: items(1) });

const conversationId = Type.String({ description: 'Conversation: `conv_…`, or its UUID.' });
export const ConversationPath = Type.Object({ conversation_id: conversationId });
export const ItemPath = Type.Object({
  conversation_id: conversationId,
  item_id: Type.String({ description: 'Item: its id, or the one that the client gave.' }),
});

const page = {
  limit: optional.limit('Largest number of entries.'),
  order: optional.choice(['asc', 'desc'], 'Oldest or newest first.', 'desc'),
};
export const ItemQuery = Type.Object({ ...page, after: optional.text('Item after which the page begins.') });
export const ConversationQuery = Type.Object({
  ...page,
  after: optional.text('Conversation after which the page begins.'),
  user: optional.text('Only conversations of this end user.'),
});

export const Conversation = named('OpenAIConversation', 'A conversation as OpenAI clients see it.', {
  id: text('Conversation ID.'),
  object: choice(['conversation'], 'Always `conversation`.'),
  created_at: epochSeconds('Creation time.'),
  metadata: texts('Texts by name.'),
});
export const DeletedConversation = shape({
  id: text('Conversation ID.'),
  object: choice(['conversation.deleted'], 'Always `conversation.deleted`.'),
  deleted: flag('Always true.'),
});
export const Item = openObject('An item.');
const listOf = (entry: TSchema, title: string) =>
  named(title, 'A page of a list.', {
    object: choice(['list'], 'Always `list`.'),
    data: list(entry, 'The entries.'),
    first_id: nullable(text('Id of the first entry.')),
    last_id: nullable(text('Id of the last entry, for `after`.')),
    has_more: flag('Whether others follow.'),
  });
export const ConversationList = listOf(Conversation, 'OpenAIConversationList');
export const ItemList = listOf(Item, 'OpenAIItemList');
