import type { Static, TSchema } from 'typebox';
import { type KeyKind, keyKinds, keyKindTable, kindsWith, reachSchemas, readOnlyKinds } from './key-kinds.ts';
import { limits } from './limits.ts';
import { ModelProvider } from './model.ts';
import { type Role, roles } from './people/roles.ts';
import {
  choice,
  described,
  epochSeconds,
  flag,
  id,
  input,
  integer,
  list,
  named,
  nonEmpty,
  nullable,
  optional,
  text,
} from './primitives.ts';
import { keyReach } from './record.ts';
import { chatModes, noNul } from './rules.ts';
import { Type } from './type.ts';

export const listParameters = {
  limit: optional.limit('Number of rows returned per request.'),
  cursor: optional.cursor('Start of the page: `next_cursor` of the previous page.'),
};

export const ListQuery = Type.Object(listParameters);

/** Filters of conversations and their messages, the same for lists and exports. */
export const conversationFilters = {
  app_id: optional.text('Only this app.'),
  user: optional.text('Only conversations of this end user; the exact name.', { pattern: noNul.source }),
};

/** Filters by a time. `what` is the time that is compared. */
export const periodFilters = (what: string) => ({
  from: optional.seconds(`Earliest ${what}.`),
  to: optional.seconds(`Latest ${what}, exclusive.`),
});

const period = periodFilters('creation time of a message');
export const exportFilters = {
  app_id: nonEmpty(conversationFilters.app_id),
  user: nonEmpty(conversationFilters.user),
  conversation_id: nonEmpty(Type.String({ description: 'Only this conversation.' })),
  from: nonEmpty(period.from),
  to: nonEmpty(period.to),
};

export const MessageExportQuery = Type.Object(exportFilters);
export const ExportQuery = Type.Object({
  ...exportFilters,
  kinds: nonEmpty(
    Type.String({
      description:
        'Only records of these kinds: a comma-separated list. With another filter only `workspace`, `app`, `conversation`, `message` and `review`.',
    }),
  ),
  reads: nonEmpty(
    optional.choice(
      ['0', '1'],
      'With 1 and `user`: also who has read what this user said, as lines `{"read": …}` after the records. Such a copy is for the user: no import accepts it.',
    ),
  ),
});

export const listOf = <S extends TSchema>(row: S) =>
  described('A page of the list.', {
    limit: integer('Requested number of rows.'),
    has_more: flag('Whether more rows follow.'),
    data: list(row, 'The rows.'),
    next_cursor: nullable(text('Cursor of the next page; null on the last page.')),
  });

export const SignIn = Type.Object({
  key: Type.String({ description: 'The secret of an admin key, or the token of a sign-in link.' }),
});

export const ConsoleSession = named('ConsoleSession', 'A session of the console. Its secret is only in the cookie.', {
  key_id: nullable(
    id('Admin key of the session, which ends when the key is revoked or expires; null after sign-in by name.'),
  ),
  person_id: nullable(id('Person of the session; null after sign-in with a key.')),
  name: text('Name of that key or person.'),
  expires_at: epochSeconds('End of the session.'),
  read_only: flag('Whether the key, and so the session, allows only reads.'),
  role: choice(roles, 'Role of the key or person. `x-role` of an operation is the role that it needs.'),
});
export type ConsoleSession = Static<typeof ConsoleSession>;

export const WorkspaceListed = named('Workspace', 'A workspace.', { id: id('Workspace ID.'), name: text('Name.') });
export type WorkspaceListed = Static<typeof WorkspaceListed>;

export const inWorkspace = { workspace_id: id('Its workspace.'), workspace_name: text('Name of the workspace.') };

const appMode = Type.String({
  description: 'App mode. Messages are listed only for apps with a mode in `x-chat-modes`.',
  'x-chat-modes': chatModes,
});

export const AppListed = named('App', 'An app.', {
  id: id('App ID.'),
  ...inWorkspace,
  name: text('Name.'),
  mode: appMode,
  retention_days: nullable(integer('Its own period of retention in days; null for `RETENTION_DAYS`.')),
});
export type AppListed = Static<typeof AppListed>;

/** A provider with models of all types and statuses, unlike an entry of a model listing. */
export const ProviderListed = named('WholeModelProvider', 'A model provider with all its models.', {
  ...ModelProvider.properties,
  models: list(ModelProvider.properties.models.items, 'All its models.'),
});
export type ProviderListed = Static<typeof ProviderListed>;

export const ListedKey = named('Key', 'A key, without its secret.', {
  id: id('Key ID.'),
  kind: choice(keyKinds, 'Kind of key.'),
  name: text('Name.'),
  ...keyReach,
  created_at: epochSeconds('Creation time.'),
  expires_at: nullable(epochSeconds('Time of expiry; null if the key does not expire.')),
  revoked_at: nullable(epochSeconds('Time of revocation; null if the key is not revoked.')),
  last_used_at: nullable(
    epochSeconds(`Time of last use, stored every ${limits.lastUsedIntervalMillis / 1000} seconds.`),
  ),
  read_only: flag('Whether the key allows only reads.'),
  role: nullable(choice(roles, 'Role of a key of kind admin; null for other kinds.')),
});
export type ListedKey = Static<typeof ListedKey>;

export const KeyWithRequests = named('KeyWithRequests', 'A key, without its secret, and its recent requests.', {
  ...ListedKey.properties,
  requests: integer(
    `Requests in the last ${limits.keyErrorHours} hours to all instances, without those of the console; stored every ${limits.lastUsedIntervalMillis / 1000} seconds.`,
  ),
  errors: integer('How many of them got a status of 400 or above.'),
});
export type KeyWithRequests = Static<typeof KeyWithRequests>;

const keyName = optional.text('Name.', { maxLength: limits.idUnitsMax, pattern: noNul.source });
const readOnly = flag(`Whether the key allows only reads. Only for kind ${readOnlyKinds.join(' or ')}.`);

const role = Type.Unsafe<Role>(choice(roles, 'What the key may do. Only for kind admin. Default: admin.'));

export const KeyChange = input('KeyChange', 'A change of a key: at least one field.', {
  name: keyName,
  read_only: Type.Optional(readOnly),
  role: Type.Optional(role),
});
export type KeyChange = Static<typeof KeyChange>;

export const NewKey = input('NewKey', 'A key to create.', {
  kind: Type.Unsafe<KeyKind>({
    ...choice(
      keyKinds,
      'Kind of key. `x-key-kinds` lists what each kind allows and which fields it requires and accepts.',
    ),
    'x-key-kinds': keyKindTable,
  }),
  name: keyName,
  app_id: Type.Optional(nullable(text(`App; only for kind ${kindsWith('app_id')}.`))),
  workspace_id: Type.Optional(nullable(text(`Workspace; only for kind ${kindsWith('workspace_id')}.`))),
  dataset_ids: Type.Optional(
    nullable(
      Type.Array(Type.String(), {
        minItems: 1,
        maxItems: limits.keyDatasetsMax,
        description: `Only these datasets; null for all. Only for kind ${kindsWith('dataset_ids')}.`,
      }),
    ),
  ),
  expires_at: Type.Optional(
    nullable(
      Type.Integer({
        format: 'int64',
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'Time of expiry, in the future; null if the key does not expire. Unix epoch seconds.',
      }),
    ),
  ),
  read_only: Type.Optional(readOnly),
  role: Type.Optional(role),
});
export type NewKey = Static<typeof NewKey>;

/** For the document. The domain checks the fields of each kind, for the command line too, with messages that name the kind. */
export const DescribedNewKey = Type.Unsafe<NewKey>({ ...NewKey, oneOf: reachSchemas });

export const CreatedKey = named('CreatedKey', 'A new key, with its secret.', {
  id: id('Key ID.'),
  secret: text('Secret. It is returned only once.'),
});
export type CreatedKey = Static<typeof CreatedKey>;
