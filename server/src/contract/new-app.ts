import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { noNul } from './rules.ts';
import { Type } from './type.ts';

/** The body of a request that creates an app. */
export const NewApp = Type.Object(
  {
    name: Type.String({ maxLength: limits.idUnitsMax, pattern: noNul.source, description: 'Name.' }),
    mode: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limits.idUnitsMax,
        pattern: noNul.source,
        description: 'App mode. Default: `chat`.',
      }),
    ),
    workspace_id: Type.Optional(Type.String({ description: 'Workspace of the app. Required if there are several.' })),
  },
  { additionalProperties: false },
);
export type NewApp = Static<typeof NewApp>;
