import { type ComponentChildren, h } from '../../shared/dom.ts';

type Props = { text: string; ranges: readonly (readonly number[])[]; draw?: (text: string) => string };

/** A text with its matches marked. */
export function Marked({ text, ranges, draw = String }: Props) {
  const parts: ComponentChildren[] = [];
  let at = 0;
  for (const [begin = 0, end = 0] of ranges) {
    parts.push(draw(text.slice(at, begin)), h('mark', null, text.slice(begin, end)));
    at = end;
  }
  return h('span', null, parts, draw(text.slice(at)));
}
