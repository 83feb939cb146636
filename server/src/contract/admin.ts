import type { Static, TSchema } from 'typebox';
import { type KeyKind, keyKinds, keyKindTable, kindsWith } from './key-kinds.ts';
import { limits } from './limits.ts';
import { ModelProvider } from './model.ts';
import { choice, epochSeconds, flag, id, integer, list, nullable, shape, text, uuid } from './primitives.ts';
import { chatModes } from './rules.ts';
import { Type } from './type.ts';

export const rowsUpTo = (maximum: number) =>
  Type.Optional(
    Type.Integer({
      minimum: limits.listRowsMin,
      maximum,
      default: limits.listRowsDefault,
      description: 'Number of rows returned per request.',
    }),
  );

/** What every list takes; a list may take more. */
export const listParameters = {
  limit: rowsUpTo(limits.listRowsMax),
  cursor: Type.Optional(Type.String({ description: 'Where to go on: `next_cursor` of the page before.' })),
};

export const ListQuery = Type.Object(listParameters);

/** One page of a list. */
export const listOf = <S extends TSchema>(row: S) =>
  shape(
    {
      limit: integer('The number of rows asked for.'),
      has_more: flag('Whether more rows follow.'),
      data: list(row, 'The rows.'),
      next_cursor: nullable(text('Where the next page begins; null where there is none.')),
    },
    { description: 'A page of the list.' },
  );

export const SignIn = Type.Object({ key: Type.String({ description: 'The secret of an admin key.' }) });

export const ConsoleSession = shape(
  {
    key_id: id('The admin key that it was made from, and with which it ends.'),
    name: text('Name of that key.'),
    expires_at: epochSeconds('From then on one has to sign in again.'),
  },
  { title: 'ConsoleSession', description: 'A session of the console. Its secret is in the cookie alone.' },
);

export const WorkspaceListed = shape(
  { id: id('Workspace ID.'), name: text('Name.') },
  { title: 'Workspace', description: 'A workspace.' },
);
export type WorkspaceListed = Static<typeof WorkspaceListed>;

const inWorkspace = { workspace_id: id('Its workspace.'), workspace_name: text('Name of the workspace.') };

const appMode = Type.String({
  description: 'App mode. Messages are listed only for apps with a mode in `x-chat-modes`.',
  'x-chat-modes': chatModes,
});

export const AppListed = shape(
  { id: id('App ID.'), ...inWorkspace, name: text('Name.'), mode: appMode },
  { title: 'App', description: 'An app.' },
);
export type AppListed = Static<typeof AppListed>;

/** With all its models and statuses, unlike the entry of a model listing. */
export const ProviderListed = shape(
  { ...ModelProvider.properties, models: list(ModelProvider.properties.models.items, 'All its models.') },
  { title: 'WholeModelProvider' },
);
export type ProviderListed = Static<typeof ProviderListed>;

export const DatasetListed = shape(
  { id: uuid('Knowledge base ID.'), ...inWorkspace, name: text('Name.') },
  { title: 'Dataset', description: 'A knowledge base.' },
);
export type DatasetListed = Static<typeof DatasetListed>;

export const DocumentListed = shape(
  { id: uuid('Document ID.'), name: text('Name.') },
  { title: 'Document', description: 'A document of a knowledge base.' },
);
export type DocumentListed = Static<typeof DocumentListed>;

export const SegmentListed = shape(
  {
    id: uuid('Parent chunk ID.'),
    position: integer('Position in the document.'),
    content: text('Text.'),
    child_chunk_count: integer('Number of its child chunks.'),
  },
  { title: 'Segment', description: 'A parent chunk of a document.' },
);
export type SegmentListed = Static<typeof SegmentListed>;

export const RevisionListed = shape(
  {
    revision: integer('Number of the revision.'),
    content: text('The text that was replaced.'),
    replaced_at: epochSeconds('When it was replaced.'),
    key_id: nullable(id('The key that replaced it; null where an import did.')),
    key_name: nullable(text('Name of that key; null where there is none.')),
  },
  { title: 'ChildChunkRevision' },
);
export type RevisionListed = Static<typeof RevisionListed>;

const reach = {
  workspace_id: nullable(id('Workspace; null for kind admin.')),
  app_id: nullable(id(`App; only for kind ${kindsWith('app_id')}.`)),
  dataset_ids: nullable(
    list(uuid('Knowledge base ID.'), `Only these datasets; null for all. Only for kind ${kindsWith('dataset_ids')}.`),
  ),
};

/** Everything but what could open something. */
export const ListedKey = shape(
  {
    id: id('Key ID.'),
    kind: choice(keyKinds, 'Kind of key.'),
    name: text('Name.'),
    ...reach,
    created_at: epochSeconds('Creation time.'),
    expires_at: nullable(epochSeconds('From then on the key is refused.')),
    revoked_at: nullable(epochSeconds('Since then the key is refused.')),
    last_used_at: nullable(epochSeconds('When it was last used, as last noted.')),
  },
  { title: 'Key', description: 'A key, without its secret.' },
);
export type ListedKey = Static<typeof ListedKey>;

export const NewKey = Type.Object(
  {
    kind: Type.Unsafe<KeyKind>({
      ...choice(
        keyKinds,
        'Kind of key. `x-key-kinds` gives what each kind allows and which fields it requires and accepts.',
      ),
      'x-key-kinds': keyKindTable,
    }),
    name: Type.Optional(Type.String({ maxLength: limits.idUnitsMax, description: 'Name.' })),
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
          description: 'From then on the key is refused. Unix epoch seconds, in the future.',
        }),
      ),
    ),
  },
  { title: 'NewKey', description: 'A key to create.' },
);
export type NewKey = Static<typeof NewKey>;

export const KeyMade = shape(
  { id: id('Key ID.'), secret: text('The secret: shown here and nowhere else, ever.') },
  { title: 'KeyMade', description: 'A new key, with its secret.' },
);

const millis = (share: string) =>
  nullable(
    Type.Number({ description: `${share} were answered within so many milliseconds; null where there are none.` }),
  );

export const Traffic = shape(
  {
    interval_seconds: integer('Length of an interval.'),
    data: list(
      shape(
        {
          at: epochSeconds('Beginning of the interval.'),
          requests: integer('Requests answered.'),
          client_errors: integer('Of them, with a status from 400 to 499.'),
          server_errors: integer('Of them, with a status from 500.'),
          p50: millis('Half of them'),
          p90: millis('Nine in ten'),
          p99: millis('99 of 100'),
        },
        { title: 'TrafficInterval' },
      ),
      'The whole intervals of the last hour, oldest first.',
    ),
  },
  { title: 'Traffic', description: 'The last hour of this instance.' },
);
export type Traffic = Static<typeof Traffic>;
