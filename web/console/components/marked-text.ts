import { type ComponentChildren, el } from '../../shared/dom.ts';

type Props = { text: string; ranges: readonly (readonly number[])[]; draw?: (text: string) => string };

/** A text with its matches marked. */
export function Marked({ text, ranges, draw = String }: Props) {
  const parts: ComponentChildren[] = [];
  let at = 0;
  for (const [begin = 0, end = 0] of ranges) {
    parts.push(draw(text.slice(at, begin)), el('mark', text.slice(begin, end)));
    at = end;
  }
  return el('span', parts, draw(text.slice(at)));
}

/** A text without the marks of Markdown that would show most, such as the lines of a table. */
export const plain = (text: string): string =>
  text.replaceAll(/\*+|`+|^#+ |^> /gm, '').replaceAll(/(\|\s*:?-+:?\s*)+(\||$)|\|/g, ' ');
