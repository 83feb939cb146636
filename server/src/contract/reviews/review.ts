import type { Static } from 'typebox';
import { limits } from '../limits.ts';
import { choice, epochSeconds, id, nullable, shape, uuid, withDefault } from '../primitives.ts';
import { noNul } from '../rules.ts';
import { Type } from '../type.ts';

export const reviewStates = ['open', 'done', 'ignored'] as const;
export type ReviewState = (typeof reviewStates)[number];

const shortText = (description: string, unitsMax: number) =>
  Type.String({ minLength: 1, maxLength: unitsMax, pattern: noNul.source, description });
const longText = (description: string) =>
  nullable(Type.String({ maxLength: limits.reviewUnitsMax, pattern: noNul.source, description }));

const state = choice(reviewStates, 'State.', 'open');
const assignee = nullable(
  shortText('Who works on it: the ID of a key, or `person:` and the ID of a person.', limits.idUnitsMax),
);
const by = {
  key_id: nullable(id('Key that wrote it; null for a person, an import, or feedback that opened it again.')),
  person_id: nullable(id('Person who wrote it; null for a key, an import, or feedback that opened it again.')),
};

/** What a reviewer writes. */
const written = {
  state,
  labels: withDefault(
    Type.Array(shortText('A label.', limits.reviewLabelUnitsMax), {
      maxItems: limits.reviewLabelsMax,
      description: 'Labels, such as the cause.',
    }),
    [],
  ),
  note: longText('What reviewers know about it.'),
  expected_answer: longText('What the answer should have been.'),
  assignee,
};
/** A request may omit all of them. */
export const ReviewEdit = shape({
  state: Type.Optional(written.state),
  labels: Type.Optional(written.labels),
  note: Type.Optional(written.note),
  expected_answer: Type.Optional(written.expected_answer),
  assignee: Type.Optional(written.assignee),
});
export type ReviewEdit = Static<typeof ReviewEdit>;

export const HistoryEntry = shape({
  at: epochSeconds('Time.'),
  ...by,
  state,
  assignee,
});

export const reviewFields = {
  app_id: id('App of the conversation.'),
  conversation_id: uuid('Conversation of the message.'),
  message_id: uuid('The message.'),
  ...written,
  updated_at: epochSeconds('Time of the last change.'),
  ...by,
  history: withDefault(
    Type.Array(HistoryEntry, {
      maxItems: limits.reviewHistoryMax,
      description: `The ${limits.reviewHistoryMax} latest changes, newest first.`,
    }),
    [],
  ),
};
