import { limits } from '../../../server/src/contract/limits.ts';
import { notBlank } from '../../../server/src/contract/rules.ts';
/** UTF-16 units, which is what a browser calls a character too. */
export const unitsMax = limits.childChunkUnitsMax;

/** Why the service would reject the text. */
export function problemOf(text: string): string | undefined {
  if (!notBlank.test(text)) return 'The text is blank.';
  if (text.length > unitsMax) return 'The text is too long.';
  if (text.includes('\0')) return 'The text contains a NUL character.';
  if (!text.isWellFormed()) return 'The text contains an incomplete character.';
  return undefined;
}

/** In a text field every line end is one `\n`. */
export const shownInField = (text: string): string => text.replace(/\r\n?/g, '\n');

/** The text of a field with the line ends of the text that it replaces: the user did not type a change to them. */
export function readFromField(value: string, before: string): string {
  const isWindows = before.includes('\r\n') && !/\r(?!\n)|(?<!\r)\n/.test(before);
  return isWindows ? value.replaceAll('\n', '\r\n') : value;
}
