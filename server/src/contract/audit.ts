import type { Static } from 'typebox';
import { listParameters } from './admin.ts';
import { limits } from './limits.ts';
import { choice, epochSeconds, id, integer, list, named, nullable, optional, text } from './primitives.ts';
import { type RecordKind, recordKinds } from './record.ts';
import { Type } from './type.ts';

export const auditActions = ['import', 'create', 'update', 'delete', 'revoke', 'purge', 'retain'] as const;
export type AuditAction = (typeof auditActions)[number];

const record = Type.Unsafe<RecordKind>(choice(recordKinds, 'Kind of record.'));

const NamedRecord = named('NamedRecord', 'A record with its current name.', {
  id: text('ID. For a kind that is identified by two fields: both, with `/` between them.'),
  name: nullable(text('Its name now; null if it does not exist any more.')),
  path: nullable(
    list(text('ID.'), 'IDs from the top down to the record, such as dataset, document, segment and child chunk.'),
  ),
});

const FieldChange = named('FieldChange', 'A field that was changed.', {
  field: text('Name of the field.'),
  before: nullable(text('Its value before, as text; null for none.')),
  after: nullable(text('Its value after, as text; null for none.')),
});
export type FieldChange = Static<typeof FieldChange>;

export const ActivityListed = named('Activity', 'An entry of the audit log. It never contains texts or secrets.', {
  id: text('Entry ID. IDs sort by time.'),
  at: epochSeconds('Time.'),
  key_id: nullable(id('Key of the request; null for the command line or a person.')),
  key_name: nullable(text('Name of that key now; null for the command line, or if the key does not exist.')),
  person_id: nullable(id('Person of the request, who signed in by name; else null.')),
  person_name: nullable(text('Name of that person now.')),
  action: choice(auditActions, 'Action.'),
  record,
  count: integer('Number of records.'),
  app_id: nullable(id('App of an erasure; null for other actions.')),
  app_name: nullable(text('Name of that app now; null if it does not exist.')),
  messages: nullable(integer('Number of messages of an erasure; null for other actions.')),
  cleaned_at: nullable(
    epochSeconds(
      'When the files of the embedded database had no copies of the erased texts any more; null until then, for other ' +
        'actions, and on PostgreSQL.',
    ),
  ),
  records: list(NamedRecord, `The first ${limits.namedRecordsMax} of them.`),
  tool: nullable(text('The tool that an agent called; null for all other requests.')),
  changes: list(FieldChange, 'Of an app, a key or a person: the name, role, period or access that was changed.'),
});
export type ActivityListed = Static<typeof ActivityListed>;

const time = (description: string) =>
  optional.seconds(description, { format: 'int64', minimum: 0, maximum: limits.epochSecondsMax });

export const ActivityQuery = Type.Object({
  ...listParameters,
  key_id: optional.text('Only requests with this key.'),
  person_id: optional.text('Only requests of this person.'),
  action: optional.choice(auditActions, 'Only this action.'),
  record: Type.Optional(record),
  record_id: optional.text('Only entries with an id that contains this text.', { maxLength: limits.searchUnitsMax }),
  dataset_id: optional.text(
    'Only child chunks of this knowledge base that were created, updated or deleted, not imported.',
  ),
  document_id: optional.text('With `dataset_id`: only child chunks of this document.'),
  appends: optional.choice(
    ['hidden'],
    'Without imports of conversations and messages, which are most of the log of a busy service.',
  ),
  from: time('Only entries from this time on.'),
  to: time('Only entries before this time.'),
});
export type ActivityQuery = Static<typeof ActivityQuery>;

export const ReadListed = named('Read', 'Who read what: one entry for each author and object in an hour.', {
  id: text('Entry ID.'),
  at: epochSeconds('Time of the first of these reads in an hour.'),
  key_id: nullable(id('Key of the request; null for a person.')),
  key_name: nullable(text('Name of that key now.')),
  person_id: nullable(id('Person of the request; null for a key.')),
  person_name: nullable(text('Name of that person now.')),
  operation: text('The `operationId`. Tools of agents have that of the operation that does the same.'),
  app_id: nullable(id('App; null for all apps.')),
  app_name: nullable(text('Name of that app now.')),
  conversation_id: nullable(id('The conversation that was opened or copied; null for others.')),
  user: nullable(text('End user of the conversation, or whose data was read; null for others, and after an erasure.')),
  words: nullable(text('Words of a search; null for others, and after an erasure of a user whom they name.')),
});
export type ReadListed = Static<typeof ReadListed>;

export const ReadQuery = Type.Object({
  ...listParameters,
  key_id: optional.text('Only reads with this key.'),
  person_id: optional.text('Only reads by this person.'),
  app_id: optional.text('Only reads in this app.'),
  user: optional.text('Only reads of what this end user said; the exact name.'),
  conversation_id: optional.text('Only reads of this conversation.'),
});
export type ReadQuery = Static<typeof ReadQuery>;
