import { setValue } from '../base/copies.ts';
import type { WriteInput } from '../base/engine.ts';
import { execute, type Write } from '../base/statement.ts';

/** Saved views are values of the installation with this beginning. */
export const viewPrefix = 'view ';

export function* saveView({ name, address }: WriteInput<'saveView'>): Write<undefined> {
  const stored = `${viewPrefix}${name}`;
  if (address === null) yield* execute('DELETE FROM service_values WHERE name = ?', stored);
  else yield* execute(setValue, stored, address);
  return undefined;
}
