import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { choice, epochSeconds, flag, integer, list, nullable, openObject, shape, text, uuid } from './primitives.ts';
import { cursorPattern } from './rules.ts';
import { Type } from './type.ts';

export const conversationOrders = ['created_at', '-created_at', 'updated_at', '-updated_at'] as const;
export type ConversationOrder = (typeof conversationOrders)[number];

export const Conversation = shape(
  {
    id: uuid('Conversation ID.'),
    name: text('Name. Without a name of its own, the beginning of its first query.'),
    inputs: openObject('Input variables. Without its own, those of its first message.'),
    status: choice(['normal'], 'Always `normal`.'),
    introduction: nullable(text('Introduction.')),
    created_at: epochSeconds('Creation time.'),
    updated_at: epochSeconds('The latest of its creation, its newest message and its last rename.'),
  },
  { title: 'ListedConversation', description: 'A conversation of the app.' },
);

export const ConversationPage = shape(
  {
    limit: integer('Number of items per page.'),
    has_more: flag('Whether more conversations follow.'),
    data: list(Conversation, 'The conversations.'),
  },
  { title: 'ConversationPage', description: 'A page of conversations.' },
);

const user = Type.String({ description: 'End-user identifier. Only conversations of this user exist then.' });

export const ConversationListQuery = Type.Object({
  user: Type.Optional(user),
  last_id: Type.Optional(
    Type.String({ description: 'Cursor: returns only conversations after the conversation with this ID.' }),
  ),
  first_id: Type.Optional(Type.String({ description: 'Another name of `last_id`, if that is absent.' })),
  cursor: Type.Optional(
    Type.String({
      pattern: cursorPattern.source,
      description: 'The end of an earlier page in the same order, from its `Link` header. `last_id` is ignored then.',
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: limits.listRowsMin,
      maximum: limits.listRowsMax,
      default: limits.listRowsDefault,
      description: 'Number of conversations returned per request.',
    }),
  ),
  sort_by: Type.Optional(
    Type.Unsafe<ConversationOrder>({
      ...choice(conversationOrders, 'Order, then by id. With `-`: descending.'),
      default: '-updated_at',
    }),
  ),
});

export const ConversationPath = Type.Object({
  conversation_id: Type.String({ description: 'Conversation ID.' }),
});

const bodyUser = Type.Optional(nullable(user));

export const Rename = Type.Object(
  {
    name: Type.Optional(
      nullable(
        text(`New name, at most ${limits.conversationNameUnitsMax} characters. Required without auto_generate.`),
      ),
    ),
    auto_generate: Type.Optional(
      Type.Boolean({ default: false, description: 'Whether to derive the name from the first query again.' }),
    ),
    user: bodyUser,
  },
  { title: 'Rename', description: 'A new name.' },
);
export type Rename = Static<typeof Rename>;

/** The body of a DELETE, which may be absent. */
export const Deletion = Type.Object(
  { user: bodyUser },
  { title: 'Deletion', description: 'Whose conversation it is.' },
);

export const MessagePath = Type.Object({ message_id: Type.String({ description: 'Message ID.' }) });

export const Rating = Type.Object(
  {
    // dify-client 3 leaves it out to remove the feedback.
    rating: Type.Optional(
      Type.Unsafe<'like' | 'dislike' | null>({
        ...nullable(choice(['like', 'dislike'], '`like`, `dislike`, or null to remove the feedback.')),
        default: null,
      }),
    ),
    content: Type.Optional(nullable(text(`Text, at most ${limits.feedbackUnitsMax} characters.`))),
    user: Type.String({
      minLength: 1,
      description: 'End-user identifier. The conversation must be of this user, or of none.',
    }),
  },
  { title: 'Rating', description: 'Feedback of a user.' },
);
export type Rating = Static<typeof Rating>;
