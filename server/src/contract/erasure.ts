import type { Static } from 'typebox';
import { limits } from './limits.ts';
import {
  choice,
  epochSeconds,
  flag,
  id,
  integer,
  list,
  named,
  nonEmpty,
  nullable,
  optional,
  text,
} from './primitives.ts';
import { noNul } from './rules.ts';
import { Type } from './type.ts';

export const Purge = named('Purge', 'Either `conversation_id`, or `app_id` and `user`.', {
  conversation_id: nonEmpty(text('Erases this conversation.')),
  app_id: nonEmpty(text('With `user`: erases all conversations of a user in this app.')),
  user: nonEmpty(Type.String({ pattern: noNul.source, description: 'The user, exactly.' })),
  dry_run: Type.Optional(flag('Only counts, also for a read-only key. Default: false.')),
});

const erasedCopies = ['files', 'replica'] as const;

export const Purged = named('Purged', 'What was erased, or, with `dry_run`, would be erased.', {
  conversations: integer('Number of erased conversations, deleted ones too.'),
  messages: integer('Number of erased messages.'),
  held: integer('How many of the conversations were on hold: `hold` protects from retention, not from a purge.'),
  audit_id: nullable(text('Entry of the audit log; null if nothing was erased.')),
  copies: list(
    choice(
      erasedCopies,
      '`files`: files of the embedded database, since another process reads older data; they are removed as soon as it ' +
        'allows that, see `cleaned_at` of the audit log entry. `replica`: where a replicator has copied the files.',
    ),
    'Where copies of the erased texts may still be. None if nothing was erased, and on PostgreSQL.',
  ),
});
export type Purged = Static<typeof Purged>;

const AppRetention = named('AppRetention', 'The retention of an app.', {
  app_id: id('App ID.'),
  retention_days: nullable(integer('Period in force, in days: that of the app, else `RETENTION_DAYS`; null if none.')),
  conversations_due: integer('Number of conversations that the next run erases.'),
  oldest_activity: nullable(
    epochSeconds('Last activity of the conversation without activity for the longest time, of those not on hold.'),
  ),
});
export type AppRetention = Static<typeof AppRetention>;

export const RetentionQuery = Type.Object({
  app_id: optional.text('Only this app.'),
  period: optional.integer(
    'With `app_id`: counts as if the app had this period of its own, in days; 0 for none of its own.',
    { minimum: 0, maximum: limits.retentionDaysMax },
  ),
});

export const Retention = named('Retention', 'The retention of all apps.', {
  data: list(AppRetention, 'All apps, by id.'),
});
export type Retention = Static<typeof Retention>;
