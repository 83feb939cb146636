import type { Static } from 'typebox';
import { limits } from './limits.ts';
import {
  choice,
  epochSeconds,
  flag,
  id,
  list,
  named,
  nonEmpty,
  nullable,
  openObject,
  optional,
  text,
  texts,
} from './primitives.ts';
import type { RecordKind } from './record.ts';
import { Type } from './type.ts';

/** The kinds of record whose changes the feed lists, in the order of its initial snapshot: parents before children. */
export const changeKinds = [
  'workspace',
  'app',
  'dataset',
  'model_provider',
  'document',
  'segment',
  'child_chunk',
  'conversation',
  'message',
  'review',
] as const satisfies readonly RecordKind[];
export type ChangeKind = (typeof changeKinds)[number];

export const Change = named('Change', 'A record of the initial snapshot, or a created, changed or deleted one.', {
  cursor: text('Position of this entry. Send it as `after` to continue from here.'),
  kind: choice(changeKinds, 'Kind of record.'),
  id: id('ID of the record. A model provider is identified by its name.'),
  at: epochSeconds('Time of the change. Entries of the initial snapshot have the time of the request.'),
  gone: flag('Whether the record was deleted or erased. If a conversation is gone, so are its messages and reviews.'),
  path: texts('IDs of what the record belongs to: `workspace_id`, and below it what its kind has.'),
  record: nullable(openObject('The record, as in an export. Null if it is gone or `include` is `none`.')),
});
export type Change = Static<typeof Change>;

export const ChangePage = named('ChangePage', 'A page of the change feed.', {
  data: list(Change, 'Changed records.'),
  has_more: flag('Whether more entries may follow at once.'),
  cursor: text('Send it as `after` with the next request. Store it together with the effect of these entries.'),
});
export type ChangePage = Static<typeof ChangePage>;

export const ChangesQuery = Type.Object({
  after: optional.text('Cursor of the last processed entry. Absent: from the start. `now`: only later changes.'),
  limit: optional.limit('Maximum number of entries per response.', limits.changesMax, limits.changesDefault),
  wait: optional.integer('Seconds to wait for an entry before an empty response.', {
    minimum: 0,
    maximum: limits.changesWaitSecondsMax,
    default: 0,
  }),
  kinds: nonEmpty(Type.String({ description: `Comma-separated kinds: \`${changeKinds.join('`, `')}\`. Absent: all.` })),
  app_id: nonEmpty(Type.String({ description: 'Only this app, its conversations, messages and reviews.' })),
  dataset_id: nonEmpty(Type.String({ description: 'Only this dataset and what is in it.' })),
  include: optional.choice(['record', 'none'], 'Whether entries have their records.', 'record'),
});
export type ChangesQuery = Static<typeof ChangesQuery>;
