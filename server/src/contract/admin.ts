import type { TSchema } from 'typebox';
import { limits } from './limits.ts';
import { flag, id, integer, list, nullable, shape, text } from './primitives.ts';
import { Type } from './type.ts';

/** What every list takes; a list may take more. */
export const listParameters = {
  limit: Type.Optional(
    Type.Integer({
      minimum: limits.listRowsMin,
      maximum: limits.listRowsMax,
      default: limits.listRowsDefault,
      description: 'Number of rows returned per request.',
    }),
  ),
  cursor: Type.Optional(Type.String({ description: 'Where to go on: `next_cursor` of the page before.' })),
};

export const ListQuery = Type.Object(listParameters);

/** One page of a list. */
export const listOf = <S extends TSchema>(row: S) =>
  shape({
    limit: integer('The number of rows asked for.'),
    has_more: flag('Whether more rows follow.'),
    data: list(row, 'The rows.'),
    next_cursor: nullable(text('Where the next page begins; null where there is none.')),
  });

export const Workspace = shape({ id: id('Workspace ID.'), name: text('Name.') }, { title: 'Workspace' });
