import type { Static } from 'typebox';
import { limits } from './limits.ts';
import {
  choice,
  epochSeconds,
  flag,
  id,
  input,
  integer,
  list,
  named,
  nullable,
  openObject,
  optional,
  pageParameters,
  text,
  uuid,
} from './primitives.ts';
import { noNul } from './rules.ts';
import { Type } from './type.ts';

export const conversationOrders = ['created_at', '-created_at', 'updated_at', '-updated_at'] as const;
export type ConversationOrder = (typeof conversationOrders)[number];

export const Conversation = named('ListedConversation', 'A conversation of the app.', {
  id: uuid('Conversation ID.'),
  name: text('Name. Without a name of its own, the beginning of its first query.'),
  inputs: openObject('Input variables. Without its own, those of its first message.'),
  status: choice(['normal'], 'Always `normal`.'),
  introduction: nullable(text('Introduction.')),
  created_at: epochSeconds('Creation time.'),
  updated_at: epochSeconds('The latest of its creation, its newest message and its last rename.'),
});

export const ConversationPage = named('ConversationPage', 'A page of conversations.', {
  limit: integer('Number of items per page.'),
  has_more: flag('Whether more conversations follow.'),
  data: list(Conversation, 'The conversations.'),
});

const user = Type.String({ description: 'End-user identifier. If present, only conversations of this user exist.' });

export const ConversationListQuery = Type.Object({
  user: Type.Optional(user),
  created_after: optional.seconds('Earliest creation time.'),
  created_before: optional.seconds('Latest creation time, exclusive.'),
  last_id: optional.text('Cursor: returns only conversations after the conversation with this ID.'),
  first_id: optional.text('Another name for `last_id`, which takes precedence.'),
  cursor: optional.cursor(
    'The cursor in the `Link` header of an earlier page in the same order. If present, `last_id` is ignored.',
  ),
  limit: optional.limit('Number of conversations returned per request.'),
  sort_by: optional.choice(conversationOrders, 'Sort order, then by id. `-` means descending.', '-updated_at'),
});

export const ConversationPath = Type.Object({
  conversation_id: Type.String({ description: 'Conversation ID.' }),
});

const bodyUser = Type.Optional(nullable(user));

export const Rename = input('Rename', 'A new name.', {
  name: Type.Optional(
    nullable(text(`New name, at most ${limits.conversationNameUnitsMax} characters. Required without auto_generate.`)),
  ),
  auto_generate: Type.Optional(
    Type.Boolean({ default: false, description: 'Whether to derive the name from the first query again.' }),
  ),
  user: bodyUser,
});
export type Rename = Static<typeof Rename>;

/** The body of a DELETE, which may be absent. */
export const Deletion = input('Deletion', 'The user of the conversation.', { user: bodyUser });

export const MessagePath = Type.Object({ message_id: Type.String({ description: 'Message ID.' }) });

export const Rating = input('Rating', 'Feedback of a user.', {
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
});
export type Rating = Static<typeof Rating>;

const time = (description: string) => Type.String({ format: 'date-time', description });

const AppFeedback = named('AppFeedback', 'Feedback of a message.', {
  id: uuid('ID of the feedback, always the same for a message.'),
  app_id: id('App ID.'),
  conversation_id: uuid('Conversation ID.'),
  message_id: uuid('Message ID.'),
  rating: choice(['like', 'dislike'], '`like` (positive) or `dislike` (negative).'),
  content: nullable(text('Text of the feedback.')),
  from_source: choice(['user'], 'Always `user`.'),
  from_end_user_id: nullable(text('End user of the conversation.')),
  from_account_id: Type.Unsafe<null>({ type: 'null', description: 'Always null.' }),
  created_at: time('Time of the feedback, in UTC.'),
  updated_at: time('The same time.'),
});

export const AppFeedbacks = named('AppFeedbacks', 'A page of the feedback of an app.', {
  data: list(AppFeedback, 'Newest first; those of one second by message ID.'),
});
export type AppFeedback = Static<typeof AppFeedback>;

export const FeedbackListQuery = Type.Object(pageParameters(limits.feedbackRowsMax, 'entries'));

export const MessageSearchQuery = Type.Object({
  query: optional.text(
    'Words that must all occur, the last one as the beginning of a word; `"…"` is a phrase. Case and accents are ignored. ' +
      'Absent: everything.',
    { maxLength: limits.searchUnitsMax },
  ),
  user: Type.String({
    minLength: 1,
    pattern: noNul.source,
    description: 'End-user identifier. Only messages of this user are searched.',
  }),
  limit: optional.limit('Number of messages returned per request.'),
  cursor: optional.cursor('Start of the page: `cursor` of the previous page.'),
});

const SnippetPart = named('SnippetPart', 'A part of a snippet.', {
  text: text('Part of the text.'),
  hit: flag('Whether it matches the query.'),
});

export const FoundMessage = named('FoundMessage', 'A message of the user.', {
  message_id: uuid('Message ID.'),
  conversation_id: uuid('Conversation ID.'),
  created_at: epochSeconds('Creation time of the message.'),
  field: choice(['query', 'answer', 'error', 'file', 'form'], 'The text that the snippet is from.'),
  snippet: list(SnippetPart, 'The text around the first match, in parts; without a match, its beginning.'),
});
export type FoundMessage = Static<typeof FoundMessage>;

export const FoundMessages = named('FoundMessages', 'A page of search results.', {
  limit: integer('Requested number of messages.'),
  has_more: flag('Whether more may follow.'),
  cursor: nullable(text('Cursor of the next page; null on the last page.')),
  data: list(FoundMessage, 'Newest first.'),
});
