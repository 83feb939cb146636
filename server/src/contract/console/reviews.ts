import type { Static } from 'typebox';
import { conversationFilters, exportFilters, listOf, listParameters, periodFilters } from '../admin.ts';
import { limits } from '../limits.ts';
import { Message } from '../message.ts';
import {
  choice,
  epochSeconds,
  id,
  integer,
  list,
  named,
  nonEmpty,
  nullable,
  optional,
  shape,
  text,
} from '../primitives.ts';
import { HistoryEntry, reviewFields, reviewStates } from '../reviews/review.ts';
import { noNul } from '../rules.ts';
import { Type } from '../type.ts';

const name = (whose: string) => nullable(text(`Name of ${whose} now.`));
const NamedEntry = shape({ ...HistoryEntry.properties, name: name('who changed it') });
export const ReviewResponse = named('Review', 'What people found out about an answer.', {
  ...reviewFields,
  history: list(NamedEntry, `The ${limits.reviewHistoryMax} latest changes, newest first.`),
  assignee_name: name('the assignee'),
  etag: text('Its `ETag`, for `If-Match`.'),
});
export type ReviewResponse = Static<typeof ReviewResponse>;

export const reviewReasons = ['disliked', 'failed', 'opened'] as const;

const ReviewedMessage = named('ReviewedMessage', 'A message with what readers of `/v1` do not see.', {
  ...Message.properties,
  app_id: id('App ID.'),
  user: nullable(text('End user of the conversation.')),
  feedback_content: nullable(text('Text of the feedback.')),
  model_provider: nullable(text('Provider of the model that answered.')),
  model: nullable(text('Model that answered.')),
});

const ReviewedRevision = named('ReviewedRevision', 'A text that was replaced during a review.', {
  revision: integer('Number of the revision of its child chunk.'),
  replaced_at: epochSeconds('Time of the replacement.'),
  name: nullable(text('Place of the child chunk; null if it does not exist any more.')),
  path: nullable(list(text('ID.'), 'Its dataset, document, segment and child chunk.')),
});

export const ReviewListed = named('ReviewListed', 'A message with its review, if it has one.', {
  message: ReviewedMessage,
  review: nullable(ReviewResponse),
  reason: choice(
    reviewReasons,
    'Why it is listed: the answer was disliked, its generation failed, or a reviewer opened it.',
  ),
  revisions: list(
    ReviewedRevision,
    `Texts that were replaced during the review, newest first; of all messages of a page the newest ${limits.reviewRevisionsMax}.`,
  ),
});
export type ReviewListed = Static<typeof ReviewListed>;

const { app_id } = conversationFilters;
export const ReviewQuery = Type.Object({
  ...listParameters,
  state: optional.choice(
    reviewStates,
    `Only this state. Without a review, messages of the last ${limits.reviewDays} days that were disliked or failed are open.`,
  ),
  label: optional.text('Only reviews with this label.', { pattern: noNul.source }),
  app_id,
  assignee: optional.text('Only reviews of this assignee.', { pattern: noNul.source }),
  document_id: optional.text('Only answers that cite this document.', { pattern: noNul.source }),
  message_id: optional.text('Only this message; without `state` also if it needs no review.', {
    pattern: noNul.source,
  }),
  ...periodFilters('creation time of the message'),
});
export type ReviewQuery = Static<typeof ReviewQuery>;

const { from, to } = exportFilters;
export const EvalQuery = Type.Object({
  label: nonEmpty(ReviewQuery.properties.label),
  app_id: exportFilters.app_id,
  from,
  to,
  redact: nonEmpty(
    optional.choice(
      ['0', '1'],
      'With 1, what looks like an e-mail address, phone or card number, IBAN or IP address is replaced; best effort.',
    ),
  ),
});

export const ReviewCountsQuery = Type.Object({ app_id, ...periodFilters('creation time of the message') });

export const ReviewCounts = named('ReviewCounts', 'Numbers of open messages and of labels.', {
  open: integer(`Open messages; ${limits.reviewsCountedMax} or more if it is that number.`),
  labels: list(
    shape({ label: text('Label.'), count: integer('Number of reviews with it.') }),
    `Labels of the newest ${limits.reviewsCountedMax} reviews of each state, most frequent first.`,
  ),
});
export type ReviewCounts = Static<typeof ReviewCounts>;

const page = listOf(ReviewListed);
export const ReviewPage = shape({ ...page.properties, cursor: page.properties.next_cursor });
