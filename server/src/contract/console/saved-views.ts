import type { Static } from 'typebox';
import { limits } from '../limits.ts';
import { shape, text } from '../primitives.ts';
import { noNul } from '../rules.ts';
import { Type } from '../type.ts';

const name = Type.String({
  minLength: 1,
  maxLength: limits.savedViewUnitsMax,
  pattern: noNul.source,
  description: 'Name of the view.',
});
/** Of the console only, so that a view never leads to another site. */
const address = Type.String({
  maxLength: limits.savedAddressUnitsMax,
  pattern: '^#/[^\\u0000-\\u001f]*$',
  description: 'The part of its address in the console from `#` on, such as `#/conversations?rating=dislike`.',
});

export const ViewName = Type.Object({ name });
export const ViewAddress = Type.Object({ address }, { additionalProperties: false });
export const SavedView = shape(
  { name: text('Name.'), address: text('The part of its address in the console from `#` on.') },
  { title: 'SavedView', description: 'A name for an address of the console, for everyone in this installation.' },
);
export type SavedView = Static<typeof SavedView>;
